"""Assign spans to strands: a span that runs alone inside its parent is an inline call in the parent's strand.

A span that overlaps a sibling, runs in another process or thread, or outlives its parent is a head: it begins a segment.
Segments that do not overlap share a strand, as work items share a thread. Invariant: spans of one strand overlap only if they
are nested.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.formats.spans.collector import ASYNC, CONSUMER, PSEUDO, SERVER
from clew.graph.formats.spans.tree import Forest

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def inline(forest: Forest, owner: I64, time: I64) -> Mask:
    """Return which spans are calls in their parent's strand.

    `owner` and `time` give the events that belong to spans.
    """
    parent = forest.parent
    below = parent >= 0
    up = np.where(below, parent, 0)
    here = np.flatnonzero(
        below
        & (forest.process == forest.process[up])
        & ((forest.thread == forest.thread[up]) | (forest.thread == 0) | (forest.thread[up] == 0))
        & ((forest.flags & (ASYNC | PSEUDO)) == 0)
        & (((forest.flags & (SERVER | CONSUMER)) == 0) | forest.has(PSEUDO)[up])
        & (forest.start >= forest.start[up])
        & (forest.end <= forest.end[up])
    )
    result = np.zeros(len(forest), bool)
    result[here] = True
    if not len(here):
        return result
    children = np.flatnonzero(below)
    waits = children[~forest.has(ASYNC)[children]]
    result[_overlapping(forest, waits)] = False
    moments = Moments(
        np.concatenate((parent[children], parent[waits], owner)),
        np.concatenate((forest.start[children], forest.end[waits], time)),
    )
    result[here[moments.strictly_inside(parent[here], forest.start[here], forest.end[here])]] = False
    return result


def siblings(forest: Forest, rows: I64) -> I64:
    """Sort rows by parent, and siblings by time."""
    order: I64 = rows[np.lexsort((rows, forest.end[rows], forest.start[rows], forest.parent[rows]))]
    return order


def _overlapping(forest: Forest, rows: I64) -> I64:
    """Return the spans that overlap a sibling."""
    rows = siblings(forest, rows)
    if len(rows) < 2:
        return rows[:0]
    start, end, parent = forest.start[rows], forest.end[rows], forest.parent[rows]
    same = parent[1:] == parent[:-1]
    # The latest end so far among siblings: ranks of ends, offset by the family number, never decrease.
    rank = np.empty(len(rows), np.int64)
    rank[np.argsort(end, kind="stable")] = np.arange(len(rows))
    family = np.concatenate(([0], np.cumsum(~same)))
    latest = np.maximum.accumulate(family * len(rows) + rank) - family * len(rows)
    until = np.sort(end)[latest]
    after = np.zeros(len(rows), bool)
    after[1:] = same & (until[:-1] > start[1:])
    before = np.zeros(len(rows), bool)
    before[:-1] = same & (start[1:] < end[:-1])
    return rows[after | before]


class Moments:
    """An index of points in time by owner."""

    def __init__(self, owner: I64, time: I64) -> None:
        self.times = np.unique(time)
        self.key = np.sort(owner * (len(self.times) + 1) + np.searchsorted(self.times, time))

    def strictly_inside(self, owner: I64, start: I64, end: I64) -> Mask:
        """Return whether each owner has a point after `start` and before `end`."""
        base = owner * (len(self.times) + 1)
        low = np.searchsorted(self.key, base + np.searchsorted(self.times, start, "right"), "left")
        high = np.searchsorted(self.key, base + np.searchsorted(self.times, end, "left"), "left")
        return np.asarray(high > low)


class Inner:
    """An index that finds the innermost call of a strand at a time."""

    def __init__(self, forest: Forest, is_inline: Mask) -> None:
        rows = siblings(forest, np.flatnonzero(is_inline))
        self.forest, self.rows = forest, rows
        self.times = np.unique(forest.start[rows])
        self.key = forest.parent[rows] * (len(self.times) + 1) + np.searchsorted(self.times, forest.start[rows])

    def at(self, owner: I64, time: I64) -> I64:
        """Return for each owner the innermost call inside it that runs at the time; else the owner."""
        found = owner.copy()
        open_ = np.arange(len(owner))
        while len(open_) and len(self.rows):
            base = found[open_] * (len(self.times) + 1)
            before = np.searchsorted(self.times, time[open_], "left")
            place = np.searchsorted(self.key, base + before, "left") - 1
            child = self.rows[np.maximum(place, 0)]
            inside = (place >= 0) & (self.forest.parent[child] == found[open_]) & (self.forest.end[child] > time[open_])
            open_ = open_[inside]
            found[open_] = child[inside]
        return found


@dataclass(frozen=True)
class Lanes:
    """The strands: the process and thread (0: unknown) of each, and its number among those with the same ones."""

    of_head: I64
    """The strand of each head, -1 for inline calls."""
    process: list[int]
    thread: list[int]
    number: list[int]


def lanes(forest: Forest, is_inline: Mask) -> Lanes:
    """Assign each head to the lowest-numbered free strand of its process and thread; the thread itself has the first."""
    heads = np.flatnonzero(~is_inline)
    pseudo = forest.has(PSEUDO)
    heads = heads[
        np.lexsort((heads, forest.end[heads], forest.start[heads], ~pseudo[heads], forest.thread[heads], forest.process[heads]))
    ]  # fmt: skip
    of_head = np.full(len(forest), -1, np.int64)
    process: list[int] = []
    thread: list[int] = []
    number: list[int] = []
    group: tuple[int, int] | None = None
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    count = 0
    columns = (
        heads,
        forest.process[heads],
        forest.thread[heads],
        forest.start[heads],
        forest.end[heads],
        pseudo[heads],
    )
    for head, its_process, its_thread, start, end, is_thread in zip(*(c.tolist() for c in columns), strict=True):
        if (its_process, its_thread) != group:
            group, busy, free, count = (its_process, its_thread), [], [], 0
        while busy and busy[0][0] <= start and not is_thread:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free and not is_thread:
            lane = heapq.heappop(free)
        else:
            lane = len(process)
            process.append(its_process)
            thread.append(its_thread)
            number.append(count)
            count += 1
        of_head[head] = lane
        # A thread's own strand is never free.
        if not is_thread:
            heapq.heappush(busy, (end, lane))
    return Lanes(of_head, process, thread, number)
