"""Finds the recorded function of a source line, and the current location of a recorded line; the file may have changed
since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.server.locations.definitions import around
from clew.server.locations.line_mapping import Places, places
from clew.server.protocol.session import LocateParams, LocateResult, PresentParams, PresentResult
from clew.server.protocol.shared import Location
from clew.server.session.session import Session, Task

if TYPE_CHECKING:
    from clew.server.functions.table import Function, FunctionTable


def locate(session: Session, params: LocateParams, task: Task) -> LocateResult:
    path, line = params.location.path, params.location.line
    table = session.functions(params.run, task)
    there = places(session, table.folder, path)
    found = function_at(table, there, line)
    if found is None:
        return LocateResult("")
    return LocateResult(found.label, Location(found.file, there.function(found.qualname, found.line).line, 0))


def present(session: Session, params: PresentParams, _task: object = None) -> PresentResult:
    """Return the current location of a recorded one."""
    path, line = params.location.path, params.location.line
    there = places(session, session.folder(params.run), path)
    now = there.line(line)
    return PresentResult(Location(path, now.line), now.state, there.sentence(now.state))


def function_at(table: FunctionTable, there: Places, line: int) -> Function | None:
    """Return the innermost recorded function around `line` (from 1) of the present text. If that does not parse, for
    example during an edit, use the recorded text."""
    recorded = table.in_file(there.path)
    if not recorded:
        return None
    if there.now is not None:
        by_definition = {there.function(one.qualname, one.line).definition: one for one in recorded}
        # The inner function may be unrecorded while an outer one is recorded.
        return next((by_definition[one] for one in around(there.now, line) if one in by_definition), None)
    before = there.recorded_line(line)
    line = before.line if before.state != "stale" else line
    inside = [function for function in recorded if function.line <= line <= function.end_line]
    return max(inside, key=lambda function: (function.line, -function.end_line), default=None)
