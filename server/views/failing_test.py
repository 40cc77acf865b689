"""The start of "why" after a test session with a failed test: the last error of that test instead of the session's.

Tests that pass also log errors that they provoke. The trace of `pytest --clew` contains the outcomes of the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.model.event import ERROR
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.find_events import find_logs
from clew.graph.ops.slicing.interval import slice_events
from clew.records.format.event import Kind

if TYPE_CHECKING:
    from clew.graph.model.graph import ExecutionGraph

OUTCOME, FAILED = "outcome", "failed"
"""The name of the payload with a test's outcome, and the prefix of its value."""
TEST = " (test)"
"""The suffix in the names of test calls."""


def last_error(graph: ExecutionGraph, node: str = "") -> tuple[int, str] | None:
    """Return the event and the name of the newest test that failed, or of the one with an id; None if none did.

    The event is the test's newest error line in any thread or process, else its newest exception that left a function,
    else its end.
    """
    if OUTCOME not in graph.channel_ids:
        return None
    payloads = graph.rows_of([Kind.PAYLOAD])
    for row in payloads[np.argsort(-graph.ts[payloads], kind="stable")].tolist():
        if graph.channel(row) != OUTCOME or not graph.text(row).startswith(FAILED):
            continue
        # A failed part of a test (unittest's `subTest`) reports from inside the test.
        around = graph.with_callers(graph.enclosing_call(row))
        call = next((one for one in around if graph.sites[int(graph.site[one])].qualname.endswith(TEST)), -1)
        if call < 0:
            continue
        request = next((at for at in range(call, row) if graph.kind[at] == Kind.REQUEST), -1)
        if request >= 0 and node in ("", graph.channel(request)):
            return _error_of(graph, request, row), graph.channel(request)
    return None


def _is_cancellation(name: str) -> bool:
    return name.rpartition(".")[2] == "CancelledError"


def _error_of(graph: ExecutionGraph, request: int, end: int) -> int:
    logs = find_logs(graph, level=ERROR)
    logs = logs[graph.ts[logs] <= graph.ts[end]]
    facts = Facts.of(graph)
    left = facts.exceptions.take(facts.exceptions.of_roles("raised", "ended"))
    exceptions = left.row[(left.ns <= graph.ts[end]) & ~left.of_types(_is_cancellation)]
    for found in (logs, exceptions):
        own = found[slice_events(graph, [request], "forward").holds(found)] if len(found) else found
        if len(own):
            return int(own[np.argmax(graph.ts[own])])
    raised = request + np.flatnonzero(graph.kind[request:end] == Kind.UNWIND)
    return int(raised[-1]) if len(raised) else end
