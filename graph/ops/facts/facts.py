"""Read the facts of a run: who waited for what, who held it, which exceptions and cancellations there were, what was printed.

Invariant: each object names the rows of the graph that it was read from, so that every sentence about it can be checked.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.columns.exceptions import Exceptions, ExceptionTable
from clew.graph.ops.facts.columns.holdings import Holding, Holdings, HoldTable
from clew.graph.ops.facts.columns.records import Fact, Records, Resource
from clew.graph.ops.facts.columns.views import Groups, View
from clew.graph.ops.facts.columns.waits import Waiting, Waits, WaitTable
from clew.graph.ops.facts.helper_tasks import Helpers
from clew.graph.ops.facts.work.served_work import askers
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel, Ended, Exception_, Frame, Holder, Wait, Wake

__all__ = ["Exceptions", "Fact", "Facts", "Holding", "Holdings", "Resource", "Waiting", "Waits"]


class Facts:
    """All facts of a graph, read on first use."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph

    @classmethod
    def of(cls, graph: ExecutionGraph) -> Facts:
        """Return the facts of a graph, which are cached with it."""
        return cached(graph, "facts", lambda: cls(graph))

    # ---- Waits and resources ----

    @cached_property
    def _begins(self) -> Records[Wait]:
        return Records(self.graph, Kind.WAIT, Wait, lambda: self._stacks)

    @cached_property
    def _holds(self) -> Records[Wait]:
        return Records(self.graph, Kind.HOLD, Wait, lambda: self._stacks)

    @cached_property
    def _cancels(self) -> Records[Cancel]:
        return Records(self.graph, Kind.CANCEL, Cancel, lambda: self._stacks)

    @cached_property
    def _stacks(self) -> dict[tuple[int, int], tuple[Frame, ...]]:
        """The frames of each numbered stack of a process, which the first fact with the number has."""
        found: dict[int, tuple[int, Wait | Cancel]] = {}
        for records in (self._begins, self._holds, self._cancels):
            for place in np.flatnonzero(records.contains('"stack":') & records.contains('"at":')).tolist():
                found[int(records.row[place])] = int(records.process[place]), records.own_text(place)
        # Holders have stacks, too, so that a record may have "at" without having its own stack.
        return {(process, fact.stack): fact.at for _row, (process, fact) in sorted(found.items()) if fact.at}

    @cached_property
    def waits(self) -> Waits:
        """All waits, by the time of their beginning."""
        helpers = self.helpers
        wakes = Records(self.graph, Kind.WAKE, Wake)
        return WaitTable(self._begins, wakes, helpers.first, helpers.last, helpers.by_thread).all()

    @cached_property
    def helpers(self) -> Helpers:
        """The tasks and threads that act for other strands."""
        return Helpers.of(self.graph, self._begins, self.strand_with_key)

    def blocked_at(self, wait: Waiting) -> tuple[Frame, ...]:
        """Return the stack where a wait blocked, innermost first: that of the helper, if there is one."""
        if not wait.inner:
            return wait.begin.text.at
        return self._begins.text(int(np.searchsorted(self._begins.row, wait.inner[0]))).at

    @cached_property
    def waits_of(self) -> Groups[int, Waits]:
        """The waits of each strand, in order."""
        return Groups(self.waits, self.waits.strand)

    @cached_property
    def waits_for(self) -> Groups[Resource, Waits]:
        """The waits for each resource, in order."""
        return Groups(self.waits, self.waits.owner, self.waits.key)

    @cached_property
    def waits_for_end(self) -> Groups[Resource, Waits]:
        """The waits for the end of one task or thread, by its process and its key or serial, in order."""
        waits = self.waits.take(self.waits.target > 0)
        return Groups(waits, waits.process, waits.target)

    def waiter_for(self, strand: int) -> Waiting | None:
        """Return the first wait of another strand for the end of a task, None if no strand waited."""
        task = self.graph.strands[strand]
        waits = self.waits_for_end.of(task.process, task.key) if task.key else ()
        return next((wait for wait in waits if wait.strand != strand), None)

    @cached_property
    def holdings(self) -> Holdings:
        """All holdings that HOLD records show, by time."""
        served = askers(self.graph, self._begins, self._holds, self._holds.contains('"item":'))
        own = {place: (asker.strand, self._begins.text(asker.wait).at) for place, asker in served.items()}
        return HoldTable(self._holds, Records(self.graph, Kind.RETURN, Wake), self.helpers.acts_for, own).all()

    @cached_property
    def holdings_of(self) -> Groups[Resource, Holdings]:
        """The holdings of each resource that HOLD records show, by time."""
        return Groups(self.holdings, self.holdings.owner, self.holdings.key)

    def named_by(self, wait: Waiting) -> list[Holding]:
        """Return the holders that a wait names, by the time since when they held the resource."""
        found = [self._named(wait, holder) for holder in wait.begin.text.holders]
        return sorted(found, key=lambda holding: holding.since_ns)

    def _named(self, wait: Waiting, holder: Holder) -> Holding:
        since = wait.begin.ns - max(holder.held_ns, 0)
        strand = self.strand_of(wait.begin.process, holder)
        return Holding(wait.resource, strand, since, None, holder.at, (wait.begin.row,), 0, holder.process)

    # ---- Strands ----

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

    # ---- Cancellations, exceptions, ends, outputs ----

    @cached_property
    def cancels(self) -> View[Fact[Cancel]]:
        return self._cancels.all()

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
    def exceptions(self) -> Exceptions:
        """All exceptions, by row."""
        records = Records(self.graph, Kind.EXCEPTION, Exception_)
        return Exceptions(ExceptionTable(records), np.arange(len(records)))

    @cached_property
    def ended(self) -> dict[int, Fact[Ended]]:
        """How tasks ended that did not return, by strand.

        The destruction of a task counts, not a failure after it: a coroutine that is closed then may wake its task again.
        """
        found: dict[int, Fact[Ended]] = {}
        for fact in Records(self.graph, Kind.ENDED, Ended).all():
            strand = self.strand_with_key(fact.process, fact.key)
            if strand >= 0 or fact.text.end != "pending":  # whoever drops a task records that end
                own = fact.strand if strand < 0 else strand
                if own not in found or found[own].text.end != "pending":
                    found[own] = fact
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
