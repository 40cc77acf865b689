"""Where "why" starts after a test session in which a test failed: at the last error of that test, not of the session.

Tests that pass log errors, too: those that they provoke. Which test failed is what `pytest --clew` leaves in the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.ops.slice import slice_events
from clew.records.event import Kind

if TYPE_CHECKING:
    from clew.graph.model import ExecutionGraph

OUTCOME, FAILED = "outcome", "failed"
"""The name and the beginning of what a test's end is told by."""
TEST = " (test)"
"""How the name of a test's call ends."""
ERROR_LEVEL = 40


def last_error(graph: ExecutionGraph) -> tuple[int, str] | None:
    """The event, and the name of the test, of the newest test that failed; None when none did.

    That is its newest error line, in whichever thread or process, else the exception that left it, else its end.
    """
    if OUTCOME not in graph.channel_ids:
        return None
    told = graph.rows_of([Kind.PAYLOAD])
    for row in told[np.argsort(-graph.ts[told], kind="stable")].tolist():
        if graph.channel(row) != OUTCOME or not graph.text(row).startswith(FAILED):
            continue
        call = graph.enclosing_call(row)
        if call < 0 or not graph.sites[int(graph.site[call])].qualname.endswith(TEST):
            continue
        request = next((at for at in range(call, row) if graph.kind[at] == Kind.REQUEST), -1)
        if request >= 0:
            return _error_of(graph, request, row), graph.channel(request)
    return None


def _error_of(graph: ExecutionGraph, request: int, end: int) -> int:
    logs = graph.rows_of([Kind.LOG])
    if len(logs):
        logs = logs[(graph.extensions.key[graph.ext[logs]] >= ERROR_LEVEL) & (graph.ts[logs] <= graph.ts[end])]
        logs = logs[slice_events(graph, [request], "forward").holds(logs)]
    if len(logs):
        return int(logs[np.argmax(graph.ts[logs])])
    raised = request + np.flatnonzero(graph.kind[request:end] == Kind.UNWIND)
    return int(raised[-1]) if len(raised) else end
