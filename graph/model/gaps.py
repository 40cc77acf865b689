"""Gaps, i.e. places where events are missing: lost with files, dropped for a quota, or not recorded after a gap mark.

Invariant: a gap belongs to one strand. It is between two recorded events, before the first or after the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph, Gap
from clew.graph.render.table import Column, Table
from clew.records.format.event import FLAG_OVER, UNFOLLOWED, Kind
from clew.records.read.process_records import Missing

I64 = npt.NDArray[np.int64]


def gaps(graph: ExecutionGraph) -> list[Gap]:
    """Return all gaps of a run, sorted by strand and event."""
    cached: list[Gap] | None = graph.answers.get("gaps")
    if cached is None:
        found = [*graph.lost, *_marked(graph)]
        cached = graph.answers["gaps"] = sorted(found, key=lambda gap: (gap.strand, gap.after, gap.before))
    return list(cached)


def around(graph: ExecutionGraph, gap: Gap) -> tuple[int, int]:
    """Return the two rows that the gap is between.

    Where its begin is unknown, that is the row before the strand's first; where its end is, the row after the last.
    """
    strand = graph.strands[gap.strand]
    if gap.after < 0 and gap.before < 0:
        return strand.start - 1, strand.stop
    after = gap.after if gap.after >= 0 else gap.before - 1
    if gap.before >= 0:
        return after, gap.before
    # A mark without an end covers the rest of the strand; lost records end at the next recorded event.
    return after, strand.stop if _is_mark(graph, gap) else gap.after + 1


def stretch(graph: ExecutionGraph, gap: Gap) -> tuple[int, int]:
    """Return the begin and end of the gap in nanoseconds since the run's start.

    Where no event of the strand bounds the gap, the begin or end of the process does.
    """
    strand = graph.strands[gap.strand]
    process = graph.processes[strand.process]
    after, before = around(graph, gap)
    begin = graph.at("ts", after) if after >= strand.start else process.first_ns
    end = graph.at("ts", before) if before < strand.stop else process.last_ns
    return begin, max(begin, end)


def lost_calls_of(graph: ExecutionGraph, gap: Gap) -> str:
    """Return the `module:qualname` of the function if only its calls are missing, else "".

    A mark with a channel is not about calls: the channel names what is missing of them.
    """
    if not _is_mark(graph, gap) or graph.channel(gap.after):
        return ""
    return graph.sites[graph.at("site", gap.after)].label


def between(graph: ExecutionGraph, first: int, last: int) -> list[Gap]:
    """Return the gaps between one event of a strand and a later one.

    If `first` is the row before the strand's first, a gap at the strand's beginning is included.
    """
    strand = graph.at("strand", last)
    by_strand: dict[int, list[Gap]] | None = graph.answers.get("gaps by strand")
    if by_strand is None:
        by_strand = graph.answers["gaps by strand"] = {}
        for gap in gaps(graph):
            by_strand.setdefault(gap.strand, []).append(gap)
    found = []
    for gap in by_strand.get(strand, ()):
        after, before = around(graph, gap)
        if after < last and before > first:
            found.append(gap)
    return found


def gap_table(graph: ExecutionGraph) -> Table:
    """Return all gaps of a run as a table with names and times; `function` is set where only its calls are missing."""
    found = gaps(graph)
    strands = [graph.strands[gap.strand] for gap in found]
    times = [stretch(graph, gap) for gap in found]
    columns: dict[str, list[Any]] = {
        "process": [graph.processes[strand.process].name for strand in strands],
        "strand": [strand.name for strand in strands],
        "from_ns": [begin for begin, _ in times],
        "to_ns": [end for _, end in times],
        "lost": [gap.lost for gap in found],
        "function": [lost_calls_of(graph, gap) for gap in found],
        "why": [gap.why for gap in found],
        "after": [gap.after for gap in found],
        "before": [gap.before for gap in found],
        "strand_id": [gap.strand for gap in found],
    }
    # An extra last value, which no row uses, gives a column its type even if it has no rows or no known values.
    typed = {
        name: [*values, "" if name in ("process", "strand", "function", "why") else 0]
        for name, values in columns.items()
    }
    return Table({name: Column(np.arange(len(found)), values) for name, values in typed.items()})


def _is_mark(graph: ExecutionGraph, gap: Gap) -> bool:
    return gap.after >= 0 and graph.at("kind", gap.after) == Kind.GAP and graph.at("site", gap.after) > 0


def touching(graph: ExecutionGraph, holds: Callable[[I64], npt.NDArray[np.bool_]]) -> list[Gap]:
    """Return the gaps next to an event for which `holds` is true, where more such events may be missing."""
    found = gaps(graph)
    if not found:
        return []
    sides = np.array([side for gap in found for side in (gap.after, gap.before)], np.int64)
    is_held = sides >= 0
    is_held[is_held] = holds(sides[is_held])
    return [gap for number, gap in enumerate(found) if is_held[2 * number : 2 * number + 2].any()]


def _marked(graph: ExecutionGraph) -> list[Gap]:
    """Return the gaps that marks describe. A gap ends at the next closing mark of the same process, function and channel.

    Marks of code that is not followed are omitted, because no event is missing there.
    """
    found: list[Gap] = []
    open_: dict[tuple[int, int, str], int] = {}
    rows = np.flatnonzero(graph.kind == Kind.GAP)
    for row in rows[np.argsort(graph.ts[rows], kind="stable")].tolist():
        strand, ext = int(graph.strand[row]), int(graph.ext[row])
        if ext < 0 or graph.channel(row) == UNFOLLOWED:
            continue
        name = (graph.strands[strand].process, int(graph.site[row]), graph.channel(row))
        lost, over = int(graph.extensions.key[ext]) or None, int(graph.extensions.flags[ext]) & FLAG_OVER
        if not name[1]:  # records that were dropped before it
            before = row - 1 if row > graph.strands[strand].start else -1
            found.append(Gap(strand, before, row, lost, graph.text(row)))
        elif over and name in open_:
            at = open_.pop(name)
            opened = found[at]
            before = row if opened.strand == strand else _first_since(graph, opened, int(graph.ts[row]))
            found[at] = Gap(opened.strand, opened.after, before, lost, opened.why)
        elif not over:
            open_[name] = len(found)
            label = graph.sites[name[1]].label
            found.append(Gap(strand, row, -1, lost, f"{label}: {graph.text(row)}" if label else graph.text(row)))
    return found


def _first_since(graph: ExecutionGraph, gap: Gap, ns: int) -> int:
    """Return the first event of the gap's strand since a time, -1 for none: its closing mark may be in another strand."""
    strand = graph.strands[gap.strand]
    row = strand.start + int(np.searchsorted(graph.ts[strand.start : strand.stop], ns))
    return row if gap.after < row < strand.stop else -1


def lost_of(missing: Sequence[Missing], ends: I64, row_of: I64, strand: I64, own: int) -> list[Gap]:
    """Return the gaps of one thread that lost records.

    `row_of` and `strand` give the row and the strand of each of the thread's records. `ends` has ascending pairs of bytes and
    records. `own` is the thread's own strand, which gets the gap when no record of the thread is left.
    """
    found = []
    for offset, why in missing:
        place = int(np.searchsorted(ends[:, 0], offset, "right")) - 1
        at = int(ends[place, 1]) if place >= 0 else 0
        after, before = (at - 1 if at else -1), (at if at < len(row_of) else -1)
        if after >= 0 and before >= 0 and strand[after] == strand[before]:
            found.append(Gap(int(strand[after]), int(row_of[after]), int(row_of[before]), None, why))
            continue
        # It is unknown which of the two strands lost the records.
        if after >= 0:
            found.append(Gap(int(strand[after]), int(row_of[after]), -1, None, why))
        if before >= 0:
            found.append(Gap(int(strand[before]), -1, int(row_of[before]), None, why))
        if after < 0 and before < 0:
            found.append(Gap(own, -1, -1, None, why))
    return found
