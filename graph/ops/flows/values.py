"""Find the values that requests recorded: marks and payloads, each at its call in the flow.

Invariant: a value belongs to the innermost enclosing call that the flow contains. Values outside all calls of the
flow are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.ops.flows.flows import Flows
from clew.records.format.event import Kind


class FlowValues(NamedTuple):
    """Columns, one row per value."""

    request: I64
    """The index in the requested requests."""
    label: npt.NDArray[np.signedinteger]
    """The label of the call, coded as in the flows."""
    name: list[str]
    text: list[str]


def values_of(flows: Flows, requests: I64) -> FlowValues:
    """Return the values of some requests. Each request may occur only once."""
    found: list[tuple[I64, I64, ExecutionGraph, I64]] = []
    for run in np.unique(flows.run[requests]).tolist():
        graph = flows.runs[run].graph
        rows = graph.rows_of([Kind.MARK, Kind.PAYLOAD])
        if not len(rows):
            continue
        of_run = np.flatnonzero(flows.run[requests] == run)
        first, last = flows.first[requests[of_run]], flows.first[requests[of_run] + 1]
        calls, owner = expand(first, last), np.repeat(of_run, last - first)
        order = np.argsort(flows.event[calls], kind="stable")
        calls, owner = calls[order], owner[order]
        event = flows.event[calls].astype(np.int64)
        at = _innermost(graph, rows, event)
        rows, at = rows[at >= 0], at[at >= 0]
        # A call may be part of several requests.
        low, high = np.searchsorted(event, at, "left"), np.searchsorted(event, at, "right")
        which = expand(low, high)
        found.append((owner[which], calls[which], graph, np.repeat(rows, high - low)))
    if not found:
        return FlowValues(np.zeros(0, np.int64), flows.label[:0], [], [])
    return FlowValues(
        np.concatenate([owner for owner, *_ in found]),
        flows.label[np.concatenate([calls for _, calls, *_ in found])],
        [graph.channel(row) for *_, graph, rows in found for row in rows.tolist()],
        [graph.text(row) for *_, graph, rows in found for row in rows.tolist()],
    )


def _innermost(graph: ExecutionGraph, rows: I64, known: I64) -> I64:
    """Return for each row the event of the innermost enclosing call among `known` (ascending); -1 for none."""
    result = np.full(len(rows), -1, np.int64)
    if not len(known):
        return result
    at = graph.call[rows].astype(np.int64)
    # An event outside the calls of its region belongs to a visit, which begins with the region.
    region = graph.region[rows]
    inside = np.where(at >= 0, graph.region[np.maximum(at, 0)] == region, False)
    at = np.where(inside, at, graph.regions.first[region])
    enter, caller = graph.calls.enter, graph.calls.caller
    open_ = np.arange(len(rows))
    while len(open_):
        place = np.minimum(np.searchsorted(known, at[open_]), len(known) - 1)
        hit = known[place] == at[open_]
        result[open_[hit]] = at[open_[hit]]
        open_ = open_[~hit]
        # Continue outwards from call to call.
        number = np.minimum(np.searchsorted(enter, at[open_]), max(len(enter) - 1, 0))
        is_call = enter[number] == at[open_] if len(enter) else np.zeros(len(open_), bool)
        open_, number = open_[is_call], number[is_call]
        at[open_] = caller[number]
        open_ = open_[at[open_] >= 0]
    return result
