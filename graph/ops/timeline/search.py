"""Search a run for calls by function name and log lines by text, in time order.

Invariant: results cover the whole run and have one order: by time, then by event. Continuing from any point takes
time in proportion to the number of matching functions, not calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.timeline.bars import ASLEEP
from clew.graph.ops.timeline.layout import Spot, Timeline
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]


class Match(NamedTuple):
    ns: int
    event: int
    """The event that begins there: a call or a log line."""
    spot: Spot | None
    """The call, or the call that wrote the line; None if no call was recorded."""
    strand: int
    is_log: bool
    place: int
    """The position among all results, from 1."""


class Found(NamedTuple):
    functions: int
    calls: int
    logs: int
    match: Match | None


@dataclass
class _Query:
    """A text and the parts of the run that match it."""

    text: str
    sites: I64
    logs: I64
    """The log events, sorted by time."""
    log_ns: I64


class Finder:
    """Searches one run. The index of all calls is sorted on the first search."""

    def __init__(self, graph: ExecutionGraph, timeline: Timeline) -> None:
        self.graph, self.timeline = graph, timeline
        self._query = _Query("", np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))

    def find(self, text: str, by: int = 0, ns: int = -1, event: int = -1) -> Found:
        """Return the number of results that contain a text (ignoring case) and, unless `by` is 0, a neighbouring
        result.

        The neighbour is the next (1) or previous (-1) result relative to an event and its time. The search wraps
        around at the end.
        """
        query = self._all_of(text)
        calls = int((self._ends(query.sites) - self._begins(query.sites)).sum())
        match = self._neighbour(query, calls, by, ns, event) if by and calls + len(query.logs) else None
        return Found(len(query.sites), calls, len(query.logs), match)

    # Matching a text

    @cached_property
    def _labels(self) -> list[str]:
        return [site.label.casefold() for site in self.graph.sites]

    def _all_of(self, text: str) -> _Query:
        if text == self._query.text:
            return self._query
        folded = text.casefold()
        there = [site for site, label in enumerate(self._labels) if folded in label] if text else []
        sites = np.array(there, np.int64)
        sites = sites[self._ends(sites) > self._begins(sites)]
        events = np.zeros(0, np.int64)
        if text and len(self.graph.extensions.flags):
            hit = self.graph.extensions.texts.find("icontains", text)
            if hit.any():
                events = np.flatnonzero(self.graph.kind == Kind.LOG)
                row = self.graph.ext[events]
                events = events[(row >= 0) & hit[row]]
        log_ns = np.asarray(self.graph.ts[events], np.int64)
        order = np.argsort(log_ns, kind="stable")
        self._query = _Query(text, sites, events[order], log_ns[order])
        return self._query

    # The index of all calls

    @cached_property
    def _sorted(self) -> tuple[npt.NDArray[np.uint32], I64]:
        """Return the indices of the bars that calls begin with, sorted by function and then by time, and each
        function's offset.
        """
        bars = self.timeline.bars.levels[0].bars
        key = np.ascontiguousarray(bars["key"])
        first = np.flatnonzero((key < ASLEEP) & (self.graph.kind[bars["what"]] != Kind.RESUME)).astype(np.uint32)
        # Rows are sorted by event and by time, which a stable sort preserves.
        first = first[np.argsort(bars["what"][first], kind="stable")]
        first = first[np.argsort(bars["begin"][first], kind="stable")]
        sites = key[first]
        narrow = sites.astype(np.uint16) if self.timeline.bars.sites <= 1 << 16 else sites
        order = first[np.argsort(narrow, kind="stable")]
        count = np.bincount(sites, minlength=self.timeline.bars.sites)
        return order, np.concatenate((np.zeros(1, np.int64), np.cumsum(count, dtype=np.int64)))

    def _begins(self, sites: I64) -> I64:
        found: I64 = self._sorted[1][sites]
        return found

    def _ends(self, sites: I64) -> I64:
        found: I64 = self._sorted[1][sites + 1]
        return found

    # Stepping between results

    def _neighbour(self, query: _Query, calls: int, by: int, ns: int, event: int) -> Match:
        # Continue strictly after this event when searching forward, and before it when searching backward.
        bound = event + 1 if by > 0 else event
        bounds = self._before(query.sites, ns, bound)
        logs = int(np.searchsorted(query.log_ns, ns, "left"))
        while logs < len(query.logs) and query.log_ns[logs] == ns and query.logs[logs] < bound:
            logs += 1
        place = int((bounds - self._begins(query.sites)).sum()) + logs
        total = calls + len(query.logs)
        if by > 0 and place == total:
            bounds, logs, place = self._begins(query.sites), 0, 0
        elif by < 0 and place == 0:
            bounds, logs, place = self._ends(query.sites), len(query.logs), total
        order, _ = self._sorted
        bars = self.timeline.bars.levels[0].bars
        if by > 0:
            places = bounds[bounds < self._ends(query.sites)]
            logs_left = query.logs[logs : logs + 1]
        else:
            places = bounds[bounds > self._begins(query.sites)] - 1
            logs_left = query.logs[max(0, logs - 1) : logs]
        some = order[places]
        at = [(int(bars["begin"][bar]), int(bars["what"][bar]), int(bar)) for bar in some.tolist()]
        at += [(self.graph.at("ts", line), line, -1) for line in logs_left.tolist()]
        found = min(at) if by > 0 else max(at)
        return self._match(*found, place + 1 if by > 0 else place)

    def _before(self, sites: I64, ns: int, bound: int) -> I64:
        """Return for each function how many of its calls come before a time, or at that time and before an event."""
        order, _ = self._sorted
        bars = self.timeline.bars.levels[0].bars
        low, high = self._begins(sites), self._ends(sites)
        while len(open_ := np.flatnonzero(low < high)):
            middle = (low[open_] + high[open_]) // 2
            some = bars[order[middle]]
            less = (some["begin"] < ns) | ((some["begin"] == ns) & (some["what"] < bound))
            low[open_] = np.where(less, middle + 1, low[open_])
            high[open_] = np.where(less, high[open_], middle)
        return low

    def _match(self, ns: int, event: int, bar: int, place: int) -> Match:
        bars = self.timeline.bars
        if bar < 0:
            strand = self.graph.at("strand", event)
            spots = (bars.depths[strand] - 1 - at for at in range(int(bars.depths[strand])))
            within = (self.timeline.spot(strand, int(depth), ns) for depth in spots)
            return Match(ns, event, next((one for one in within if one), None), strand, True, place)
        row = int(np.searchsorted(bars.levels[0].row_start, bar, "right")) - 1
        strand = int(np.searchsorted(bars.first_row, row, "right")) - 1
        one = bars.levels[0].bars[bar]
        spot = Spot(strand, row - int(bars.first_row[strand]), ns, int(one["end"]), int(one["key"]), event)
        return Match(ns, event, spot, strand, False, place)
