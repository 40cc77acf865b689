"""Read the steps of event loops: each run of a task's step or of a callback, during which the loop runs nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind

HANDLE = "asyncio.handle"
OPENING_ROWS = 16
"""The number of a step's first rows among which its first call is."""


@dataclass(frozen=True)
class LoopStep:
    """One run of a task's step or a callback on a loop's thread."""

    strand: int
    begin: int
    """The row that begins it."""
    end: int
    """The row that ends it."""
    begin_ns: int
    end_ns: int

    @property
    def ns(self) -> int:
        return self.end_ns - self.begin_ns


def long_steps(graph: ExecutionGraph, least_ns: int) -> list[LoopStep]:
    """Return the steps that took at least `least_ns`, without those nested in another one, by time."""
    found = _pairs(graph, graph.rows_of([Kind.STEP_BEGIN, Kind.STEP_END]), Kind.STEP_BEGIN, least_ns)
    handles = graph.rows_of([Kind.SCOPE_BEGIN, Kind.SCOPE_END], HANDLE)
    found += _pairs(graph, handles, Kind.SCOPE_BEGIN, least_ns)
    found.sort(key=lambda step: (step.begin_ns, -step.end_ns))
    kept: list[LoopStep] = []
    reached: dict[tuple[int, int], int] = {}
    for step in found:
        strand = graph.strands[step.strand]
        thread = strand.process, strand.thread
        if step.end_ns > reached.get(thread, -1):
            kept.append(step)
            reached[thread] = step.end_ns
    return kept


def _pairs(graph: ExecutionGraph, rows: npt.NDArray[np.int64], begin: Kind, least_ns: int) -> list[LoopStep]:
    """Pair each beginning with the next row if that is an end of the same strand. Steps of one strand do not nest."""
    first, second = rows[:-1], rows[1:]
    if not len(first):
        return []
    chosen = (
        (graph.kind[first] == begin) & (graph.kind[second] != begin) & (graph.strand[first] == graph.strand[second])
    )
    chosen &= graph.ts[second] - graph.ts[first] >= least_ns
    return [
        LoopStep(graph.at("strand", low), low, high, graph.at("ts", low), graph.at("ts", high))
        for low, high in zip(first[chosen].tolist(), second[chosen].tolist(), strict=True)
    ]


def open_steps(graph: ExecutionGraph, until_ns: int, least_ns: int) -> list[LoopStep]:
    """Return the steps of tasks that had not ended at a time, after at least `least_ns`, and in which a call is open."""
    found = []
    for strand in graph.strands:
        rows = graph.kind[strand.start : strand.stop]
        begins = np.flatnonzero(rows == Kind.STEP_BEGIN)
        if strand.kind != "task" or not len(begins) or np.any(rows[begins[-1] :] == Kind.STEP_END):
            continue
        begin = strand.start + int(begins[-1])
        step = LoopStep(strand.index, begin, strand.stop - 1, graph.at("ts", begin), until_ns)
        # A step that an exception ended has no record of its end, but its calls have.
        if step.ns >= least_ns and graph.at("inner", step.end) >= 0 and not _ran_since(graph, step):
            found.append(step)
    return found


def opening_row(graph: ExecutionGraph, start: int, stop: int) -> int:
    """Return the row in which the first recorded function of a step begins or continues, -1 for none."""
    rows = range(start, min(stop, start + OPENING_ROWS))
    return next((row for row in rows if graph.kind[row] in (Kind.ENTER, Kind.RESUME)), -1)


def _ran_since(graph: ExecutionGraph, step: LoopStep) -> bool:
    """Return whether another strand of a step's thread has a row after the step began."""
    own = graph.strands[step.strand]
    return any(
        strand.index != own.index
        and (strand.process, strand.thread) == (own.process, own.thread)
        and strand.start < strand.stop
        and graph.at("ts", strand.stop - 1) > step.begin_ns
        for strand in graph.strands
    )
