"""Implement the structure plane in C (`csrc/`).

Numbers are unsigned and have 32 bits unless another width is given; results are bytes of such numbers. A *place* is
an edge's row in `out`; a *position* is an event's index in the order by region. `csrc/structure/plane.h` describes the arrays.
"""

from collections.abc import Mapping
from typing import Any, final

import numpy.typing as npt

Buffer = npt.NDArray[Any] | bytes | bytearray | memoryview

def build(
    events: int, regions: int, run_row: Buffer, run_region: Buffer, src: Buffer, dst: Buffer, excluded: Buffer | None, /
) -> dict[str, bytes]:
    """Return the arrays of a plane.

    Runs are segments of rows of one region, by row. `excluded` has a byte for each edge, 1 for an edge that must not be a tree
    edge. Raises ValueError for an invalid graph, and OverflowError for a graph that is too large.
    """

def times_ascend(
    events: int,
    regions: int,
    run_row: Buffer,
    run_region: Buffer,
    src: Buffer,
    dst: Buffer,
    excluded: Buffer | None,
    ts: Buffer,
    /,
) -> tuple[bool, bool]:
    """Return whether times (64 bits, signed, by row) never decrease inside a region, and whether they never decrease
    along an edge."""

def dominators(nodes: int, source: Buffer, target: Buffer, entries: Buffer, /) -> tuple[bytes, bytes]:
    """Return the immediate dominator of each node (2**32 - 1 for none), and the reached nodes in reverse postorder.

    The nodes of the graph are numbered, and `entries` are its entry nodes. Raises ValueError for an invalid node.
    """

def checksum(data: Buffer, /) -> tuple[int, int]:
    """Return two sums that detect a change of the bytes."""

@final
class Plane:
    """The loaded arrays of a plane, and the queries on them."""

    def __init__(self, arrays: Mapping[str, Buffer], /) -> None:
        """Load the arrays that `build` returns. Raises ValueError, naming the array, if an array is invalid."""

    def locate(self, rows: Buffer, /) -> tuple[bytes, bytes]:
        """Return the regions and positions of rows (64 bits). Raises IndexError."""

    def rows_of(self, regions: Buffer, positions: Buffer, /) -> bytes:
        """Return the rows of positions; the inverse of `locate`."""

    def owners(self, bounds: Buffer, /) -> bytes:
        """Return for each region the i for which its first row is at or after bounds[i] (64 bits) and before bounds[i + 1]."""

    def slice(
        self,
        forward: bool,
        regions: Buffer,
        positions: Buffer,
        allowed: Buffer | None,
        crosses: Buffer | None,
        max_hops: int,
        max_network_hops: int,
        /,
    ) -> tuple[bytes, bytes, int]:
        """Return the reached positions as ranges, and the number of followed edges.

        A forward range ends at the end of a region, and contains all of its regions completely except the first. A backward
        range is in one region and begins at its beginning. `allowed` and `crosses` have a byte for each edge number;
        `allowed` is None for all edges that were not `excluded`. Limits are -1 for none.
        """

    def resume(
        self,
        forward: bool,
        state: Buffer,
        pending: Buffer,
        regions: Buffer,
        positions: Buffer,
        allowed: Buffer | None,
        rounds: int,
        /,
    ) -> tuple[bytes, bytes, int]:
        """Continue a slice whose state the caller keeps.

        `state` has two numbers for each region (layout.STATE) and is updated. `pending` has the ranges that the last call did
        not follow (layout.RANGE). The call ends after `rounds` rounds (-1: when nothing is pending). Return the positions that
        are new in the slice (layout.MOVE), the pending ranges, and the number of followed edges.
        """

    def rows(self, lows: Buffer, highs: Buffer, /) -> bytes:
        """Return the rows (64 bits) of ranges of positions, ascending."""

    def condense(
        self,
        forward: bool,
        lows: Buffer,
        highs: Buffer,
        allowed: Buffer | None,
        labels: Buffer,
        ts: Buffer,
        /,
    ) -> tuple[bytes, bytes, bytes]:
        """Return the vertices, the arcs between them, and the vertex of each region of a slice, in the order of its
        ranges. `labels` is by region of the plane."""

    def gather(
        self, rows: Buffer | None, edges: Buffer | None, nodes: Buffer | None, columns: Mapping[str, Buffer], /
    ) -> tuple[bytes, bytes, bytes]:
        """Condense events to nodes; return the node of each event, the nodes (layout.NODE) and their edges (layout.EDGE).

        `rows` and `edges` (64 bits, ascending) are the events and edges of a slice, None for the whole graph. `nodes` gives the
        node of each row if it is known. `python/structure/python/py_gather.c` lists the columns. Raises ValueError with the
        column's name if a column does not fit this graph.
        """

    def path(
        self, forward: bool, event: int, since: int, columns: Mapping[str, Buffer], /
    ) -> tuple[bytes, bytes, bytes]:
        """Walk back along a critical path; return its pieces (layout.PIECE), their row ranges (layout.STRETCH) and rivals.

        The order is latest first; rivals are rows of 64 bits. The walk does not continue to events before the time `since`.
        `python/structure/python/py_path.c` lists the columns. Raises IndexError for an invalid event, and ValueError with the
        column's name if a column does not fit this graph.
        """

    def level(self, labels: Buffer, ts: Buffer, /) -> Level:
        """Return a level, which condenses forward slices directly. Times must not decrease in regions and along edges."""

@final
class Level:
    """The labels and times of a plane, prepared to condense many forward slices."""

    def condense(self, row: int, /) -> tuple[bytes, bytes] | None:
        """Return the vertices and arcs of the forward slice from a row along all edges that are not excluded.

        Return None if edges lead back to the row; then use the plane.
        """

    def size(self) -> int:
        """Return the bytes in memory, including the buffers of one query."""
