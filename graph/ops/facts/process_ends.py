"""Tell when processes had ended for certain: their last record says so, another process noticed it, or they are gone by now.

Invariant: a process that was killed had ended when this says; when it died before is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.records.format.event import Kind
from clew.records.format.keys import process_end

_CHANNEL = "process.end"


@dataclass(frozen=True)
class ProcessEnd:
    """The time by which a process had ended, and the row that shows it, -1 if only its absence does."""

    ns: int
    row: int


class ProcessEnds:
    """The ends of the processes of a run. Use `ProcessEnds.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._graph = facts, facts.graph

    @classmethod
    def of(cls, facts: Facts) -> ProcessEnds:
        return cached(facts.graph, "process ends", lambda: cls(facts))

    def end_of(self, process: int) -> ProcessEnd | None:
        """Return the end of a process, None if it is not known."""
        found = self._recorded.get(process)
        if found is None and self._is_live and self._graph.processes[process].died:
            return ProcessEnd(self._facts.last_ns, -1)
        return found

    def alive_until(self, wait: Waiting) -> int:
        """Return until when a wait lasted at least, in ns since the run's start."""
        process = self._graph.processes[wait.begin.process]
        if wait.wake is not None:
            return wait.wake.ns
        if self._is_live and process.end == "recording" and not process.died:
            return self._facts.last_ns
        return process.last_ns

    @property
    def _is_live(self) -> bool:
        return self._graph.info.finished is None

    @cached_property
    def _recorded(self) -> dict[int, ProcessEnd]:
        graph = self._graph
        channel = graph.channel_ids.get("process.start", -1)
        started = np.flatnonzero(graph.edge_channel == channel) if channel >= 0 else ()
        ended = {
            process_end(graph.key(int(graph.edge_src[edge]))): graph.process_of(int(graph.edge_dst[edge])).index
            for edge in started
        }
        found: dict[int, ProcessEnd] = {}
        for row in self._rows(Kind.SEND):
            process = graph.process_of(row).index
            if not graph.processes[process].died:
                found[process] = ProcessEnd(graph.at("ts", row), row)
        for row in self._rows(Kind.JOIN):
            process = ended.get(graph.key(row), -1)
            if process >= 0:
                found.setdefault(process, ProcessEnd(graph.at("ts", row), row))
        return found

    def _rows(self, kind: Kind) -> list[int]:
        """Return the rows of a kind that tell of the end of a process, by time."""
        rows = self._graph.rows_of([kind], _CHANNEL)
        found: list[int] = rows[np.argsort(self._graph.ts[rows], kind="stable")].tolist()
        return found
