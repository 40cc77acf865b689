"""Splits strands into regions: detached scopes minus the detached scopes nested in them.

The rules for the begin and end of scopes:
- A strand's root region is its whole life.
- RECEIVE opens a scope that ends with the call around it (including the EXIT), or before the strand's next RECEIVE on the same
  channel. A RECEIVE in a call made inside the scope does not end it but nests; the scope continues after that call.
- SCOPE_BEGIN opens a scope that lasts until its SCOPE_END, and REQUEST one for the call around it.
- An opening event directly after its call's ENTER includes the ENTER in its scope. Openings without another record between them
  share one scope, which then has several causes. Payloads, facts and lock records (a get waits, and wakes a put) do not count.
Invariant: every event belongs to the innermost scope that is open at it, and the rows of a scope ascend.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting
from clew.graph.kernel import _ingest as kernels
from clew.graph.model.edge_index import MAX_CACHED
from clew.graph.model.graph import ExecutionGraph, RegionKind, Regions
from clew.records.format.event import FACTS, Kind

I64 = npt.NDArray[np.int64]

_ACQUIRE, _ROOT = int(Kind.ACQUIRE), int(RegionKind.ROOT)
_IGNORED = frozenset({int(Kind.PAYLOAD), int(Kind.RELEASE), int(Kind.ACQUIRE), *map(int, FACTS)})


OPENING = frozenset({Kind.ENTER, Kind.RECEIVE, Kind.REQUEST, Kind.SCOPE_BEGIN}) | _IGNORED
ROOT_OPENING = frozenset({Kind.STEP_BEGIN, Kind.JOIN, Kind.RECEIVE, Kind.SCOPE_BEGIN}) | FACTS
"""The kinds that a strand records before its own work: a task its first step and its wake-up, a process its start."""


def opens(graph: ExecutionGraph, target: int) -> bool:
    """Return whether an edge to `target` is a cause of its region. Then only records of the opening are before `target`."""
    return int(graph.kind[target]) != _ACQUIRE and target <= _opened_up_to(graph, int(graph.region[target]))


def _opened_up_to(graph: ExecutionGraph, region: int) -> int:
    """Return the last row of a region's opening records, or the row before the region if it has none."""
    opened = graph.index.opened
    row = opened.get(region)
    if row is None:
        root = graph.regions.kind[region] == _ROOT
        kinds, last = ROOT_OPENING if root else OPENING, int(graph.regions.last[region])
        row = int(graph.regions.first[region]) - 1
        while row < last and int(graph.kind[row + 1]) in kinds:
            row += 1
        if len(opened) >= MAX_CACHED:
            opened.clear()
        opened[region] = row
    return row


def split(
    kind: npt.NDArray[np.uint8],
    ext: npt.NDArray[np.int32],
    channel: npt.NDArray[np.uint32],
    nesting: Nesting,
    strand_start: I64,
) -> tuple[npt.NDArray[np.uint32], Regions]:
    """Return the region of every event, and the regions. `channel` is by extension; `strand_start` is as in `nest`."""
    region = np.empty(len(kind), np.uint32)
    call, enter, exits, caller = (
        np.ascontiguousarray(column) for column in (nesting.call, nesting.enter, nesting.exit, nesting.caller)
    )
    columns = kernels.split(
        (RegionKind.ROOT, RegionKind.RECEIVE, RegionKind.SCOPE, RegionKind.REQUEST), np.ascontiguousarray(kind),
        np.ascontiguousarray(ext), np.ascontiguousarray(channel), call.dtype == np.int64, call, enter, exits, caller,
        np.ascontiguousarray(strand_start, np.int64), region,
    )  # fmt: skip
    types = (np.uint32, np.uint8, np.int64, np.int64, np.int64, np.int64)
    strand, of, opener, first, last, parent = map(np.frombuffer, columns, types)
    return region, Regions(strand, of, opener, first, last, parent)
