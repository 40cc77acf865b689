"""Where events are missing: lost with their files, dropped for a quota, or recorded no more from a gap mark on.

Invariant: a gap lies within one strand, between two events that are there, or beyond its first or last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from clew.graph.model import ExecutionGraph, Gap
from clew.records.event import FLAG_OVER, Kind
from clew.records.found import Missing

I64 = npt.NDArray[np.int64]


def gaps(graph: ExecutionGraph) -> list[Gap]:
    """All of a run, in the order of their strands and events."""
    found = [*graph.lost, *_marked(graph)]
    return sorted(found, key=lambda gap: (gap.strand, gap.after, gap.before))


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
    """What gap marks say: each up to the next that ends one, of the same function of the process."""
    found: list[Gap] = []
    open_: dict[tuple[int, int], int] = {}
    rows = np.flatnonzero(graph.kind == Kind.GAP)
    for row in rows[np.argsort(graph.ts[rows], kind="stable")].tolist():
        strand, ext = int(graph.strand[row]), int(graph.ext[row])
        if ext < 0:
            continue
        name = (graph.strands[strand].process, int(graph.site[row]))
        lost, over = int(graph.extensions.key[ext]) or None, int(graph.extensions.flags[ext]) & FLAG_OVER
        if not name[1]:  # records that were dropped before it
            before = row - 1 if row > graph.strands[strand].start else -1
            found.append(Gap(strand, before, row, lost, graph.text(row)))
        elif over and name in open_:
            at = open_.pop(name)
            begun = found[at]
            before = row if begun.strand == strand else -1
            found[at] = Gap(begun.strand, begun.after, before, lost, begun.why)
        elif not over:
            open_[name] = len(found)
            label = graph.sites[name[1]].label
            found.append(Gap(strand, row, -1, lost, f"{label}: {graph.text(row)}" if label else graph.text(row)))
    return found


def lost_of(missing: Sequence[Missing], ends: I64, row_of: I64, strand: npt.NDArray[np.uint32], own: int) -> list[Gap]:
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
