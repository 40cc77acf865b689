"""Attribute changes of tests: find the functions that are responsible for slower tests, and the calls that changed flows.

Invariant: a changed call is reported where it changed, without the calls below that appeared or disappeared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clew.compare.requests.own_time import call_times
from clew.compare.sessions.test_units import SHARED, Units
from clew.compare.stats.tests import I64
from clew.graph.ops.diff import duration
from clew.graph.ops.flows.flows import Mask

LEAST = 0.05
"""The minimum share of a test's change that a reported function has."""
MOST = 5

Location = tuple[str, int]


@dataclass(frozen=True)
class Responsible:
    """A function whose own time, without callees, changed. Times are medians over sessions in ns, or their sums over
    several tests."""

    label: str
    before_ns: float
    after_ns: float
    location: Location | None
    tests: int = 1

    @property
    def growth_ns(self) -> float:
        return self.after_ns - self.before_ns

    def sentence(self) -> str:
        sign = "+" if self.growth_ns > 0 else "−"
        tests = f" in {self.tests:,} tests" if self.tests > 1 else ""
        return f"{self.label} itself {sign}{duration(abs(self.growth_ns))}{tests}"

    @staticmethod
    def merge(rows: Iterable[Responsible]) -> tuple[Responsible, ...]:
        """Merge the functions of several tests by label, largest growth first."""
        found: dict[str, Responsible] = {}
        for row in rows:
            known = found.get(row.label, Responsible(row.label, 0.0, 0.0, row.location, 0))
            before, after = known.before_ns + row.before_ns, known.after_ns + row.after_ns
            found[row.label] = Responsible(row.label, before, after, row.location, known.tests + 1)
        return tuple(sorted(found.values(), key=lambda row: (-row.growth_ns, row.label)))


@dataclass(frozen=True)
class CallChange:
    """A function that is called more or less often than before, in one chain of callers."""

    label: str
    caller: str
    """The label of the caller; "" without a recorded caller."""
    path: tuple[str, ...]
    """The callers, outermost first."""
    before: tuple[int, int]
    """The minimum and maximum number of calls in a session."""
    after: tuple[int, int]
    location: Location | None

    def sentence(self) -> str:
        by = f" by {self.caller}" if self.caller else ""
        if not self.before[1]:
            return f"{self.label} is called{by}, {_times_text(self.after)}, never before"
        if not self.after[1]:
            return f"{self.label} is no longer called{by}, {_times_text(self.before)} before"
        return f"{self.label} is called {_times_text(self.after)}{by}, {_times_text(self.before)} before"


def responsible(units: Units, before: I64, after: I64, *, shared: float, most_ns: float) -> tuple[Responsible, ...]:
    """Return the functions whose own time changed in the same direction as a subject, given its units on both sides.

    `shared` is the factor, after to before, that all tests have in common. `most_ns` is the total change of the subject.
    If other processes used the processor meanwhile, own times grew by more, so the growth of each function is scaled down
    to this total.
    """
    one, example = _own_times(units, before)
    two, other = _own_times(units, after)
    example |= other
    rows = []
    for code in {**one, **two}:
        event = example[code]
        rows.append(
            Responsible(
                units.flows.labels[code], one.get(code, 0.0), two.get(code, 0.0) / shared, location_of(units, event)
            )
        )
    growth = sum(row.growth_ns for row in rows)
    part = min(1.0, most_ns / abs(growth)) if growth else 0.0
    chosen = [
        replace(row, after_ns=row.before_ns + part * row.growth_ns)
        for row in rows
        if growth and row.growth_ns / growth >= LEAST
    ]
    return tuple(sorted(chosen, key=lambda row: (-abs(row.growth_ns), row.label))[:MOST])


def _own_times(units: Units, which: I64) -> tuple[dict[int, float], dict[int, int]]:
    """Return, per label, the median own time over some units, and an example call.

    The median, unlike the mean, is not affected by a single delay of the scheduler.
    """
    flows = units.flows
    total: dict[int, list[float]] = {}
    example: dict[int, int] = {}
    for number, unit in enumerate(which.tolist()):
        request = units.request[unit]
        at = flows.places(int(request))
        unit_calls = np.flatnonzero((units.call_unit[at] == unit) & (units.call_context[at] > 0))
        times = call_times(flows, np.array([request]))
        # A fixture that yields is suspended while others run: its waiting after set-up does not belong to it.
        root = units.call[unit] - at.start
        ended = times.begin[0, root] + times.total[0, root]
        outlasts = (times.begin[0] < ended) & ((times.begin + times.total)[0] > ended)
        own = np.where(outlasts, times.work[0], times.own[0])
        for place, time in zip((unit_calls + at.start).tolist(), own[unit_calls].tolist(), strict=True):
            context = int(units.call_context[place])
            # Calls of a function that is left out count for their caller.
            code = int(units.context_label[context])
            total.setdefault(code, [0.0] * len(which))[number] += time
            if flows.label[place] == code:
                example[code] = place
    return {code: float(np.median(times)) for code, times in total.items()}, example


def location_of(units: Units, call: int) -> Location | None:
    """Return the location of a call's function."""
    flows = units.flows
    run = flows.runs[flows.run[flows.of_call(np.array([call]))[0]]]
    place: Location | None = run.graph.location(int(flows.event[call]))
    return place


def call_changes(
    units: Units, is_after: Mask, passed: Mask, both: Mask
) -> Iterator[tuple[int, tuple[CallChange, ...]]]:
    """Yield each subject on both sides whose calls changed, with the changed calls, those nearest to its root first.

    For a test that passed, only the sessions in which it passed count.
    """
    subjects, contexts = len(units.subjects), len(units.context_parent)
    compared = _compared_units(units, is_after, passed)
    sizes = np.zeros((2, subjects), np.int64)
    np.add.at(sizes, (is_after[compared].astype(np.int64), units.subject[compared]), 1)
    calls = np.flatnonzero((units.call_unit >= 0) & (units.call_context > 0))
    calls = calls[
        compared[units.call_unit[calls]] & (units.flows.label[calls] == units.context_label[units.call_context[calls]])
    ]
    keys, example, counts = np.unique(
        units.call_unit[calls] * contexts + units.call_context[calls], return_index=True, return_counts=True
    )
    unit, context = keys // contexts, keys % contexts
    groups, group = np.unique(units.subject[unit] * contexts + context, return_inverse=True)
    group = group.reshape(-1)
    side = is_after[unit].astype(np.int64)
    low, high, seen = _ranges(group, side, counts, len(groups))
    subject = groups // contexts
    low[seen < sizes[:, subject]] = 0
    changed = ((low[1] > high[0]) | (high[1] < low[0])) & both[subject]
    places = np.zeros(len(groups), np.int64)
    places[group] = calls[example]
    found: dict[int, dict[int, int]] = {}
    for number in np.flatnonzero(changed).tolist():
        found.setdefault(int(subject[number]), {})[int(groups[number] % contexts)] = number
    for which, of in sorted(found.items()):
        rows = []
        for context_number, number in of.items():
            path = units.path(context_number)
            if int(units.context_parent[context_number]) in of:
                continue
            ranges = [(int(low[end, number]), int(high[end, number])) for end in (0, 1)]
            caller = path[-2] if len(path) > 1 else ""
            place = location_of(units, int(places[number]))
            rows.append(CallChange(path[-1], caller, tuple(path[:-1]), ranges[0], ranges[1], place))
        yield which, tuple(sorted(rows, key=lambda row: (len(row.path), row.label)))


def _compared_units(units: Units, is_after: Mask, passed: Mask) -> Mask:
    """Return the units whose calls are compared."""
    has_passed = np.zeros((2, len(units.subjects)), bool)
    side = is_after.astype(np.int64)
    has_passed[side[passed], units.subject[passed]] = True
    shared = np.array([subject.kind == SHARED for subject in units.subjects], bool)[units.subject]
    return np.asarray(shared | passed | ~has_passed[side, units.subject])


def _ranges(group: I64, side: I64, counts: I64, groups: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return, per side and group, the minimum and maximum number of calls, and the number of units with any."""
    low, high = np.full((2, groups), np.iinfo(np.int64).max), np.zeros((2, groups), np.int64)
    np.minimum.at(low, (side, group), counts)
    np.maximum.at(high, (side, group), counts)
    seen = np.zeros((2, groups), np.int64)
    np.add.at(seen, (side, group), 1)
    return low, high, seen


def _times_text(calls: tuple[int, int]) -> str:
    low, high = calls
    if low == high:
        return f"{low:,} time{'s' * (low != 1)}"
    return f"{low:,} to {high:,} times"
