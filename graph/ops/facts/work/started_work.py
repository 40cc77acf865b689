"""Find the work that a strand started before it began to wait: the likely object of a wait that names no holder.

Invariant: work is returned only if it is the only unfinished work that the strand started since it last ran on; it is marked as
inferred unless the wait's key names the work.
"""

from __future__ import annotations

from functools import cached_property

from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.graph.ops.facts.work.work_items import WorkItem, WorkItems
from clew.records.format.event import Kind

MOST_ROWS = 256
"""The number of rows before a wait, and in a callback, in which started work is searched."""
_WORK_CHANNELS = ("executor.submit", "asyncio.handle")
_ANSWERED = (
    "executor.result", "asyncio.future", "asyncio.task", "asyncio.event", "queue", "event", "condition", "asyncio.queue",
)  # fmt: skip


class StartedWork:
    """The work that strands started. Use `StartedWork.of`, which caches it with the graph."""

    def __init__(self, facts: Facts) -> None:
        self._graph: ExecutionGraph = facts.graph
        self._ends, self._items = Ends.of(facts), WorkItems.of(facts)
        self._cached: dict[int, tuple[list[int], list[WorkItem]]] = {}

    @classmethod
    def of(cls, facts: Facts) -> StartedWork:
        return cached(facts.graph, "started work", lambda: cls(facts))

    def item(self, wait: Waiting, ns: int) -> tuple[WorkItem, str] | None:
        """Return the work item that a wait is for, if it is unfinished at a time, and the basis of the inference."""
        known = self._items.by_key.get(wait.resource)
        if known and wait.begin.channel == "executor.result":
            latest = [item for item in known if item.submit_ns <= wait.begin.ns]
            return (latest[-1], "") if latest and not _is_over(latest[-1], ns) else None
        strands, items = self._unfinished(wait, ns)
        if len(items) == 1 and not strands:
            return items[0], "it is the only unfinished work that the strand started before it began to wait"
        return None

    def awaited(self, wait: Waiting, ns: int) -> list[tuple[int, tuple[int, ...], str]]:
        """Return the strand that runs the work that a wait is for, with the rows and the basis; empty if it is unclear."""
        found = self.item(wait, ns)
        if found is not None:
            item, basis = found
            if item.runs_at(ns):
                return [(item.worker, tuple(row for row in (item.submit, item.begin) if row >= 0), basis)]
            return []
        strands, items = self._unfinished(wait, ns)
        if len(strands) == 1 and not items:
            rows = (self._graph.strands[strands[0]].start,)
            basis = "it is the only unfinished task that the strand started before it began to wait"
            return [(strands[0], rows, basis)]
        return []

    def _unfinished(self, wait: Waiting, ns: int) -> tuple[list[int], list[WorkItem]]:
        if wait.begin.channel not in _ANSWERED or wait.begin.text.target or wait.begin.text.holders:
            return [], []
        strands, items = self._started_before(wait)
        running = [strand for strand in strands if (self._ends.ns_of(strand) or ns + 1) > ns]
        return running, [item for item in items if not _is_over(item, ns)]

    def _started_before(self, wait: Waiting) -> tuple[list[int], list[WorkItem]]:
        known = self._cached.get(wait.begin.row)
        if known is None:
            known = self._cached[wait.begin.row] = self._search(wait.begin.row)
        return known

    def _search(self, row: int) -> tuple[list[int], list[WorkItem]]:
        """Search the rows before a wait: those of its call since the strand last ran on."""
        graph = self._graph
        strand = graph.strand_of(row)
        call = graph.call_of(row)
        sends = []
        for at in range(row - 1, max(strand.start, row - MOST_ROWS) - 1, -1):
            kind = graph.at("kind", at)
            if kind in (Kind.STEP_BEGIN, Kind.RESUME, Kind.WAKE) or (kind == Kind.ENTER and at == call):
                break
            if kind == Kind.SEND and graph.channel(at) in _WORK_CHANNELS:
                sends.append(at)
        strands: list[int] = []
        items: list[WorkItem] = []
        for send in sends:
            if send in self._items.by_submit:
                items.append(self._items.by_submit[send])
            else:
                strands += self._tasks_from(send)
        return list(dict.fromkeys(strands)), items

    def _tasks_from(self, send: int, depth: int = 0) -> list[int]:
        """Return the tasks whose first step a SEND causes, also through callbacks of a loop in another thread."""
        graph, found = self._graph, []
        for target in self._targets.get(send, ()):
            strand = graph.strand_of(target)
            if strand.kind == "task":
                if target <= strand.start + 1:
                    found.append(strand.index)
            elif depth < 2 and graph.at("kind", target) == Kind.SCOPE_BEGIN:
                for at in range(target + 1, min(strand.stop, target + MOST_ROWS)):
                    if graph.at("kind", at) == Kind.SCOPE_END:
                        break
                    if graph.at("kind", at) == Kind.SEND and graph.channel(at) == "asyncio.handle":
                        found += self._tasks_from(at, depth + 1)
        return found

    @cached_property
    def _targets(self) -> dict[int, list[int]]:
        """The targets of the edges from handles, by source."""
        graph = self._graph
        channel = graph.channel_ids.get("asyncio.handle", -1)
        chosen = graph.edge_channel == channel
        found: dict[int, list[int]] = {}
        for source, target in zip(graph.edge_src[chosen].tolist(), graph.edge_dst[chosen].tolist(), strict=True):
            found.setdefault(source, []).append(target)
        return found


def _is_over(item: WorkItem, ns: int) -> bool:
    return item.end_ns is not None and item.end_ns <= ns
