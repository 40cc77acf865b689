"""Functions that are slower in all tests that call them: where no test has samples enough, a function has them in many tests.

Compared is the own time of one call, test by test, so that neither what a test calls more often nor what it waits for counts.
Invariant: a function is judged by how much those change that are called in as many tests (`scatter`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.compare.responsible import Location, location_of
from clew.compare.scatter import Changes, judge
from clew.compare.statistics import F64, I64
from clew.compare.units import Units
from clew.graph.ops.diff import duration
from clew.graph.ops.flows import Mask

LEAST = 10
"""In fewer tests a median may be what the scheduler did to some of them."""


@dataclass(frozen=True)
class FunctionChange:
    label: str
    tests: int
    """In which it is called on both sides."""
    share: float
    """What a call of it takes more, as a share of what it took, at the median of those tests."""
    low: float
    high: float
    """The bounds that it lies in, at 95 %."""
    p: float
    growth_ns: float
    """What that makes in all of these tests of a session."""
    location: Location | None

    def sentence(self) -> str:
        percents = [f"{share:+.0%}".replace("%", " %") for share in (self.share, self.low, self.high)]
        sign = "+" if self.growth_ns > 0 else "−"
        tests = f"{self.tests:,} test{'s' * (self.tests != 1)}"
        sure = f"between {percents[1]} and {percents[2]}; p = {self.p:.2g}"
        in_all = f"{sign}{duration(abs(self.growth_ns))} in all"
        return f"a call of {self.label} itself {percents[0]} in {tests} ({sure}), {in_all}"


def changed_functions(
    units: Units, is_after: Mask, those: Mask, *, alpha: float, change: float, floor_ns: float
) -> tuple[FunctionChange, ...]:
    """Of some units: what costs most first."""
    pairs = _pairs(units, is_after, those)
    labels, of = np.unique(pairs.label, return_inverse=True)
    of = of.reshape(-1)
    order = np.lexsort((pairs.change, of))
    first = np.searchsorted(of[order], np.arange(len(labels) + 1))
    many = first[1:] - first[:-1]
    middle = pairs.change[order]
    median = (middle[(first[:-1] + first[1:] - 1) // 2] + middle[(first[:-1] + first[1:]) // 2]) / 2
    # What all functions have in common is the machine's; a function counts once, in however many tests it is.
    median = median - np.median(median) if len(median) else median
    took = np.bincount(of, pairs.before_ns, len(labels))
    tested = np.flatnonzero((many >= LEAST) & (np.maximum(took, took * np.exp(median)) >= floor_ns))
    nothing = np.zeros(len(tested))
    found = judge(
        Changes(median[tested], nothing + 1.0, nothing, nothing, np.log(many[tested])), tested, np.exp(median), 1.0
    )
    growth = took * (np.exp(median) - 1)
    with np.errstate(invalid="ignore"):
        chosen = (found.p <= alpha) & (np.abs(median) >= np.log1p(change)) & (np.abs(growth) >= floor_ns)
    rows = [
        FunctionChange(
            label=units.flows.labels[labels[place]],
            tests=int(many[place]),
            share=float(found.ratio[place] - 1),
            low=float(found.low[place] - 1),
            high=float(found.high[place] - 1),
            p=float(found.p[place]),
            growth_ns=float(growth[place]),
            location=location_of(units, int(pairs.example[order[first[place]]])),
        )
        for place in np.flatnonzero(chosen).tolist()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.growth_ns, row.label)))


@dataclass(frozen=True)
class _Pairs:
    """A row per subject and function that it calls on both sides."""

    label: I64
    change: F64
    """Logarithm of the ratio of a call's own times, after to before."""
    before_ns: F64
    """Own time of all calls, before."""
    example: I64
    """A call of it."""


def _pairs(units: Units, is_after: Mask, those: Mask) -> _Pairs:
    flows, labels = units.flows, max(len(units.flows.labels), 1)
    calls = np.flatnonzero((units.call_unit >= 0) & (units.call_context > 0))
    calls = calls[
        those[units.call_unit[calls]] & (flows.label[calls] == units.context_label[units.call_context[calls]])
    ]
    keys, example, which = np.unique(
        units.call_unit[calls] * labels + flows.label[calls], return_index=True, return_inverse=True
    )
    which = which.reshape(-1)
    total = np.bincount(which, flows.self_ns[calls], len(keys)).astype(np.float64)
    each = np.log(np.maximum(total / np.maximum(np.bincount(which, minlength=len(keys)), 1), 1.0))
    unit, label = keys // labels, keys % labels
    group = units.subject[unit] * labels + label
    sides = [_medians(group, column, is_after[unit] == side) for column in (each, total) for side in (False, True)]
    both, before, after = np.intersect1d(sides[0][0], sides[1][0], assume_unique=True, return_indices=True)
    place = np.searchsorted(np.sort(group), both)
    return _Pairs(
        label=both % labels,
        change=sides[1][1][after] - sides[0][1][before],
        before_ns=sides[2][1][before],
        example=calls[example[np.argsort(group, kind="stable")[place]]],
    )


def _medians(group: I64, column: F64, those: Mask) -> tuple[I64, F64]:
    """The groups of some rows, and the median of each."""
    group, column = group[those], column[those]
    order = np.lexsort((column, group))
    groups, first = np.unique(group[order], return_index=True)
    last = np.concatenate((first[1:], [len(order)])).astype(np.int64)
    column = column[order]
    middle: npt.NDArray[np.float64] = (column[(first + last - 1) // 2] + column[(first + last) // 2]) / 2
    return groups, middle
