"""Call hierarchy: the callers and callees of a function in the run, also through threads, tasks, queues and processes.

Invariant: every entry was observed, with its count and time. Ranges are the calls in the present text; without a
certain range, the caller's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types

from clew.records.errors import ClewError
from clew.records.plan.match import module_pattern, pattern, plain_qualname
from clew.server.locations.call_sites import calls_of, name_at
from clew.server.locations.function_at_line import function_at
from clew.server.locations.line_mapping import Places, PresentFunction, places
from clew.server.locations.log_line import find_in
from clew.server.locations.text_diff import lines_of
from clew.server.lsp.features import log_lines
from clew.server.lsp.positions import def_range, line_range, path_of, uri_of
from clew.server.session.session import Cancelled, Session, Task
from clew.server.text import units
from clew.server.text.mechanisms import link_kind

if TYPE_CHECKING:
    from clew.graph.ops.profile.functions import Link
    from clew.query.api import Run
    from clew.server.functions.table import Function, FunctionTable
    from clew.server.lsp.server import ClewServer

T = TypeVar("T")
MOST = 200
"""Maximum number of callers or callees of a function that are shown, those with the most calls."""
MOST_NAMED = 20
"""Maximum number of functions of a spec's pattern."""
_PATTERN = re.compile(r"[\w.*?<>]+(?::[\w.*?<>]+)?")


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    async def prepare(params: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem] | None:
        uri, place = params.text_document.uri, params.position
        path = path_of(uri)
        document = server.document(uri)
        text = document.source

        def items(task: Task) -> list[types.CallHierarchyItem]:
            if not server.session.has_runs():
                return []
            if path.endswith(".py"):
                return _of_source(server.session, path, text, place, task)
            if path.endswith(".esl"):
                rows = lines_of(text)
                line = rows[place.line] if place.line < len(rows) else ""
                return _of_pattern(server.session, line, place.character, task)
            return _of_log_line(server, uri, place.line, task)

        return await _answered(server, items) or None

    @server.feature(types.CALL_HIERARCHY_INCOMING_CALLS)
    async def incoming(params: types.CallHierarchyIncomingCallsParams) -> list[types.CallHierarchyIncomingCall] | None:
        return await _answered(server, lambda task: incoming_calls(server.session, params.item.data, task))

    @server.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)
    async def outgoing(params: types.CallHierarchyOutgoingCallsParams) -> list[types.CallHierarchyOutgoingCall] | None:
        return await _answered(server, lambda task: outgoing_calls(server.session, params.item.data, task))


async def _answered(server: ClewServer, question: Callable[[Task], list[T]]) -> list[T] | None:
    try:
        return await server.work("clew: call hierarchy", question)
    except ClewError as error:
        if not isinstance(error, Cancelled):
            server.show_once(str(error))
        return None


@dataclass(frozen=True)
class _Observed:
    """The run data that the hierarchy uses."""

    session: Session
    run: Run
    table: FunctionTable

    @classmethod
    def of(cls, session: Session, which: str, task: Task) -> _Observed:
        run = session.open(which, task)
        return cls(session, run, session.functions(which, task))

    def item(self, function: Function, there: Places, detail: str) -> types.CallHierarchyItem:
        place = there.function(function.qualname, function.line)
        stale = "stale: " if place.state == "stale" else ""
        last = place.definition.end_line if place.definition else place.line
        whole = types.Range(line_range(place.line).start, line_range(last).end)
        return types.CallHierarchyItem(
            name=units.short_label(function.label),
            kind=types.SymbolKind.Method if "." in plain_qualname(function.qualname) else types.SymbolKind.Function,
            detail=stale + detail,
            uri=uri_of(function.file),
            range=whole,
            selection_range=_name_of(place, there),
            data={"run": str(self.run.folder), "site": function.site, "function": function.label},
        )

    def top(self, function: Function) -> types.CallHierarchyItem:
        """Return the item at the top of the hierarchy."""
        parts = [units.count(function.calls, "call"), units.duration(function.total_ns)]
        kind = self.run.graph.sites[function.site].kind
        if kind not in ("", "function"):
            parts.insert(0, kind.replace("_", " "))
        alone = function.calls - sum(link.calls for link in self.table.callers(function))
        if alone > 0 and function.calls:
            parts.append("no recorded caller" if alone == function.calls else f"{alone:,} without a recorded caller")
        return self.item(function, self.places(function), " · ".join(parts))

    def places(self, function: Function) -> Places:
        return places(self.session, self.run.folder, function.file)


def _of_source(
    session: Session, path: str, text: str, place: types.Position, task: Task
) -> list[types.CallHierarchyItem]:
    """Return the function that is called or named there, if the function around it called it; else the function around
    it."""
    observed = _Observed.of(session, "", task)
    there = places(session, observed.run.folder, path, text)
    around = function_at(observed.table, there, place.line + 1)
    if around is None:
        return []
    name = name_at(text, place.line + 1, place.character)
    callees = [observed.table.by_site.get(link.callee) for link in observed.table.callees(around)]
    called = [one for one in callees if one is not None and one.file and name and name == _called_as(one)]
    return [observed.top(function) for function in dict.fromkeys(called)] or [observed.top(around)]


def _called_as(function: Function) -> str:
    """Return the name that calls use: for a class its own name."""
    *outer, last = plain_qualname(function.qualname).split(".")
    return outer[-1] if last == "__init__" and outer else last


def _of_log_line(server: ClewServer, uri: str, row: int, task: Task) -> list[types.CallHierarchyItem]:
    """Return the function that logged the line."""
    lines = log_lines.log_of(server, uri, task) if log_lines.may_be_log(server, uri) else None
    written = find_in(server.session, lines, row, task) if lines is not None else None
    if written is None:
        return []
    observed = _Observed.of(server.session, str(written.run.folder), task)
    function = observed.table.by_site.get(written.run.graph.function_site(written.event))
    return [observed.top(function)] if function is not None and function.file else []


def _of_pattern(session: Session, line: str, column: int, task: Task) -> list[types.CallHierarchyItem]:
    """Return the functions that a pattern of a spec selects, those with the most calls first."""
    words = [found[0] for found in _PATTERN.finditer(line) if found.start() <= column <= found.end()]
    module, _, qualname = (words or [""])[0].partition(":")
    if not qualname:
        return []
    observed = _Observed.of(session, "", task)
    sites = observed.run.graph.sites
    found = [
        function
        for function in observed.table.by_site.values()
        if function.file
        and module_pattern(module).match(sites[function.site].module)
        and pattern(qualname).match(plain_qualname(function.qualname))
    ]
    found.sort(key=lambda function: -function.calls)
    return [observed.top(function) for function in found[:MOST_NAMED]]


def incoming_calls(session: Session, data: Any, task: Task) -> list[types.CallHierarchyIncomingCall]:
    observed, callee = _asked(session, data, task)
    made = []
    for link in observed.table.callers(callee)[:MOST] if callee else ():
        caller = observed.table.by_site.get(link.caller)
        if caller is None or callee is None or not caller.file:
            continue
        there = observed.places(caller)
        made.append(
            types.CallHierarchyIncomingCall(
                observed.item(caller, there, _detail(link)), _ranges(caller, callee, there, link)
            )
        )
    return made


def outgoing_calls(session: Session, data: Any, task: Task) -> list[types.CallHierarchyOutgoingCall]:
    observed, caller = _asked(session, data, task)
    if caller is None:
        return []
    there = observed.places(caller)
    made = []
    for link in observed.table.callees(caller)[:MOST]:
        callee = observed.table.by_site.get(link.callee)
        if callee is None or not callee.file:
            continue
        made.append(
            types.CallHierarchyOutgoingCall(
                observed.item(callee, observed.places(callee), _detail(link)), _ranges(caller, callee, there, link)
            )
        )
    return made


def _asked(session: Session, data: Any, task: Task) -> tuple[_Observed, Function | None]:
    """Return the function that an item refers to. Raises `RunError` if its run was removed meanwhile."""
    given = data if isinstance(data, dict) else {}
    observed = _Observed.of(session, str(given.get("run", "")), task)
    return observed, observed.table.find(int(given.get("site", -1)), str(given.get("function", "")))


def _detail(link: Link) -> str:
    """Return the detail text: `20 calls · 3.1 ms · by task`."""
    parts = [units.count(link.calls, "call")]
    parts += [units.duration(link.total_ns)] if link.total_ns else []
    way = link_kind(link.how)
    parts += [f"by {way}"] if way != "call" else []
    parts += ["recursive"] if link.caller == link.callee else []
    return " · ".join(parts)


def _ranges(caller: Function, callee: Function, there: Places, link: Link) -> list[types.Range]:
    """Return the ranges of the calls in the caller's present text; without certain ranges, the caller's name."""
    place = there.function(caller.qualname, caller.line)
    if place.definition is None or there.text is None:
        return [line_range(place.line)]
    found = calls_of(there.text, place.definition, callee.qualname, link_kind(link.how))
    return [line_range(*one) for one in found] or [_name_of(place, there)]


def _name_of(place: PresentFunction, there: Places) -> types.Range:
    rows = lines_of(there.text) if there.text is not None else []
    row = rows[place.line - 1] if 0 < place.line <= len(rows) else ""
    return def_range(place.line, row, place.definition.qualname if place.definition else "")
