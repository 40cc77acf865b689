"""Tell where execution was not followed: while a thread ran greenlets, or an event loop whose tasks are not strands.

There the events of several tasks share one strand in the order of their times, so neither an earlier event of the strand
nor an enclosing call is a cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import FLAG_OVER, UNFOLLOWED, Kind


@dataclass(frozen=True)
class Unfollowed:
    """A time in which a thread was not followed."""

    process: int
    thread: int
    """The serial of the thread."""
    since_ns: int
    until_ns: int | None
    """None if it did not end."""
    row: int
    """The event that marks the beginning."""
    text: str
    """A sentence such as `gevent runs in this thread; clew does not follow its greenlets`."""

    def covers(self, process: int, thread: int, ns: int) -> bool:
        return (
            (process, thread) == (self.process, self.thread)
            and self.since_ns <= ns
            and (self.until_ns is None or ns <= self.until_ns)
        )


def unfollowed(graph: ExecutionGraph) -> list[Unfollowed]:
    """Return all such times, by their beginning."""
    known: list[Unfollowed] | None = graph.answers.get("unfollowed")
    if known is None:
        known = graph.answers["unfollowed"] = _read(graph)
    return list(known)


def unfollowed_at(graph: ExecutionGraph, row: int) -> Unfollowed | None:
    """Return why the execution around an event was not followed, None if it was."""
    times = unfollowed(graph)
    if not times:
        return None
    strand, ns = graph.strand_of(row), graph.at("ts", row)
    return next((time for time in times if time.covers(strand.process, strand.thread, ns)), None)


def are_unfollowed(graph: ExecutionGraph, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return for each event whether the execution around it was not followed."""
    found = np.zeros(len(rows), bool)
    for time in unfollowed(graph):
        strands = [
            number
            for number, strand in enumerate(graph.strands)
            if (strand.process, strand.thread) == (time.process, time.thread)
        ]
        inside = np.isin(graph.strand[rows], strands) & (graph.ts[rows] >= time.since_ns)
        found |= inside if time.until_ns is None else inside & (graph.ts[rows] <= time.until_ns)
    return found


def limits(graph: ExecutionGraph, events: Iterable[int]) -> tuple[str, ...]:
    """Return a sentence for each thread in which some of the events were not followed."""
    if not unfollowed(graph):
        return ()
    found: dict[tuple[int, int, str], str] = {}
    for row in events:
        time = unfollowed_at(graph, row)
        if time is not None:
            where = time.process, time.thread, time.text
            text = time.text.replace("this thread", _thread_name(graph, row), 1)
            found.setdefault(where, f"{text}, so the causes there are not known.")
    return tuple(found.values())


def _thread_name(graph: ExecutionGraph, row: int) -> str:
    strand = graph.strand_of(row)
    name = strand.thread_name or strand.name
    return f"{graph.processes[strand.process].name}, {name}" if len(graph.processes) > 1 else name


def _read(graph: ExecutionGraph) -> list[Unfollowed]:
    rows = graph.rows_of([Kind.GAP], UNFOLLOWED).tolist()
    found: list[Unfollowed] = []
    open_: dict[tuple[int, int, int], list[int]] = {}
    for row in sorted(rows, key=lambda row: graph.at("ts", row)):
        strand, ns = graph.strand_of(row), graph.at("ts", row)
        where = strand.process, strand.thread, graph.at("site", row)
        if int(graph.extensions.flags[graph.ext[row]]) & FLAG_OVER:
            if open_.get(where):
                at = open_[where].pop()
                begun = found[at]
                found[at] = Unfollowed(begun.process, begun.thread, begun.since_ns, ns, begun.row, begun.text)
        else:
            open_.setdefault(where, []).append(len(found))
            found.append(Unfollowed(strand.process, strand.thread, ns, None, row, graph.text(row)))
    return found
