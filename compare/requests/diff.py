"""Compare request flows (Spectroscope): find slower and faster categories, new or more frequent ones, and their precursors.

All categories are compared at once. A *response-time mutation* has the same flow as before and is slower or faster. A
*structural mutation* is a flow that occurs more often than before; its *precursors* are flows that occur less often. Changes
that share a cause are together (`causes.py`). Invariant: every reported difference has its probability (p, corrected for the
number of tests), its size and its number of samples. Every threshold is a field of `Thresholds`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clew.compare.answer import Shown
from clew.compare.requests.call_changes import EdgeChange, edge_changes, mean_queueing_times
from clew.compare.requests.category_pairs import Pairing
from clew.compare.requests.causes import Cause, causes
from clew.compare.requests.decision_tree import Differences, what_differs
from clew.compare.requests.decision_tree import Thresholds as DifferenceThresholds
from clew.compare.requests.flow_union import Union, unite
from clew.compare.requests.precursors import Precursor, find_precursors
from clew.compare.requests.stretches import dependence, stretch_of
from clew.compare.stats.tests import F64, benjamini_hochberg, mann_whitney, normal_above, p_not_slower, shifts
from clew.compare.stats.thresholds import Bounded, bounded, fraction
from clew.graph.ops.diff import duration
from clew.graph.ops.flows.flows import Flows
from clew.graph.render.table import Table, table_of

MANY_TIMES = 10
"""From this factor on growth is shown as a factor, not in percent."""
TURNS = 0.5
"""Minimum share of the increase that event-loop queueing explains for a category that waited."""

FEW = 0.5
"""An answer names the categories with too few samples if they are more than this share of all."""

Kind = Literal["response-time", "structural"]


@dataclass(frozen=True)
class Thresholds(Bounded):
    """The criteria for a difference; `explain()` describes them in plain words."""

    alpha: float = fraction(0.05)
    """Accepted share of chance findings among reported changes, corrected for the number of categories tested."""
    slower: float = bounded(0.02)
    """Minimum relative change of a response-time mutation (median of all differences, or mean)."""
    samples: float = bounded(4.0)
    """Times are compared if n·m / (n + m) of the samples before and after is at least this; fewer samples prove nothing."""
    more: int = bounded(5, 1)
    """A structural mutation exceeds the expected number of requests by at least this many (published: 50) …"""
    share: float = fraction(0.02)
    """… and by at least this share of the requests of its name."""
    precursor: float = fraction(0.5)
    """A precursor has lost at least this share of the increase of the mutation (published: 1)."""

    def explain(self) -> str:
        return (
            f"A category is slower when a one-sided Kolmogorov-Smirnov test rejects equality, or too many of the "
            f"slowest tenth are from after, and it took at least {self.slower:.0%} longer; it is faster when the same holds "
            f"with the sides exchanged; at most "
            f"{self.alpha:.0%} of all reported changes are chance findings (Benjamini-Hochberg). With fewer "
            f"samples than n·m/(n+m) = {self.samples:g} it is not "
            f"tested. "
            f"A category is new or more frequent when it has at least {self.more} requests, and {self.share:.0%} of the "
            f"requests of its name, more than expected from its share before, and the increase is significant, too. A similar "
            f"category that lost at least {self.precursor:.0%} of the increase is a possible precursor. With one run per side, "
            f"the scatter between runs is estimated from the stretches of a run, because requests that are close in time are "
            f"slow together. A difference that lasts for a whole run cannot be separated from a change of the program; several "
            f"runs per side separate them."
        )


@dataclass(frozen=True)
class Mutation:
    """One category that changed in one way. Times are in ns."""

    kind: Kind
    name: str
    """The name of its requests."""
    category: int
    """Number in the comparison's categories."""
    flow: str
    cost_ns: float
    """Cost of the change over all its requests after; mutations are ranked by it."""
    count_before: int
    count_after: int
    expected: float
    """Number of requests after if the category's share of its name's requests were unchanged."""
    mean_before_ns: float | None
    mean_after_ns: float | None
    shift_ns: float | None
    """Median of all differences between a request after and a request before."""
    low_ns: float | None
    high_ns: float | None
    """`low_ns` and `high_ns` bound the median at 95 %."""
    effect: float | None
    """Cliff's delta, from -1 to 1: how much more often a request after is the slower one of a pair than the faster one."""
    p: float
    """Probability, corrected for the number of categories tested."""
    precursors: tuple[Precursor, ...] = ()
    """Precursors of a structural mutation, likeliest first."""
    edges: tuple[EdgeChange, ...] = ()
    """For a response-time mutation: the calls that changed in its direction, causes before their consequences."""
    turns_ns: tuple[float, float] | None = None
    """Mean event-loop queueing time until the answer, before and after; None if queueing is not the reason."""

    @property
    def is_faster(self) -> bool:
        """Whether it is a response-time mutation that takes less time after."""
        return self.kind == "response-time" and self.cost_ns < 0

    def sentence(self) -> str:
        if self.kind == "structural":
            text = f"{self.name}: {_requests(self.count_after)} of a flow that {_was_before(self.count_before, self.expected)}"
            if self.precursors:
                text += f"; {self.precursors[0].sentence()}"
            return f"{text}; {_cost(self.cost_ns)} (p = {self.p:.2g})"
        assert self.mean_before_ns is not None and self.mean_after_ns is not None
        times = self.mean_after_ns / self.mean_before_ns if self.mean_before_ns else 1.0
        growth = f"{100 * (times - 1):+.0f} %".replace("-", "−") if times < MANY_TIMES else f"x{times:,.0f}"
        text = (
            f"{self.name}: {duration(self.mean_before_ns)} -> {duration(self.mean_after_ns)} ({growth}) over "
            f"{self.count_before:,} and {_requests(self.count_after)}, p = {self.p:.2g}"
        )
        if self.edges:
            text += f"; {self.edges[0].sentence()}"
        return f"{text}; {self.turns()}" if self.turns_ns else text

    def turns(self) -> str:
        """Describe its event-loop queueing time; "" if queueing is not the reason."""
        if self.turns_ns is None:
            return ""
        before, after = map(duration, self.turns_ns)
        itself = "" if self.edges else f"none of its calls is {'faster' if self.is_faster else 'slower'}, it "
        return f"{itself}waited while its event loop ran others: {before} -> {after}"


@dataclass(frozen=True, repr=False)
class Mutations(Shown):
    """The comparison of two sets of requests."""

    rows: tuple[Mutation, ...]
    """Cause by cause; a category that changed in both ways occurs twice."""
    thresholds: Thresholds
    categories: int
    """The number of categories of both sides together."""
    tested: int
    """Categories whose times could be compared."""
    before: int
    after: int
    """Requests."""
    pairing: Pairing
    dependence: float = 1.0
    """The mean factor by which stretches of the runs differ more than independent requests would; 1.0 if the runs of each
    side show the scatter."""

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """Return the changes in groups that share a cause; the most expensive cause first."""
        return causes(self.rows)

    def of(self, kind: Kind) -> tuple[Mutation, ...]:
        return tuple(row for row in self.rows if row.kind == kind)

    @property
    def slower(self) -> tuple[Mutation, ...]:
        return tuple(row for row in self.of("response-time") if not row.is_faster)

    @property
    def faster(self) -> tuple[Mutation, ...]:
        return tuple(row for row in self.rows if row.is_faster)

    @property
    def flagged(self) -> frozenset[int]:
        """The categories that changed."""
        return frozenset(row.category for row in self.rows)

    @property
    def is_pair(self) -> bool:
        """Whether one request is compared with one request."""
        return self.before == self.after == 1

    def pair(self) -> Union:
        """Return the union of one request with one request."""
        return self.union(int(self.pairing.category[1][0]))

    def sentence(self) -> str:
        if self.is_pair:
            return self.pair().sentence()
        kinds = "category" if self.categories == 1 else "categories"
        compared = f"{_requests(self.before)} before and {self.after:,} after in {self.categories:,} {kinds}"
        few = self.categories - self.tested
        have = "has" if few == 1 else "have"
        too_few = f"{few:,} of {self.categories:,} {kinds} {have} too few samples to compare their times"
        if not self.rows and few > FEW * self.categories:
            return f"too few requests to tell whether their times changed: {compared}; {too_few}"
        note = f"; {too_few}" if few > FEW * self.categories or (few and not self.rows) else ""
        if not self.rows:
            return f"no category changed: {compared}{note}"
        counted = (
            (len(self.slower), "slower"), (len(self.faster), "faster"), (len(self.of("structural")), "new or more frequent"),
        )  # fmt: skip
        parts = [f"{count:,} {what}" for count, what in counted if count]
        together = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
        return f"{together} of {compared}; first, {self.causes[0].sentence()}{note}"

    def certainty(self) -> str:
        """Return how the scatter between runs is known, as a sentence; "" if several runs per side show it."""
        if self.is_pair or all(len(flows.runs) > 1 for flows in self.pairing.sides) or not self.tested:
            return ""
        factor = f"{self.dependence:.1f} times that of independent requests" if self.dependence >= 1.1 else "no larger"
        return (
            f"one run on a side does not show the scatter between runs: it is estimated from the stretches of the runs, whose "
            f"scatter is {factor}"
        )

    def explain(self) -> str:
        """Explain in plain words when a difference counts."""
        return self.thresholds.explain()

    def differences(self, row: Mutation, thresholds: DifferenceThresholds | None = None) -> Differences:
        """Return what distinguishes the changed requests from the others; see `clew.compare.requests.decision_tree`."""
        return what_differs(self.pairing, row, thresholds)

    def union(self, category: int, other: int | None = None) -> Union:
        """Unite the flow of a category after with the flow of a category before, by default `beside(category)`."""
        pairing = self.pairing
        other_category = self.beside(category) if other is None else other
        requests = pairing.requests(0, other_category), pairing.requests(1, category)
        limits = {"alpha": self.thresholds.alpha, "slower": self.thresholds.slower}
        return unite(pairing.before, requests[0], pairing.after, requests[1], **limits)

    def beside(self, category: int) -> int:
        """Return the category before that a category after is compared with.

        For one request per side, it is the category of the request before. For a structural mutation, it is the likeliest
        precursor. Otherwise it is the category itself if both sides have it, or else the largest category before with the
        same name.
        """
        if self.is_pair:
            return int(self.pairing.category[0][0])
        for row in self.of("structural"):
            if row.category == category and row.precursors:
                return row.precursors[0].category
        before, after = self.pairing.counts
        same = np.flatnonzero((self.pairing.name == self.pairing.name[category]) & (before > 0))
        if before[category] or not after[category] or not len(same):
            return category
        return int(same[np.argmax(before[same])])

    def table(self) -> Table:
        """Return a table with a row per mutation."""
        return table_of(
            self.rows,
            ("kind", "name", "cost_ns", "count_before", "count_after", "mean_before_ns", "mean_after_ns", "shift_ns", "effect",
             "p", "flow"),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "explanation": self.explain(),
            "certainty": self.certainty(),
            "thresholds": asdict(self.thresholds),
            **{name: getattr(self, name) for name in ("categories", "tested", "before", "after")},
            "mutations": [asdict(row) for row in self.rows],
            "causes": [cause.to_json() for cause in self.causes],
        }


def compare(before: Flows, after: Flows, thresholds: Thresholds | None = None, **options: float) -> Mutations:
    """Compare two sets of requests. `options` are thresholds by name.

    With one or a few requests per side, times are not compared, and a new flow is reported by its count only: use
    `more=1`.
    """
    chosen = (thresholds or Thresholds()).having(options)
    pairing = Pairing(before, after)
    depends = dependence(pairing)
    timed = _timed(pairing, chosen, depends)
    found = causes((*timed.rows, *_structural(pairing, chosen)))
    rows = tuple(row for cause in found for row in cause.rows)
    tested = depends[timed.enough & (pairing.counts[0] > 0)]
    mean = float(tested.mean()) if len(tested) else 1.0
    return Mutations(
        rows, chosen, len(pairing.keys), int(timed.enough.sum()), len(before), len(after), pairing, dependence=mean
    )


@dataclass(frozen=True)
class _Timed:
    """The response-time mutations, and which categories were tested."""

    rows: list[Mutation]
    enough: npt.NDArray[np.bool_]


def _timed(pairing: Pairing, thresholds: Thresholds, depends: F64) -> _Timed:
    """Find the categories that are significantly slower or faster."""
    before, after = pairing.samples("response_ns")
    n, m = pairing.counts
    with np.errstate(invalid="ignore", divide="ignore"):
        enough = n * m / (n + m) >= thresholds.samples
    means = before.means(), after.means()
    growth = means[1] - means[0]
    # Both directions of each category are tests.
    p = np.concatenate(
        [
            _p_by_run(pairing, sign * growth, p_not_slower(*sides), depends)
            for sign, sides in ((1, (before, after)), (-1, (after, before)))
        ]
    )
    slower, faster = benjamini_hochberg(np.where(np.tile(enough, 2), p, np.nan)).reshape(2, -1)
    p = np.where(growth > 0, slower, faster)
    likely = np.flatnonzero(enough & (p <= thresholds.alpha))
    before, after = before.take(likely), after.take(likely)
    shift, ranked = shifts(before, after), mann_whitney(before, after)
    median = np.array([np.median(before.of(group)) for group in range(len(likely))])
    rows = []
    for place, category in enumerate(likely.tolist()):
        change = float(growth[category])
        sign = 1 if change > 0 else -1
        if (
            sign * change < thresholds.slower * means[0][category]
            and sign * shift.median[place] < thresholds.slower * median[place]
        ):
            continue
        turns = mean_queueing_times(pairing, category)
        edges = edge_changes(
            pairing, category, thresholds.alpha, sign=sign, depends=float(depends[category]), change=change
        )
        rows.append(
            Mutation(
                kind="response-time",
                name=pairing.name_of(category),
                category=category,
                flow=pairing.text(category),
                cost_ns=float(m[category] * change),
                count_before=int(n[category]),
                count_after=int(m[category]),
                expected=float(_expected(pairing)[category]),
                mean_before_ns=float(means[0][category]),
                mean_after_ns=float(means[1][category]),
                shift_ns=float(shift.median[place]),
                low_ns=float(shift.low[place]),
                high_ns=float(shift.high[place]),
                effect=float(ranked.delta[place]),
                p=float(p[category]),
                edges=tuple(edges),
                turns_ns=turns if sign * (turns[1] - turns[0]) >= TURNS * sign * change else None,
            )
        )
    return _Timed(rows, enough)


def _p_by_run(pairing: Pairing, growth: F64, p: F64, depends: F64) -> F64:
    """Return the probability that the requests of each category are not slower after, given that of independent requests.

    With several runs on both sides, the means of the runs are compared, too (Student, one-sided): the variance is that of
    the runs. Otherwise requests count less by the factor `depends`.
    """
    from scipy.special import stdtr

    squares, freedom, parts = np.zeros(len(growth)), np.zeros(len(growth)), np.zeros(len(growth))
    for flows, category in zip(pairing.sides, pairing.category, strict=True):
        count, total = np.zeros((2, len(flows.runs), len(growth)))
        np.add.at(count, (flows.run, category), 1)
        np.add.at(total, (flows.run, category), flows.response_ns)
        there = count > 0
        runs = there.sum(0)
        means = np.where(there, total / np.maximum(count, 1), 0.0)
        middle = means.sum(0) / np.maximum(runs, 1)
        squares += (np.where(there, means - middle, 0.0) ** 2).sum(0)
        freedom += np.where(runs > 1, runs - 1, np.nan)
        parts += 1 / np.maximum(runs, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_run = np.asarray(stdtr(freedom, -growth / np.sqrt(squares / freedom * parts)))
        # The probability of a lead falls exponentially with the number of independent requests.
        return np.where(np.isnan(freedom), p ** (1 / depends), np.fmax(p, by_run))


def _expected(pairing: Pairing) -> F64:
    """Return, per category, the number of requests after if its share of its name's requests were unchanged; 0 for a new
    name."""
    n, m = (np.bincount(pairing.name, counts, len(pairing.names)) for counts in pairing.counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        grown = np.where(n > 0, m / n, 0.0)
    return np.asarray(pairing.counts[0] * grown[pairing.name])


def _structural(pairing: Pairing, thresholds: Thresholds) -> list[Mutation]:
    """Find the categories that are new or significantly more frequent."""
    n, m = pairing.counts
    expected = _expected(pairing)
    growth = m - expected
    of_name = np.bincount(pairing.name, m, len(pairing.names))[pairing.name]
    p = benjamini_hochberg(_more_frequent(pairing))
    # A category that is too rare to be significant in any case is judged by its count.
    possible = _least_p(pairing) <= thresholds.alpha
    chosen = (
        (growth >= thresholds.more) & (growth >= thresholds.share * of_name) & ((p <= thresholds.alpha) | ~possible)
    )
    means = [samples.means() for samples in pairing.samples("response_ns")]
    rows = []
    for category in np.flatnonzero(chosen).tolist():
        precursors = find_precursors(pairing, category, expected - m, thresholds.precursor * growth[category], means)
        rows.append(
            Mutation(
                kind="structural",
                name=pairing.name_of(category),
                category=category,
                flow=pairing.text(category),
                cost_ns=_structural_cost(pairing, category, float(growth[category]), precursors, means),
                count_before=int(n[category]),
                count_after=int(m[category]),
                expected=float(expected[category]),
                mean_before_ns=float(means[0][category]) if n[category] else None,
                mean_after_ns=float(means[1][category]),
                shift_ns=None,
                low_ns=None,
                high_ns=None,
                effect=None,
                p=float(p[category]),
                precursors=precursors,
            )
        )
    return rows


def _structural_cost(
    pairing: Pairing, category: int, growth: float, precursors: tuple[Precursor, ...], means: list[F64]
) -> float:
    """Return the cost of the additional requests in ns, relative to their precursors, weighted by likelihood.

    Without precursors, the cost is relative to the mean of the name's requests before; for a new name, it is the total
    time.
    """
    mean_after = float(means[1][category])
    if precursors:
        weights = np.array([precursor.weight for precursor in precursors])
        mean_before = np.array([precursor.mean_before_ns for precursor in precursors])
        return float((weights * growth * (mean_after - mean_before)).sum() / weights.sum())
    same = pairing.name == pairing.name[category]
    n = pairing.counts[0][same]
    return growth * (mean_after - (float(np.nansum(means[0][same] * n)) / n.sum() if n.sum() else 0.0))


def _more_frequent(pairing: Pairing) -> F64:
    """Return, per category, the probability of at least as many requests after by chance, given the requests of its name.

    It is a binomial test. With several runs on a side, scatter of the runs beyond the binomial variance counts as chance,
    too.
    """
    from scipy.special import bdtrc

    n, m = pairing.counts
    totals = [np.bincount(pairing.name, counts, len(pairing.names))[pairing.name] for counts in (n, m)]
    share = totals[1] / np.maximum(totals[0] + totals[1], 1)
    # A name on one side only gives no information about the shares of its categories.
    share = np.where((totals[0] == 0) & (totals[1] > 0), 0.5, share)
    found = np.where(m > 0, bdtrc(np.maximum(m - 1, 0).astype(np.float64), (n + m).astype(np.int64), share), 1.0)
    scatter = _scatter(pairing)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (m - (n + m) * share) / np.sqrt(scatter * (n + m) * share * (1 - share))
    wide = scatter > 1
    return np.asarray(np.where(wide, np.fmax(found, normal_above(z)), found))


def _least_p(pairing: Pairing) -> F64:
    """Return the smallest possible p per category: all its requests are after."""
    n, m = pairing.counts
    return np.asarray(0.5 ** (n + m))


def _scatter(pairing: Pairing) -> F64:
    """Return the ratio of the variance between runs to the variance by chance, per category; at least 1.

    A side with a single run is divided into stretches instead.
    """
    total, freedom = np.zeros(len(pairing.keys)), np.zeros(len(pairing.keys))
    for flows, category in zip(pairing.sides, pairing.category, strict=True):
        if not len(flows):
            continue
        name = pairing.name[category]
        part = flows.run if len(flows.runs) > 1 else stretch_of(flows, name)
        parts = int(part.max()) + 1
        counts = np.zeros((parts, len(pairing.keys)))
        np.add.at(counts, (part, category), 1)
        of_name = np.zeros((parts, len(pairing.names)))
        np.add.at(of_name, (part, name), 1)
        expected = of_name[:, pairing.name] * (counts.sum(0) / np.maximum(of_name.sum(0)[pairing.name], 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            total += np.where(expected > 0, (counts - expected) ** 2 / expected, 0.0).sum(0)
        freedom += np.maximum((expected > 0).sum(0) - 1, 0)
    return np.maximum(total / np.maximum(freedom, 1), 1.0)


def _requests(count: int) -> str:
    return f"{count:,} request{'s' * (count != 1)}"


def _was_before(before: int, expected: float) -> str:
    return "is new" if not before else f"had {before:,} before ({expected:.0f} expected now)"


def _cost(ns: float) -> str:
    return f"costs {duration(ns)} in total" if ns >= 0 else f"saves {duration(-ns)} in total"
