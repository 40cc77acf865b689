"""Tell which threads, tasks and processes were lost: an uncaught exception ended them, they were destroyed, or killed.

Invariant: a task whose exception another task took is not lost, and neither is a task that was destroyed after its event loop
had stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.model.graph import Process, Strand
from clew.graph.ops.causes.state_waits import edges_into
from clew.graph.ops.facts.facts import Fact, Facts, Resource
from clew.records.format.event import CALLS, Kind
from clew.records.format.facts import Exception_

_ENDS_WITHOUT_ERROR = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit", "CancelledError", "StopIteration"})
_STARTS = frozenset({"thread.start", "asyncio.handle", "process.start"})


@dataclass(frozen=True)
class Lost:
    """A strand that was lost."""

    how: Literal["failed", "destroyed", "killed", "exited"]
    """An exception ended it, it was destroyed, or its process was killed or ended inside a call."""
    strand: int
    ns: int
    """When it was lost; for a killed process the time of its last event."""
    rows: tuple[int, ...]
    """The rows that show it."""
    exception: Fact[Exception_] | None = None
    """The exception that ended it, None if it was not recorded."""
    unretrieved: int = -1
    """The row that reports that nobody took a task's exception, -1 if there is none."""


class LostStrands:
    """The lost strands of a run. Use `LostStrands.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._graph = facts, facts.graph

    @classmethod
    def of(cls, facts: Facts) -> LostStrands:
        return cached(facts.graph, "lost strands", lambda: cls(facts))

    @cached_property
    def threads(self) -> dict[int, Lost]:
        """The threads that an exception ended."""
        found: dict[int, Lost] = {}
        for fact in _errors(self._facts, "ended"):
            if self._graph.strands[fact.strand].kind == "thread":
                found.setdefault(fact.strand, Lost("failed", fact.strand, fact.ns, (fact.row,), fact))
        return found

    @cached_property
    def failed_tasks(self) -> dict[int, Lost]:
        """The tasks that failed with an exception that nobody took."""
        failed = {strand: ended for strand, ended in self._facts.ended.items() if ended.text.end == "failed"}
        if not failed:
            return {}
        exceptions: dict[Resource, Fact[Exception_]] = {}
        unretrieved: dict[Resource, Fact[Exception_]] = {}
        for resource in {(ended.process, ended.text.exception) for ended in failed.values() if ended.text.exception}:
            for fact in sorted(self._facts.exceptions.of(*resource), key=lambda fact: fact.row):
                if fact.text.role == "unretrieved":
                    unretrieved[resource] = fact
                elif resource not in exceptions or fact.text.at:
                    exceptions[resource] = fact
        sources = np.sort(self._graph.edge_src)
        found = {}
        for strand, ended in failed.items():
            resource = (ended.process, ended.text.exception)
            proof = unretrieved.get(resource) if ended.text.exception else None
            if proof is None and self._has_taker(strand, sources):
                continue
            shown = (exceptions.get(resource) or proof) if ended.text.exception else None
            rows = (ended.row, *((shown.row,) if shown else ()))
            found[strand] = Lost("failed", strand, ended.ns, rows, shown, proof.row if proof else -1)
        return found

    def _has_taker(self, strand: int, sources: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
        """Return whether an edge leaves the end of a task: its outcome, or the handle of a callback that runs then."""
        graph = self._graph
        task = graph.strands[strand]
        calls = np.flatnonzero(np.isin(graph.kind[task.start : task.stop], list(CALLS)))
        first = task.start + int(calls[-1]) + 1 if len(calls) else task.start
        return bool(np.searchsorted(sources, task.stop) > np.searchsorted(sources, first))

    @cached_property
    def destroyed_tasks(self) -> dict[int, Lost]:
        """The tasks that were destroyed before their end, while their thread still ran steps of tasks."""
        graph, found = self._graph, {}
        pending = {strand: fact for strand, fact in self._facts.ended.items() if fact.text.end == "pending"}
        last: dict[tuple[int, int], int] = {}
        for row in graph.rows_of([Kind.STEP_BEGIN]).tolist() if pending else []:
            own = graph.strand_of(row)
            last[own.process, own.thread] = max(last.get((own.process, own.thread), 0), graph.at("ts", row))
        for strand, fact in pending.items():
            own = graph.strands[strand]
            if own.key == fact.key and last.get((own.process, own.thread), 0) > fact.ns:
                found[strand] = Lost("destroyed", strand, fact.ns, (fact.row,))
        return found

    @cached_property
    def died(self) -> dict[int, Lost]:
        """The main threads of processes that were killed."""
        return self._main_threads("killed", [process for process in self._graph.processes if process.died])

    @cached_property
    def killed(self) -> dict[int, Lost]:
        """The main threads of child processes that were killed, unless the first process was, too: then the run was killed."""
        return {} if self._graph.processes[0].died else self.died

    @cached_property
    def exited(self) -> dict[int, Lost]:
        """The main threads of child processes that ended inside a call, as by `os._exit`; many of them meant to."""
        graph = self._graph
        found = self._main_threads("exited", [process for process in graph.processes[1:] if process.end == "closed"])
        return {strand: lost for strand, lost in found.items() if graph.call_of(lost.rows[0]) >= 0}

    def _main_threads(self, how: Literal["killed", "exited"], processes: list[Process]) -> dict[int, Lost]:
        main: dict[int, Strand] = {}
        last: dict[int, int] = {}
        for strand in self._graph.strands:
            if strand.stop == strand.start:
                continue
            if strand.kind == "thread":
                main.setdefault(strand.process, strand)
            # Another thread may have recorded the last event of the process.
            known = last.get(strand.process, -1)
            if known < 0 or self._graph.at("ts", strand.stop - 1) > self._graph.at("ts", known):
                last[strand.process] = strand.stop - 1
        found: dict[int, Lost] = {}
        for process in processes:
            if (thread := main.get(process.index)) is not None:
                rows = tuple(dict.fromkeys((thread.stop - 1, last[process.index])))
                found[thread.index] = Lost(how, thread.index, process.last_ns, rows)
        return found

    @cached_property
    def unexpected(self) -> dict[int, Lost]:
        """All lost strands but those of processes that may have meant to end."""
        return {**self.killed, **self.destroyed_tasks, **self.failed_tasks, **self.threads}

    @cached_property
    def all(self) -> dict[int, Lost]:
        return {**self.exited, **self.unexpected}

    def starter(self, strand: int) -> tuple[int, int]:
        """Return the strand that started another one, and the row where it did; (-1, -1) if that was not recorded."""
        graph = self._graph
        own = graph.strands[strand]
        for row in range(own.start, min(own.start + 2, own.stop)):
            for edge in edges_into(graph, graph.at("region", row), row):
                if graph.edge_dst[edge] == row and graph.strings[int(graph.edge_channel[edge])] in _STARTS:
                    source = int(graph.edge_src[edge])
                    return graph.at("strand", source), source
        return -1, -1


def uncaught(facts: Facts) -> Iterator[Fact[Exception_]]:
    """Yield the exceptions that no code caught: those that ended a thread, and those that nobody took from a task."""
    lost = LostStrands.of(facts)
    for fact in _errors(facts, "ended", "unretrieved"):
        is_task = facts.graph.strands[fact.strand].kind == "task"
        if fact.text.role == "unretrieved" or not is_task or fact.strand in lost.failed_tasks:
            yield fact


def _errors(facts: Facts, *roles: str) -> Iterator[Fact[Exception_]]:
    """Yield the exceptions with one of the roles, without those that only ask for an end."""
    for fact in facts.exceptions.take(facts.exceptions.of_roles(*roles)):
        if fact.channel.rpartition(".")[2] not in _ENDS_WITHOUT_ERROR:
            yield fact
