"""Read the work items of executors: who submitted each, which worker ran it, and which workers belong together.

Invariant: a pool consists of the threads of one process whose names differ in their last number only; two pools with one name
count as one, so that "all workers were occupied" is never said of too few.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind

CHANNEL = "executor.submit"
Pool = tuple[int, str]
"""The process and the common part of the workers' names."""


@dataclass(frozen=True)
class WorkItem:
    """A unit of work that a strand submitted to an executor."""

    submit: int
    """The row of the submit, -1 when it was not recorded."""
    submitter: int
    submit_ns: int
    begin: int = -1
    """The row where a worker began it, -1 if none did."""
    worker: int = -1
    begin_ns: int = 0
    end: int = -1
    """The row where it ended, -1 if it did not end."""
    end_ns: int | None = None
    key: int = 0
    process: int = 0

    def waits_at(self, ns: int) -> bool:
        """Return whether the item was submitted and not begun at a time."""
        return self.submit_ns <= ns and (self.begin < 0 or ns < self.begin_ns)

    def runs_at(self, ns: int) -> bool:
        return self.begin >= 0 and self.begin_ns <= ns and (self.end_ns is None or ns < self.end_ns)


class WorkItems:
    """All work items of a run. Use `WorkItems.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._graph = facts, facts.graph

    @classmethod
    def of(cls, facts: Facts) -> WorkItems:
        return cached(facts.graph, "work items", lambda: cls(facts))

    @cached_property
    def all(self) -> list[WorkItem]:
        graph = self._graph
        rows = graph.rows_of([Kind.SEND, Kind.SCOPE_BEGIN, Kind.SCOPE_END], CHANNEL)
        by_key: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row in rows[np.argsort(graph.ts[rows], kind="stable")].tolist():
            by_key[graph.strand_of(row).process, graph.key(row)].append(row)
        found = []
        for (process, key), own in by_key.items():
            found += self._items(process, key, own)
        return sorted(found, key=lambda item: item.submit_ns)

    def _items(self, process: int, key: int, rows: list[int]) -> list[WorkItem]:
        graph, found = self._graph, []
        submit = begin = end = -1

        def close() -> None:
            if submit < 0 and begin < 0:
                return
            first = submit if submit >= 0 else begin
            found.append(
                WorkItem(
                    submit,
                    graph.at("strand", submit) if submit >= 0 else -1,
                    graph.at("ts", first),
                    begin,
                    graph.at("strand", begin) if begin >= 0 else -1,
                    graph.at("ts", begin) if begin >= 0 else 0,
                    end,
                    graph.at("ts", end) if end >= 0 else None,
                    key,
                    process,
                )
            )

        for row in rows:
            kind = graph.at("kind", row)
            if kind == Kind.SEND:
                close()
                submit, begin, end = row, -1, -1
            elif kind == Kind.SCOPE_BEGIN:
                if begin >= 0:
                    close()
                    submit = -1
                begin, end = row, -1
            elif begin >= 0 and end < 0:
                end = row
        close()
        return found

    @cached_property
    def by_submit(self) -> dict[int, WorkItem]:
        """The items by the row of their submit."""
        return {item.submit: item for item in self.all if item.submit >= 0}

    @cached_property
    def by_key(self) -> dict[tuple[int, int], list[WorkItem]]:
        found: dict[tuple[int, int], list[WorkItem]] = defaultdict(list)
        for item in self.all:
            found[item.process, item.key].append(item)
        return found

    @cached_property
    def by_worker(self) -> dict[int, list[WorkItem]]:
        """The items that each worker began, by time."""
        found: dict[int, list[WorkItem]] = defaultdict(list)
        for item in self.all:
            if item.worker >= 0:
                found[item.worker].append(item)
        return {worker: sorted(items, key=lambda item: item.begin_ns) for worker, items in found.items()}

    @cached_property
    def _begins(self) -> dict[int, list[int]]:
        return {worker: [item.begin_ns for item in items] for worker, items in self.by_worker.items()}

    @cached_property
    def _latest_ends(self) -> dict[int, list[float]]:
        ends = {
            worker: [float("inf") if item.end_ns is None else item.end_ns for item in items]
            for worker, items in self.by_worker.items()
        }
        return {worker: list(accumulate(own, max)) for worker, own in ends.items()}

    def run_by(self, worker: int, ns: int) -> WorkItem | None:
        """Return the item that a worker runs at a time; of nested items, the last one begun."""
        items = self.by_worker.get(worker, [])
        place = bisect_right(self._begins.get(worker, []), ns) - 1
        while place >= 0 and self._latest_ends[worker][place] > ns:
            if items[place].runs_at(ns):
                return items[place]
            place -= 1
        return None

    @cached_property
    def pools(self) -> dict[Pool, list[int]]:
        """The workers of each pool."""
        found: dict[Pool, list[int]] = defaultdict(list)
        for worker in self.by_worker:
            found[self.pool_of(worker)].append(worker)
        return found

    def pool_of(self, worker: int) -> Pool:
        strand = self._graph.strands[worker]
        head, mark, number = strand.thread_name.rpartition("_")
        return strand.process, head if mark and number.isdigit() else f"{strand.thread_name} {worker}"

    def occupied(self, pool: Pool, ns: int) -> list[WorkItem] | None:
        """Return the items that the workers of a pool run at a time; None if a worker is free or none had begun."""
        found = []
        for worker in self.pools.get(pool, ()):
            item = self.run_by(worker, ns)
            if item is not None:
                found.append(item)
            elif self._graph.at("ts", self._graph.strands[worker].start) <= ns:
                return None
        return found or None

    def pool_at(self, item: WorkItem, ns: int) -> tuple[Pool, bool] | None:
        """Return the pool in whose queue an item is at a time, and whether that was recorded.

        An item that no worker began is in the only pool of its process that had no free worker. None if that is unclear.
        """
        if item.worker >= 0:
            return self.pool_of(item.worker), True
        full = [pool for pool in self.pools if pool[0] == item.process and self.occupied(pool, ns)]
        return (full[0], False) if len(full) == 1 else None
