"""Which recorded function a line of source belongs to, although the file may have changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.records.match import plain_qualname
from clew.server.outline import at, current, outline
from clew.server.protocol import LocateParams, LocateResult, Location
from clew.server.session import Session, Task

if TYPE_CHECKING:
    from clew.server.functions import Function, FunctionTable


def locate(session: Session, params: LocateParams, task: Task) -> LocateResult:
    path, line = params.location.path, params.location.line
    text = session.text(path) if path.endswith(".py") else None
    found = function_at(session.functions(params.run, task), path, line, text)
    if found is None:
        return LocateResult("")
    return LocateResult(found.label, Location(found.file, current_line(found, text), 0))


def function_at(table: FunctionTable, path: str, line: int, text: str | None) -> Function | None:
    """The innermost recorded function around `line` (from 1) of the present text; of the recorded one without a text or
    when that does not parse."""
    recorded = table.in_file(path)
    definition = at(outline(text), line) if recorded and text is not None else None
    while definition is not None:
        named = [function for function in recorded if plain_qualname(function.qualname) == definition.qualname]
        if named:
            first = definition.first_line
            return min(named, key=lambda function: abs(function.line - first))
        # The inner function was not recorded, but perhaps one around it was.
        around = definition.qualname.rpartition(".")[0]
        candidates = (outline(text or "") or {}).get(around, [])
        definition = next((outer for outer in candidates if outer.first_line <= line <= outer.end_line), None)
    if text is not None and outline(text) is not None:
        return None
    inside = [function for function in recorded if function.line <= line <= function.end_line]
    return max(inside, key=lambda function: (function.line, -function.end_line), default=None)


def current_line(function: Function, text: str | None) -> int:
    """Where the function stands now, else where it was recorded."""
    definition = current(outline(text), function.qualname, function.line) if text is not None else None
    return definition.line if definition else function.line
