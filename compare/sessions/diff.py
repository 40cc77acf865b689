"""Compare test sessions test by test: find the tests whose flow or time changed.

A test runs once in a session, so its time is judged by the scatter of times in the whole suite (`noise_model`). Its flow
is judged by its calls in all sessions of a side: variation among these sessions is not a change. Invariant: times of tests
whose outcome changed are not compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clew.compare.sessions.attribution import Responsible, call_changes, responsible
from clew.compare.sessions.function_changes import changed_functions
from clew.compare.sessions.noise_model import Scatter, Times, compare_times
from clew.compare.sessions.result import (
    FASTER,
    OUTCOME,
    PROCESSOR,
    SLOWER,
    STRUCTURE,
    WAITING,
    Suites,
    TestChange,
    Thresholds,
)
from clew.compare.sessions.test_units import FIXTURES, PASSED, SHARED, TEST, Subject, Units, units_of
from clew.compare.sessions.wait_changes import Waits, compare_waits
from clew.compare.stats.tests import F64, I64
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.flows.flows import Flows, Mask, concat


def compare_suites(before: Sequence[OpenRun], after: Sequence[OpenRun], thresholds: Thresholds | None = None) -> Suites:
    """Compare the tests of two sets of sessions."""
    chosen = thresholds or Thresholds()
    units = units_of(concat(*(Flows.of(run) for run in (*before, *after))))
    is_after = units.run >= len(before)
    passed = np.array([outcome == PASSED for outcome in units.outcome], bool)
    sides = [np.bincount(units.subject[is_after == side], minlength=len(units.subjects)) > 0 for side in (False, True)]
    both, subjects = sides[0] & sides[1], units.subjects
    shared = np.array([subject.kind == SHARED for subject in subjects], bool)
    timed = (passed | shared[units.subject]) & both[units.subject]
    known = timed & np.isfinite(units.processor_ns)
    scatter = compare_times(_samples(units, is_after, known, units.processor_ns), len(subjects), chosen.floor_ms * 1e6)
    waiting = np.maximum(units.time_ns - np.nan_to_num(units.processor_ns), 0.0)
    length = np.bincount(units.subject, units.time_ns, len(subjects)) / np.bincount(
        units.subject, minlength=len(subjects)
    )
    waits = compare_waits(_samples(units, is_after, timed, waiting), length, len(subjects))
    outcomes = _outcomes(units, is_after, both)
    calls = dict(call_changes(units, is_after, passed, both))
    least = np.maximum(chosen.margin * waits.by_chance, np.maximum(chosen.wait_ms * 1e6, chosen.change * length))
    rows = _processor_changes(units, is_after, known, scatter, chosen)
    functions = changed_functions(
        units, is_after, timed, alpha=chosen.alpha, change=chosen.change, floor_ns=chosen.floor_ms * 1e6
    )
    # A test with more processor time also waits longer for the processor.
    more = {row.subject for row in rows if row.kind == SLOWER}
    rows += [row for row in _waiting_changes(units, is_after, timed, waits, least) if row.subject not in more]
    for subject, was, now in outcomes:
        changes = calls.pop(_place(subjects, Subject(TEST, subject.name)), ())
        rows.append(
            TestChange(
                OUTCOME,
                Subject(TEST, subject.name),
                *_counts(units, is_after, subject),
                calls=changes,
                was=was,
                now=now,
            )
        )
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
        tuple(subjects[place].name for place in np.flatnonzero(is_test & here & ~other).tolist())
        for here, other in (sides, sides[::-1])
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
        waits=waits,
        counted=units.counted,
        responsible=Responsible.merge(slower),
        functions=functions,
    )


def _place(subjects: tuple[Subject, ...], subject: Subject) -> int:
    return subjects.index(subject) if subject in subjects else -1


def _counts(units: Units, is_after: Mask, subject: Subject) -> tuple[int, int]:
    of_subject = units.subject == units.subjects.index(subject)
    return int((of_subject & ~is_after).sum()), int((of_subject & is_after).sum())


def _outcomes(units: Units, is_after: Mask, both: Mask) -> list[tuple[Subject, str, str]]:
    """Return the tests whose outcome after never occurred before. Every test has fixtures, but not every test reaches its
    call."""
    found: dict[int, tuple[set[str], set[str]]] = {}
    for subject, side, outcome in zip(units.subject.tolist(), is_after.tolist(), units.outcome, strict=True):
        if units.subjects[subject].kind == FIXTURES and both[subject]:
            found.setdefault(subject, (set(), set()))[side].add(outcome or "no outcome")
    return [
        (units.subjects[subject], " or ".join(sorted(was)), " or ".join(sorted(now)))
        for subject, (was, now) in found.items()
        if not was & now
    ]


def _samples(units: Units, is_after: Mask, mask: Mask, column: F64) -> Times:
    return Times(units.subject[mask], units.run[mask], is_after[mask], column[mask])


def _sides(units: Units, is_after: Mask, mask: Mask, subject: int) -> tuple[I64, I64]:
    """Return the selected units of a subject, before and after."""
    of_subject = mask & (units.subject == subject)
    return np.flatnonzero(of_subject & ~is_after), np.flatnonzero(of_subject & is_after)


def _processor_changes(
    units: Units, is_after: Mask, known: Mask, scatter: Scatter, thresholds: Thresholds
) -> list[TestChange]:
    """Return the tests whose processor time changed significantly and by more than the thresholds."""
    rows = []
    with np.errstate(invalid="ignore"):
        changed = np.abs(np.log(scatter.ratio)) >= np.log1p(thresholds.change)
        likely = np.flatnonzero(changed & (scatter.p <= thresholds.alpha))
    for subject in likely.tolist():
        sides = _sides(units, is_after, known, subject)
        before = float(np.exp(np.log(np.maximum(units.processor_ns[sides[0]], 1)).mean()))
        share = float(scatter.ratio[subject]) - 1
        if abs(share) * before >= thresholds.floor_ms * 1e6:
            rows.append(
                TestChange(
                    kind=SLOWER if share > 0 else FASTER,
                    subject=units.subjects[subject],
                    samples_before=len(sides[0]),
                    samples_after=len(sides[1]),
                    measure=PROCESSOR,
                    before_ns=before,
                    after_ns=before * (1 + share),
                    share=share,
                    low=float(scatter.low[subject]) - 1,
                    high=float(scatter.high[subject]) - 1,
                    p=float(scatter.p[subject]),
                    functions=responsible(units, *sides, shared=scatter.shared, most_ns=abs(share) * before),
                )
            )
    return rows


def _waiting_changes(units: Units, is_after: Mask, timed: Mask, waits: Waits, least: F64) -> list[TestChange]:
    """Return the tests that wait longer; `least` is the minimum increase per subject, in ns."""
    rows = []
    growth = waits.after - waits.before
    for subject in np.flatnonzero(np.nan_to_num(growth) >= np.nan_to_num(least, nan=np.inf)).tolist():
        sides = _sides(units, is_after, timed, subject)
        median_ns = float(np.median(units.time_ns[sides[0]]))
        rows.append(
            TestChange(
                kind=SLOWER,
                subject=units.subjects[subject],
                samples_before=len(sides[0]),
                samples_after=len(sides[1]),
                measure=WAITING,
                before_ns=float(waits.before[subject]),
                after_ns=float(waits.after[subject]),
                share=float(growth[subject]) / max(median_ns, 1.0),
                by_chance_ns=float(waits.by_chance[subject]),
                functions=responsible(units, *sides, shared=1.0, most_ns=float(growth[subject])),
            )
        )
    return rows
