"""Inlay hints: the time of calls at the lines that make them, and of waits at the lines that wait.

Invariant: a hint is at the recorded line, wherever that line is now, or missing. The text that ran must be known, and
the line must be the only candidate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from clew.records.errors import ClewError
from clew.records.plan.match import plain_qualname
from clew.server.locations.ast_call_lines import CallLines, call_lines
from clew.server.locations.definitions import Definition, outline
from clew.server.locations.line_mapping import Places, places
from clew.server.lsp.features.esl import lens as spec_lens
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.positions import path_of, utf16_length
from clew.server.session.session import Cancelled, Session, Task
from clew.server.text import units

if TYPE_CHECKING:
    from clew.graph.ops.profile.functions import Link, Wait
    from clew.server.functions.table import Function, FunctionTable
    from clew.server.lsp.server import ClewServer

LEAST_NS = 1_000
"""Waits with a smaller total get no hint."""


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        path = path_of(params.text_document.uri)
        if is_spec(params.text_document.uri) and server.settings.esl_inlay_hints:
            spec = SpecText.of(server.document(params.text_document.uri))
            return await server.work("clew: inlay hints", lambda _: spec_lens.hints(server.specs, spec, params.range))
        if not path.endswith(".py") or not server.settings.inlay_hints:
            return []
        text = server.document(params.text_document.uri).source
        first, last = params.range.start.line + 1, params.range.end.line + 1
        wait = not server.asks_again_for_hints
        try:
            return await server.work(
                "clew: inlay hints", lambda task: line_hints(server.session, path, text, (first, last), task, wait=wait)
            )
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.show_once(str(error))
            return []


class _Hint(NamedTuple):
    label: str
    tooltip: str


def line_hints(
    session: Session, path: str, text: str, lines: tuple[int, int], task: Task, *, wait: bool
) -> list[types.InlayHint]:
    """Return the hints of the lines (from 1) from the first to the last one. A large run that was not read yet gives
    hints only with `wait`."""
    if not session.has_runs():
        return []
    table = session.cached_functions(task, wait=wait)
    functions = table.in_file(path) if table is not None else []
    if table is None or not functions:
        return []
    there = places(session, table.folder, path, text)
    at = call_lines(there.recorded) if there.recorded is not None else None
    if at is None or there.recorded is None:
        return []
    before = outline(there.recorded) or {}
    found: dict[int, list[_Hint]] = {}
    for function in functions:
        definition = _definition(before.get(plain_qualname(function.qualname), []), function)
        if definition is not None and _is_near(there, definition, lines):
            for line, hint in _of_function(table, at, definition, function):
                now = there.line(line)
                if now.state != "stale" and lines[0] <= now.line <= lines[1]:
                    found.setdefault(now.line, []).append(hint)
    shown = text.splitlines()
    return [_inlay(line, shown[line - 1], hints) for line, hints in sorted(found.items()) if line <= len(shown)]


def _definition(named: list[Definition], function: Function) -> Definition | None:
    here = [one for one in named if one.first_line == function.line]
    return here[0] if len(here) == 1 else None


def _is_near(there: Places, definition: Definition, lines: tuple[int, int]) -> bool:
    """Return whether a line of the function may be among these. Lines between its ends may have moved anywhere."""
    first, last = there.line(definition.line), there.line(definition.end_line)
    if "stale" in (first.state, last.state):
        return True
    return first.line <= lines[1] and last.line >= lines[0]


def _of_function(
    table: FunctionTable, at: CallLines, definition: Definition, function: Function
) -> list[tuple[int, _Hint]]:
    """Return the hints with the lines as they were recorded."""
    module = table.graph.sites[function.site].module
    callees = table.callees(function)
    by_line: dict[int, list[Link]] = {}
    for link in callees:
        line = at.of_callee(definition, module, table.callee(link.callee))
        if line is not None:
            by_line.setdefault(line, []).append(link)
    hints = [(line, _spent(table, links)) for line, links in by_line.items()]
    recorded = [table.callee(link.callee) for link in callees]
    waits: dict[int, list[Wait]] = {}
    for wait in function.profile.waits:
        line = at.of_wait(definition, module, wait.through, recorded) if wait.through else None
        if line is not None:
            waits.setdefault(line, []).append(wait)
    long = {line: those for line, those in waits.items() if sum(wait.total_ns for wait in those) >= LEAST_NS}
    return hints + [(line, _waited(table, those)) for line, those in long.items()]


def _spent(table: FunctionTable, links: list[Link]) -> _Hint:
    calls, total = sum(link.calls for link in links), sum(link.total_ns for link in links)
    parallel = "in parallel: " if any(link.how for link in links) else ""
    explanation = "\n".join(_about(table, link) for link in links)
    return _Hint(f"{parallel}{units.duration(total)} in {units.count(calls, 'call')}", explanation)


def _about(table: FunctionTable, link: Link) -> str:
    per_call = f"p50 {units.duration(link.p50_ns)}, p95 {units.duration(link.p95_ns)}"
    waiting = f", of which {units.duration(link.waiting_ns)} waiting" if link.waiting_ns else ""
    by = f"; by {link.how}" if link.how else ""
    name = units.short_label(table.label(link.callee))
    return f"{name}: {units.count(link.calls, 'call')}, {per_call}, {units.duration(link.total_ns)} in all{waiting}{by}"


def _waited(table: FunctionTable, waits: list[Wait]) -> _Hint:
    total = sum(wait.total_ns for wait in waits)
    explanation = [
        f"waited {units.count(wait.count, 'time')} for {wait.channel}, {units.duration(wait.total_ns)} in all"
        + (f", until {units.short_label(table.label(wait.source))}" if wait.source else "")
        for wait in waits
    ]
    return _Hint(f"waited {units.duration(total)}", "\n".join(explanation))


def _inlay(line: int, text: str, hints: list[_Hint]) -> types.InlayHint:
    return types.InlayHint(
        position=types.Position(line - 1, utf16_length(text)),
        label=" · ".join(hint.label for hint in hints),
        tooltip="\n".join(hint.tooltip for hint in hints),
        padding_left=True,
    )
