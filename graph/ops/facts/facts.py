"""Read the facts of a run: who waited for what, who held it, which exceptions and cancellations there were, what was printed.

Invariant: each object names the rows of the graph that it was read from, so that every sentence about it can be checked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.helper_tasks import awaits_helper, principals
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel, Ended, Exception_, Frame, Holder, Wait, Wake, load

Resource = tuple[int, int]
"""An object that strands wait for or hold: its process (an index) and its key there."""
F = TypeVar("F")
_row = attrgetter("row")


@dataclass(frozen=True)
class Fact(Generic[F]):
    """One recorded fact. `text` is a class of `clew.records.format.facts`."""

    row: int
    strand: int
    ns: int
    """The time of the row, in ns since the run's start."""
    process: int
    key: int
    channel: str
    text: F

    @property
    def resource(self) -> Resource:
        return self.process, self.key


@dataclass(frozen=True)
class Waiting:
    """A wait, from its WAIT to its WAKE."""

    begin: Fact[Wait]
    wake: Fact[Wake] | None
    """None if the wait never ended."""
    inner: tuple[int, ...] = ()
    """The rows of the same wait in the task that a library made for it."""

    @property
    def end(self) -> str:
        """ "satisfied", "timeout", "cancelled", "failed" or "never"."""
        return self.wake.text.end if self.wake else "never"

    @property
    def resource(self) -> Resource:
        return self.begin.resource

    @property
    def strand(self) -> int:
        return self.begin.strand

    @property
    def rows(self) -> tuple[int, ...]:
        return (self.begin.row, *self.inner, *((self.wake.row,) if self.wake else ()))

    def until_ns(self, last_ns: int) -> int:
        """Return when the wait ended, or `last_ns` if it never did."""
        return self.wake.ns if self.wake else last_ns

    def covers(self, ns: int) -> bool:
        return self.begin.ns <= ns and (self.wake is None or ns <= self.wake.ns)


@dataclass(frozen=True)
class Holding:
    """A resource that a strand held: from a HOLD record, or as another strand's WAIT describes its holder."""

    resource: Resource
    strand: int
    """-1 when the holder's strand was not recorded."""
    since_ns: int
    until_ns: int | None
    """None if it was never given back, or if that was not recorded."""
    at: tuple[Frame, ...]
    rows: tuple[int, ...]
    """The rows that show it: the HOLD and the RETURN, or the WAIT that names the holder."""
    before_fork: int = 0
    """The uid of the process that took it before this process was forked, else 0."""


_AGAIN = Exception_(role="handled")


class Facts:
    """All facts of a graph, read on first use."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph

    @classmethod
    def of(cls, graph: ExecutionGraph) -> Facts:
        """Return the facts of a graph, which are cached with it."""
        known = graph.answers.get("facts")
        if known is None:
            known = graph.answers["facts"] = cls(graph)
        facts: Facts = known
        return facts

    def _read(self, kind: Kind, text: type[F]) -> list[Fact[F]]:
        graph = self.graph
        rows = graph.rows_of([kind])
        strands, times, ext = graph.strand[rows].tolist(), graph.ts[rows].tolist(), graph.ext[rows]
        keys = np.where(ext >= 0, graph.extensions.key[ext], 0).tolist() if len(rows) else []
        of: Any = text
        found = []
        for row, strand, ns, key in zip(rows.tolist(), strands, times, keys, strict=True):
            process = graph.strands[strand].process
            loaded = load(of, graph.text(row))
            if getattr(loaded, "stack", 0) and not loaded.at:
                loaded = loaded._replace(at=self._stacks.get((process, loaded.stack), ()))
            found.append(Fact(row, strand, ns, process, key, graph.channel(row), loaded))
        return found

    @cached_property
    def _stacks(self) -> dict[tuple[int, int], tuple[Frame, ...]]:
        """The frames of each numbered stack of a process, which the first fact with the number has."""
        graph = self.graph
        found: dict[tuple[int, int], tuple[Frame, ...]] = {}
        for row in graph.rows_of([Kind.WAIT, Kind.HOLD, Kind.CANCEL]).tolist():
            text = graph.text(row)
            if '"stack":' in text and '"at":' in text:
                fact = load(Wait, text)
                found[graph.strand_of(row).process, fact.stack] = fact.at
        return found

    @cached_property
    def waits(self) -> list[Waiting]:
        """All waits, by the time of their beginning."""
        wakes = defaultdict(list)
        for wake in self._read(Kind.WAKE, Wake):
            wakes[wake.strand, wake.key].append(wake)
        found: list[Waiting] = []
        helped: dict[int, list[Waiting]] = defaultdict(list)
        for begin in self._begins:
            ends = wakes[begin.strand, begin.key]
            place = bisect_right(ends, begin.row, key=_row)
            wait = Waiting(begin, ends[place] if place < len(ends) else None)
            (helped[begin.strand] if begin.strand in self._principals else found).append(wait)
        found = [self._with_helper(wait, helped) for wait in found] if helped else found
        return sorted(found, key=lambda wait: wait.begin.ns)

    @cached_property
    def _begins(self) -> list[Fact[Wait]]:
        return self._read(Kind.WAIT, Wait)

    @cached_property
    def _principals(self) -> dict[int, int]:
        """The strands for which tasks of `asyncio.wait_for` act, by these tasks."""
        return principals(self.graph, ((each.strand, each.text) for each in self._begins), self.strand_with_key)

    def _with_helper(self, wait: Waiting, helped: dict[int, list[Waiting]]) -> Waiting:
        """Return a wait for a helper as the wait for what the helper waits for."""
        text = wait.begin.text
        inner = helped.get(self.strand_with_key(wait.begin.process, text.target), []) if awaits_helper(text) else []
        if not inner:
            return wait
        first = inner[0].begin
        text = text._replace(
            name=first.text.name,
            holders=first.text.holders,
            waiters=first.text.waiters,
            capacity=first.text.capacity,
            target=first.text.target,
            targets=first.text.targets,
        )
        begin = replace(wait.begin, key=first.key, channel=first.channel, text=text)
        return Waiting(begin, wait.wake, tuple(row for each in inner for row in each.rows))

    @cached_property
    def waits_of(self) -> dict[int, list[Waiting]]:
        """The waits of each strand, in order."""
        found = defaultdict(list)
        for wait in self.waits:
            found[wait.strand].append(wait)
        return dict(found)

    @cached_property
    def waits_for(self) -> dict[Resource, list[Waiting]]:
        """The waits for each resource, in order."""
        found = defaultdict(list)
        for wait in self.waits:
            found[wait.resource].append(wait)
        return dict(found)

    @cached_property
    def waits_for_end(self) -> dict[Resource, list[Waiting]]:
        """The waits for the end of one task or thread, by its process and its key or serial, in order."""
        found = defaultdict(list)
        for wait in self.waits:
            helper = self.graph.strand_of(wait.inner[0]).key if wait.inner else 0
            if helper or wait.begin.text.target:
                found[wait.begin.process, helper or wait.begin.text.target].append(wait)
        return dict(found)

    def waiter_for(self, strand: int) -> Waiting | None:
        """Return the first wait of another strand for the end of a task, None if no strand waited."""
        task = self.graph.strands[strand]
        waits = self.waits_for_end.get((task.process, task.key), ()) if task.key else ()
        return next((wait for wait in waits if wait.strand != strand), None)

    @cached_property
    def holdings(self) -> list[Holding]:
        """All holdings that HOLD records or waits show, by time."""
        found = []
        for hold, end in self._pairs():
            found.append(
                Holding(
                    hold.resource,
                    hold.strand,
                    hold.ns,
                    end.ns if end else None,
                    hold.text.at,
                    (hold.row, end.row) if end else (hold.row,),
                )
            )
        for wait in self.waits:
            found += (self._named(wait, holder) for holder in wait.begin.text.holders)
        return sorted(found, key=lambda holding: holding.since_ns)

    def _pairs(self) -> list[tuple[Fact[Wait], Fact[Wake] | None]]:
        """Return each HOLD with the RETURN that ends it: its own strand's next one, else another strand's."""
        ends: dict[int, Fact[Wake]] = {}
        open_: dict[Resource, dict[int, list[Fact[Wait]]]] = defaultdict(dict)
        holds, returns = self._read(Kind.HOLD, Wait), self._read(Kind.RETURN, Wake)
        holds = [replace(hold, strand=self._principals.get(hold.strand, hold.strand)) for hold in holds]
        order: list[tuple[int, int, Fact[Wait] | None, Fact[Wake] | None]] = []
        order += ((hold.ns, hold.row, hold, None) for hold in holds)
        order += ((back.ns, back.row, None, back) for back in returns)
        for _ns, _place, hold, back in sorted(order, key=itemgetter(0, 1)):
            fact = hold or back
            assert fact is not None
            held = open_[fact.resource]
            if hold is not None:
                held.setdefault(hold.strand, []).append(hold)
            elif back is not None and held:
                strand = back.strand if back.strand in held else next(iter(held))
                ends[held[strand].pop(0).row] = back
                if not held[strand]:
                    del held[strand]
        return [(hold, ends.get(hold.row)) for hold in holds]

    def _named(self, wait: Waiting, holder: Holder) -> Holding:
        since = wait.begin.ns - max(holder.held_ns, 0)
        strand = self.strand_of(wait.begin.process, holder)
        return Holding(wait.resource, strand, since, None, holder.at, (wait.begin.row,), holder.process)

    @cached_property
    def _strands(self) -> dict[tuple[int, int, int], int]:
        return {
            (strand.process, strand.thread if strand.kind == "thread" else 0, strand.key): strand.index
            for strand in self.graph.strands
        }

    def strand_of(self, process: int, holder: Holder) -> int:
        """Return the strand of a holder that a process recorded, -1 when it is unknown."""
        if holder.process:
            process = next((each.index for each in self.graph.processes if each.uid == holder.process), -1)
        if holder.strand:
            return self._strands.get((process, 0, holder.strand), -1)
        return self._strands.get((process, holder.thread, 0), -1)

    def strand_with_key(self, process: int, key: int) -> int:
        """Return the task with a key, -1 when it is unknown."""
        return self._strands.get((process, 0, key), -1)

    @cached_property
    def cancels(self) -> list[Fact[Cancel]]:
        return self._read(Kind.CANCEL, Cancel)

    @cached_property
    def cancels_by_target(self) -> dict[tuple[int, int], list[Fact[Cancel]]]:
        """The cancellations by the process and the key of the task that they ask for, by time."""
        found = defaultdict(list)
        for fact in sorted(self.cancels, key=lambda fact: fact.ns):
            found[fact.resource].append(fact)
        return dict(found)

    def thread_with_serial(self, process: int, serial: int) -> int:
        """Return the thread with a serial, -1 when it is unknown."""
        return self._strands.get((process, serial, 0), -1)

    @cached_property
    def exceptions(self) -> list[Fact[Exception_]]:
        """All exceptions. A handled one that was recorded before is recorded without its message; it is given back here."""
        found: list[Fact[Exception_]] = []
        full: dict[tuple[Resource, str], Exception_] = {}
        for fact in sorted(self._read(Kind.EXCEPTION, Exception_), key=lambda fact: (fact.ns, fact.row)):
            known = full.get((fact.resource, fact.channel))
            if fact.text == _AGAIN and known is not None:
                found.append(replace(fact, text=known._replace(role="handled")))
                continue
            full[fact.resource, fact.channel] = fact.text
            found.append(fact)
        return sorted(found, key=lambda fact: fact.row)

    @cached_property
    def ended(self) -> dict[int, Fact[Ended]]:
        """How tasks ended that did not return, by strand."""
        found = {}
        for fact in self._read(Kind.ENDED, Ended):
            strand = self.strand_with_key(fact.process, fact.key)
            if strand >= 0 or fact.text.end != "pending":  # whoever drops a task records that end
                found[fact.strand if strand < 0 else strand] = fact
        return found

    @cached_property
    def outputs(self) -> list[int]:
        """The rows of lines that were written to the standard streams."""
        found: list[int] = self.graph.rows_of([Kind.OUTPUT]).tolist()
        return found

    @cached_property
    def last_ns(self) -> int:
        """The time until which waits without an end lasted: the run's last event, or its end if a process was killed."""
        graph = self.graph
        last = int(graph.ts.max()) if len(graph) else 0
        if graph.info.finished is not None and any(process.died for process in graph.processes):
            last = max(last, graph.info.finished - graph.info.started)
        return last

    def observe_until(self, ns: int) -> None:
        """Let waits without an end last until `ns` at least: the present time of a live run. Call this before diagnoses."""
        self.last_ns = max(self.last_ns, ns)
