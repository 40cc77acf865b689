"""Find low-level differences (Spectroscope): traits that distinguish changed requests from the others.

A decision tree selects traits of `features`, which are neither calls nor times, by information gain. Invariant: a split is
significant (G-test, corrected for all traits that were tried) and leaves enough requests on either side. A trait that
already distinguished slow requests before is not reported, because it does not explain the increase.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.requests.category_pairs import Pairing
from clew.compare.requests.event_loop_time import exclusive_times
from clew.compare.requests.features import Members, Trait, TraitKind, traits_of
from clew.compare.stats.tests import F64, spaced
from clew.compare.stats.thresholds import Bounded, bounded, fraction
from clew.graph.render.table import Table, table_of

if TYPE_CHECKING:
    from clew.compare.requests.diff import Mutation

Mask = npt.NDArray[np.bool_]
NEW = 0.2
"""The minimum difference between the growth of the share of slow requests where a trait holds and where it does not."""


@dataclass(frozen=True)
class Thresholds(Bounded):
    """The criteria for reporting a condition; `explain()` describes them in plain words."""

    alpha: float = fraction(0.01)
    """Accepted probability of reporting an uninformative condition, over all conditions that were tried."""
    depth: int = bounded(3, 1)
    """Maximum number of conditions joined by "and"."""
    leaf: int = bounded(4, 1)
    """Minimum number of requests for which a condition holds, and for which it fails."""
    told: float = fraction(0.1)
    """Minimum share of the total information that a condition explains."""
    requests: int = bounded(4000, 1)
    """Maximum number of requests examined; from more, evenly spaced requests are taken."""

    def explain(self) -> str:
        return (
            f"Changed requests are distinguished from the others by the instances of their calls, their values, failures and "
            f"logs. A condition is reported when it explains at least {self.told:.0%} of the difference, holds for at least "
            f"{self.leaf} requests and fails for at least as many, and would be reported by chance in at most "
            f"{self.alpha:.0%} of cases; up to {self.depth} conditions are joined."
        )


@dataclass(frozen=True)
class Difference:
    """Conditions that hold for requests that changed more often than for others."""

    conditions: tuple[str, ...]
    kind: TraitKind
    """Kind of the first condition."""
    subject: str
    """Call or message of the first condition."""
    changed: int
    """Number of changed requests for which all conditions hold."""
    of_changed: int
    """Total number of changed requests."""
    others: int
    of_others: int
    told: float
    """Share of the total information that the first condition explains."""
    p: float
    """Probability that the condition is uninformative, corrected for all conditions tried."""

    @property
    def share(self) -> float:
        return self.changed / self.of_changed

    @property
    def other_share(self) -> float:
        return self.others / self.of_others

    def sentence(self) -> str:
        return (
            f"{' and '.join(self.conditions)} in {self.share:.0%} of the changed requests "
            f"({self.changed:,} of {self.of_changed:,}), in {self.other_share:.0%} of the others"
        )


@dataclass(frozen=True)
class Differences:
    """The conditions that distinguish changed requests."""

    rows: tuple[Difference, ...]
    """Ordered by the share of changed requests for which they hold, largest first."""
    thresholds: Thresholds
    tried: int
    """Number of conditions tried."""
    changed: int
    others: int
    """Number of requests examined."""

    def sentence(self) -> str:
        if self.rows:
            return self.rows[0].sentence()
        if not self.changed or not self.others:
            return "there are no requests to compare the changed requests with"
        requests = f"the {self.changed:,} changed requests from {self.others:,} others"
        return f"none of {self.tried:,} conditions distinguishes {requests}"

    def explain(self) -> str:
        return self.thresholds.explain()

    def table(self) -> Table:
        return table_of(self.rows, ("kind", "subject", "conditions", "share", "other_share", "told", "p"))

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "explanation": self.explain(),
            "thresholds": asdict(self.thresholds),
            **{name: getattr(self, name) for name in ("tried", "changed", "others")},
            "differences": [asdict(row) for row in self.rows],
        }


class _Slow(NamedTuple):
    """The slow requests of both sides, to exclude traits of requests that were already slow before; and the call that got
    slower."""

    before: Mask
    after: Mask
    place: int | None


def what_differs(pairing: Pairing, mutation: Mutation, thresholds: Thresholds | None = None) -> Differences:
    """Find what distinguishes the changed requests of a mutation.

    For a structural mutation, its requests after are compared with those of its likeliest precursor on both sides. For a
    response-time mutation, the slow requests after (of a faster category: before) are compared with all others of the
    category. A request is slow if the first call that changed took longer than in most requests of the other side.
    """
    chosen = thresholds or Thresholds()
    if mutation.kind == "structural":
        groups = [Members(pairing.after, pairing.requests(1, mutation.category))]
        changed = [np.ones(len(groups[0].requests), bool)]
        for other in mutation.precursors[:1]:
            for side, flows in enumerate(pairing.sides):
                requests = pairing.requests(side, other.category)
                groups.append(Members(flows, requests))
                changed.append(np.zeros(len(requests), bool))
        return distinguish(groups, changed, chosen)
    # The slower side is last.
    groups = [
        Members(pairing.sides[side], requests[spaced(len(requests), chosen.requests)])
        for side in ((1, 0) if mutation.is_faster else (0, 1))
        for requests in [pairing.requests(side, mutation.category)]
    ]
    before, after = (_own_times(group, mutation) for group in groups)
    bound = _slow_bound(before, after)
    place = mutation.edges[0].place if mutation.edges else None
    slow = _Slow(before > bound, after > bound, place)
    return distinguish(groups, [np.zeros(len(before), bool), slow.after], chosen, slow=slow)


def _own_times(group: Members, mutation: Mutation) -> F64:
    """Return, per request, the own time of the first call that changed, or the response time if no call did."""
    if mutation.edges:
        return exclusive_times(*group).own[:, mutation.edges[0].place]
    return group.flows.response_ns[group.requests].astype(np.float64)


def _slow_bound(before: F64, after: F64) -> float:
    """Return the value above which requests are slow.

    It maximises the growth of the share of requests above, times the difference of the mean times above and below.
    Therefore a few much slower requests count as much as many slightly slower ones.
    """
    values = np.sort(np.concatenate((before, after)))
    bounds = np.unique(values)[:-1]
    if not len(bounds):
        return float(values[0])
    below = np.searchsorted(values, bounds, "right")
    ordered = np.sort(after)
    after_below = np.searchsorted(ordered, bounds, "right")
    above = len(after) - after_below
    lead = np.searchsorted(np.sort(before), bounds, "right") / len(before) - after_below / len(after)
    mean_below = np.cumsum(values)[below - 1] / below
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_above = (sums[-1] - sums[after_below]) / above
    return float(bounds[np.argmax(np.where(above > 0, lead * (mean_above - mean_below), -np.inf))])


def distinguish(
    groups: list[Members],
    changed: list[Mask],
    thresholds: Thresholds | None = None,
    *,
    slow: _Slow | None = None,
) -> Differences:
    """Find the conditions that hold for the `changed` requests of some groups, each of one category.

    With `slow`, there are two groups of the same category: before and after.
    """
    chosen = thresholds or Thresholds()
    picked = [spaced(len(group.requests), chosen.requests) for group in groups]
    groups = [Members(group.flows, group.requests[which]) for group, which in zip(groups, picked, strict=True)]
    target = np.concatenate([mask[which] for mask, which in zip(changed, picked, strict=True)])
    found = traits_of(groups, chosen.leaf, slow.place if slow else None)
    tree = _Tree(found.traits, found.true, target, chosen)
    if slow is not None:
        tree.late = np.concatenate([np.full(len(which), side == 1) for side, which in enumerate(picked)])
        tree.slow = np.concatenate([mask[which] for mask, which in zip((slow.before, slow.after), picked, strict=True)])
    rows = sorted(tree.leaves(), key=lambda row: (-row.changed, row.others, row.conditions))
    count = int(target.sum())
    return Differences(tuple(rows), chosen, len(found.traits), count, len(target) - count)


@dataclass
class _Tree:
    """A decision tree over traits that predicts which requests changed."""

    traits: list[Trait]
    true: Mask
    target: Mask
    thresholds: Thresholds
    late: Mask | None = None
    """Per request, whether it is after."""
    slow: Mask | None = None

    def leaves(self) -> Iterator[Difference]:
        yield from self._below(np.ones(len(self.target), bool), ())

    def _below(
        self, members: Mask, path: tuple[tuple[int, bool], ...], first: tuple[float, float] = (0, 1)
    ) -> Iterator[Difference]:
        """Yield the leaves below the node with these `members`, if the share of changed requests is larger there than at
        the root."""
        split = self._split(members, path) if len(path) < self.thresholds.depth else None
        if split is None:
            if path and self.target[members].mean() > self.target.mean():
                yield self._difference(members, path, *first)
            return
        trait, explained, p = split
        for value in (True, False):
            inside = members & (self.true[:, trait] == value)
            yield from self._below(inside, (*path, (trait, value)), first if path else (explained, p))

    def _split(self, members: Mask, path: tuple[tuple[int, bool], ...]) -> tuple[int, float, float] | None:
        """Return the most informative trait, its share of the total information, and the probability that it is
        uninformative."""
        total, hits = int(members.sum()), int(self.target[members].sum())
        if not hits or hits == total or not len(self.traits):
            return None
        true = self.true[members]
        inside = true.sum(0)
        hit = true[self.target[members]].sum(0)
        fit = (inside >= self.thresholds.leaf) & (total - inside >= self.thresholds.leaf)
        every = float(_bits(np.array([hits / total]))[0])
        with np.errstate(invalid="ignore", divide="ignore"):
            rest = (inside * _bits(hit / inside) + (total - inside) * _bits((hits - hit) / (total - inside))) / total
        gain = np.where(fit, every - rest, -1.0)
        # Of traits with equal gain, prefer the one that is true for changed requests.
        for trait in np.lexsort((np.arange(len(gain)), hit * total < hits * inside, -gain.round(12))).tolist():
            explained = float(gain[trait]) / every
            p = min(1.0, _chance(2 * np.log(2) * total * float(gain[trait])) * int(fit.sum()))
            if explained < self.thresholds.told or p > self.thresholds.alpha:
                return None
            if self._is_new(members, self.true[:, trait]):
                return trait, explained, p
        return None

    def _is_new(self, members: Mask, true: Mask) -> bool:
        """Return whether the share of slow requests grew differently where the trait is true and where it is false."""
        if self.late is None or self.slow is None:
            return True
        growth = []
        for value in (True, False):
            inside = members & (true == value)
            now, then = (self.slow[inside & (self.late == late)] for late in (True, False))
            if not len(now) or not len(then):
                return True  # occurs on one side only
            growth.append(now.mean() - then.mean())
        return bool(abs(growth[0] - growth[1]) >= NEW)

    def _difference(self, members: Mask, path: tuple[tuple[int, bool], ...], explained: float, p: float) -> Difference:
        count, hits = int(self.target.sum()), int(self.target[members].sum())
        first = self.traits[path[0][0]]
        return Difference(
            conditions=tuple(self.traits[trait].holds if value else self.traits[trait].fails for trait, value in path),
            kind=first.kind,
            subject=first.subject,
            changed=hits,
            of_changed=count,
            others=int(members.sum()) - hits,
            of_others=len(self.target) - count,
            told=explained,
            p=p,
        )


def _bits(share: F64) -> F64:
    """Return the entropy of a yes/no variable in bits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [np.where(p > 0, -p * np.log2(p), 0.0) for p in (share, 1 - share)]
    return np.asarray(parts[0] + parts[1])


def _chance(g: float) -> float:
    """Return the probability of a G statistic at least as large, with one degree of freedom."""
    from scipy.special import chdtrc

    return float(chdtrc(1, max(g, 0.0)))
