"""Where events are missing: lost with their files, dropped for a quota, or recorded no more from a gap mark on.

Invariant: a gap lies within one strand, between two events that are there, or beyond its first or last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph, Gap
from clew.graph.render.table import Column, Table
from clew.records.format.event import FLAG_OVER, Kind
from clew.records.read.process_records import Missing

I64 = npt.NDArray[np.int64]


def gaps(graph: ExecutionGraph) -> list[Gap]:
    """All of a run, in the order of their strands and events."""
    known: list[Gap] | None = graph.answers.get("gaps")
    if known is None:
        found = [*graph.lost, *_marked(graph)]
        known = graph.answers["gaps"] = sorted(found, key=lambda gap: (gap.strand, gap.after, gap.before))
    return list(known)


def around(graph: ExecutionGraph, gap: Gap) -> tuple[int, int]:
    """The rows of its strand that it lies between: one before the strand's first, or the one behind its last, where nothing
    in the strand tells where it begins or ends."""
    strand = graph.strands[gap.strand]
    if gap.after < 0 and gap.before < 0:
        return strand.start - 1, strand.stop
    after = gap.after if gap.after >= 0 else gap.before - 1
    if gap.before >= 0:
        return after, gap.before
    # A mark without an end holds for the rest of the strand; records are lost up to the next one that is there.
    return after, strand.stop if _is_mark(graph, gap) else gap.after + 1


def stretch(graph: ExecutionGraph, gap: Gap) -> tuple[int, int]:
    """From when to when events are missing, in nanoseconds since the run's start: as far as the process goes where no event of
    the strand tells."""
    strand = graph.strands[gap.strand]
    process = graph.processes[strand.process]
    after, before = around(graph, gap)
    begin = graph.at("ts", after) if after >= strand.start else process.first_ns
    end = graph.at("ts", before) if before < strand.stop else process.last_ns
    return begin, max(begin, end)


def lost_calls_of(graph: ExecutionGraph, gap: Gap) -> str:
    """The function whose calls alone are missing, `module:qualname`; "" where whatever the strand did is, or where calls are
    there and something else of theirs is missing, which the mark's channel names."""
    if not _is_mark(graph, gap) or graph.channel(gap.after):
        return ""
    return graph.sites[graph.at("site", gap.after)].label


def between(graph: ExecutionGraph, first: int, last: int) -> list[Gap]:
    """The gaps that are passed on the way from one event of a strand to a later one; from the row before the strand's first,
    the one at its beginning, too."""
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
    """All of a run with the names and times that belong to them; `function` where only its calls are missing."""
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
    # A last value that no row has gives a column its type, also where there is no row, or nothing is known.
    typed = {
        name: [*values, "" if name in ("process", "strand", "function", "why") else 0]
        for name, values in columns.items()
    }
    return Table({name: Column(np.arange(len(found)), values) for name, values in typed.items()})


def _is_mark(graph: ExecutionGraph, gap: Gap) -> bool:
    return gap.after >= 0 and graph.at("kind", gap.after) == Kind.GAP and graph.at("site", gap.after) > 0


def touching(graph: ExecutionGraph, holds: Callable[[I64], npt.NDArray[np.bool_]]) -> list[Gap]:
    """The gaps beside an event that is held: there more may belong to what holds it."""
    found = gaps(graph)
    if not found:
        return []
    sides = np.array([side for gap in found for side in (gap.after, gap.before)], np.int64)
    beside = sides >= 0
    beside[beside] = holds(sides[beside])
    return [gap for number, gap in enumerate(found) if beside[2 * number : 2 * number + 2].any()]


def _marked(graph: ExecutionGraph) -> list[Gap]:
    """What gap marks say: each up to the next that ends one, of the same function of the process and of the same channel."""
    found: list[Gap] = []
    open_: dict[tuple[int, int, str], int] = {}
    rows = np.flatnonzero(graph.kind == Kind.GAP)
    for row in rows[np.argsort(graph.ts[rows], kind="stable")].tolist():
        strand, ext = int(graph.strand[row]), int(graph.ext[row])
        if ext < 0:
            continue
        name = (graph.strands[strand].process, int(graph.site[row]), graph.channel(row))
        lost, over = int(graph.extensions.key[ext]) or None, int(graph.extensions.flags[ext]) & FLAG_OVER
        if not name[1]:  # records that were dropped before it
            before = row - 1 if row > graph.strands[strand].start else -1
            found.append(Gap(strand, before, row, lost, graph.text(row)))
        elif over and name in open_:
            at = open_.pop(name)
            begun = found[at]
            before = row if begun.strand == strand else _first_since(graph, begun, int(graph.ts[row]))
            found[at] = Gap(begun.strand, begun.after, before, lost, begun.why)
        elif not over:
            open_[name] = len(found)
            label = graph.sites[name[1]].label
            found.append(Gap(strand, row, -1, lost, f"{label}: {graph.text(row)}" if label else graph.text(row)))
    return found


def _first_since(graph: ExecutionGraph, gap: Gap, ns: int) -> int:
    """The gap's strand's first event since a time, -1 for none: a mark by which it ends may be in another strand."""
    strand = graph.strands[gap.strand]
    row = strand.start + int(np.searchsorted(graph.ts[strand.start : strand.stop], ns))
    return row if gap.after < row < strand.stop else -1


def lost_of(missing: Sequence[Missing], ends: I64, row_of: I64, strand: I64, own: int) -> list[Gap]:
    """The gaps of one thread. Of its records, `row_of` are the events' rows and `strand` their strands; `ends` are pairs of
    bytes and records, growing; `own` is its own strand, to which a gap belongs when nothing else of the thread is there."""
    found = []
    for offset, why in missing:
        place = int(np.searchsorted(ends[:, 0], offset, "right")) - 1
        at = int(ends[place, 1]) if place >= 0 else 0
        after, before = (at - 1 if at else -1), (at if at < len(row_of) else -1)
        if after >= 0 and before >= 0 and strand[after] == strand[before]:
            found.append(Gap(int(strand[after]), int(row_of[after]), int(row_of[before]), None, why))
            continue
        # Which of the two it was that went on is lost, too.
        if after >= 0:
            found.append(Gap(int(strand[after]), int(row_of[after]), -1, None, why))
        if before >= 0:
            found.append(Gap(int(strand[before]), -1, int(row_of[before]), None, why))
        if after < 0 and before < 0:
            found.append(Gap(own, -1, -1, None, why))
    return found
