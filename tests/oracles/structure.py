"""Reference implementation of the structure plane's C kernel in numpy.

Invariant: the results have the same bytes as those of `_structure`, whose stub documents the functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import components, expand
from clew.graph.model.structure_layout import ARC, ARRAYS, MOVE, RANGE, STATE, VERTEX
from tests.oracles.dominators import dominators
from tests.oracles.slicing import Search

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]
Buffer = Any
__all__ = ["Level", "Plane", "build", "checksum", "dominators", "times_ascend"]
LARGEST = (1 << 32) - 2
_NONE = (1 << 32) - 1


def _numbers(data: Buffer, dtype: Any = np.uint32) -> npt.NDArray[Any]:
    return np.frombuffer(data, dtype) if memoryview(data) else np.zeros(0, dtype)


def _words(bits: Mask) -> npt.NDArray[np.uint64]:
    """Return bits as a bitmap of 64-bit words."""
    packed = np.packbits(bits, bitorder="little")
    return np.concatenate((packed, np.zeros(-len(packed) % 8, np.uint8))).view(np.uint64)


def _bits(words: Buffer, count: int) -> Mask:
    """Return the bits of a bitmap of `_words`."""
    return np.unpackbits(_numbers(words, np.uint8), count=count, bitorder="little").astype(bool)


class _Runs:
    """The checked runs of a graph that is being built."""

    def __init__(self, events: int, regions: int, run_row: Buffer, run_region: Buffer) -> None:
        if max(events, regions) > LARGEST:
            raise OverflowError("a graph has at most 4,294,967,294 events, regions and edges")
        self.row, self.region = _numbers(run_row).astype(np.int64), _numbers(run_region).astype(np.int64)
        self.events = events
        self.length = np.diff(np.append(self.row, events))
        if (len(self.row) == 0) != (events == 0) or (len(self.row) and (self.row[0] or self.length.min() <= 0)):
            raise ValueError("run_row: not of this graph")
        if len(self.region) and self.region.max() >= regions:
            raise ValueError("run_region: not of this graph")
        order = np.argsort(self.region, kind="stable")
        before = np.cumsum(self.length[order]) - self.length[order]
        new = np.diff(self.region[order], prepend=-1) != 0
        self.offset = np.empty(len(self.row), np.int64)
        self.offset[order] = before - np.maximum.accumulate(np.where(new, before, 0))
        self.size = np.bincount(self.region, weights=self.length, minlength=regions).astype(np.int64)

    def of(self, rows: I64) -> tuple[I64, I64]:
        """Return the regions of rows, and the offsets in them."""
        if len(rows) and not (rows.min() >= 0 and rows.max() < self.events):
            raise ValueError("edges: not of this graph")
        run = np.searchsorted(self.row, rows, "right") - 1
        return self.region[run], self.offset[run] + rows - self.row[run]


def _preorder(size: I64, parent: I64, first: I64, order: I64, src: I64, dst: I64) -> tuple[I64, I64]:
    """Return the regions with events in preorder, and the end of each subtree. Cut each circle of `parent` once."""
    found: list[int] = []
    done = np.zeros(len(size), bool)

    def walk(root: int) -> None:
        stack = [root]
        while stack:
            region = stack.pop()
            done[region] = True
            found.append(region)
            edges = order[first[region] : first[region + 1]][::-1]
            stack.extend(dst[edges[parent[dst[edges]] == edges]].tolist())

    for region in np.flatnonzero((size > 0) & (parent < 0)).tolist():
        walk(region)
    for region in np.flatnonzero(size > 0).tolist():
        if not done[region]:
            # Regions below a circle stay below it; the circle is cut once.
            passed: set[int] = set()
            root = region
            while root not in passed:
                passed.add(root)
                root = int(src[parent[root]])
            parent[root] = -1
            walk(root)
    rank = {region: place for place, region in enumerate(found)}
    below = [1] * len(found)
    for place in range(len(found) - 1, -1, -1):
        edge = int(parent[found[place]])
        if edge >= 0:
            below[rank[int(src[edge])]] += below[place]
    return np.array(found, np.int64), np.arange(len(found)) + np.array(below, np.int64)


def build(
    events: int, regions: int, run_row: Buffer, run_region: Buffer, src: Buffer, dst: Buffer, excluded: Buffer | None
) -> dict[str, bytes]:
    runs = _Runs(events, regions, run_row, run_region)
    edges = len(_numbers(src))
    src_region, src_offset = runs.of(_numbers(src).astype(np.int64))
    dst_region, dst_offset = runs.of(_numbers(dst).astype(np.int64))
    counts = np.ones(edges, bool) if excluded is None else _numbers(excluded, np.uint8) == 0
    order = np.lexsort((src_offset, src_region))
    first = np.searchsorted(src_region[order], np.arange(regions + 1))
    # A region's parent edge is its only counted in-edge, if that enters at the first event from another region.
    into = np.bincount(dst_region[counts], minlength=regions)
    hangs = counts & (dst_offset == 0) & (src_region != dst_region) & (into[dst_region] == 1)
    parent = np.full(regions, -1)
    parent[dst_region[hangs]] = np.flatnonzero(hangs)
    found, end = _preorder(runs.size, parent, first, order, src_region, dst_region)
    rank = np.full(regions, -1)
    rank[found] = np.arange(len(found))
    start = np.concatenate(([0], np.cumsum(runs.size[found])))

    edge = order[np.argsort(rank[src_region[order]], kind="stable")]
    near_region = rank[src_region[edge]]
    near = start[near_region] + src_offset[edge]
    far_region = rank[dst_region[edge]]
    far = start[far_region] + dst_offset[edge]
    out = np.zeros(edges, ARRAYS["out"])
    # Positions ascend with regions, so near ends ascend over all places.
    out["far"], out["far_region"], out["next"] = far, far_region, np.searchsorted(near, far)
    tree = parent[dst_region[edge]] == edge
    back = np.lexsort((np.arange(edges), far))
    into_ = np.zeros(edges, ARRAYS["into"])
    into_["far"], into_["far_region"], into_["place"] = near[back], near_region[back], back
    by_place = np.argsort(rank[runs.region], kind="stable")
    by_row = np.argsort(by_place, kind="stable")
    position = (start[rank[runs.region]] + runs.offset)[by_place]
    bounds = np.arange(len(found) + 1)
    arrays = {
        "start": start,
        "end": end,
        "out_first": np.searchsorted(near_region, bounds),
        "in_first": np.searchsorted(far_region[back], bounds),
        "out": out,
        "out_near": near,
        "out_edge": edge,
        "into": into_,
        "tree": _words(tree),
        "follow": _words(~tree & counts[edge]),
        "run_row": runs.row[by_place],
        "run_pos": position if len(position) > len(found) else [],
        "by_row": by_row,
    }
    return {name: np.asarray(array).astype(ARRAYS[name]).tobytes() for name, array in arrays.items()}


def times_ascend(
    events: int,
    regions: int,
    run_row: Buffer,
    run_region: Buffer,
    src: Buffer,
    dst: Buffer,
    excluded: Buffer | None,
    ts: Buffer,
) -> tuple[bool, bool]:
    runs, times = _Runs(events, regions, run_row, run_region), _numbers(ts, np.int64)
    order = np.argsort(np.repeat(runs.region, runs.length), kind="stable")
    same = np.repeat(runs.region, runs.length)[order]
    steady = bool(np.all((np.diff(times[order]) >= 0) | (np.diff(same) != 0)))
    a, b = _numbers(src).astype(np.int64), _numbers(dst).astype(np.int64)
    runs.of(a), runs.of(b)
    counts = np.ones(len(a), bool) if excluded is None else _numbers(excluded, np.uint8) == 0
    return steady, bool(np.all(times[a[counts]] <= times[b[counts]]))


def checksum(data: Buffer) -> tuple[int, int]:
    flat = np.frombuffer(data, np.uint8) if memoryview(data).nbytes else np.zeros(0, np.uint8)
    total = sums = 0
    for begin in range(0, len(flat), 1 << 23):
        part = flat[begin : begin + (1 << 23)]
        words = np.concatenate((part, np.zeros(-len(part) % 8, np.uint8))).view(np.uint64)
        partial = np.cumsum(words, dtype=np.uint64)
        sums += total * len(words) + int(partial.sum(dtype=np.uint64))
        total += int(partial[-1])
    return total & (1 << 64) - 1, sums & (1 << 64) - 1


class Plane:
    def __init__(self, arrays: Mapping[str, Buffer]) -> None:
        for name, dtype in ARRAYS.items():
            # Accept any buffer as bytes.
            flat = np.frombuffer(arrays[name], np.uint8) if memoryview(arrays[name]).nbytes else np.zeros(0, np.uint8)
            if len(flat) % dtype.itemsize:
                raise ValueError(f"{name}: {len(flat)} bytes, which is no number of items")
            setattr(self, f"_{name}", flat.view(dtype))
        self._check_lengths()
        self.start: I64 = self._of("start").astype(np.int64)
        self.out_first: I64 = self._of("out_first").astype(np.int64)
        self.in_first: I64 = self._of("in_first").astype(np.int64)
        self.near: I64 = self._of("out_near").astype(np.int64)
        self.far: I64 = self._of("out")["far"].astype(np.int64)
        self.far_region: I64 = self._of("out")["far_region"].astype(np.int64)
        self.next: I64 = self._of("out")["next"].astype(np.int64)
        self.place: I64 = self._of("into")["place"].astype(np.int64)
        self.run_row: I64 = self._of("run_row").astype(np.int64)
        self.run_pos: I64 = (self._of("run_pos") if len(self._of("run_pos")) else self.start[:-1]).astype(np.int64)
        self.by_row: I64 = self._of("by_row").astype(np.int64)
        self.regions, self.edges, self.events = len(self.start) - 1, len(self.near), int(self.start[-1])
        self._check()
        self.near_region = np.repeat(np.arange(self.regions), np.diff(self.out_first))

    def _of(self, name: str) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = getattr(self, f"_{name}")
        return array

    def _check_lengths(self) -> None:
        regions, edges, runs = len(self._of("end")), len(self._of("out_near")), len(self._of("run_row"))
        positions = len(self._of("run_pos"))
        expected = {
            "start": regions + 1,
            "out_first": regions + 1,
            "in_first": regions + 1,
            "out": edges,
            "out_edge": edges,
            "into": edges,
            "tree": (edges + 63) // 64,
            "follow": (edges + 63) // 64,
            "run_pos": runs if positions else 0,
            "by_row": runs,
        }
        for name, length in expected.items():
            if len(self._of(name)) != length:
                raise ValueError(f"{name}: {len(self._of(name))} items where {length} are needed")
        if not positions and runs != regions:
            raise ValueError("run_pos: it is not there, and there are more runs than regions")

    def _check(self) -> None:
        """Check the arrays as `plane_check` does in C."""
        regions, edges, runs, events = self.regions, self.edges, len(self.run_row), self.events
        end, into = self._of("end").astype(np.int64), self._of("into")
        for name, values, last in (
            ("start", self.start, events),
            ("out_first", self.out_first, edges),
            ("in_first", self.in_first, edges),
        ):
            _require(name, values[0] == 0 and values[-1] == last and bool(np.all(np.diff(values) >= 0)))
        _require("run_row", (events > 0) == (regions > 0) == (runs > 0) and runs >= regions)
        _require("start", np.all(np.diff(self.start) > 0))
        _require("end", np.all((end > np.arange(regions)) & (end <= regions)))
        length = np.diff(np.append(self.run_pos, events))
        _require("run_pos", not runs or (self.run_pos[0] == 0 and length.min() > 0))
        _require("by_row", np.all(self.by_row < runs))
        _require(
            "run_row", np.array_equal(self.run_row[self.by_row], np.cumsum(length[self.by_row]) - length[self.by_row])
        )
        _require("run_row", int(length[self.by_row].sum()) == events)
        near_region = np.repeat(np.arange(regions), np.diff(self.out_first))
        _require("out_near", np.array_equal(np.searchsorted(self.start, self.near, "right") - 1, near_region))
        _require("out_near", np.all(np.diff(self.near) >= 0))
        _require("out", np.all(self._of("out_edge") < edges) and np.all(self.far_region < regions))
        _require("out", np.array_equal(np.searchsorted(self.start, self.far, "right") - 1, self.far_region))
        _require("out", np.array_equal(np.searchsorted(self.near, self.far), self.next))
        tree, follow = _bits(self._of("tree"), edges), _bits(self._of("follow"), edges)
        below = (near_region < self.far_region) & (self.far_region < end[near_region])
        _require("tree", not np.any(tree & (follow | (self.far != self.start[self.far_region]) | ~below)))
        _require("into", np.all(self.place < edges) and np.all(into["far_region"] < regions))
        _require("into", np.array_equal(self.near[self.place], into["far"]))
        _require("into", np.array_equal(near_region[self.place], into["far_region"]))
        region = np.repeat(np.arange(regions), np.diff(self.in_first))
        _require("into", np.array_equal(self.far_region[self.place], region))
        _require("into", np.all(np.diff(self.far[self.place]) >= 0))

    def locate(self, rows: Buffer) -> tuple[bytes, bytes]:
        row = _numbers(rows, np.int64)
        if len(row) and not (row.min() >= 0 and row.max() < self.events):
            raise IndexError("rows: no such event")
        run = self.by_row[np.searchsorted(self.run_row[self.by_row], row, "right") - 1]
        position = self.run_pos[run] + row - self.run_row[run]
        return self._region(position).astype(np.uint32).tobytes(), position.astype(np.uint32).tobytes()

    def _mask(self, given: Buffer | None) -> Mask | None:
        """Return, by place, truth values that are given by edge number."""
        if given is None:
            return None
        mask: Mask = _numbers(given, np.uint8)[self._of("out_edge")] != 0
        return mask

    def _allowed(self, allowed: Buffer | None) -> Mask:
        given = self._mask(allowed)
        if given is None:
            tree, follow = _bits(self._of("tree"), self.edges), _bits(self._of("follow"), self.edges)
            given = tree | follow
        return given

    def _region(self, positions: I64) -> I64:
        return np.searchsorted(self.start, positions, "right") - 1

    def _row(self, positions: I64) -> I64:
        run = np.searchsorted(self.run_pos, positions, "right") - 1
        row: I64 = self.run_row[run] + positions - self.run_pos[run]
        return row

    def _pairs(self, regions: Buffer, positions: Buffer) -> tuple[I64, I64]:
        region, position = _numbers(regions).astype(np.int64), _numbers(positions).astype(np.int64)
        if len(region) != len(position) or (len(position) and position.max() >= self.events):
            raise ValueError("positions: not in these regions")
        if not np.array_equal(self._region(position), region):
            raise ValueError("positions: not in these regions")
        return region, position

    def rows_of(self, regions: Buffer, positions: Buffer) -> bytes:
        return self._row(self._pairs(regions, positions)[1]).tobytes()

    def owners(self, bounds: Buffer) -> bytes:
        starts = _numbers(bounds, np.int64)
        owner = np.searchsorted(starts[:-1], self._row(self.start[:-1]), "right") - 1
        return owner.astype(np.uint32).tobytes()

    def slice(
        self,
        forward: bool,
        regions: Buffer,
        positions: Buffer,
        allowed: Buffer | None,
        crosses: Buffer | None,
        max_hops: int,
        max_network_hops: int,
    ) -> tuple[bytes, bytes, int]:
        region, position = self._pairs(regions, positions)
        search = Search(self, bool(forward), self._allowed(allowed))
        search.begin(region, position)
        if max_network_hops >= 0 and crosses is None and self.edges:
            raise ValueError("crosses: needed for a limit")
        far_away = self._mask(crosses) if crosses is not None else np.zeros(self.edges, bool)
        assert far_away is not None
        if max_hops >= 0 and max_network_hops >= 0:
            search.limited(far_away, max_hops, min(max_network_hops, max_hops))
        else:
            search.run(far_away, max_hops, max_network_hops)
        reached = np.flatnonzero(search.bounds != search.none)
        bound = search.bounds[reached]
        low, high = (bound, self.start[reached + 1]) if forward else (self.start[reached], bound + 1)
        return low.astype(np.uint32).tobytes(), high.astype(np.uint32).tobytes(), search.followed

    def resume(
        self,
        forward: bool,
        state: Buffer,
        pending: Buffer,
        regions: Buffer,
        positions: Buffer,
        allowed: Buffer | None,
        rounds: int,
    ) -> tuple[bytes, bytes, int]:
        region, position = self._pairs(regions, positions)
        kept, left = np.frombuffer(state, STATE), _numbers(pending, RANGE)
        if len(kept) != self.regions or np.any(left["low"] > left["high"]) or np.any(left["high"] > self.edges):
            raise ValueError("state: not of this plane")
        search = Search(self, bool(forward), self._allowed(allowed))
        known = np.flatnonzero(kept["reach"])
        reach = kept["reach"][known].astype(np.int64)
        search.bounds[known] = _NONE - reach if forward else reach - 1
        search.covered[known] = kept["covered"][known]
        if len(left):
            search.ranges.append((left["low"].astype(np.int64), left["high"].astype(np.int64)))
        before = search.bounds.copy()
        search.begin(region, position)
        search.run(np.zeros(self.edges, bool), rounds, -1)
        changed = np.flatnonzero(search.bounds != before)
        moves = np.zeros(len(changed), MOVE)
        old, new = before[changed], search.bounds[changed]
        moves["region"] = changed
        if forward:
            moves["low"], moves["high"] = new, np.where(old == search.none, self.start[changed + 1], old)
        else:
            moves["low"], moves["high"] = np.where(old == search.none, self.start[changed], old + 1), new + 1
        kept["reach"][changed] = _NONE - new if forward else new + 1
        kept["covered"][changed] = search.covered[changed]
        ranges = np.zeros(sum(len(low) for low, _ in search.ranges), RANGE)
        if len(ranges):
            ranges["low"] = np.concatenate([low for low, _ in search.ranges])
            ranges["high"] = np.concatenate([high for _, high in search.ranges])
        return moves.tobytes(), ranges.tobytes(), search.followed

    def rows(self, lows: Buffer, highs: Buffer) -> bytes:
        return np.sort(self._row(expand(*self._ranges(lows, highs)))).tobytes()

    def _ranges(self, lows: Buffer, highs: Buffer) -> tuple[I64, I64]:
        low, high = _numbers(lows).astype(np.int64), _numbers(highs).astype(np.int64)
        if len(low) != len(high) or (len(low) and (np.any(low >= high) or high.max() > self.events)):
            raise ValueError("highs: not behind the lows, or beyond the last position")
        return low, high

    def condense(
        self,
        forward: bool,
        lows: Buffer,
        highs: Buffer,
        allowed: Buffer | None,
        labels: Buffer,
        ts: Buffer,
    ) -> tuple[bytes, bytes, bytes]:
        begin, stop = self._ranges(lows, highs)
        region = expand(self._region(begin), self._region(stop - 1) + 1)
        label, times = _numbers(labels).astype(np.int64), _numbers(ts, np.int64)
        if len(label) != self.regions or len(times) != self.events:
            raise ValueError("labels: one per region, and a time per event")
        low, high = np.full(self.regions, self.events), np.zeros(self.regions, np.int64)
        low[region], high[region] = self.start[region], self.start[region + 1]
        low[self._region(begin)] = begin
        high[self._region(stop - 1)] = stop
        number = np.full(self.regions, -1)
        number[region] = np.arange(len(region))
        near, far = self.near_region, self.far_region
        inside = (self.near >= low[near]) & (self.near < high[near]) & (self.far >= low[far]) & (self.far < high[far])
        places = np.flatnonzero(inside & self._allowed(allowed))
        a, b = near[places], far[places]
        equal = label[a] == label[b]
        component = components(len(region), number[a[equal]], number[b[equal]])
        count = int(component.max()) + 1 if len(component) else 0
        vertices = np.zeros(count, VERTEX)
        vertices["first"], vertices["last"] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        vertices["region"] = self.regions
        np.minimum.at(vertices["first"], component, times[self._row(low[region])])
        np.maximum.at(vertices["last"], component, times[self._row(high[region] - 1)])
        np.minimum.at(vertices["region"], component, region.astype(np.uint32))
        np.add.at(vertices["events"], component, high[region] - low[region])
        vertices["label"][component] = label[region]
        order = np.lexsort((vertices["region"], vertices["first"]))
        rank = np.empty(count, np.int64)
        rank[order] = np.arange(count)
        of_region = rank[component]
        source, target = of_region[number[a[~equal]]], of_region[number[b[~equal]]]
        ends, sums = np.unique(source * max(count, 1) + target, return_counts=True)
        arcs = np.zeros(len(ends), ARC)
        arcs["source"], arcs["target"], arcs["count"] = ends // max(count, 1), ends % max(count, 1), sums
        return vertices[order].tobytes(), arcs.tobytes(), of_region.astype(np.uint32).tobytes()

    def level(self, labels: Buffer, ts: Buffer) -> Level:
        return Level(self, labels, ts)


def _require(name: str, holds: bool | np.bool_) -> None:
    if not holds:
        raise ValueError(f"{name}: not as a graph's structure is")


class Level:
    """A level without a cache: it asks the plane."""

    def __init__(self, plane: Plane, labels: Buffer, ts: Buffer) -> None:
        self._plane, self._labels, self._ts = plane, labels, ts

    def condense(self, row: int) -> tuple[bytes, bytes] | None:
        region, position = self._plane.locate(np.array([row], np.int64))
        lows, highs, _ = self._plane.slice(True, region, position, None, None, -1, -1)
        return self._plane.condense(True, lows, highs, None, self._labels, self._ts)[:2]

    def size(self) -> int:
        return 0
