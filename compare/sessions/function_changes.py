"""Find functions that are slower in all tests that call them: many tests together have the samples that one test lacks.

The comparison uses the own time of one call, test by test, so neither more frequent calls nor waiting counts. Invariant: a
function is judged by the variation of functions that are called in as many tests (`noise_model`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.compare.sessions.attribution import Location, location_of
from clew.compare.sessions.noise_model import Changes, judge
from clew.compare.sessions.test_units import Units
from clew.compare.stats.tests import F64, I64
from clew.graph.ops.diff import duration
from clew.graph.ops.flows.flows import Mask

LEAST = 10
"""Minimum number of tests: in fewer tests the scheduler can dominate the median."""


@dataclass(frozen=True)
class FunctionChange:
    """A function whose own time per call changed."""

    label: str
    tests: int
    """Number of tests that call it on both sides."""
    share: float
    """Relative increase of the own time per call, at the median of those tests."""
    low: float
    high: float
    """`low` and `high` bound the share at 95 %."""
    p: float
    growth_ns: float
    """Total increase over these tests of a session."""
    location: Location | None

    def sentence(self) -> str:
        percents = [f"{share:+.0%}".replace("%", " %") for share in (self.share, self.low, self.high)]
        sign = "+" if self.growth_ns > 0 else "−"
        tests = f"{self.tests:,} test{'s' * (self.tests != 1)}"
        sure = f"between {percents[1]} and {percents[2]}; p = {self.p:.2g}"
        in_all = f"{sign}{duration(abs(self.growth_ns))} in total"
        return f"own time per call of {self.label} {percents[0]} in {tests} ({sure}), {in_all}"


def changed_functions(
    units: Units, is_after: Mask, mask: Mask, *, alpha: float, change: float, floor_ns: float
) -> tuple[FunctionChange, ...]:
    """Return the changed functions of some units, highest cost first."""
    pairs = _pairs(units, is_after, mask)
    labels, of = np.unique(pairs.label, return_inverse=True)
    of = of.reshape(-1)
    order = np.lexsort((pairs.change, of))
    first = np.searchsorted(of[order], np.arange(len(labels) + 1))
    tests = first[1:] - first[:-1]
    middle = pairs.change[order]
    median = (middle[(first[:-1] + first[1:] - 1) // 2] + middle[(first[:-1] + first[1:]) // 2]) / 2
    # Remove the change that all functions share, which is due to the machine. Each function counts once.
    median = median - np.median(median) if len(median) else median
    total_before = np.bincount(of, pairs.before_ns, len(labels))
    tested = np.flatnonzero((tests >= LEAST) & (np.maximum(total_before, total_before * np.exp(median)) >= floor_ns))
    zeros = np.zeros(len(tested))
    found = judge(
        Changes(median[tested], zeros + 1.0, zeros, zeros, np.log(tests[tested])), tested, np.exp(median), 1.0
    )
    growth = total_before * (np.exp(median) - 1)
    with np.errstate(invalid="ignore"):
        chosen = (found.p <= alpha) & (np.abs(median) >= np.log1p(change)) & (np.abs(growth) >= floor_ns)
    rows = [
        FunctionChange(
            label=units.flows.labels[labels[place]],
            tests=int(tests[place]),
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
    """Columns with one row per subject and function that it calls on both sides."""

    label: I64
    change: F64
    """Logarithm of the ratio of the own times per call, after to before."""
    before_ns: F64
    """Own time of all calls before."""
    example: I64
    """An example call."""


def _pairs(units: Units, is_after: Mask, mask: Mask) -> _Pairs:
    """Return the change of each function's own time per call, by subject, as medians over sessions."""
    flows, labels = units.flows, max(len(units.flows.labels), 1)
    calls = np.flatnonzero((units.call_unit >= 0) & (units.call_context > 0))
    calls = calls[mask[units.call_unit[calls]] & (flows.label[calls] == units.context_label[units.call_context[calls]])]
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


def _medians(group: I64, column: F64, mask: Mask) -> tuple[I64, F64]:
    """Return the groups of some rows and the median of each group."""
    group, column = group[mask], column[mask]
    order = np.lexsort((column, group))
    groups, first = np.unique(group[order], return_index=True)
    last = np.concatenate((first[1:], [len(order)])).astype(np.int64)
    column = column[order]
    middle: npt.NDArray[np.float64] = (column[(first + last - 1) // 2] + column[(first + last) // 2]) / 2
    return groups, middle
