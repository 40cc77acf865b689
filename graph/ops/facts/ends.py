"""Tell when strands ended, and how waits without a recorded end have to be read.

Invariant: a strand has ended only if a record says so; a strand without further events may still be there.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.ops.causes.state_waits import edges_into
from clew.graph.ops.facts.columns.views import I64, Mask
from clew.graph.ops.facts.facts import Fact, Facts, Resource, Waiting, Waits
from clew.records.format.event import Kind
from clew.records.format.facts import Ended

_LAST = 6
"""The number of last rows of a strand among which its end is searched: the end, and what its step records after it."""


class Ends:
    """The ends of the strands of a run. Use `Ends.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._graph = facts, facts.graph
        self._known: dict[int, int] = {}

    @classmethod
    def of(cls, facts: Facts) -> Ends:
        return cached(facts.graph, "strand ends", lambda: cls(facts))

    def row_of(self, strand: int) -> int:
        """Return the row that ends a thread or task, -1 if none was recorded."""
        if strand < 0:
            return -1
        if strand not in self._known:
            self._known[strand] = self._find(strand)
        return self._known[strand]

    def ns_of(self, strand: int) -> int | None:
        """Return when a thread or task ended, in ns since the run's start; None if no record says so."""
        row = self.row_of(strand)
        return None if row < 0 else self._graph.at("ts", row)

    def _find(self, strand: int) -> int:
        graph = self._graph
        ended = self._facts.ended.get(strand)
        if ended is not None:
            return ended.row
        found = graph.strands[strand]
        channel = "thread.join" if found.kind == "thread" else "asyncio.future"
        for row in range(found.stop - 1, max(found.start, found.stop - _LAST) - 1, -1):
            kind = graph.at("kind", row)
            if kind == Kind.SEND and graph.channel(row) == channel:
                return row
            if kind in (Kind.ENTER, Kind.EXIT, Kind.SUSPEND, Kind.RESUME, Kind.UNWIND, Kind.WAIT):
                break
        return -1

    @cached_property
    def by_exception(self) -> dict[Resource, list[Fact[Ended]]]:
        """The ends of tasks by the exceptions that ended them."""
        found: dict[Resource, list[Fact[Ended]]] = defaultdict(list)
        for fact in self._facts.ended.values():
            if fact.text.exception:
                found[fact.process, fact.text.exception].append(fact)
        return dict(found)

    @cached_property
    def cancelled_by_starter(self) -> dict[int, list[int]]:
        """The strands that ended as cancelled, by the region that started them."""
        graph = self._graph
        found: dict[int, list[int]] = defaultdict(list)
        for strand, fact in self._facts.ended.items():
            into = edges_into(graph, int(graph.region[graph.strands[strand].start]), fact.row)
            if fact.text.end == "cancelled" and into:
                found[int(graph.region[graph.edge_src[into[0]]])].append(strand)
        return dict(found)

    def is_open(self, wait: Waiting) -> bool:
        """Return whether a wait lasted until the recording ended. A wait whose end is merely unknown is not open."""
        if wait.wake is not None or self.row_of(wait.strand) >= 0:
            return False
        graph = self._graph
        call = graph.call_of(wait.begin.row)
        if call < 0:
            return True
        try:
            return graph.exit_of(call) < 0
        except KeyError:
            return True

    def until_ns(self, wait: Waiting) -> int:
        """Return when a wait ended; the run's end for an open wait, its own beginning if the end is unknown."""
        if wait.wake is not None:
            return wait.wake.ns
        return self._facts.last_ns if self.is_open(wait) else wait.begin.ns

    @cached_property
    def _until(self) -> I64:
        """When each wait of the run ended; see `until_ns`."""
        waits = self._facts.waits
        until = waits.wake_ns
        without = np.flatnonzero(~waits.has_end)
        until[without] = [self.until_ns(wait) for wait in waits.take(without)]
        return until

    @cached_property
    def _failed(self) -> Mask:
        waits = self._facts.waits
        failed = waits.ended("timeout", "cancelled", "failed")
        without = np.flatnonzero(~waits.has_end)
        failed[without] = [self.is_open(wait) for wait in waits.take(without)]
        return failed

    def until_of(self, waits: Waits) -> I64:
        """Return when waits ended, as `until_ns` does."""
        return self._until[waits.places]

    def lasted_of(self, waits: Waits) -> I64:
        lasted: I64 = np.maximum(self.until_of(waits) - waits.begin_ns, 0)
        return lasted

    def failed_of(self, waits: Waits) -> Mask:
        """Return for each wait whether it did not get what it waited for, as `failed` does."""
        return self._failed[waits.places]

    def failed(self, wait: Waiting) -> bool:
        """Return whether a wait did not get what it waited for: it ended otherwise, or never."""
        return wait.end in ("timeout", "cancelled", "failed") or self.is_open(wait)

    def lasted_ns(self, wait: Waiting) -> int:
        return max(0, self.until_ns(wait) - wait.begin.ns)
