"""Rank the functions of the program that may have made a test fail, each with its evidence in words.

Score: Ochiai's coefficient over the calls of the session's tests; plus that of what the function did in the test (its most
telling behaviour), with a smaller weight; plus a weight for a place in the traceback (the innermost function has most of it);
plus one for words that the function's name shares with the test. What changed since the test passed comes before everything
else. Equal functions are ranked by distance: first the one that returned last. The weights were chosen on mutants of simpy,
schedule, transitions, jinja2 and click. A second look ranks lines, not functions: on mutants of other packages it named no more
functions.

Invariants: the same recorded tests give the same order. Functions that did not run in the test are suspects only if they
are in its traceback.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from clew.compare.failures.behaviours import KINDS
from clew.compare.failures.earlier_sessions import title
from clew.compare.failures.look_evidence import LineCounts, LookEvidence, in_tests
from clew.compare.failures.recorded_tests import FAILED, I64, Function, Mask, RecordedTests
from clew.compare.failures.shared_words import share, words
from clew.compare.failures.source_changes import Changes, changes
from clew.compare.failures.spectrum import F64, likeness, ochiai
from clew.compare.failures.traceback_frames import failing_line, plain, traced
from clew.compare.sessions.test_units import PASSED
from clew.records.format.failed_phase import FailedPhase, Frame

TRACEBACK, INWARD = 0.2, 0.5
"""The weight of the innermost function of the traceback, and the ratio from each to the next one outside of it."""
WORDS = 0.05
BEHAVIOUR = 0.4
TELLING = 0.1
"""By how much the coefficient of a behaviour must exceed that of the function itself to be told."""
OTHERS = 0.2
"""The weight of a test that failed otherwise: by an exception of another type, or from another function of the program."""
CHANGED = 2.0
MOST_LINES = 200


@dataclass(frozen=True)
class Suspect:
    """A function that may have made the test fail."""

    function: Function
    line: int
    """The line to look at first: after a second look the most telling one, else the one in the traceback, else the first of the
    function."""
    score: float
    evidence: tuple[str, ...]
    """Phrases, the strongest first."""


@dataclass(frozen=True)
class SuspectLine:
    """A line that may have made the test fail. Only a second look finds lines."""

    function: Function
    line: int
    counts: LineCounts


@dataclass(frozen=True)
class Suspects:
    """The answer for one failed test."""

    node: str
    outcome: str
    failed: FailedPhase | None
    """The exception that failed it; None if it was not recorded."""
    at: Frame | None
    """The line of the test, or of its fixture, that failed."""
    suspects: tuple[Suspect, ...]
    """All of them, the likeliest first."""
    failing: int
    passing: int
    """How many failing and how many passing tests were compared."""
    earlier: str = ""
    """The title of the earlier session whose tests were compared, too."""
    limits: tuple[str, ...] = field(default=())
    """Sentences about what the ranking misses."""
    lines: tuple[SuspectLine, ...] = ()
    """The likeliest lines after a second look, at most `MOST_LINES`, the likeliest first."""
    look: LookEvidence | None = None
    """The evidence of the second look, if one was taken."""


def suspects_of(tests: RecordedTests, test: int, look: LookEvidence | None = None) -> Suspects:
    """Rank the suspects of a test, given by its index, with what was edited since an earlier session in which it passed, and
    with what a second look found."""
    run, failed = tests.run, tests.failures.get(test)
    files = {tests.functions[number].file for number in tests.called(test).tolist()}
    files |= {one.function.file for one in traced(tests, failed)} if failed is not None else set()
    at = failing_line(tests, failed) if failed is not None else None
    edits = changes(run.folder, run.info, tests.nodes[test], sorted(files | ({at.file} if at is not None else set())))
    if edits is None:
        return rank(tests, test, look=look)
    found = rank(tests, test, edits.functions, look)
    return replace(found, limits=(*found.limits, *_about_edits(edits, at, found)))


def _about_edits(edits: Changes, at: Frame | None, found: Suspects) -> Iterator[str]:
    """Yield sentences about edits other than those of suspects."""
    since = f"since the test passed ({edits.since.title})"
    itself = at is not None and (at.file, plain(at.function)) in edits.functions
    if itself:
        yield f"The test itself changed {since}."
    outside = [file for file in edits.outside if at is None or file != at.file]
    if outside:
        names = ", ".join(os.path.basename(file) for file in outside[:3])
        more = f" and {len(outside) - 3:,} more" if len(outside) > 3 else ""
        yield f"{names}{more} also changed outside of functions {since}."
    if found.suspects and not (
        itself or edits.outside or any(each.function[:2] in edits.functions for each in found.suspects)
    ):
        yield f"No function that ran in the test changed {since}: the order of tests, time, data or the environment may differ."


def rank(
    tests: RecordedTests,
    test: int,
    changed: Mapping[tuple[str, str], str] | None = None,
    look: LookEvidence | None = None,
) -> Suspects:
    """Rank the suspects of a test, given by its index.

    `changed` has, for each function that was edited since the test passed (by file and qualified name), the phrase about it.
    """
    failed = tests.failures.get(test)
    frames = traced(tests, failed) if failed is not None else []
    sides = _Sides(tests, test)
    returned, left = _ends(tests, test)
    told = words(f"{tests.nodes[test]} {failed.raised[0].message if failed is not None and failed.raised else ''}")
    places = {one.function[:2]: (place, one) for place, one in enumerate(frames)}
    numbers = {tests.functions[number][:2]: number for number in tests.called(test).tolist()}
    functions = [tests.functions[number] for number in numbers.values()]
    functions += [one.function for one in frames if one.function[:2] not in numbers]
    found: list[tuple[tuple[float, float, float], Suspect]] = []
    for function in functions:
        number = numbers.get(function[:2], -1)
        place, frame = places.get(function[:2], (-1, None))
        edited = (changed or {}).get(function[:2], "")
        common = words(function.qualname.rpartition(".")[2]) & told
        score = WORDS * share(words(function.qualname), told) + CHANGED * bool(edited)
        phrases = [edited] if edited else []
        if frame is not None:
            score += TRACEBACK * INWARD**place
            phrases.append(frame.evidence)
        if number >= 0:
            score += float(sides.scores[number]) + BEHAVIOUR * float(sides.behaviour[number])
            phrases.append(sides.ran(number))
            telling = sides.behaved(number, in_traceback=frame is not None)
            phrases += [telling] if telling else []
            if left[number] and frame is None and not telling:
                phrases.append("an exception left it that was handled in the test")
        line = frame.line if frame is not None else function.line
        if look is not None:
            line = look.best_line(function[:2]) or line
            phrases += _looked(look, function, line)
        if common:
            phrases.append(f"the failure names {_quoted(common)}")
        suspect = Suspect(function, line, score, tuple(phrases))
        ended = float(returned[number]) if number >= 0 else 0.0
        found.append(((-round(score, 9), float(place) if frame is not None else np.inf, -ended), suspect))
    found.sort(key=lambda each: (each[0], each[1].function))
    suspects = tuple(suspect for _, suspect in found)
    return Suspects(
        node=tests.nodes[test],
        outcome=tests.outcomes[test],
        failed=failed,
        at=failing_line(tests, failed) if failed is not None else None,
        suspects=suspects,
        failing=sides.failing,
        passing=sides.passing,
        earlier=title(tests.earlier.info) if tests.earlier is not None else "",
        limits=tuple(_limits(tests, test, suspects, sides.passing)),
        lines=_suspect_lines(look, suspects) if look is not None else (),
        look=look,
    )


def _looked(look: LookEvidence, function: Function, line: int) -> Iterator[str]:
    """Yield phrases about what a second look tells of a function."""
    counts = look.lines.get(function[:2], {}).get(line)
    if counts is not None and look.passing and line != function.line:
        yield f"line {line} ran in {in_tests(counts, look)}"


def _suspect_lines(look: LookEvidence, suspects: tuple[Suspect, ...]) -> tuple[SuspectLine, ...]:
    functions = {suspect.function[:2]: suspect.function for suspect in suspects}
    ranked = look.ranked_lines({suspect.function[:2]: suspect.score for suspect in suspects}, MOST_LINES)
    return tuple(SuspectLine(functions[key], line, look.lines[key][line]) for key, line in ranked)


class _Sides:
    """The failing and the passing tests, weighed for one failed test, and the scores that follow."""

    def __init__(self, tests: RecordedTests, test: int) -> None:
        self._tests = tests
        passed, failing = tests.passed, tests.failed.copy()
        failing[test] = True
        self.failing, self.passing = int(failing.sum()), int(passed.sum())
        self._masks = failing, passed
        called = tests.called(test)
        weights = (
            np.where(alike(tests, test), 1.0, OTHERS) * failing,
            likeness(tests.pairs, len(tests.nodes), called) * passed,
        )
        behaviours = tests.behaviours
        self.scores = _scored(tests.pairs, len(tests.functions), weights)
        self._telling = _scored(behaviours.pairs, len(behaviours.function), weights)
        """The score of each behaviour."""
        own = behaviours.pairs[behaviours.pairs[:, 0] == test, 1]
        own = own[np.argsort(self._telling[own], kind="stable")]
        self._best = np.full(len(tests.functions), -1, np.int64)
        """The most telling behaviour of each function in the test."""
        self._best[behaviours.function[own]] = own
        self.behaviour = (
            np.where(self._best >= 0, self._telling[self._best], 0.0) if len(own) else np.zeros(len(self._best))
        )

    def ran(self, number: int) -> str:
        """Return in how many tests a function ran."""
        if self.failing == 1 and not self.passing:
            return "ran in this test"
        return f"ran in {self._in_tests(self._tests.pairs, number)} tests"

    def behaved(self, number: int, *, in_traceback: bool) -> str:
        """Return what a function did in the test that says more than that it ran; "" for nothing, or for what the traceback
        says already."""
        best = int(self._best[number])
        if best < 0 or not self.passing or self._telling[best] < self.scores[number] + TELLING:
            return ""
        behaviours = self._tests.behaviours
        match KINDS[behaviours.kind[best]]:
            case "call":
                what = f"called {self._tests.flows.labels[behaviours.callee[best]].rpartition(':')[2]}"
            case "order":
                what = "made its calls in this order"
            case "leaf":
                what = "called nothing"
            case "raise":
                if in_traceback:
                    return ""
                what = "was left by an exception"
        return f"{what} in {self._in_tests(behaviours.pairs, best)}"

    def _in_tests(self, pairs: I64, number: int) -> str:
        """Return `2 of 4 failing and 1 of 40 passing`."""
        tests = pairs[pairs[:, 1] == number, 0]
        failed, passed = (int(mask[tests].sum()) for mask in self._masks)
        words = f"{failed:,} of {self.failing:,} failing"
        return f"{words} and {passed:,} of {self.passing:,} passing" if self.passing else words


def _scored(pairs: I64, size: int, weights: tuple[F64, F64]) -> F64:
    failed, passed = (np.bincount(pairs[:, 1], weight[pairs[:, 0]], size) for weight in weights)
    return ochiai(failed, passed, float(weights[0].sum()))


def alike(tests: RecordedTests, test: int) -> Mask:
    """Return which tests failed as a test did, the test itself included."""
    own = _kind(tests, test)
    same = np.array([_kind(tests, other) == own for other in range(len(tests.nodes))], bool)
    same[test] = True
    return same


def _kind(tests: RecordedTests, test: int) -> tuple[str, tuple[str, str] | None] | None:
    """Return the type of the exception that failed a test, and the innermost function of the program that it left."""
    failed = tests.failures.get(test)
    if failed is None or not failed.raised:
        return None
    frames = traced(tests, failed._replace(raised=failed.raised[:1]))
    return failed.raised[0].type, frames[0].function[:2] if frames else None


def failed_tests(tests: RecordedTests) -> list[int]:
    """Return the tests that failed, in the order in which they ran."""
    return np.flatnonzero(tests.failed).tolist()


def _ends(tests: RecordedTests, test: int) -> tuple[F64, I64]:
    """Return when each function returned last in a test, in ns since its start, and how often an exception left it."""
    at = tests.flows.places(test)
    of = tests.call_function[at]
    mine = np.flatnonzero(of >= 0)
    returned = np.zeros(len(tests.functions))
    ends = (tests.flows.begin_ns[at] + tests.flows.total_ns[at])[mine]
    np.maximum.at(returned, of[mine], ends)
    left = np.bincount(of[mine], tests.flows.failed[at][mine], len(tests.functions))
    return returned, left.astype(np.int64)


def _quoted(found: frozenset[str]) -> str:
    return ", ".join(f"“{word}”" for word in sorted(found))


def _limits(tests: RecordedTests, test: int, suspects: tuple[Suspect, ...], passing: int) -> list[str]:
    limits = []
    if test not in tests.failures and tests.outcomes[test].startswith(FAILED):
        limits.append("The exception that failed the test was not recorded.")
    if not suspects:
        limits.append(
            "No function of the program ran in the test, as far as it was recorded: by default, only functions below the "
            "root folder of the tests are."
        )
    elif not passing:
        limits.append(
            f"No test {PASSED} in this session or an earlier one, so calls tell little apart: run more tests with it."
        )
    skipped = sorted(set(_counted(tests)))
    if skipped:
        more = f" and {len(skipped) - 3:,} more" if len(skipped) > 3 else ""
        limits.append(f"Calls of {', '.join(skipped[:3])}{more} were only counted, so they may be missing here.")
    return limits


def _counted(tests: RecordedTests) -> list[str]:
    graph = tests.run.graph
    sites = [graph.sites[site] for site in graph.counted]
    return [site.qualname for site in sites if tests.is_program(site.file)]
