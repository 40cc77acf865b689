"""Problems of `.esl` files as diagnostics: those of the text and those against the workspace's source code.

Invariant: published diagnostics belong to the document's newest version; an outdated result is dropped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.functions.rule_statistics import too_hot
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.positions import path_of
from clew.server.session.session import Cancelled, Task
from clew.server.session.specs import IDLE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.esl import Checked, EslProblem
    from clew.server.lsp.server import ClewServer

SOURCE = "clew"
PAUSE = 0.3
"""Seconds without a keystroke before a changed text is checked."""
SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        await publish(server, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        await server.comparison.text_changed(params.text_document.uri, params.text_document.version)
        uri = params.text_document.uri
        await asyncio.sleep(PAUSE)
        document = server.open_document(uri)
        if document is None or document.version != params.text_document.version:
            return
        if is_spec(uri):
            await publish(server, uri)
        elif uri.endswith(".py"):
            await follow(server, uri, document.source)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.comparison.publish()
        server.specs.forget_files()
        # A saved Python file may have added or removed matches of a rule.
        for document in list(server.workspace.text_documents.values()):
            await publish(server, document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        if is_spec(params.text_document.uri):
            _send(server, params.text_document.uri, None, [])
        elif params.text_document.uri.endswith(".py"):
            await follow(server, params.text_document.uri, None)


async def follow(server: ClewServer, uri: str, text: str | None) -> None:
    """Update the source index from an unsaved text, because the matches of rules depend on it."""
    if any(is_spec(document.uri) for document in list(server.workspace.text_documents.values())):
        await server.work("clew", lambda _: server.specs.overlay(path_of(uri), text))
        for document in list(server.workspace.text_documents.values()):
            await publish(server, document.uri)


async def publish(server: ClewServer, uri: str) -> None:
    """Check an open spec and publish the problems. Files of other languages are ignored."""
    document = server.open_document(uri)
    if not is_spec(uri) or document is None:
        return
    spec = SpecText.of(document)

    def is_current() -> bool:
        return server.open_document(uri) is document and document.version == spec.version

    def show(problems: Sequence[EslProblem]) -> bool:
        """Publish the problems; False if the text has changed meanwhile."""
        if not is_current():
            return False
        _send(server, uri, spec.version, [diagnostic(problem, spec) for problem in problems])
        return True

    try:
        checked = await server.work(f"checking {spec.name}", lambda _: server.specs.check(spec.path, spec.text))
        shown = show(checked.problems)
        if shown and await server.work("clew", lambda _: server.specs.refreshed()):
            checked = await server.work(f"checking {spec.name}", lambda _: server.specs.check(spec.path, spec.text))
            shown = show(checked.problems)
        while shown and checked.postponed:
            await server.work("reading the workspace's source", server.specs.prepare)
            checked = await server.work(
                f"checking {spec.name}", lambda _: server.specs.check(spec.path, spec.text, IDLE_SECONDS)
            )
            shown = is_current() and (checked.postponed or show(checked.problems))
        if shown:
            # The statistics of the last run may take as long as reading the run.
            more = await server.work(f"checking {spec.name}", lambda task: _by_numbers(server, checked, task))
            if more:
                show([*checked.problems, *more])
    except Cancelled:
        return
    except ClewError as error:
        server.show_once(str(error))


def _by_numbers(server: ClewServer, checked: Checked, task: Task) -> list[EslProblem]:
    statistics = server.specs.rule_statistics(task) if checked.matches else None
    budget = checked.plan is not None and checked.plan.budget
    return list(too_hot(checked.matches, statistics)) if statistics is not None and not budget else []


def diagnostic(problem: EslProblem, spec: SpecText) -> types.Diagnostic:
    return types.Diagnostic(
        range=spec.range_of(problem.span),
        message=problem.message,
        severity=SEVERITIES[problem.severity],
        source=SOURCE,
    )


def _send(server: ClewServer, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
    server.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=diagnostics)
    )
