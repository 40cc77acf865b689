"""Implement the structure plane in C (`csrc/`).

Numbers are 32 bits wide and unsigned unless said otherwise; results are bytes of such numbers. A *place* is
an edge's row in `out`; a *position* is an event's place region by region. `csrc/plane.h` describes the arrays.
"""

from collections.abc import Mapping
from typing import Any, final

import numpy.typing as npt

Buffer = npt.NDArray[Any] | bytes | bytearray | memoryview

def build(
    events: int, regions: int, run_row: Buffer, run_region: Buffer, src: Buffer, dst: Buffer, excluded: Buffer | None, /
) -> dict[str, bytes]:
    """Return the arrays of a plane. Runs are segments of rows of one region, by row; `excluded` has a byte per edge,
    1 for edges that no tree may hang on. Raises ValueError for an invalid graph,
    OverflowError for a graph that is too large."""

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
    """Of a graph of numbered nodes, entered at some: per node the one that every way from the entries passes last before it
    (2**32 - 1 for none), and the nodes that are reached, in reverse postorder. Raises ValueError for a node that is none."""

def checksum(data: Buffer, /) -> tuple[int, int]:
    """Return two sums that detect a change of the bytes."""

@final
class Plane:
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
        """What is reached, as ranges of positions, and how many edges were followed. Forward a range ends with a region, and
        all regions in it but the first are in it whole; backward each is in one region and begins with it. `allowed` and
        `crosses` have a byte by edge number, `allowed` None for the edges that were not `excluded`; limits are -1 for none."""

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
        """Goes on with a slice that the caller keeps: `state` is two numbers per region (layout.STATE), which are changed;
        `pending` what the last call left to be followed (layout.RANGE). After at most so many rounds (-1: when nothing is left)
        gives the positions that are new in the slice (layout.MOVE), what is pending, and how many edges were followed."""

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
        """What events tell of the nodes they are condensed to: the node of each, the nodes (layout.NODE) and the edges between
        them (layout.EDGE). `rows` and the numbers of `edges` (64 bits, ascending) are a slice's, None for all of the graph;
        `nodes` gives the node per row where it is known. `csrc/py_gather.h` names the columns. Raises ValueError, naming
        the column, for what is not of this graph."""

    def path(
        self, forward: bool, event: int, since: int, columns: Mapping[str, Buffer], /
    ) -> tuple[bytes, bytes, bytes]:
        """The walk back along a critical path, the latest first: its pieces (layout.PIECE), their stretches of rows
        (layout.STRETCH) and rivals (rows, 64 bits). It goes on to nothing before the time `since`. `csrc/py_path.h` names the
        columns. Raises IndexError for an event, ValueError, naming the column, for what is not of this graph."""

    def level(self, labels: Buffer, ts: Buffer, /) -> Level:
        """For forward slices that are condensed at once. Times must ascend in regions and along edges."""

@final
class Level:
    def condense(self, row: int, /) -> tuple[bytes, bytes] | None:
        """Vertices and arcs of the forward slice from a row along all edges but excluded ones; None when it has to be asked
        of the plane, as edges lead back to the row."""

    def size(self) -> int:
        """Return the bytes in memory, including the buffers of one query."""
