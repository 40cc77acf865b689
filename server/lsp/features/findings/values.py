"""The question why a variable, an attribute or a result has its value, at a line that a test of the selected run executed.

Invariant: nothing runs again before the user chooses the question, and only a test does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.server.locations.definitions import around, outline
from clew.server.locations.expression_at import expression_at
from clew.server.locations.function_at_line import function_at
from clew.server.locations.line_mapping import places
from clew.server.protocol.codec import encode
from clew.server.protocol.second_look import ValueParams
from clew.server.protocol.shared import Location
from clew.server.text import units

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer
    from clew.server.session.session import Task

KIND = types.CodeActionKind.QuickFix
COMMAND = "clew.openValue"
_LONGEST = 40


def actions(server: ClewServer, path: str, text: str, *, line: int, column: int, task: Task) -> list[types.Command]:
    """Return the question about the expression at a line (from 1) and a column (from 0, in characters)."""
    session = server.session
    if not server.options.panel or not session.has_runs() or not around(outline(text), line):
        return []
    expression = " ".join(expression_at(text, line, column).split())
    if not expression:
        return []
    table = session.cached_functions(task)
    if table is None:
        return []
    run = session.open("", task)
    place = Location(path, line)
    if run.info.tests:
        from clew.server.locations.tests_at_line import tests_at

        tests = tests_at(session, run, path, line, text)
        if not tests:
            return []
        # The last part of the id is what a person calls the test.
        what, test = f"runs {tests[0].rpartition('::')[2]} again", tests[0]
    else:
        if function_at(table, places(session, table.folder, path, text), line) is None:
            return []
        what, test = "needs a second run", ""
    params = ValueParams(test=test, expression=expression, location=place, run=run.info.id)
    shown = expression if len(expression) <= _LONGEST else f"{expression[: _LONGEST - 1]}…"
    title = f"clew: Why this value: {units.printable(shown)}? ({what})"
    return [types.Command(title=title, command=COMMAND, arguments=[encode(params)])]
