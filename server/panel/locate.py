"""Which recorded function a line of source belongs to, and where a recorded line is now; the file may have changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.server.outline import around
from clew.server.present import Places, places
from clew.server.protocol import LocateParams, LocateResult, Location, PresentParams, PresentResult
from clew.server.session import Session, Task

if TYPE_CHECKING:
    from clew.server.functions import Function, FunctionTable


def locate(session: Session, params: LocateParams, task: Task) -> LocateResult:
    path, line = params.location.path, params.location.line
    table = session.functions(params.run, task)
    there = places(session, table.folder, path)
    found = function_at(table, there, line)
    if found is None:
        return LocateResult("")
    return LocateResult(found.label, Location(found.file, there.function(found.qualname, found.line).line, 0))


def present(session: Session, params: PresentParams) -> PresentResult:
    """Where a recorded place stands now."""
    path, line = params.location.path, params.location.line
    there = places(session, session.folder(params.run), path)
    now = there.line(line)
    return PresentResult(Location(path, now.line), now.state, there.sentence(now.state))


def function_at(table: FunctionTable, there: Places, line: int) -> Function | None:
    """The innermost recorded function around `line` (from 1) of the present text; of the recorded one where the present text
    does not parse, as in the middle of an edit."""
    recorded = table.in_file(there.path)
    if not recorded:
        return None
    if there.now is not None:
        stands = {there.function(one.qualname, one.line).definition: one for one in recorded}
        # The inner function was not recorded, perhaps, but one around it was.
        return next((stands[one] for one in around(there.now, line) if one in stands), None)
    before = there.recorded_line(line)
    line = before.line if before.state != "stale" else line
    inside = [function for function in recorded if function.line <= line <= function.end_line]
    return max(inside, key=lambda function: (function.line, -function.end_line), default=None)
