"""The wait-for graph of a moment: which strands must go on before a waiting strand can.

Invariant: each link names the rows that it follows from; a link that no record states directly says what it was inferred from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.ops.facts.columns.records import is_shared
from clew.graph.ops.facts.columns.views import I64, Mask
from clew.graph.ops.facts.columns.waits import DECLARED, is_lock_channel
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Holding, Resource, Waiting, Waits
from clew.graph.ops.facts.moments import Moments
from clew.graph.ops.facts.work.started_work import StartedWork
from clew.graph.ops.facts.work.work_items import WorkItem, WorkItems
from clew.records.format.event import Kind

_RESULTS = frozenset({"executor.result", "asyncio.future", "asyncio.task", "thread.join", "process.end"})
LEAST_NS = 1_000_000
"""A shorter wait harms nobody."""
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
    return is_lock_channel(wait.begin.channel)


def is_exclusive(wait: Waiting) -> bool:
    """Return whether the resource has one holder at a time."""
    return is_lock(wait) or wait.begin.text.capacity == 1


def is_resource(wait: Waiting) -> bool:
    """Return whether the wait is for something that strands hold and give back."""
    return is_exclusive(wait) or bool(wait.begin.text.holders) or wait.begin.text.capacity > 0


@dataclass(frozen=True)
class _Evidence:
    """When strands are known to have had an exclusive resource: since a wait ended well, or as another wait names them."""

    waits: Waits
    ns: I64
    wait: I64
    """Which of the waits shows it."""
    is_named: Mask

    @classmethod
    def of(cls, waits: Waits) -> _Evidence:
        """Read the evidence from all waits for a resource."""
        waits = waits.take(waits.is_exclusive)
        got, named = np.flatnonzero(waits.ended("satisfied")), np.flatnonzero(waits.names_holders)
        ns = np.concatenate((waits.wake_ns[got], waits.begin_ns[named]))
        row = np.concatenate((waits.wake_row[got], waits.row[named]))
        order = np.lexsort((row, ns))
        wait = np.concatenate((got, named))[order]
        return cls(waits, ns[order], wait, order >= len(got))


class Blockers:
    """The links between waiting strands. Use `Blockers.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._graph = facts, facts.graph
        self._ends, self._moments, self._started = Ends.of(facts), Moments.of(facts), StartedWork.of(facts)
        self._items = WorkItems.of(facts)
        self._taken: dict[Resource, _Evidence] = {}
        self._targets_of: dict[int, frozenset[int]] = {}

    @classmethod
    def of(cls, facts: Facts) -> Blockers:
        return cached(facts.graph, "blockers", lambda: cls(facts))

    # ---- Holders ----

    def holders(self, wait: Waiting, ns: int) -> list[tuple[Holding, str]]:
        """Return who had the resource of a wait at a time during it, and what that was inferred from, "" if recorded."""
        if wait.begin.channel in _RESULTS:
            return []  # These name the workers that may run the work, not who has it.
        holdings, shared = self._facts.holdings_of.of(*wait.resource), is_shared(wait.begin.channel)
        held = holdings.at(ns) if shared else holdings.at(wait.begin.ns) or holdings.at(ns)
        if held or shared:  # each process tells what it takes from others, so nothing is to be inferred
            still = [(each, "") for each in held if each.until_ns is None or each.until_ns > ns]
            # With fewer holders than slots, one is free, or who has it is not known.
            return still if len(still) >= wait.begin.text.capacity else []
        named = self._facts.named_by(wait)
        if not is_exclusive(wait) or ns <= wait.begin.ns:
            return [(each, "") for each in named]
        last = self._last_taken(wait, ns)
        if last is None:
            return [(each, "") for each in named]
        if self._graph.at("kind", last.rows[-1]) == Kind.WAIT:
            return [(last, "")]
        return [(last, "it was the last to get the lock, and no record says that it gave it back")]

    def _last_taken(self, wait: Waiting, ns: int) -> Holding | None:
        """Return the last holder of an exclusive resource that is known up to a time and since after the wait's beginning."""
        evidence = self._taken.get(wait.resource)
        if evidence is None:
            evidence = self._taken[wait.resource] = _Evidence.of(self._facts.waits_for.of(*wait.resource))
        place = int(np.searchsorted(evidence.ns, ns, "right")) - 1
        if place < 0 or evidence.ns[place] <= wait.begin.ns:
            return None
        other = evidence.waits[int(evidence.wait[place])]
        if evidence.is_named[place]:
            return self._facts.named_by(other)[-1]
        assert other.wake is not None
        return Holding(other.resource, other.strand, other.wake.ns, None, other.begin.text.at, other.rows)

    def waiting_on(self, strand: int, begin_ns: int, end_ns: int) -> Iterator[Waiting]:
        """Yield the waits of others, by time, for what a strand held when they began, and for its end.

        The waits lasted for at least `LEAST_NS` and overlap the range of time.
        """
        waits = self._lasting
        count = int(np.searchsorted(waits.begin_ns, end_ns, "right"))
        for place in np.flatnonzero(self._until[:count] >= begin_ns).tolist():
            wait = waits[place]
            if wait.strand != strand and strand in self._targets(wait):
                yield wait

    @cached_property
    def _lasting(self) -> Waits:
        waits = self._facts.waits
        return waits.take(self._ends.lasted_of(waits) >= LEAST_NS)

    @cached_property
    def _until(self) -> I64:
        return self._ends.until_of(self._lasting)

    def _targets(self, wait: Waiting) -> frozenset[int]:
        """Return the strands that a wait depended on when it began."""
        known = self._targets_of.get(wait.begin.row)
        if known is None:
            links = self.links(wait, wait.begin.ns)
            known = frozenset(link.target for link in links if link.how != "occupies" or len(links) == 1)
            self._targets_of[wait.begin.row] = known
        return known

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
        waits, graph = self._facts.waits, self._graph
        waits = waits.take(waits.of_channels(_is_of_thread))
        following = np.minimum(waits.row + 1, len(graph) - 1)
        gives_way = (graph.kind[following] == Kind.STEP_END) & (graph.strand[following] == waits.strand)
        for strand in np.unique(waits.strand[~gives_way]).tolist():
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
        if not _is_of_thread(wait.begin.channel):
            return False
        row, graph = wait.begin.row + 1, self._graph
        return not (row < graph.strands[wait.strand].stop and graph.at("kind", row) == Kind.STEP_END)


def _is_of_thread(channel: str) -> bool:
    return not channel.startswith(("asyncio.", "anyio.", "trio.", DECLARED))
