"""The numpy types of the structure plane's arrays and of its kernels' results; all are little-endian.

`csrc/plane.h`, `csrc/condense.h`, `csrc/gather*.h` and `csrc/path.h` define the same types in C. Invariant: every change of
`ARRAYS` increments `structure_plane.FORMAT`.
"""

from __future__ import annotations

import numpy as np

VERTEX = np.dtype([("first", "<i8"), ("last", "<i8"), ("events", "<i8"), ("label", "<u4"), ("region", "<u4")])
"""A connected segment of one label: its times and its number of events. `region` is its smallest region."""
ARC = np.dtype([("source", "<u4"), ("target", "<u4"), ("count", "<u4")])
"""All edges from one vertex to another."""
NODE = np.dtype(
    [
        *((name, "<i8") for name in ("self_ns", "total_ns", "waiting_ns")),
        *(
            (name, "<u4")
            for name in ("first_event", "last_event", "events", "calls", "errors", "strands", "label", "kinds")
        ),
        ("spare", "<u8"),
    ]
)
"""A node that events were condensed to; `clew.graph.ops.aggregation` documents the sums at `AggregateNode`."""
HAS_REQUEST, HAS_ENTER = 1, 2
"""The bits of a node's `kinds`: it has events of these kinds."""
EDGE = np.dtype(
    [*((name, "<u4") for name in ("source", "target", "kind", "channel")), ("count", "<i8"), ("latency", "<i8")]
)
"""All edges of one kind and channel from one node to another."""
STATE = np.dtype([("reach", "<u4"), ("covered", "<u4")])
"""The state of a region in a slice that can be continued. `reach` is the bound: forward 2³²-1 minus the position, backward the
position plus 1, 0 for none. The bound covers the places from `covered` on (backward: up to it)."""
MOVE = np.dtype([("region", "<u4"), ("low", "<u4"), ("high", "<u4")])
"""The positions `low` up to `high` of a region that a slice newly reached."""
RANGE = np.dtype([("low", "<u4"), ("high", "<u4")])
"""A range of places that are still to be followed."""
PIECE = np.dtype([(name, "<i8") for name in ("edge", "slack", "stretches", "rivals")])
"""A part of a critical path on one strand: the edge that it came by, the slack of its last event (-1: none), and its numbers of
segments and rivals."""
STRETCH = np.dtype([("low", "<i8"), ("stop", "<i8")])
"""A segment of rows: `range(low, stop)`."""
ARRAYS = {
    "start": np.dtype("<u4"),
    "end": np.dtype("<u4"),
    "out_first": np.dtype("<u4"),
    "in_first": np.dtype("<u4"),
    "out": np.dtype([("far", "<u4"), ("far_region", "<u4"), ("next", "<u4")]),
    "out_near": np.dtype("<u4"),
    "out_edge": np.dtype("<u4"),
    "into": np.dtype([("far", "<u4"), ("far_region", "<u4"), ("place", "<u4")]),
    "tree": np.dtype("<u8"),
    "follow": np.dtype("<u8"),
    "run_row": np.dtype("<u4"),
    "run_pos": np.dtype("<u4"),
    "by_row": np.dtype("<u4"),
}
"""The types of a plane's arrays by name."""
