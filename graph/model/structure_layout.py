"""The structure plane's arrays and what condensing gives, as numpy types; all are little-endian.

`csrc/plane.h`, `csrc/condense.h`, `csrc/gather*.h` and `csrc/path.h` are the same in C. Invariant: a change of `ARRAYS` is
one of `structure.FORMAT`.
"""

from __future__ import annotations

import numpy as np

VERTEX = np.dtype([("first", "<i8"), ("last", "<i8"), ("events", "<i8"), ("label", "<u4"), ("region", "<u4")])
"""A connected stretch of one label: its times and events; `region` is the smallest one in it."""
ARC = np.dtype([("source", "<u4"), ("target", "<u4"), ("count", "<u4")])
"""The edges from one vertex to another."""
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
"""What events tell of a node that they were condensed to; `ops.aggregate.AggregateNode` says what its sums mean."""
HAS_REQUEST, HAS_ENTER = 1, 2
"""Bits of its `kinds`: events of these kinds are in it."""
EDGE = np.dtype(
    [*((name, "<u4") for name in ("source", "target", "kind", "channel")), ("count", "<i8"), ("latency", "<i8")]
)
"""The edges of one kind and channel from one node to another."""
STATE = np.dtype([("reach", "<u4"), ("covered", "<u4")])
"""Of a region in a slice that is gone on with: its bound (forward 2³²-1 less the position, backward one more than it, 0: none)
and the place that the bound covers from (backward: up to)."""
MOVE = np.dtype([("region", "<u4"), ("low", "<u4"), ("high", "<u4")])
"""Positions `low` up to `high` of a region, which came into a slice."""
RANGE = np.dtype([("low", "<u4"), ("high", "<u4")])
"""Places yet to be followed."""
PIECE = np.dtype([(name, "<i8") for name in ("edge", "slack", "stretches", "rivals")])
"""A critical path on one strand: the edge it came by, how much its last event came too late (-1: none), and how many stretches
and rivals are its own."""
STRETCH = np.dtype([("low", "<i8"), ("stop", "<i8")])
"""Rows `low` up to `stop`."""
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
"""The arrays of a plane."""
