"""The history of the state under the cursor: its last values, who wrote it, and all its writes.

Invariant: code actions compute no history; a hover computes one only in a run with few writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.locations.expression_at import expression_at
from clew.server.locations.function_at_line import function_at
from clew.server.locations.line_mapping import places
from clew.server.protocol.codec import encode
from clew.server.protocol.history import HistoryParams
from clew.server.protocol.shared import Location
from clew.server.session.session import Cancelled
from clew.server.text import units

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer
    from clew.server.session.session import Task

KIND = types.CodeActionKind.QuickFix
LAST_VALUES, WHO_WROTE, HISTORY = "clew.lastValues", "clew.whoWrote", "clew.openHistory"
MOST_WRITES = 50_000
"""A hover computes no history in a run with more writes, because their first look-up takes long."""
HOVER_WRITES = 20
_LONGEST = 40


def actions(server: ClewServer, path: str, text: str, *, line: int, column: int, task: Task) -> list[types.Command]:
    """Return the questions about the state at a line (from 1) and a column (from 0, in characters)."""
    from clew.graph.ops.states.history import is_recorded

    params = _asked(server, path, text, line=line, column=column, task=task)
    if params is None:
        return []
    shown = params.expression
    shown = units.printable(shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…")
    if not is_recorded(server.session.open(params.run, task).graph):
        title = f"clew: Who wrote {shown}? (this run recorded no writes)"
        return [types.Command(title=title, command=HISTORY, arguments=[encode(params)])]
    titles = {LAST_VALUES: "Last values of {}", WHO_WROTE: "Who wrote {}?", HISTORY: "History of {}"}
    return [
        types.Command(title=f"clew: {title.format(shown)}", command=command, arguments=[encode(params)])
        for command, title in titles.items()
    ]


def hover(server: ClewServer, path: str, text: str, *, line: int, column: int, plain: bool, task: Task) -> str:
    """Return the last values of the state at a position, in Markdown unless `plain`; "" if nothing of it was recorded."""
    from clew.graph.ops.states.writes import Writes
    from clew.server.lsp.features.hover import command_link
    from clew.server.text import state_history
    from clew.server.views.states.history import history_view

    params = _asked(server, path, text, line=line, column=column, task=task)
    if params is None:
        return ""
    writes = Writes.of(server.session.open(params.run, task).graph)
    if not writes or len(writes.rows) > MOST_WRITES:
        return ""
    try:
        result = history_view(server.session, params, task)
    except Cancelled:
        raise
    except ClewError:
        return ""
    base = str(server.session.workspace)
    if not result.writes:
        return ""
    if plain:
        return "\n".join(state_history.lines(result, base))
    links = [command_link("Who wrote it?", WHO_WROTE, params), command_link("History", HISTORY, params)]
    return f"{state_history.markdown(result, base)}\n\n{' · '.join(links) if server.options.panel else ''}".rstrip()


def _asked(server: ClewServer, path: str, text: str, *, line: int, column: int, task: Task) -> HistoryParams | None:
    """Return the question about the name, attribute or item at a position in a function that ran, None for anything else."""
    session = server.session
    if not session.has_runs():
        return None
    expression = " ".join(expression_at(text, line, column).split())
    # The value of a call is not a state.
    if not expression or expression.endswith(")"):
        return None
    table = session.cached_functions(task)
    if table is None:
        return None
    there = places(session, table.folder, path, text)
    if function_at(table, there, line) is None or there.recorded_line(line).state == "stale":
        return None
    return HistoryParams(expression=expression, location=Location(path, line), run=table.run, maxWrites=HOVER_WRITES)
