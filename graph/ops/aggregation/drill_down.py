"""Drill down into an aggregate graph whose boxes are opened one by one.

Each box is a container (`clew.graph.model.containment`). An opened box is replaced by the boxes inside it; all other
boxes stay unchanged. The leaves are the functions in each thread or task. Their statistics come from one pass over
the events, and the statistics of all other boxes are sums of them. Invariant: a box's values equal those that
`aggregate` computes for a label on exactly its events. Only its self time is the sum of the self times of its
functions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.model.containment import Path, container_levels, leaves_of
from clew.graph.model.graph import EdgeKindName, ExecutionGraph, edge_kind_name
from clew.graph.model.levels import Labels
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.aggregation.edges import CALL, NEXT, EdgeColumns
from clew.graph.ops.aggregation.waits import waits_of_calls
from clew.graph.ops.aggregation.whole_run import LabelSums, callers, label_sums
from clew.graph.ops.slicing.interval import Slice
from clew.records.errors import ClewError
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]

OWN = ("events", "calls", "self_ns", "errors")
"""Statistics of leaves; a box has their sums."""
TIMES = ("total_ns", "waiting_ns", "paused_ns")
"""Statistics of calls between leaves: durations, waits, and waits excluding suspensions that the callers share."""

BoxEdgeName = Literal[EdgeKindName, "call"]

_PART = 1 << 20
"""The number of calls processed at a time."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """Columns of leaves in the order of their first events, then of the calls between leaves, then of edges."""

    levels: tuple[str, ...]
    paths: list[Path]
    own: dict[str, I64]
    first_event: I64
    caller: I64
    """The caller of each call, -1 if no call in the same flow made it."""
    callee: I64
    times: dict[str, I64]
    edges: EdgeColumns
    """The edges, excluding those that only give the order of events."""
    channels: list[str]
    """The channel names, indexed by `edges.channel`."""
    counted: int = 0
    """Calls that were only counted. They are in no box because the thread that made them is unknown."""

    @cached_property
    def inside(self) -> dict[Path, list[Path]]:
        """Return the children of each container, in the order of first events."""
        found: dict[Path, dict[Path, None]] = {}
        for path in self.paths:
            for depth in range(len(path)):
                found.setdefault(path[:depth], {})[path[: depth + 1]] = None
        return {path: list(those) for path, those in found.items()}

    def sums(self, home: I64, count: int) -> dict[str, I64]:
        """Return the statistics of boxes. `home` holds the box number of each leaf, -1 for a leaf outside all boxes."""
        placed = home >= 0
        made = {name: _added(home[placed], column[placed], count) for name, column in self.own.items()}
        callee = home[self.callee]
        within = (self.caller >= 0) & (np.append(home, -1)[self.caller] == callee)
        enters, stays = (callee >= 0) & ~within, (callee >= 0) & within
        made["total_ns"] = _added(callee[enters], self.times["total_ns"][enters], count)
        made["waiting_ns"] = _added(callee[enters], self.times["waiting_ns"][enters], count)
        made["waiting_ns"] += _added(callee[stays], self.times["paused_ns"][stays], count)
        return made


@dataclass(frozen=True)
class Box:
    """A box, with the fields of an `AggregateNode`. Times are in nanoseconds."""

    path: Path
    level: str
    events: int
    calls: int
    self_ns: int
    total_ns: int
    waiting_ns: int
    errors: int
    inside: int
    """The number of boxes that opening it shows: 0 for a function."""
    first_event: int


@dataclass(frozen=True)
class BoxEdge:
    source: Path
    target: Path
    kind: BoxEdgeName
    channel: str
    count: int
    latency_ns: int
    """The sum over the edges; 0 for calls."""


@dataclass(frozen=True)
class Drilled:
    boxes: list[Box]
    """The visible boxes, in the order of their first events."""
    containers: list[Box]
    """The opened boxes, outer boxes first."""
    edges: list[BoxEdge]


def leaves(of: Slice | ExecutionGraph, strands: str) -> Leaves:
    """Return the leaves of a slice or a whole run. `strands` selects whether processes consist of threads or of
    tasks.
    """
    graph, cut = (of, None) if isinstance(of, ExecutionGraph) else (of.graph, of)
    levels = container_levels(graph, strands)
    paths, labels = leaves_of(graph, strands)
    found = label_sums(graph, labels, len(paths)) if cut is None else _of_slice(cut, labels, len(paths))
    there = np.flatnonzero(found.own["events"])
    order = there[np.lexsort((found.first_event[there], graph.ts[found.first_event[there]]))]
    number = np.full(len(paths), -1, np.int64)
    number[order] = np.arange(len(order))
    caller, callee, times = _calls(graph, cut, labels, number)
    edges = found.edges
    channels, channel = np.unique(edges.channel, return_inverse=True)
    return Leaves(
        levels=levels,
        paths=[paths[code] for code in order.tolist()],
        own={name: found.own[name][order] for name in OWN},
        first_event=found.first_event[order],
        caller=caller,
        callee=callee,
        times=times,
        edges=EdgeColumns(
            number[edges.source],
            number[edges.target],
            edges.kind,
            channel.astype(np.int64),
            edges.count,
            edges.latency,
        ),
        channels=[graph.strings[one] for one in channels.tolist()],
        # Calls that were only counted belong to no slice.
        counted=sum(graph.counted.values()) if cut is None else 0,
    )


def _of_slice(cut: Slice, labels: Labels, count: int) -> LabelSums:
    made = aggregate(cut, labels).by_label()
    own = {name: np.zeros(count, np.int64) for name in OWN}
    for name in OWN:
        own[name][made.codes] = made.sizes if name == "events" else made.sums[name]
    first = np.zeros(count, np.int64)
    first[made.codes] = made.detail.nodes["first_event"]
    edges, recorded = made.columns, np.flatnonzero(made.columns.kind != NEXT)
    columns = (
        made.codes[edges.source],
        made.codes[edges.target],
        edges.kind,
        edges.channel,
        edges.count,
        edges.latency,
    )
    return LabelSums(own, first, EdgeColumns(*(column[recorded] for column in columns)))


def _calls(graph: ExecutionGraph, cut: Slice | None, labels: Labels, number: I64) -> tuple[I64, I64, dict[str, I64]]:
    """Return callers, callees and times. A caller counts only if it is in the same flow and in the slice."""
    if cut is None:
        enters = graph.rows_of([Kind.ENTER])
    else:
        rows = cut.events()
        enters = rows[graph.kind[rows] == Kind.ENTER]
    size = max(len(number), 1)
    sums = {name: np.zeros(0, np.int64) for name in TIMES}
    pairs = np.zeros(0, np.int64)
    columns = graph.calls.total_ns, graph.calls.waiting_ns, waits_of_calls(graph)
    for start in range(0, len(enters), _PART):
        part = enters[start : start + _PART]
        around = callers(graph, part)
        if cut is not None:
            around[around >= 0] = np.where(cut.holds(around[around >= 0]), around[around >= 0], -1)
        caller = np.full(len(part), -1, np.int64)
        caller[around >= 0] = number[labels.of(around[around >= 0])]
        keys = np.concatenate((pairs, (caller + 1) * size + number[labels.of(part)]))
        call = np.searchsorted(graph.calls.enter, part)
        pairs, at = np.unique(keys, return_inverse=True)
        for name, column in zip(TIMES, columns, strict=True):
            sums[name] = _added(at, np.concatenate((sums[name], column[call])), len(pairs))
    return pairs // size - 1, pairs % size, sums


def drill(of: Leaves, level: str, opened: Collection[Path]) -> Drilled:
    """Return the boxes of a level, with each opened box replaced by the boxes inside it, recursively.

    If an opened box contains a single box, that box is opened as well unless it is a function. Raise `ClewError` for
    an unknown level. Entries of `opened` that are not containers are ignored.
    """
    if level not in of.levels:
        raise ClewError(f"unknown level {level!r}; levels: {', '.join(of.levels)}")
    top, deepest = of.levels.index(level) + 1, len(of.levels)
    gone = {path for path in opened if len(path) >= top}
    for path in sorted(gone, key=len):
        there = path
        while len(of.inside.get(there, ())) == 1 and len(there) + 1 < deepest:
            there = of.inside[there][0]
            gone.add(there)

    homes = []
    for path in of.paths:
        depth = top
        while depth < deepest and path[:depth] in gone:
            depth += 1
        homes.append(path[:depth])
    numbers = {path: number for number, path in enumerate(dict.fromkeys(homes))}
    home = np.array([numbers[path] for path in homes], np.int64)
    containers: list[Box] = []
    for depth in range(top, deepest):
        inner = {path[:depth] for path in numbers if len(path) > depth}
        order = {path: number for number, path in enumerate(sorted(inner))}
        within = np.array([order.get(path[:depth], -1) for path in of.paths], np.int64)
        containers += _boxes(of, list(order), within)
    return Drilled(_boxes(of, list(numbers), home), containers, _edges(of, list(numbers), home))


def _boxes(of: Leaves, paths: list[Path], home: I64) -> list[Box]:
    sums = of.sums(home, len(paths))
    first = np.full(len(paths), -1, np.int64)
    # Leaves are in the order of their first events, so the first leaf of a box has the box's first event.
    first[home[::-1][home[::-1] >= 0]] = of.first_event[::-1][home[::-1] >= 0]
    return [
        Box(
            path=path,
            level=of.levels[len(path) - 1],
            inside=len(of.inside.get(path, ())),
            first_event=int(first[number]),
            **{name: int(column[number]) for name, column in sums.items()},
        )
        for number, path in enumerate(paths)
    ]


def _edges(of: Leaves, paths: list[Path], home: I64) -> list[BoxEdge]:
    own = of.edges
    edges = EdgeColumns(home[own.source], home[own.target], own.kind, own.channel, own.count, own.latency).merged()
    columns = (edges.source, edges.target, edges.kind, edges.channel, edges.count, edges.latency)
    return [
        BoxEdge(paths[a], paths[b], _edge_name(kind), of.channels[channel] if kind < CALL else "", count, latency)
        for a, b, kind, channel, count, latency in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _edge_name(kind: int) -> BoxEdgeName:
    return "call" if kind == CALL else edge_kind_name(kind)


def _added(group: I64, value: npt.NDArray[np.int64], groups: int) -> I64:
    return np.bincount(group, weights=value, minlength=groups).astype(np.int64)
