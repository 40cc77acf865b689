"""Compare runs: rank functions (or other labels) by the change of total self time beyond the scatter of their calls.

Four calls of one second each vary by more than a thousand calls of one millisecond do, especially on a busy machine.
A ranking by the raw change would always list the longest waits first.

With several runs per side, all statistics are means per run. The scatter is then that between the runs of a side, if
it is larger than that of the calls.

Invariant: a sentence never reports a change within noise as a finding, and always mentions different call counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from clew.graph.ops.aggregation.aggregate import AggregateGraph, AggregateNode
from clew.records.errors import ClewError
from clew.records.format.event import Kind

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
COUNTED_NAMED = 3
DOUBT = 0.25
"""The scatter of a label's calls includes one hypothetical call at this share of the mean away from it, because a
single call does not show any scatter.
"""


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

    @property
    def counted(self) -> float:
        return self.counted_before + self.counted_after

    @property
    def delta_ns(self) -> float:
        return self.self_after_ns - self.self_before_ns

    @property
    def certain_ns(self) -> float:
        """Return the size of the change beyond `DEVIATIONS`, 0 if scatter can explain it."""
        return max(0.0, abs(self.delta_ns) - DEVIATIONS * self.deviation_ns)

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

    def findings(self) -> list[DiffRow]:
        """Return the rows that changed by more than noise, largest change first."""
        share = SHARE * max(self.total_before_ns, self.total_after_ns)
        found = []
        for row in self.rows:
            change, larger = abs(row.delta_ns), max(row.self_before_ns, row.self_after_ns)
            floor = FLOOR_NS / 10 if 2 * change >= larger else FLOOR_NS
            if row.certain_ns and change >= max(share, floor) and change > NOISE * larger:
                found.append(row)
        return found

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
        if not findings:
            total = duration(self.total_after_ns)
            return (
                f"no {what} changed noticeably: the self time in all is {duration(self.total_before_ns)} before and "
                f"{total} after{missing}"
            )
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
        largest = max(self.rows, key=lambda row: abs(row.delta_ns))
        if abs(largest.delta_ns) <= abs(self.rows[0].delta_ns):
            return text
        change = f"{'+' if largest.delta_ns > 0 else '−'}{duration(abs(largest.delta_ns))}"
        within = f"{duration(largest.certain_ns)} of it" if largest.certain_ns else "none of it"
        return f"{text}; the largest change, {change} of {largest.label}, has {within} beyond"

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
    a, b = _Side.of(before), _Side.of(after)
    labels = list(dict.fromkeys([*a.nodes, *b.nodes]))
    nodes = [
        DiffNode(number, label, _status(label in a.nodes, label in b.nodes), a.nodes.get(label), b.nodes.get(label))
        for number, label in enumerate(labels)
    ]
    rows = sorted(
        filter(_has_any, (_row(node, a, b) for node in nodes)),
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
    )


def _has_any(row: DiffRow) -> bool:
    return bool(row.calls_before or row.calls_after or row.self_before_ns or row.self_after_ns)


def _before_and_after(row: DiffRow) -> str:
    return f"{number(row.calls_before)} calls before and {number(row.calls_after)} after"


def _status(before: bool, after: bool) -> Status:
    return "both" if before and after else "before" if before else "after"


def _squares(graph: AggregateGraph) -> dict[str, float]:
    """Return for each label the sum of the squares of its calls' self times."""
    enters = np.flatnonzero(graph.graph.kind[graph.rows] == Kind.ENTER)
    call = np.searchsorted(graph.graph.calls.enter, graph.rows[enters])
    self_ns = graph.graph.calls.self_ns[call].astype(np.float64)
    sums = np.bincount(graph.node_of_row[enters], weights=self_ns**2, minlength=len(graph))
    return {graph.label(node): value for node, value in enumerate(sums.tolist())}


def _variance(node: AggregateNode | None, squares: dict[str, float]) -> float:
    """Return the variance of the sum of the node's calls."""
    timed = node.calls - node.counted if node else 0
    if node is None or not timed:
        return 0.0
    mean = node.self_ns / timed
    scatter = max(0.0, squares[node.label] - timed * mean**2)
    return scatter + (DOUBT * mean) ** 2


@dataclass(frozen=True)
class _Mean:
    """The means of a label over all runs of one side, including the runs that lack the label."""

    calls: float
    self_ns: float
    counted: float
    within: float
    """The variance of the mean self time, from the scatter of the calls."""
    squares: float
    """The sum over the runs of the squared distances from the mean self time."""


_NONE = _Mean(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class _Side:
    graphs: list[AggregateGraph]
    """The graphs by label, one per run."""
    nodes: dict[str, AggregateNode]
    """The nodes of the last run that has them, with mean calls and self time per run."""
    means: dict[str, _Mean]

    @staticmethod
    def of(graphs: Sequence[AggregateGraph]) -> _Side:
        by_label = [graph.by_label() for graph in graphs]
        squares = [_squares(graph) for graph in by_label]
        found: dict[str, list[tuple[AggregateNode, float]]] = {}
        for graph, sums in zip(by_label, squares, strict=True):
            for node in graph.nodes:
                found.setdefault(node.label, []).append((node, _variance(node, sums)))
        nodes, means = {}, {}
        for label, seen in found.items():
            mean = means[label] = _mean(seen, len(graphs))
            last = seen[-1][0]
            nodes[label] = replace(last, calls=round(mean.calls), self_ns=round(mean.self_ns)) if graphs[1:] else last
        return _Side(by_label, nodes, means)


def _mean(seen: Sequence[tuple[AggregateNode, float]], runs: int) -> _Mean:
    times = np.zeros(runs)
    times[: len(seen)] = [node.self_ns for node, _ in seen]
    return _Mean(
        calls=_share(sum(node.calls for node, _ in seen), runs),
        self_ns=_share(sum(node.self_ns for node, _ in seen), runs),
        counted=_share(sum(node.counted for node, _ in seen), runs),
        within=sum(variance for _, variance in seen) / runs**2,
        squares=float(((times - times.mean()) ** 2).sum()),
    )


def _share(total: int, runs: int) -> float:
    """Return the quotient, as an integer if it is whole."""
    return total / runs if total % runs else total // runs


def _deviation(old: _Mean, new: _Mean, runs: tuple[int, int]) -> float:
    """Return the standard deviation of the difference of two means.

    The scatter between runs is pooled from both sides (Student's test with equal variances). It is widened because
    few runs estimate it poorly.
    """
    within = old.within + new.within
    freedom = sum(runs) - 2
    if not freedom:
        return math.sqrt(within)
    from scipy.special import stdtrit

    widened = stdtrit(freedom, 0.975) / stdtrit(math.inf, 0.975)
    between = (old.squares + new.squares) / freedom * (1 / runs[0] + 1 / runs[1]) * widened**2
    return math.sqrt(max(within, between))


def _row(node: DiffNode, a: _Side, b: _Side) -> DiffRow:
    old, new = a.means.get(node.label, _NONE), b.means.get(node.label, _NONE)
    # The function's current location is more useful than its old one.
    location = (node.after and node.after.location) or (node.before and node.before.location) or None
    return DiffRow(
        label=node.label,
        status=node.status,
        calls_before=old.calls,
        calls_after=new.calls,
        self_before_ns=old.self_ns,
        self_after_ns=new.self_ns,
        location=location,
        counted_before=old.counted,
        counted_after=new.counted,
        deviation_ns=_deviation(old, new, (len(a.graphs), len(b.graphs))),
    )


def _edges(a: _Side, b: _Side, ids: dict[str, int]) -> list[DiffEdge]:
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
