"""An aggregate graph whose boxes are opened one by one: each box is a container (`clew.graph.containers`), an opened one gives
way to those in it, and all others stay as they are.

The figures of the leaves, the functions in each thread or task, are found in one look at the events; those of all other
boxes are sums of them. Invariant: what is told of a box is what `aggregate` tells of a label that just its events have;
only its self time is the sum of that of its functions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.containers import Path, container_levels, leaves_of
from clew.graph.levels import Labels
from clew.graph.model import EdgeKindName, ExecutionGraph, edge_kind_name
from clew.graph.ops.aggregate import aggregate
from clew.graph.ops.aggregate_edges import CALL, NEXT, EdgeColumns
from clew.graph.ops.condensing import waits_of_calls
from clew.graph.ops.leaf_sums import LabelSums, callers, label_sums
from clew.graph.ops.slice import Slice
from clew.records.errors import ClewError
from clew.records.event import Kind

I64 = npt.NDArray[np.int64]

OWN = ("events", "calls", "self_ns", "errors")
"""Figures of leaves, of which a box has the sums."""
TIMES = ("total_ns", "waiting_ns", "paused_ns")
"""Figures of calls between leaves: durations, waits, and waits without the suspensions that their callers share."""

BoxEdgeName = Literal[EdgeKindName, "call"]

_PART = 1 << 20
"""Calls that are looked at at a time."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """Columns of leaves, in the order of their first events; then of the calls from leaf to leaf, and of edges."""

    levels: tuple[str, ...]
    paths: list[Path]
    own: dict[str, I64]
    first_event: I64
    caller: I64
    """-1 for calls that none made in the same flow."""
    callee: I64
    times: dict[str, I64]
    edges: EdgeColumns
    """Without those that only say what came next."""
    channels: list[str]
    """By the numbers in `edges.channel`."""
    counted: int = 0
    """Calls that were only counted, and are in no box: nothing tells which thread they were made in."""

    @cached_property
    def inside(self) -> dict[Path, list[Path]]:
        """What is in each container, in the order of first events."""
        found: dict[Path, dict[Path, None]] = {}
        for path in self.paths:
            for depth in range(len(path)):
                found.setdefault(path[:depth], {})[path[: depth + 1]] = None
        return {path: list(those) for path, those in found.items()}

    def sums(self, home: I64, count: int) -> dict[str, I64]:
        """The figures of boxes: `home` has the number of each leaf's box, -1 where it is in none."""
        kept = home >= 0
        made = {name: _added(home[kept], column[kept], count) for name, column in self.own.items()}
        callee = home[self.callee]
        within = (self.caller >= 0) & (np.append(home, -1)[self.caller] == callee)
        enters, stays = (callee >= 0) & ~within, (callee >= 0) & within
        made["total_ns"] = _added(callee[enters], self.times["total_ns"][enters], count)
        made["waiting_ns"] = _added(callee[enters], self.times["waiting_ns"][enters], count)
        made["waiting_ns"] += _added(callee[stays], self.times["paused_ns"][stays], count)
        return made


@dataclass(frozen=True)
class Box:
    """Times in nanoseconds; as of an `AggregateNode`."""

    path: Path
    level: str
    events: int
    calls: int
    self_ns: int
    total_ns: int
    waiting_ns: int
    errors: int
    inside: int
    """How many boxes opening it shows: 0 for a function."""
    first_event: int


@dataclass(frozen=True)
class BoxEdge:
    source: Path
    target: Path
    kind: BoxEdgeName
    channel: str
    count: int
    latency_ns: int
    """Sum over the edges; 0 for calls."""


@dataclass(frozen=True)
class Drilled:
    boxes: list[Box]
    """In the order of their first events."""
    containers: list[Box]
    """Those that are opened, outer ones first."""
    edges: list[BoxEdge]


def leaves(of: Slice | ExecutionGraph, strands: str) -> Leaves:
    """Of a slice or a whole run, with processes made of threads or of tasks."""
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
        # What was only counted is in no slice.
        counted=sum(graph.counted.values()) if cut is None else 0,
    )


def _of_slice(cut: Slice, labels: Labels, count: int) -> LabelSums:
    made = aggregate(cut, labels).by_label()
    own = {name: np.zeros(count, np.int64) for name in OWN}
    for name in OWN:
        own[name][made.codes] = made.sizes if name == "events" else made.sums[name]
    first = np.zeros(count, np.int64)
    first[made.codes] = made.detail.nodes["first_event"]
    edges, told = made.columns, np.flatnonzero(made.columns.kind != NEXT)
    columns = (
        made.codes[edges.source],
        made.codes[edges.target],
        edges.kind,
        edges.channel,
        edges.count,
        edges.latency,
    )
    return LabelSums(own, first, EdgeColumns(*(column[told] for column in columns)))


def _calls(graph: ExecutionGraph, cut: Slice | None, labels: Labels, number: I64) -> tuple[I64, I64, dict[str, I64]]:
    """Callers, callees and times. A caller is one in the same flow, and in the slice."""
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
    """The boxes of a level, but for those that are opened: they give way to those in them, as far as those are not opened, too.
    Where there is only one in an opened box, it is opened as well, unless it is a function.

    Raises `ClewError` for a level that there is not. What is opened and is no container is ignored.
    """
    if level not in of.levels:
        raise ClewError(f"there is no level {level!r} here; levels: {', '.join(of.levels)}")
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
    # Leaves are in the order of their first events: the first one of a box has the box's.
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
