"""Splits strands into regions: detached scopes minus the detached scopes nested in them.

Where a scope begins and ends:
- a strand's root region is its whole life;
- RECEIVE opens a scope that ends with the call around it (its EXIT included), or before the strand's next RECEIVE on the same
  channel. A RECEIVE in a call made from inside the scope does not end it, but nests: when that call is over, the scope goes on;
- SCOPE_BEGIN opens one up to its SCOPE_END, REQUEST one for the call around it;
- an opening event directly after its call's ENTER takes the ENTER into its scope; openings with nothing recorded between them
  share one scope, which then has several causes. Payloads, and what locks record (a get waits, and wakes a put), are nothing.
Invariant: every event gets the innermost scope that is open there, and that scope's rows ascend.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting
from clew.graph.kernel import _ingest as kernels
from clew.graph.model.edge_index import KEPT
from clew.graph.model.graph import ExecutionGraph, RegionKind, Regions
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]

_ACQUIRE, _ROOT = int(Kind.ACQUIRE), int(RegionKind.ROOT)
_BESIDE = frozenset({int(Kind.PAYLOAD), int(Kind.RELEASE), int(Kind.ACQUIRE)})


OPENING = frozenset({Kind.ENTER, Kind.RECEIVE, Kind.REQUEST, Kind.SCOPE_BEGIN}) | _BESIDE
ROOT_OPENING = frozenset({Kind.STEP_BEGIN, Kind.JOIN, Kind.RECEIVE, Kind.SCOPE_BEGIN})
"""What a strand records first, before its own work: a task its first step and what woke it, a process what started it."""


def opens(graph: ExecutionGraph, target: int) -> bool:
    """Does an edge to `target` tell what opened the event's region? Then only records of the opening lie before it."""
    return int(graph.kind[target]) != _ACQUIRE and target <= _opened_up_to(graph, int(graph.region[target]))


def _opened_up_to(graph: ExecutionGraph, region: int) -> int:
    """The last row of those that a region begins with and that belong to its opening; the row before it for none."""
    opened = graph.index.opened
    row = opened.get(region)
    if row is None:
        root = graph.regions.kind[region] == _ROOT
        kinds, last = ROOT_OPENING if root else OPENING, int(graph.regions.last[region])
        row = int(graph.regions.first[region]) - 1
        while row < last and int(graph.kind[row + 1]) in kinds:
            row += 1
        if len(opened) >= KEPT:
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
    """The region of every event, and the regions. `channel` is by extension; `strand_start` as in `nest`."""
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
