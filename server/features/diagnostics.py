"""Problems of `.esl` files as diagnostics: those of the text and those against the workspace's source code.

Invariant: what is published belongs to the document's newest version; an answer that was overtaken is dropped.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.workspace import TextDocument

from clew.records.errors import ClewError
from clew.server.files import same_file_key
from clew.server.positions import path_of
from clew.server.session import Cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.esl import EslProblem, SourceIndex
    from clew.server.server import ClewServer

SUFFIX = ".esl"
SOURCE = "clew"
PAUSE = 0.3
"""Seconds without a keystroke before a changed text is checked."""
SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


def register(server: ClewServer) -> None:
    checker = Checker()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        await publish(server, checker, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        await server.comparison.text_changed(params.text_document.uri, params.text_document.version)
        if params.text_document.uri.endswith(SUFFIX):
            await asyncio.sleep(PAUSE)
            document = server.open_document(params.text_document.uri)
            if document is not None and document.version == params.text_document.version:
                await publish(server, checker, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.comparison.publish()
        # A saved Python file may have given a rule what it means, or taken it away.
        for document in list(server.workspace.text_documents.values()):
            await publish(server, checker, document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        if params.text_document.uri.endswith(SUFFIX):
            _send(server, params.text_document.uri, None, [])


class Checker:
    """Checks specs, and keeps what it has read of the workspace's source between two checks."""

    def __init__(self) -> None:
        self._index: SourceIndex | None = None
        self._lock = threading.Lock()

    def problems(self, path: str, text: str, workspace: Path) -> Sequence[EslProblem]:
        from clew import esl

        inside = Path(same_file_key(path)).is_relative_to(same_file_key(str(workspace)))
        if not inside:
            return esl.compile_text(text, path).problems
        with self._lock:
            if self._index is None or self._index.root != workspace.resolve():
                self._index = esl.SourceIndex(workspace)
            return esl.check(path, workspace, text=text, index=self._index).problems


async def publish(server: ClewServer, checker: Checker, uri: str) -> None:
    """Checks an open spec and publishes what it finds. Files of other languages are left alone."""
    if not uri.endswith(SUFFIX):
        return
    document = server.workspace.get_text_document(uri)
    version, text, path, workspace = document.version, document.source, path_of(uri), server.session.workspace
    try:
        problems = await server.work(f"checking {Path(path).name}", lambda _: checker.problems(path, text, workspace))
    except Cancelled:
        return
    except ClewError as error:
        server.tell_once(str(error))
        return
    if server.open_document(uri) is document and document.version == version:
        _send(server, uri, version, [diagnostic(problem, document) for problem in problems])


def diagnostic(problem: EslProblem, document: TextDocument) -> types.Diagnostic:
    span = problem.span
    place = types.Range(
        start=types.Position(span.line - 1, span.column - 1), end=types.Position(span.end_line - 1, span.end_column - 1)
    )
    return types.Diagnostic(
        range=document.position_codec.range_to_client_units(document.lines, place),
        message=problem.message,
        severity=SEVERITIES[problem.severity],
        source=SOURCE,
    )


def _send(server: ClewServer, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
    server.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=diagnostics)
    )
