"""Find what threads wait for and take while they serve another strand by a library's code alone.

A library such as aiosqlite gives each connection a thread, and sends it calls by a queue. While such a thread serves a call,
it acts for the strand that sent the call and awaits its outcome: what the thread waits for is what the strand waits for, and
what it takes is the strand's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.columns.records import Records
from clew.graph.ops.facts.columns.views import I64, Mask
from clew.records.format.event import Kind
from clew.records.format.facts import Wait


@dataclass(frozen=True)
class Asker:
    """The strand that a thread serves."""

    strand: int
    wait: int
    """The place of the WAIT for the outcome among these records."""


def askers(graph: ExecutionGraph, begins: Records[Wait], records: Records[Any], chosen: Mask) -> dict[int, Asker]:
    """Return the askers of those of the chosen records that threads wrote while they served one, by place."""
    is_thread = np.array([strand.kind == "thread" for strand in graph.strands], bool)
    places: I64 = np.flatnonzero(chosen & is_thread[records.strand]) if len(graph.strands) else np.zeros(0, np.int64)
    found = {}
    for place in places.tolist():
        asker = _asker(graph, begins, int(records.row[place]))
        if asker is not None:
            found[place] = asker
    return found


def _asker(graph: ExecutionGraph, begins: Records[Wait], row: int) -> Asker | None:
    region = graph.at("region", row)
    opener = int(graph.regions.opener[region])
    if opener < 0 or graph.at("kind", opener) != Kind.RECEIVE or graph.call_of(row) >= 0:
        return None
    edges, targets = graph.index.into(region)
    sends = graph.edge_src[edges[targets == opener]].tolist()
    if len(sends) != 1 or graph.at("strand", sends[0]) == graph.at("strand", row):
        return None
    strand = graph.at("strand", sends[0])
    wait = int(np.searchsorted(begins.row, sends[0], "right"))
    return Asker(strand, wait) if wait < len(begins) and int(begins.strand[wait]) == strand else None
