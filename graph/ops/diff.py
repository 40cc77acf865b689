"""Compare runs: rank functions (or other labels) by the change of total self time beyond the scatter of their calls.

Self time, i.e. work, and waiting are compared separately. Only waits that no recorded work of others explains count: for a
lock, in sleep or I/O, but not for a result (see `waits_of_calls`). The time in which others had the processor or the
GIL counts nowhere: it belongs to the machine.

Four calls of one second each vary by more than a thousand calls of one millisecond do, especially on a busy machine.
A ranking by the raw change would always list the longest waits first.

With several runs per side, all statistics are means per run. The scatter is then that between the runs of a side, if
it is larger than that of the calls. With one run per side, the scatter between runs is estimated from within: from the
stretches of the run, because calls that are close in time are slow together.

A change of how often each call of one function calls another is a finding of its own, because no machine causes it.

Invariant: a sentence never reports a change within noise as a finding, and always mentions different call counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clew.graph.ops.aggregation.aggregate import AggregateGraph, AggregateNode
from clew.graph.ops.aggregation.call_rates import RateChange, rate_changes
from clew.graph.ops.side_times import BUSY, NONE, Side, deviation
from clew.records.errors import ClewError

Status = Literal["both", "before", "after"]

NOISE = 0.05
"""A change is not a finding if it is a smaller share of the label's own self time."""
SHARE = 0.02
"""A change is not a finding if it is a smaller share of the larger run's total."""
FLOOR_NS = 1_000_000
"""A change below this is not a finding, because the scheduler alone causes as much. A tenth of it suffices if the
time at least doubled or halved.
"""
DEVIATIONS = 2.0
"""A change counts beyond this number of standard deviations of the sum of the calls."""
WAITS, WAITS_SHARE = 1.5, 0.05
"""Minimum factor, or its inverse, between waits, and minimum share of all work and waits: they scatter more than work."""
COUNTED_NAMED = 3
TAKEN, TAKEN_NS = BUSY, 10_000_000
"""The answer mentions the time that others had the processor from this share of the total and this length on."""


@dataclass(frozen=True)
class DiffRow:
    """The comparison of one label.

    Times are in nanoseconds and cover all calls unless named per call. With several runs per side all values are
    means per run, so call counts can be fractional.
    """

    label: str
    status: Status
    calls_before: float
    calls_after: float
    self_before_ns: float
    self_after_ns: float
    location: tuple[str, int] | None
    deviation_ns: float = 0.0
    """The standard deviation of the change, from the scatter of the calls on both sides, or of the runs."""
    counted_before: float = 0
    """The calls before that were only counted; their times are missing."""
    counted_after: float = 0

    waits_before_ns: float = 0.0
    """The waits before that no recorded work of others explains."""
    waits_after_ns: float = 0.0
    waits_deviation_ns: float = 0.0
    rate: RateChange | None = None
    """How often another function calls it, if that changed beyond its scatter."""
    runs_after: int = 1

    @property
    def counted(self) -> float:
        return self.counted_before + self.counted_after

    @property
    def waits_delta_ns(self) -> float:
        return self.waits_after_ns - self.waits_before_ns

    @property
    def delta_ns(self) -> float:
        return self.self_after_ns - self.self_before_ns

    @property
    def certain_ns(self) -> float:
        """Return the size of the change beyond `DEVIATIONS`, 0 if scatter can explain it."""
        beyond = abs(self.delta_ns) - DEVIATIONS * self.deviation_ns
        return max(0.0, beyond, abs(self.more_calls_ns))

    @property
    def more_calls_ns(self) -> float:
        """Return the time of the calls that one side has more, by the mean of both sides; below 0 for fewer calls after."""
        timed = self.calls_before + self.calls_after - self.counted
        if self.rate is None or not timed:
            return 0.0
        return self.rate.calls / self.runs_after * (self.self_before_ns + self.self_after_ns) / timed

    @property
    def per_call_before_ns(self) -> float:
        """Return the mean time of the calls with a known time, like `per_call_after_ns`."""
        timed = self.calls_before - self.counted_before
        return self.self_before_ns / timed if timed else 0.0

    @property
    def per_call_after_ns(self) -> float:
        timed = self.calls_after - self.counted_after
        return self.self_after_ns / timed if timed else 0.0

    @property
    def factor(self) -> float:
        """Return the ratio of the times per call, after to before; 1.0 if one side has none."""
        before, after = self.per_call_before_ns, self.per_call_after_ns
        return after / before if before and after else 1.0


@dataclass(frozen=True)
class DiffNode:
    """A label of either graph; `id` is its index in `Diff.nodes`."""

    id: int
    label: str
    status: Status
    before: AggregateNode | None
    after: AggregateNode | None

    @property
    def delta_ns(self) -> int:
        return (self.after.self_ns if self.after else 0) - (self.before.self_ns if self.before else 0)


@dataclass(frozen=True)
class DiffEdge:
    source: int
    target: int
    kind: str
    channel: str
    status: Status
    count_before: int
    count_after: int


@dataclass(frozen=True)
class Diff:
    level: str
    rows: list[DiffRow]
    """The rows, largest change beyond scatter first. Labels without calls and time are excluded."""
    nodes: list[DiffNode]
    edges: list[DiffEdge]
    total_before_ns: float
    total_after_ns: float
    runs: tuple[int, int] = (1, 1)
    """The number of runs on each side."""
    taken: tuple[float, float] = (0, 0)
    """The time, in ns on each side, in which the code would have run, but others had the processor or the GIL."""

    def findings(self) -> list[DiffRow]:
        """Return the rows that changed by more than noise, largest change first."""
        share = SHARE * max(self.total_before_ns, self.total_after_ns)
        found = []
        for row in self.rows:
            change, larger = abs(row.delta_ns), max(row.self_before_ns, row.self_after_ns)
            floor = FLOOR_NS / 10 if 2 * change >= larger else FLOOR_NS
            is_changed = row.certain_ns and change >= max(share, floor) and change > NOISE * larger
            if is_changed or abs(row.more_calls_ns) >= max(share, FLOOR_NS / 10):
                found.append(row)
        return found

    def wait_findings(self) -> list[DiffRow]:
        """Return the rows that wait for more or less time by more than noise, largest change first."""
        waits = sum(row.waits_before_ns for row in self.rows), sum(row.waits_after_ns for row in self.rows)
        share = WAITS_SHARE * max(self.total_before_ns + waits[0], self.total_after_ns + waits[1])
        found = []
        for row in self.rows:
            change = abs(row.waits_delta_ns)
            less, more = sorted((row.waits_before_ns, row.waits_after_ns))
            beyond = change - DEVIATIONS * row.waits_deviation_ns
            if beyond > 0 and change >= max(share, FLOOR_NS) and more >= WAITS * less:
                found.append((beyond, row))
        return [row for _, row in sorted(found, key=lambda each: (-each[0], each[1].label))]

    def sentence(self) -> str:
        """Return the largest finding as a sentence: the function, the change per call, the number of calls and the
        total change.
        """
        findings = self.findings()
        what = self.level if self.level in ("function", "class", "module", "component") else "label"
        counted = sum(row.counted for row in self.rows)
        missing = f"; times of {number(counted)} counted calls are missing" if counted else ""
        if self.runs != (1, 1):
            missing += f"; means of a run, of {runs(self.runs[0])} before and {runs(self.runs[1])} after"
        waits = self.wait_findings()
        longer = _waiting(waits[0]) + (f", and {len(waits) - 1:,} more" if len(waits) > 1 else "") if waits else ""
        if not self.rows:
            return f"no {what} was recorded"
        if not findings:
            before, after = duration(self.total_before_ns), duration(self.total_after_ns)
            totals = f"the self time in all is {before} before and {after} after"
            if waits:
                return f"{longer}; no {what} changed noticeably in its own work: {totals}{missing}"
            return f"no {what} changed noticeably: {totals}{missing}"
        missing = f"; {longer}{missing}" if waits else missing
        row = findings[0]
        more = len(findings) - 1
        rest = f"; {more} more {what}{'s' * (more > 1)} changed noticeably".replace("classs", "classes") if more else ""
        return self._of_row(row) + rest + missing

    def counted(self) -> str:
        """Return which calls were only counted, so that their times are missing; "" for none."""
        rows = sorted((row for row in self.rows if row.counted), key=lambda row: (-row.counted, row.label))
        if not rows:
            return ""
        named = [f"{row.label} ({_before_and_after(row)})" for row in rows[:COUNTED_NAMED]]
        more = [f"{len(rows) - COUNTED_NAMED:,} more"] if len(rows) > COUNTED_NAMED else []
        return (
            f"times of {number(sum(row.counted for row in rows))} counted calls are missing, "
            f"and lie in the self time of their callers: {', '.join([*named, *more])}"
        )

    def order(self) -> str:
        """Return the sort order of the rows, and the largest change if scatter keeps it from first place; "" for no
        rows.
        """
        if not self.rows:
            return ""
        text = f"ordered by the change beyond the scatter of the {'calls' if self.runs == (1, 1) else 'runs and calls'}"
        if any(ns >= TAKEN_NS and ns >= TAKEN * of for ns, of in zip(self.taken, self._totals, strict=True)):
            before, after = map(duration, self.taken)
            text += f"; time in which others had the processor or the GIL is left out: {before} before, {after} after"
        largest = max(self.rows, key=lambda row: abs(row.delta_ns))
        if abs(largest.delta_ns) <= abs(self.rows[0].delta_ns):
            return text
        change = f"{'+' if largest.delta_ns > 0 else '−'}{duration(abs(largest.delta_ns))}"
        within = f"{duration(largest.certain_ns)} of it" if largest.certain_ns else "none of it"
        return f"{text}; the largest change, {change} of {largest.label}, has {within} beyond"

    @property
    def _totals(self) -> tuple[float, float]:
        return self.total_before_ns, self.total_after_ns

    def _counted_calls_of(self, label: str) -> list[str]:
        """Return the labels that `label` calls and whose calls were only counted, so that their time is part of its
        own.
        """
        counted = {row.label for row in self.rows if row.counted}
        calls = (
            (self.nodes[edge.source].label, self.nodes[edge.target].label) for edge in self.edges if edge.kind == "call"
        )
        return sorted({target for source, target in calls if source == label and target in counted - {label}})

    def _of_row(self, row: DiffRow) -> str:
        change = self.total_after_ns - self.total_before_ns
        share = ""
        if change and (change > 0) == (row.delta_ns > 0):
            percent = round(100 * row.delta_ns / change)
            # Opposite changes of other rows can make one row's share of the sum exceed 100 %.
            others = "faster" if row.delta_ns > 0 else "slower"
            share = f" ({percent} % of the change)" if percent <= 100 else f" (others got {others} meanwhile)"
        in_all = f"{'+' if row.delta_ns > 0 else '−'}{duration(abs(row.delta_ns))} in all{share}"
        inside = self._counted_calls_of(row.label)
        if row.counted or inside:
            direction = "more" if row.delta_ns > 0 else "less"
            totals = f"{duration(row.self_before_ns)} -> {duration(row.self_after_ns)}"
            if inside:
                what = f"{row.label}, counted calls of {' and '.join(inside)} included, took {direction} time"
            else:
                what = f"the timed calls of {row.label} took {direction} time, of {_before_and_after(row)}"
            return f"{what}: {totals}, {in_all}"
        before, after = duration(row.per_call_before_ns), duration(row.per_call_after_ns)
        if row.status == "after":
            return f"{row.label} runs only after: {count(row.calls_after)} of {after} each, {in_all}"
        if row.status == "before":
            return f"{row.label} runs only before: {count(row.calls_before)} of {before} each, {in_all}"
        calls = count(row.calls_after) if row.calls_before == row.calls_after else _before_and_after(row)
        if not row.calls_before or not row.calls_after:
            direction = "more" if row.delta_ns > 0 else "less"
            totals = f"{duration(row.self_before_ns)} -> {duration(row.self_after_ns)}"
            return f"{row.label} took {direction} time: {totals}, {in_all}"
        if row.rate is not None:
            much = "more" if row.rate.calls > 0 else "less"
            often = f"{_digits(row.rate.before)} -> {_digits(row.rate.after)} calls by each {row.rate.caller}"
            by_calls = f"{'+' if row.more_calls_ns > 0 else '−'}{duration(abs(row.more_calls_ns))} by the calls"
            return f"{row.label} was called {much} often: {often}, {calls} of {after} each, {by_calls}"
        if 1 / (1 + NOISE) <= row.factor <= 1 + NOISE:
            much = "more" if row.calls_after > row.calls_before else "less"
            return f"{row.label} was called {much} often: {calls} of {after} each, {in_all}"
        if row.factor > 1:
            return f"{row.label} got {times(row.factor)} slower: {before} -> {after} per call over {calls}, {in_all}"
        return f"{row.label} got {times(1 / row.factor)} faster: {before} -> {after} per call over {calls}, {in_all}"


def diff(before: AggregateGraph, after: AggregateGraph) -> Diff:
    """Compare two aggregate graphs label by label. Raise `ClewError` if their levels differ."""
    return diff_of_runs([before], [after])


def diff_of_runs(before: Sequence[AggregateGraph], after: Sequence[AggregateGraph]) -> Diff:
    """Compare the graphs of runs before with those of runs after, at least one per side. Raise `ClewError` if levels
    differ.
    """
    level = before[0].level
    for graph in (*before, *after):
        if graph.level != level:
            raise ClewError(
                f'only graphs of one level can be compared, these are "{level}" and "{graph.level}"; '
                f'aggregate both at "{level}"'
            )
    a, b = Side.of(before), Side.of(after)
    labels = list(dict.fromkeys([*a.nodes, *b.nodes]))
    nodes = [
        DiffNode(number, label, _status(label in a.nodes, label in b.nodes), a.nodes.get(label), b.nodes.get(label))
        for number, label in enumerate(labels)
    ]
    changes = rate_changes(a.rates, b.rates)
    rows = sorted(
        filter(_has_any, (_row(node, a, b, changes.get(node.label)) for node in nodes)),
        key=lambda row: (-row.certain_ns, -abs(row.delta_ns), row.label),
    )
    return Diff(
        level=level,
        rows=rows,
        nodes=nodes,
        edges=_edges(a, b, {label: number for number, label in enumerate(labels)}),
        total_before_ns=sum(row.self_before_ns for row in rows),
        total_after_ns=sum(row.self_after_ns for row in rows),
        runs=(len(before), len(after)),
        taken=(sum(mean.taken_ns for mean in a.means.values()), sum(mean.taken_ns for mean in b.means.values())),
    )


def _has_any(row: DiffRow) -> bool:
    return bool(row.calls_before or row.calls_after or row.self_before_ns or row.self_after_ns)


def _waiting(row: DiffRow) -> str:
    direction = "longer" if row.waits_delta_ns > 0 else "less"
    calls = count(row.calls_after) if row.calls_before == row.calls_after else _before_and_after(row)
    times = f"{duration(row.waits_before_ns)} -> {duration(row.waits_after_ns)}"
    return f"{row.label} waits {direction}: {times} in all, over {calls}"


def _before_and_after(row: DiffRow) -> str:
    return f"{number(row.calls_before)} calls before and {number(row.calls_after)} after"


def _status(before: bool, after: bool) -> Status:
    return "both" if before and after else "before" if before else "after"


def _row(node: DiffNode, a: Side, b: Side, rate: RateChange | None) -> DiffRow:
    old, new = a.means.get(node.label, NONE), b.means.get(node.label, NONE)
    # The function's current location is more useful than its old one.
    runs_of_sides = len(a.graphs), len(b.graphs)
    location = (node.after and node.after.location) or (node.before and node.before.location) or None
    return DiffRow(
        label=node.label,
        status=node.status,
        calls_before=old.calls,
        calls_after=new.calls,
        self_before_ns=old.self_ns.mean,
        self_after_ns=new.self_ns.mean,
        location=location,
        counted_before=old.counted,
        counted_after=new.counted,
        deviation_ns=deviation(old.self_ns, new.self_ns, runs_of_sides),
        waits_before_ns=old.waits_ns.mean,
        waits_after_ns=new.waits_ns.mean,
        waits_deviation_ns=deviation(old.waits_ns, new.waits_ns, runs_of_sides),
        rate=rate,
        runs_after=len(b.graphs),
    )


def _edges(a: Side, b: Side, ids: dict[str, int]) -> list[DiffEdge]:
    counts: dict[tuple[int, int, str, str], list[int]] = {}
    for side, graphs in enumerate((a.graphs, b.graphs)):
        for graph in graphs:
            for edge in graph.edges:
                key = (ids[graph.label(edge.source)], ids[graph.label(edge.target)], edge.kind, edge.channel)
                counts.setdefault(key, [0, 0])[side] += edge.count
    means = {
        key: (math.ceil(before / len(a.graphs)), math.ceil(after / len(b.graphs)))
        for key, (before, after) in counts.items()
    }
    return [DiffEdge(*key, _status(before > 0, after > 0), before, after) for key, (before, after) in means.items()]


def duration(ns: float) -> str:
    """Return a duration with three digits and a unit: "496 µs", "1.25 s"."""
    if ns <= 0:
        return "0 ns"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        # Show 999.6 µs as 1 ms, never as 1000 µs.
        if ns >= size * 0.9995:
            return f"{_digits(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def times(factor: float) -> str:
    return f"{_digits(factor)}x"


def _digits(value: float) -> str:
    text = f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(calls: float) -> str:
    return f"{number(calls)} call{'s' * (calls != 1)}"


def number(calls: float) -> str:
    """Return a count as an integer, or with one decimal if it is a mean of several runs."""
    return f"{calls:,.0f}" if calls == round(calls) else f"{calls:,.1f}"


def runs(several: int) -> str:
    return f"{several} run{'s' * (several != 1)}"
