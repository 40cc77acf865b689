"""How much longer work could take before an event comes later: the float of everything that runs beside a critical path.

On the recording as it can be timed again (`retiming`), walked from the event back. A join may be as late as the joins that
depend on it allow, and each cause of a join by what it came sooner than the latest one besides. Invariant: with any one stretch
of a label's work longer by its slack the event comes when it came, with one of them longer by more it comes later.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clew.graph.levels import Labels
from clew.graph.model import ExecutionGraph
from clew.graph.ops.retiming import Joins, Timed
from clew.graph.ops.what_if import work_gaps

I64 = npt.NDArray[np.int64]

_UNLIMITED = 1 << 52
"""Whatever is not waited for may be so late: 52 days, and still exact in a float."""


@dataclass(frozen=True)
class Slack:
    """Of a label's work up to the event. Times in nanoseconds."""

    label: str
    slack_ns: int | None
    """By how much any one stretch of it could be longer; None when the event waits for none of it."""
    work_ns: int


def slacks(graph: ExecutionGraph, labels: Labels, *, end: int, since_ns: int) -> list[Slack]:
    """Of every label that worked between a time and an event, the least slack first."""
    end_ns = int(graph.ts[end])
    allowed = _Allowed(graph, Joins.of(graph, since_ns, end_ns), end)
    least: dict[int, int] = {}
    work: dict[int, int] = {}
    for rows, lengths, codes in work_gaps(graph, labels, since_ns, end_ns):
        done = lengths > 0
        known, at = np.unique(codes[done], return_inverse=True)
        slack = np.full(len(known), _UNLIMITED)
        np.minimum.at(slack, at, allowed.after(rows[done]))
        sums = np.bincount(at, lengths[done], len(known))
        for code, one, ns in zip(known.tolist(), slack.tolist(), sums.tolist(), strict=True):
            least[code] = min(one, least.get(code, _UNLIMITED))
            work[code] = work.get(code, 0) + int(ns)
    by_label: dict[str, tuple[int, int]] = {}
    for code, one in least.items():
        before = by_label.get(labels.name(code), (_UNLIMITED, 0))
        by_label[labels.name(code)] = min(one, before[0]), work[code] + before[1]
    made = [Slack(label, None if one >= _UNLIMITED else one, ns) for label, (one, ns) in by_label.items()]
    return sorted(made, key=lambda slack: (slack.slack_ns is None, slack.slack_ns or 0, -slack.work_ns, slack.label))


class _Allowed:
    """By how much what is on the way to an event may be later."""

    def __init__(self, graph: ExecutionGraph, joins: Joins, end: int) -> None:
        self.joins = joins
        time = graph.ts[joins.causes]
        latest = np.full(len(joins.rows), np.iinfo(np.int64).min)
        np.maximum.at(latest, joins.at_join, time)
        spare = latest[joins.at_join] - time
        join, begun = joins.since(np.array([end], np.int64))
        # The event itself stands for a cause of nothing that may not be late at all.
        self.cause_row = np.append(joins.causes, end)
        self.interval = np.append(joins.before[1], begun)
        self.spare = np.append(spare, 0)
        self.later = np.append(joins.at_join, -1)
        self.join = self._of_joins(np.append(joins.before[0], join))

    def _of_joins(self, other: I64) -> I64:
        """Per join the least of what depends on it: as `Timed` has it, with causes and joins changed about."""
        count = len(self.joins.rows)
        # Nothing may have to come after a join: then it may be as late as it likes.
        source = np.concatenate((other, np.arange(count)))
        later = np.concatenate((self.later, np.full(count, -1)))
        spare = np.concatenate((self.spare, np.full(count, _UNLIMITED)))
        kept = np.flatnonzero(source >= 0)
        kept = kept[np.argsort(source[kept], kind="stable")]
        first = np.searchsorted(source[kept], np.arange(count + 1)).astype(np.int64)
        # What a cause is sooner by counts in full, not from the latest one on: `gap` gives the rest.
        gap = spare[kept].astype(np.float64)
        order = np.ascontiguousarray(self.joins.order[::-1])
        found = Timed(order, first, later[kept], -spare[kept], np.zeros(len(kept)), gap).saved(1.0)
        return np.where(np.isnan(found), _UNLIMITED, np.minimum(found, _UNLIMITED)).astype(np.int64)

    @cached_property
    def _by_row(self) -> tuple[I64, I64, I64]:
        """Causes in the order of rows: those, where their stretches between two joins begin, and by how much what is before
        each in its stretch may be later."""
        allowed = np.minimum(self.spare + np.append(self.join, 0)[self.later], _UNLIMITED)
        order = np.argsort(self.cause_row, kind="stable")
        interval = self.interval[order]
        number = np.cumsum(np.append(False, interval[1:] != interval[:-1]))
        # The least of each and those after it in the stretch. Ranks, because times of so many stretches fit into no number.
        values, rank = np.unique(allowed[order], return_inverse=True)
        least = np.minimum.accumulate((number * len(values) + rank)[::-1])[::-1]
        return self.cause_row[order], interval, values[least - number * len(values)]

    def after(self, rows: I64) -> I64:
        """By how much the work between events and those that follow them on their strands may be longer."""
        cause_row, interval, allowed = self._by_row
        place = np.minimum(np.searchsorted(cause_row, rows + 1), len(cause_row) - 1)
        same = (cause_row[place] > rows) & (interval[place] == self.joins.since(rows)[1])
        found = np.where(same, allowed[place], _UNLIMITED)
        join = np.searchsorted(self.joins.rows, rows + 1)
        is_join = np.append(self.joins.rows, -1)[join] == rows + 1
        return np.where(is_join, np.append(self.join, 0)[np.where(is_join, join, 0)], found)
