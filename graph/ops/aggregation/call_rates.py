"""How often the calls of one label call another: whether a change of it is beyond its own scatter.

A machine that is busy makes calls slower, but changes no number of calls. So a change of this number is a fact where every call
of the caller makes as many, and it is scatter where their number varies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from clew.graph.ops.aggregation.aggregate import AggregateGraph
from clew.records.format.event import Kind

MOST_SCATTER = 3.0
"""A change counts beyond this number of standard deviations."""
FEWEST = 5
"""The fewest calls of the caller on each side."""


@dataclass(frozen=True)
class CallRate:
    """The calls of a label by the calls of another one."""

    callers: int
    """The number of the caller's calls, also of those that made none."""
    calls: int
    squares: int
    """The sum over the caller's calls of the squared numbers."""

    @property
    def mean(self) -> float:
        return self.calls / self.callers

    @property
    def variance(self) -> float:
        """Return the variance of the mean."""
        return max(0.0, self.squares / self.callers - self.mean**2) / self.callers


@dataclass(frozen=True)
class CallRates:
    calls: dict[str, int]
    """The number of calls of each label."""
    by_pair: dict[tuple[str, str], CallRate]
    """By the labels of caller and called."""

    def of(self, caller: str, called: str) -> CallRate:
        return self.by_pair.get((caller, called), CallRate(self.calls.get(caller, 0), 0, 0))


@dataclass(frozen=True)
class RateChange:
    """A label that each call of another one calls more or less often."""

    caller: str
    before: float
    after: float
    calls: float
    """The change of the number of calls, at the caller's number of calls after."""


def call_rates(graph: AggregateGraph) -> CallRates:
    """Return the rates of a graph with one node for each label."""
    calls, kinds = graph.graph.calls, graph.graph.kind
    enters = np.flatnonzero(kinds[graph.rows] == Kind.ENTER)
    call = np.searchsorted(calls.enter, graph.rows[enters])
    label = np.full(len(calls.enter) + 1, -1)
    label[call] = graph.node_of_row[enters]
    caller = np.where(calls.caller[call] >= 0, np.searchsorted(calls.enter, calls.caller[call]), len(calls.enter))
    inside = label[caller] >= 0
    called, caller = label[call][inside], caller[inside]
    _, first, count = np.unique(caller * len(graph) + called, return_index=True, return_counts=True)
    pairs, place = np.unique(label[caller[first]] * len(graph) + called[first], return_inverse=True)
    sums, squares = np.bincount(place, count).astype(np.int64), np.bincount(place, count**2).astype(np.int64)
    made = np.bincount(label[label >= 0], minlength=len(graph)).tolist()
    names = [graph.label(node) for node in range(len(graph))]
    rates = {}
    for pair, total, squared in zip(pairs.tolist(), sums.tolist(), squares.tolist(), strict=True):
        source, target = divmod(pair, len(graph))
        rates[names[source], names[target]] = CallRate(made[source], total, squared)
    return CallRates(dict(zip(names, made, strict=True)), rates)


def joined(several: Iterable[CallRates]) -> CallRates:
    """Return the rates of several runs together."""
    calls: Counter[str] = Counter()
    made: dict[tuple[str, str], CallRate] = {}
    for rates in several:
        calls.update(rates.calls)
        for pair, rate in rates.by_pair.items():
            known = made.get(pair, CallRate(0, 0, 0))
            made[pair] = CallRate(0, known.calls + rate.calls, known.squares + rate.squares)
    return CallRates(dict(calls), {pair: replace(rate, callers=calls[pair[0]]) for pair, rate in made.items()})


def rate_changes(before: CallRates, after: CallRates) -> dict[str, RateChange]:
    """Return by the called label the largest change that scatter does not explain."""
    found: dict[str, RateChange] = {}
    for caller, called in {**before.by_pair, **after.by_pair}:
        old, new = before.of(caller, called), after.of(caller, called)
        if min(old.callers, new.callers) < FEWEST:
            continue
        change = new.mean - old.mean
        if abs(change) <= MOST_SCATTER * (old.variance + new.variance) ** 0.5:
            continue
        known, calls = found.get(called), change * new.callers
        if known is None or abs(calls) > abs(known.calls):
            found[called] = RateChange(caller, old.mean, new.mean, calls)
    return found
