"""Compute slack: how much longer work outside a critical path could take without delaying an event.

The module walks back from the event on the recording timed again (`replay.py`). A join may be delayed as far as the joins
that depend on it allow. A cause of a join may be delayed by that amount plus its lead over the latest cause.
Invariant: if any one segment of a label's work takes longer by its slack, the event keeps its time; for some segment,
more than that delays the event.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import Labels
from clew.graph.ops.timing.replay import Joins, Timed
from clew.graph.ops.timing.what_if import work_gaps

I64 = npt.NDArray[np.int64]

_UNLIMITED = 1 << 52
"""The bound for work that is not waited for: 52 days, still exact in a float."""


@dataclass(frozen=True)
class Slack:
    """The slack of a label's work up to the event. Times are in nanoseconds."""

    label: str
    slack_ns: int | None
    """The time by which any one segment of the work could be longer; None if the event waits for none of it."""
    work_ns: int


def slacks(graph: ExecutionGraph, labels: Labels, *, end: int, since_ns: int) -> list[Slack]:
    """Return the slack of every label that worked between a time and an event, least slack first."""
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
    """The delays that the events on the way to an event allow."""

    def __init__(self, graph: ExecutionGraph, joins: Joins, end: int) -> None:
        self.joins = joins
        time = graph.ts[joins.causes]
        latest = np.full(len(joins.rows), np.iinfo(np.int64).min)
        np.maximum.at(latest, joins.at_join, time)
        spare = latest[joins.at_join] - time
        join, begun = joins.since(np.array([end], np.int64))
        # The event itself is entered as a cause without a join that may not be late at all.
        self.cause_row = np.append(joins.causes, end)
        self.interval = np.append(joins.before[1], begun)
        self.spare = np.append(spare, 0)
        self.later = np.append(joins.at_join, -1)
        self.join = self._of_joins(np.append(joins.before[0], join))

    def _of_joins(self, other: I64) -> I64:
        """Return for each join the minimum over its dependents, which mirrors `Timed` with causes and joins
        exchanged.
        """
        count = len(self.joins.rows)
        # A join without dependents may be arbitrarily late.
        source = np.concatenate((other, np.arange(count)))
        later = np.concatenate((self.later, np.full(count, -1)))
        spare = np.concatenate((self.spare, np.full(count, _UNLIMITED)))
        valid = np.flatnonzero(source >= 0)
        valid = valid[np.argsort(source[valid], kind="stable")]
        first = np.searchsorted(source[valid], np.arange(count + 1)).astype(np.int64)
        # A cause's full lead counts, not only its lead over the latest cause; `gap` adds the difference.
        gap = spare[valid].astype(np.float64)
        order = np.ascontiguousarray(self.joins.order[::-1])
        found = Timed(order, first, later[valid], -spare[valid], np.zeros(len(valid)), gap).saved(1.0)
        return np.where(np.isnan(found), _UNLIMITED, np.minimum(found, _UNLIMITED)).astype(np.int64)

    @cached_property
    def _by_row(self) -> tuple[I64, I64, I64]:
        """Return the causes in row order, the beginnings of their segments between two joins, and the allowed delays.

        The delay is the one allowed for everything before the cause in its segment.
        """
        allowed = np.minimum(self.spare + np.append(self.join, 0)[self.later], _UNLIMITED)
        order = np.argsort(self.cause_row, kind="stable")
        interval = self.interval[order]
        number = np.cumsum(np.append(False, interval[1:] != interval[:-1]))
        # Take the minimum of each cause and those after it in its segment, on ranks because the times of many
        # segments exceed the number range.
        values, rank = np.unique(allowed[order], return_inverse=True)
        least = np.minimum.accumulate((number * len(values) + rank)[::-1])[::-1]
        return self.cause_row[order], interval, values[least - number * len(values)]

    def after(self, rows: I64) -> I64:
        """Return by how much the work between events and their successors on the strands may be longer."""
        cause_row, interval, allowed = self._by_row
        place = np.minimum(np.searchsorted(cause_row, rows + 1), len(cause_row) - 1)
        same = (cause_row[place] > rows) & (interval[place] == self.joins.since(rows)[1])
        found = np.where(same, allowed[place], _UNLIMITED)
        join = np.searchsorted(self.joins.rows, rows + 1)
        is_join = np.append(self.joins.rows, -1)[join] == rows + 1
        return np.where(is_join, np.append(self.join, 0)[np.where(is_join, join, 0)], found)
