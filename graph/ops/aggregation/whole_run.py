"""Aggregate a whole graph by labels that every event has, in chunks of events.

The result covers events, calls, times, errors and edges. Invariant: the answer equals that of `aggregate(graph,
labels).by_label()`, and the memory does not grow with the number of events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import Labels
from clew.graph.ops.aggregation.edges import CALL, EdgeColumns, joined
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]

_PART = 1 << 21
"""The number of events or edges processed at a time."""
_NEVER = np.iinfo(np.int64).max


class LabelSums(NamedTuple):
    """Sums by label code."""

    own: dict[str, I64]
    first_event: I64
    edges: EdgeColumns
    """Recorded edges and calls."""


def label_sums(graph: ExecutionGraph, labels: Labels, count: int) -> LabelSums:
    """Return the sums of labels with codes from 0 up to `count`, excluding `count`. Every event has one label."""
    own = {name: np.zeros(count, np.int64) for name in ("events", "calls", "self_ns", "errors")}
    first_ns, first_event = np.full(count, _NEVER), np.full(count, _NEVER)
    calls: list[EdgeColumns] = []
    for start in range(0, len(graph), _PART):
        rows = np.arange(start, min(start + _PART, len(graph)), dtype=np.int64)
        code, kind = labels.of(rows), graph.kind[rows]
        own["events"] += np.bincount(code, minlength=count)
        own["calls"] += np.bincount(code[kind == Kind.ENTER], minlength=count)
        own["errors"] += np.bincount(code[kind == Kind.UNWIND], minlength=count)
        _first(graph.ts[rows], rows, code, first_ns, first_event)
        running, length = _work(graph, labels, rows, code)
        own["self_ns"] += np.bincount(running, weights=length, minlength=count).astype(np.int64)
        calls.append(_call_edges(graph, labels, rows[kind == Kind.ENTER]))
    return LabelSums(own, first_event, joined([*calls, *_recorded(graph, labels)]))


def _first(ts: I64, rows: I64, code: I64, first_ns: I64, first_event: I64) -> None:
    before = first_ns.copy()
    np.minimum.at(first_ns, code, ts)
    sooner = (ts == first_ns[code]) & (ts < before[code])
    # Among equal times, the first row wins; rows ascend from chunk to chunk.
    first_event[code[sooner]] = _NEVER
    np.minimum.at(first_event, code[sooner], rows[sooner])


def _work(graph: ExecutionGraph, labels: Labels, rows: I64, code: I64) -> tuple[I64, I64]:
    """Return the gaps in which work was done: the label of the code that ran, and the length.

    A gap counts only if that label is adjacent to it in its region.
    """
    region = graph.region[rows]
    work = np.flatnonzero(~graph.idle[rows] & (graph.regions.last[region] != rows))
    at, own = rows[work], code[work]
    running = labels.running(at)
    inner = graph.inner[at].astype(np.int64)
    known = (running >= 0) & ((running == own) | (graph.region[np.maximum(inner, 0)] == region[work]))
    unknown = np.flatnonzero(~known & (running >= 0))
    if len(unknown):
        known[unknown] = labels.of(_adjacent(graph, at[unknown], 1)) == running[unknown]
    at, running = at[known], running[known]
    return running, graph.ts[at + 1] - graph.ts[at]


def _call_edges(graph: ExecutionGraph, labels: Labels, enters: I64) -> EdgeColumns:
    """Return an edge to each call from its caller in the same region, or else from the previous event in the region."""
    enters = enters[graph.regions.first[graph.region[enters]] != enters]
    caller = callers(graph, enters)
    alone = caller < 0
    caller[alone] = _adjacent(graph, enters[alone], -1)
    zeros = np.zeros(len(enters), np.int64)
    return EdgeColumns(labels.of(caller), labels.of(enters), zeros + CALL, zeros, zeros + 1, zeros).merged()


def callers(graph: ExecutionGraph, enters: I64) -> I64:
    """Return for each ENTER event the ENTER of the enclosing call in the same region, or -1 if there is none."""
    before = np.maximum(enters - 1, 0)
    inside = (enters > 0) & (graph.strand[before] == graph.strand[enters])
    around = np.where(inside, graph.inner[before], -1).astype(np.int64)
    same = graph.region[np.maximum(around, 0)] == graph.region[enters]
    return np.where((around >= 0) & same, around, -1)


def _adjacent(graph: ExecutionGraph, rows: I64, by: int) -> I64:
    """Return the next (1) or previous (-1) events in the same regions. These events must exist."""
    structure = graph.structure
    region, position = structure.locate(rows)
    return structure.rows_of(region, (position.astype(np.int64) + by).astype(np.uint32)).astype(np.int64)


def _recorded(graph: ExecutionGraph, labels: Labels) -> list[EdgeColumns]:
    found = []
    for start in range(0, len(graph.edge_src), _PART):
        part = slice(start, start + _PART)
        src, dst = graph.edge_src[part].astype(np.int64), graph.edge_dst[part].astype(np.int64)
        found.append(
            EdgeColumns(
                labels.of(src),
                labels.of(dst),
                graph.edge_kind[part].astype(np.int64),
                graph.edge_channel[part].astype(np.int64),
                np.ones(len(src), np.int64),
                graph.ts[dst] - graph.ts[src],
            ).merged()
        )
    return found
