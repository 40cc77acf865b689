"""The wait-for graph of a moment: which strands must go on before a waiting strand can.

Invariant: each link names the rows that it follows from; a link that no record states directly says what it was inferred from.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Holding, Resource, Waiting
from clew.graph.ops.facts.moments import Moments
from clew.graph.ops.facts.started_work import StartedWork
from clew.graph.ops.facts.work_items import WorkItem, WorkItems
from clew.records.format.event import Kind

_RESULTS = frozenset({"executor.result", "asyncio.future", "asyncio.task", "thread.join", "process.end"})
HowBlocked = Literal["holds", "ends", "runs", "occupies", "thread"]


@dataclass(frozen=True)
class Link:
    """A strand cannot go on before another one does."""

    wait: Waiting
    target: int
    how: HowBlocked
    """ "holds": the target holds the resource; "ends": its end is awaited; "runs": it runs the work that is awaited;
    "occupies": it is a worker of the executor in whose queue that work is, one link for each, and none is free; "thread": it
    keeps the thread that the strand needs."""
    rows: tuple[int, ...]
    holding: Holding | None = None
    basis: str = ""
    """What an inferred link follows from, "" for a recorded one."""


def is_lock(wait: Waiting) -> bool:
    """Return whether the resource is a lock, not a semaphore of one slot."""
    return wait.begin.channel.rpartition(".")[2] in ("lock", "rlock")


def is_exclusive(wait: Waiting) -> bool:
    """Return whether the resource has one holder at a time."""
    return is_lock(wait) or wait.begin.text.capacity == 1


def is_resource(wait: Waiting) -> bool:
    """Return whether the wait is for something that strands hold and give back."""
    return is_exclusive(wait) or bool(wait.begin.text.holders) or wait.begin.text.capacity > 0


class Blockers:
    """The links between waiting strands. Use `Blockers.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._graph = facts, facts.graph
        self._ends, self._moments, self._started = Ends.of(facts), Moments.of(facts), StartedWork.of(facts)
        self._items = WorkItems.of(facts)

    @classmethod
    def of(cls, facts: Facts) -> Blockers:
        known = facts.graph.answers.get("blockers")
        if known is None:
            known = facts.graph.answers["blockers"] = cls(facts)
        blockers: Blockers = known
        return blockers

    # ---- Holders ----

    @cached_property
    def _held(self) -> dict[int, tuple[Holding, ...]]:
        """The holdings that HOLD records show at each wait's beginning, by the wait's row."""
        holds = [holding for holding in self._facts.holdings if self._graph.at("kind", holding.rows[0]) == Kind.HOLD]
        if not holds:
            return {}
        resources = {holding.resource for holding in holds}
        # At one time a resource is given back first, then taken, then waited for.
        order: list[tuple[int, int, Holding | None, Waiting | None]] = []
        for hold in holds:
            order.append((hold.since_ns, 1, hold, None))
            if hold.until_ns is not None:
                order.append((hold.until_ns, 0, hold, None))
        order += ((wait.begin.ns, 2, None, wait) for wait in self._facts.waits if wait.resource in resources)
        active: dict[Resource, dict[int, Holding]] = defaultdict(dict)
        found = {}
        for _ns, rank, holding, wait in sorted(order, key=lambda each: each[:2]):
            if wait is not None:
                found[wait.begin.row] = tuple(active[wait.resource].values())
            elif holding is not None and rank:
                active[holding.resource][holding.rows[0]] = holding
            elif holding is not None:
                active[holding.resource].pop(holding.rows[0], None)
        return found

    @cached_property
    def _taken(self) -> dict[Resource, tuple[list[int], list[Holding]]]:
        """The last known holders of each exclusive resource, by the time at which they are known to have it."""
        seen: dict[Resource, list[tuple[int, int, Holding]]] = defaultdict(list)
        for wait in self._facts.waits:
            if not is_exclusive(wait):
                continue
            if wait.wake is not None and wait.end == "satisfied":
                taken = Holding(wait.resource, wait.strand, wait.wake.ns, None, wait.begin.text.at, wait.rows)
                seen[wait.resource].append((wait.wake.ns, wait.wake.row, taken))
            for holding in self._named.get(wait.begin.row, ()):
                seen[wait.resource].append((wait.begin.ns, wait.begin.row, holding))
        found = {}
        for resource, evidence in seen.items():
            evidence.sort(key=lambda each: each[:2])
            found[resource] = [each[0] for each in evidence], [each[2] for each in evidence]
        return found

    @cached_property
    def _named(self) -> dict[int, list[Holding]]:
        """The holders that each wait names, by the wait's row."""
        found: dict[int, list[Holding]] = defaultdict(list)
        for holding in self._facts.holdings:
            if len(holding.rows) == 1 and self._graph.at("kind", holding.rows[0]) == Kind.WAIT:
                found[holding.rows[0]].append(holding)
        return found

    def holders(self, wait: Waiting, ns: int) -> list[tuple[Holding, str]]:
        """Return who had the resource of a wait at a time during it, and what that was inferred from, "" if recorded."""
        if wait.begin.channel in _RESULTS:
            return []  # These name the workers that may run the work, not who has it.
        held = self._held.get(wait.begin.row)
        if held:
            return [(each, "") for each in held if each.until_ns is None or each.until_ns > ns]
        named = self._named.get(wait.begin.row, [])
        if not is_exclusive(wait) or ns <= wait.begin.ns:
            return [(each, "") for each in named]
        times, taken = self._taken.get(wait.resource, ([], []))
        place = bisect_right(times, ns) - 1
        if place < 0 or times[place] <= wait.begin.ns:
            return [(each, "") for each in named]
        last = taken[place]
        if self._graph.at("kind", last.rows[-1]) == Kind.WAIT:
            return [(last, "")]
        return [(last, "it was the last to get the lock, and no record says that it gave it back")]

    @cached_property
    def waiting_on(self) -> dict[int, list[Waiting]]:
        """The waits for what each strand held when they began, and for its end."""
        found: dict[int, list[Waiting]] = defaultdict(list)
        for wait in self._facts.waits:
            links = self.links(wait, wait.begin.ns)
            needed = {link.target for link in links if link.how != "occupies" or len(links) == 1}
            for strand in needed - {wait.strand}:
                found[strand].append(wait)
        return found

    # ---- Links ----

    def links(self, wait: Waiting, ns: int) -> list[Link]:
        """Return whom a wait depends on at a time during it. Each of several holders of slots has a link."""
        found = []
        for holding, basis in self.holders(wait, ns):
            if holding.strand >= 0 and not holding.before_fork:
                found.append(Link(wait, holding.strand, "holds", holding.rows, holding, basis))
        target = self.target(wait)
        if target >= 0 and not self._ended(target, ns):
            found.append(Link(wait, target, "ends", (wait.begin.row,)))
        if not found and (wait.begin.channel in _RESULTS or not is_resource(wait)):
            for strand, rows, basis in self._started.awaited(wait, ns):
                if not self._ended(strand, ns):
                    found.append(Link(wait, strand, "runs", rows, None, basis))
            for item, running, basis in [] if found else self.queued(wait, ns):
                found += (
                    Link(wait, each.worker, "occupies", (item.submit, each.begin), None, basis) for each in running
                )
        return found

    def queued(self, wait: Waiting, ns: int) -> list[tuple[WorkItem, list[WorkItem], str]]:
        """Return the work that a wait is for if no worker of its executor is free at a time, what the workers run instead,
        and what that was inferred from, "" if recorded."""
        named = self._started.item(wait, ns)
        if named is None or named[0].submit < 0 or not named[0].waits_at(ns):
            return []
        item, basis = named
        pool = self._items.pool_at(item, ns)
        running = self._items.occupied(pool[0], ns) if pool else None
        if pool is None or not running:
            return []
        bases = [f"the work: {basis}"] if basis else []
        holders = {self._facts.strand_of(wait.begin.process, holder) for holder in wait.begin.text.holders}
        if not pool[1] and holders.isdisjoint(each.worker for each in running):
            bases.append("the executor: it is the only one of the process without a free worker")
        return [(item, running, "; ".join(bases))]

    def target(self, wait: Waiting) -> int:
        """Return the strand whose end a wait is for, -1 for none."""
        number, process = wait.begin.text.target, wait.begin.process
        if not number:
            return -1
        if wait.begin.channel == "thread.join":
            return self._threads.get((process, number), -1)
        if wait.begin.channel == "process.end":
            return self._children.get(number, -1)
        return self._facts.strand_with_key(process, number)

    @cached_property
    def _children(self) -> dict[int, int]:
        """The first strand of each child process, by the key of its start."""
        graph = self._graph
        chosen = graph.edge_channel == graph.channel_ids.get("process.start", -1)
        pairs = zip(graph.edge_src[chosen].tolist(), graph.edge_dst[chosen].tolist(), strict=True)
        return {graph.key(source): graph.at("strand", target) for source, target in pairs}

    def _ended(self, strand: int, ns: int) -> bool:
        end = self._ends.ns_of(strand)
        return end is not None and end <= ns

    @cached_property
    def _threads(self) -> dict[tuple[int, int], int]:
        return {
            (strand.process, strand.thread): strand.index for strand in self._graph.strands if strand.kind == "thread"
        }

    @cached_property
    def _tasks_of(self) -> dict[tuple[int, int], list[int]]:
        """The strands of each thread whose waits block the thread itself."""
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        for strand in {wait.strand for wait in self._facts.waits if self._blocks_thread(wait)}:
            own = self._graph.strands[strand]
            found[own.process, own.thread].append(strand)
        return found

    def of_strand(self, strand: int, ns: int) -> list[Link]:
        """Return all links of a strand at a time: of its waits, and of a task to the strand that keeps its thread."""
        found = []
        for wait in self._moments.at(strand, ns):
            found += self.links(wait, ns)
        own = self._graph.strands[strand]
        if own.kind == "task" and self._graph.at("ts", own.start) <= ns and not self._ended(strand, ns):
            for other in self._tasks_of.get((own.process, own.thread), ()):
                if other != strand:
                    blocking = next((wait for wait in self._moments.at(other, ns) if self._blocks_thread(wait)), None)
                    if blocking is not None:
                        found.append(Link(blocking, other, "thread", (blocking.begin.row,)))
        return found

    def _blocks_thread(self, wait: Waiting) -> bool:
        """Return whether a wait stops the whole thread, not just a task: a task that awaits ends its step."""
        if wait.begin.channel.startswith(("asyncio.", "anyio.", "trio.")):
            return False
        row, graph = wait.begin.row + 1, self._graph
        return not (row < graph.strands[wait.strand].stop and graph.at("kind", row) == Kind.STEP_END)
