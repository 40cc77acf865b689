"""Test sessions compared test by test: whose flow or time changed, and which functions are responsible.

A test runs once in a session, so its time is judged by what times of the whole suite scatter (`scatter`), and its flow by what
it called in all sessions of a side: what varies among those is no change. Invariant: what is said to differ says of how many
runs, by how much, and how surely; tests that ended otherwise than before are not compared in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clew.compare.responsible import CallChange, Responsible, call_changes, responsible
from clew.compare.scatter import Scatter, Times, compare_times
from clew.compare.units import FIXTURES, PASSED, SHARED, TEST, Subject, Units, units_of
from clew.graph.columns import Table, table_of
from clew.graph.nodes import OpenRun
from clew.graph.ops.diff import duration, times
from clew.graph.ops.flows import Flows, Mask, concat

SLOWER, FASTER, STRUCTURE, OUTCOME = "slower", "faster", "structure", "outcome"
NAMED = 5


@dataclass(frozen=True)
class Thresholds:
    """When a test counts as changed. `explain()` says it in plain words."""

    alpha: float = 0.05
    """The share of the tests named slower or faster that may be so by chance, after correction for as many as there are."""
    change: float = 0.1
    """A test is slower or faster when its time changed by at least this share of it …"""
    floor_ms: float = 1.0
    """… and by at least so many milliseconds. Tests that take less are not compared in time."""

    def explain(self) -> str:
        return (
            f"A test is slower or faster when its own time, fixtures apart, changed by at least {self.change:.0%} and "
            f"{self.floor_ms:g} ms, and by more than times of such tests scatter, with at most {self.alpha:.0%} of all that "
            f"is named being chance (Benjamini-Hochberg); what all tests have in common is taken out first. Its flow changed "
            f"when a function is called, in the same chain of callers, more or less often than in any session before."
        )


@dataclass(frozen=True)
class TestChange:
    """One way in which a test, its fixtures or a shared fixture changed. Times in ns."""

    kind: str
    """"slower", "faster", "structure" or "outcome"."""
    subject: Subject
    samples_before: int
    samples_after: int
    before_ns: float | None = None
    """Geometric means; of the time after without what all tests have in common."""
    after_ns: float | None = None
    ratio: float | None = None
    """The effect size, """
    low: float | None = None
    high: float | None = None
    """and the bounds that it lies in, at 95 %."""
    p: float | None = None
    """Corrected for the number of tests compared."""
    functions: tuple[Responsible, ...] = ()
    """Of a test that is slower or faster: whose own time changed, the most first."""
    calls: tuple[CallChange, ...] = ()
    """Of one whose flow changed."""
    was: str = ""
    """Of one that ended otherwise: how before,"""
    now: str = ""
    """and how after."""

    @property
    def name(self) -> str:
        return str(self.subject)

    def sentence(self) -> str:
        if self.kind == OUTCOME:
            return f"{self.was} before, {self.now} now"
        if self.kind == STRUCTURE:
            return "; ".join(change.sentence() for change in self.calls[:3]) + _more(len(self.calls) - 3)
        assert self.before_ns and self.after_ns and self.ratio and self.low and self.high and self.p is not None
        text = f"{duration(self.before_ns)} -> {duration(self.after_ns)} ({times(self.ratio)}, between {times(self.low)} and "
        text += f"{times(self.high)}; p = {self.p:.2g})"
        return text + (f": {self.functions[0].sentence()}" if self.functions else "")


@dataclass(frozen=True)
class Suites:
    """The comparison of some sessions with others."""

    rows: tuple[TestChange, ...]
    """Slower ones by the time that they cost, then changed flows, other outcomes, faster ones."""
    thresholds: Thresholds
    before: tuple[str, ...]
    """Ids of the sessions."""
    after: tuple[str, ...]
    compared: int
    """Tests that are on both sides."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    scatter: Scatter
    counted: tuple[str, ...]
    """Functions that are left out: they ran too often for the budget."""
    functions: tuple[Responsible, ...]
    """Of all tests that are slower together."""

    def of(self, *kinds: str) -> tuple[TestChange, ...]:
        return tuple(row for row in self.rows if row.kind in kinds)

    def sentence(self) -> str:
        said = (
            (SLOWER, "slower"),
            (STRUCTURE, "with another flow"),
            (OUTCOME, "with another outcome"),
            (FASTER, "faster"),
        )
        found = [(len(self.of(kind)), words) for kind, words in said]
        counts = ", ".join(f"{count:,} {words}" for count, words in found if count)
        of = f"of {_many(self.compared, 'test')} in {_many(len(self.before), 'session')} before and {len(self.after):,} after"
        if not self.compared:
            return "there is no test in common"
        if not self.rows:
            return f"no test changed: {of.removeprefix('of ')}"
        first = self.rows[0]
        return f"{counts} {of}; first, {first.name}: {first.sentence()}"

    def certainty(self) -> list[str]:
        """In plain words, how sure this is, and what was left out."""
        scatter, lines = self.scatter, []
        typical = np.nanmedian(scatter.within) if scatter.tested else 1.0
        if not scatter.tested:
            lines.append(f"no test takes {self.thresholds.floor_ms:g} ms: times were not compared")
        elif not scatter.learnt:
            lines.append(
                f"{_many(scatter.tested, 'test')} could be compared in time, too few to learn how much they scatter: taken as "
                f"{times(typical)} either way; more sessions of a commit tell"
            )
        else:
            how = (
                "from repeated sessions and from all tests together" if scatter.repeated else "from all tests together"
            )
            again = "" if scatter.repeated else "; a test ran once a side: more sessions of a commit make this surer"
            lines.append(
                f"by chance times vary up to {times(typical)} either way at the median of "
                f"{_many(scatter.tested, 'test')} that take long enough, learnt {how}{again}"
            )
        if not 1 / 1.05 < scatter.shared < 1.05:
            lines.append(
                f"all tests together took {times(scatter.shared)} as long: the machine, or something that all of them "
                f"use; this is taken out above"
            )
        if self.counted:
            lines.append(f"left out, as they ran too often for the budget: {_some(self.counted)}")
        if self.only_after:
            lines.append(f"only after: {_some(self.only_after)}")
        if self.only_before:
            lines.append(f"only before: {_some(self.only_before)}")
        return lines

    def explain(self) -> str:
        """In plain words, when a difference counts."""
        return self.thresholds.explain()

    def table(self) -> Table:
        """A row per change."""
        return table_of(
            self.rows,
            ("kind", "name", "before_ns", "after_ns", "ratio", "low", "high", "p", "samples_before", "samples_after"),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "explanation": self.explain(),
            "certainty": self.certainty(),
            "thresholds": asdict(self.thresholds),
            "before": list(self.before),
            "after": list(self.after),
            "compared": self.compared,
            "onlyBefore": list(self.only_before),
            "onlyAfter": list(self.only_after),
            "shared": self.scatter.shared,
            "functions": [asdict(row) for row in self.functions],
            "changes": [
                {**asdict(row), "subject": row.subject._asdict(), "name": row.name, "sentence": row.sentence()}
                for row in self.rows
            ],
        }


def compare_suites(before: Sequence[OpenRun], after: Sequence[OpenRun], thresholds: Thresholds | None = None) -> Suites:
    """What changed in the tests from some sessions to others."""
    chosen = thresholds or Thresholds()
    units = units_of(concat(*(Flows.of(run) for run in (*before, *after))))
    is_after = units.run >= len(before)
    passed = np.array([outcome == PASSED for outcome in units.outcome], bool)
    sides = [np.bincount(units.subject[is_after == side], minlength=len(units.subjects)) > 0 for side in (False, True)]
    both, subjects = sides[0] & sides[1], units.subjects
    shared = np.array([subject.kind == SHARED for subject in subjects], bool)
    timed = (passed | shared[units.subject]) & both[units.subject]
    samples = Times(units.subject[timed], units.run[timed], is_after[timed], units.time_ns[timed])
    scatter = compare_times(samples, len(subjects), chosen.floor_ms * 1e6)
    outcomes = _outcomes(units, is_after, both)
    calls = dict(call_changes(units, is_after, passed, both))
    rows = _timed(units, is_after, timed, scatter, chosen)
    for subject, was, now in outcomes:
        changes = calls.pop(_place(subjects, Subject(TEST, subject.name)), ())
        rows.append(TestChange(OUTCOME, subject, *_counts(units, is_after, subject), calls=changes, was=was, now=now))
    ended = {subject.name for subject, _, _ in outcomes}
    rows += [
        TestChange(STRUCTURE, subjects[subject], *_counts(units, is_after, subjects[subject]), calls=changes)
        for subject, changes in calls.items()
        if subjects[subject].name not in ended
    ]
    place = {kind: number for number, kind in enumerate((SLOWER, STRUCTURE, OUTCOME, FASTER))}
    rows.sort(key=lambda row: (place[row.kind], -abs((row.after_ns or 0) - (row.before_ns or 0)), row.subject))
    slower = [function for row in rows if row.kind == SLOWER for function in row.functions]
    is_test = np.array([subject.kind == FIXTURES for subject in subjects], bool)
    only = [
        tuple(subjects[place].name for place in np.flatnonzero(is_test & mine & ~other).tolist())
        for mine, other in (sides, sides[::-1])
    ]
    return Suites(
        rows=tuple(rows),
        thresholds=chosen,
        before=tuple(run.info.id for run in before),
        after=tuple(run.info.id for run in after),
        compared=int((both & is_test).sum()),
        only_before=only[0],
        only_after=only[1],
        scatter=scatter,
        counted=units.counted,
        functions=Responsible.together(slower),
    )


def _place(subjects: tuple[Subject, ...], subject: Subject) -> int:
    return subjects.index(subject) if subject in subjects else -1


def _counts(units: Units, is_after: Mask, subject: Subject) -> tuple[int, int]:
    mine = units.subject == units.subjects.index(subject)
    return int((mine & ~is_after).sum()), int((mine & is_after).sum())


def _outcomes(units: Units, is_after: Mask, both: Mask) -> list[tuple[Subject, str, str]]:
    """Tests that never ended so before. Every test has fixtures, not every one comes to its call."""
    found: dict[int, tuple[set[str], set[str]]] = {}
    for subject, side, outcome in zip(units.subject.tolist(), is_after.tolist(), units.outcome, strict=True):
        if units.subjects[subject].kind == FIXTURES and both[subject]:
            found.setdefault(subject, (set(), set()))[side].add(outcome or "no outcome")
    return [
        (units.subjects[subject], " or ".join(sorted(was)), " or ".join(sorted(now)))
        for subject, (was, now) in found.items()
        if not was & now
    ]


def _timed(units: Units, is_after: Mask, timed: Mask, scatter: Scatter, thresholds: Thresholds) -> list[TestChange]:
    """What got slower or faster."""
    rows = []
    with np.errstate(invalid="ignore"):
        likely = np.flatnonzero(
            (scatter.p <= thresholds.alpha) & (np.abs(np.log(scatter.ratio)) >= np.log1p(thresholds.change))
        )
    for subject in likely.tolist():
        mine = timed & (units.subject == subject)
        sides = [np.flatnonzero(mine & (is_after == side)) for side in (False, True)]
        before = float(np.exp(np.log(np.maximum(units.time_ns[sides[0]], 1)).mean()))
        ratio = float(scatter.ratio[subject])
        if abs(ratio - 1) * before < thresholds.floor_ms * 1e6:
            continue
        rows.append(
            TestChange(
                kind=SLOWER if ratio > 1 else FASTER,
                subject=units.subjects[subject],
                samples_before=len(sides[0]),
                samples_after=len(sides[1]),
                before_ns=before,
                after_ns=before * ratio,
                ratio=ratio,
                low=float(scatter.low[subject]),
                high=float(scatter.high[subject]),
                p=float(scatter.p[subject]),
                functions=responsible(units, sides[0], sides[1], scatter.shared),
            )
        )
    return rows


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _more(count: int) -> str:
    return f"; and {count:,} more" if count > 0 else ""


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED:,} more' if len(names) > NAMED else ''}"
