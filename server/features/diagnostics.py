"""Problems of `.esl` files as diagnostics: of the text on every change, and against the source code on open and save.

Invariant: what is published belongs to the document's newest version; an answer that was overtaken is dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.workspace import TextDocument

from clew.records.errors import ClewError
from clew.server.positions import path_of
from clew.server.session import Cancelled, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.esl.problem import EslProblem
    from clew.server.server import ClewServer

SUFFIX = ".esl"
SOURCE = "clew"
SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        await publish(server, params.text_document.uri, with_source=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        await publish(server, params.text_document.uri, with_source=False)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        await publish(server, params.text_document.uri, with_source=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        if params.text_document.uri.endswith(SUFFIX):
            _send(server, params.text_document.uri, None, [])


async def publish(server: ClewServer, uri: str, *, with_source: bool) -> None:
    """Checks an open spec and publishes what it finds. Files of other languages are left alone."""
    if not uri.endswith(SUFFIX):
        return
    document = server.workspace.get_text_document(uri)
    version, text, path = document.version, document.source, path_of(uri)
    try:
        problems = await server.work(
            f"checking {Path(path).name}",
            lambda task: _problems(path, text, server.session.workspace, with_source, task),
        )
    except Cancelled:
        return
    except ClewError as error:
        server.tell_once(str(error))
        return
    if server.workspace.text_documents.get(uri) is document and document.version == version:
        _send(server, uri, version, [diagnostic(problem, document) for problem in problems])


def _problems(path: str, text: str, workspace: Path, with_source: bool, task: Task) -> Sequence[EslProblem]:
    from clew import esl

    compiled = esl.compile_text(text, path)
    # The check reads the saved file: with unsaved changes its places would be wrong.
    if not with_source or not path or _saved_text(path) != text:
        return compiled.problems
    task.phase("matching the source code")
    return esl.check(path, workspace)


def _saved_text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


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
