"""The failed tests of a run, each with its exception and the functions that may have made it fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.compare.failures.earlier_sessions import comparable
from clew.compare.failures.likely_ways import likely_ways
from clew.compare.failures.look_evidence import LookEvidence, in_tests, look_evidence
from clew.compare.failures.ranking import Suspect, SuspectLine, Suspects, alike, failed_tests, suspects_of
from clew.compare.failures.recorded_tests import Function, RecordedTests, tests_of
from clew.compare.failures.similar_tests import SimilarTest, similar_tests
from clew.compare.failures.unreached import Unreached, unreached
from clew.graph.model.open_run import OpenRun
from clew.graph.render.library import library_place
from clew.graph.values.chain import MOST_STEPS
from clew.graph.values.slice_distance import slice_distances
from clew.records.errors import ClewError
from clew.records.format.failed_phase import FailedPhase
from clew.records.values.compared_tests import read_compared_tests
from clew.server.protocol.shared import Location
from clew.server.protocol.views.answer import FailedTest, SuspectedLine, TestSuspect
from clew.server.protocol.views.value import Omitted
from clew.server.session.session import Cancelled, Session, Task
from clew.server.text import units
from clew.server.text.value_chain import ValueWords
from clew.server.views.value import ValueQuestion, asked_about, decision, explained, look

if TYPE_CHECKING:
    from clew.query.api import Run

MOST_SUSPECTS = 10
MOST_LINES = 5
MOST_TESTS = 10
LONG_S = 30.0
"""A second look that takes longer is not taken without a word."""
START_S, LONGER, PER_CALL_S = 1.5, 3.0, 3e-4
"""The estimate of a second look: the seconds in which pytest starts, how many times longer tests take, and what following the
values of a recorded call of the program takes in addition."""


@dataclass(frozen=True)
class FailedTests:
    tests: list[FailedTest]
    omitted: list[str]
    """The ids of the failed tests that were left out."""


def failed_test(session: Session, run: OpenRun, node: str, task: Task) -> FailedTest | None:
    """Return the answer for the test with an id: its newest failure; None if it did not fail."""
    tests = _tests(session, run, task)
    found = [test for test in failed_tests(tests) if tests.nodes[test] == node]
    return _answer(tests, found[-1]) if found else None


def looked_test(
    session: Session,
    run: Run,
    node: str,
    task: Task,
    *,
    may_take_long: bool = False,
    most_steps: int = MOST_STEPS,
) -> FailedTest | None:
    """Return the answer for the test with an id after a second look at it, or why there is none. Raises `Cancelled`.

    A second look that would take long is taken only if the user asks for it.
    """
    tests = _tests(session, run, task)
    found = [test for test in failed_tests(tests) if tests.nodes[test] == node]
    if not found:
        return None
    test = found[-1]
    similar = similar_tests(tests, test, alike(tests, test))
    seconds = _expected_seconds(tests, test, similar)
    if seconds > LONG_S and not may_take_long:
        answer = _answer(tests, test)
        return replace(
            answer, noValue=f"A second look would take about {units.duration(round(seconds) * 1e9)}: add --again."
        )
    question = ValueQuestion(
        test=node,
        most=most_steps,
        compared=tuple(one.test for one in similar),
        expected=f", which will take about {units.duration(round(seconds) * 1e9)}",
    )
    try:
        looked = look(session, run, question, task)
    except Cancelled:
        raise
    except ClewError as error:
        return replace(_answer(tests, test), noValue=f"No second look: {error}.")
    criterion, why_not = None, ""
    try:
        criterion = asked_about(run, looked, question)
    except ClewError as error:
        why_not = f"The second look tells no value: {error}."
    distances = slice_distances(looked.flow, criterion.nodes if criterion is not None else ())
    evidence = look_evidence(looked.flow.lines(), distances, similar, read_compared_tests(looked.folder))
    suspects = suspects_of(tests, test, evidence)

    def likely(nodes: Sequence[int]) -> list[tuple[int, ...]]:
        return likely_ways(suspects.lines, evidence, slice_distances(looked.flow, nodes))

    value = explained(run, looked, question, criterion, likely) if criterion is not None else None
    words = ValueWords(looked.flow, looked.statements, base=run.info.workspace)
    told = value.steps if value is not None else ()
    answer = replace(
        _answer_of(suspects),
        lines=[_line(one, evidence, session) for one in suspects.lines[:MOST_LINES]],
        unreached=[
            replace(_unreached(tests, one), steps=decision(looked, words, words.unreached_branch(one), likely, told))
            for one in unreached(evidence, tests.is_program)
        ],
    )
    return replace(answer, value=value, noValue=why_not)


def expected_look(session: Session, run: Run, node: str, task: Task, *, compares: bool) -> tuple[float, int]:
    """Return how many seconds a second look at a test will take, and how many similar tests it will run if it compares."""
    tests = _tests(session, run, task)
    test = next(
        (number for number in range(len(tests.nodes) - 1, -1, -1) if tests.nodes[number] == node and tests.own[number]),
        -1,
    )
    if test < 0:
        return 0.0, 0
    similar = similar_tests(tests, test, alike(tests, test)) if compares else []
    return _expected_seconds(tests, test, similar), len(similar)


def _expected_seconds(tests: RecordedTests, test: int, similar: list[SimilarTest]) -> float:
    own = float(tests.flows.total_ns[tests.flows.first[test]])
    calls = int(np.count_nonzero(tests.call_function[tests.flows.places(test)] >= 0))
    return START_S + LONGER * (own + sum(one.took for one in similar)) / 1e9 + PER_CALL_S * calls


def all_failed(session: Session, run: OpenRun, task: Task, at_most: int = MOST_TESTS) -> FailedTests:
    """Return the answers for the failed tests of a run, in the order in which they ran."""
    tests = _tests(session, run, task)
    # A test that was run again counts once, by its newest failure.
    newest = list({tests.nodes[test]: test for test in failed_tests(tests)}.values())
    return FailedTests(
        [_answer(tests, test) for test in newest[:at_most]], [tests.nodes[test] for test in newest[at_most:]]
    )


def _tests(session: Session, run: OpenRun, task: Task) -> RecordedTests:
    """Return the tests of a run, with those of an earlier session to compare with, if there is one."""
    tests = tests_of(run)
    failed = {tests.nodes[test] for test in failed_tests(tests)}
    earlier = comparable(run.folder, run.info, failed) if failed else None
    if earlier is None:
        return tests
    try:
        return tests_of(run, session.open(str(earlier.folder), task))
    except Cancelled:
        raise
    except ClewError:  # the run is damaged, or was removed meanwhile
        return tests


def _answer(tests: RecordedTests, test: int) -> FailedTest:
    return _answer_of(suspects_of(tests, test))


def _answer_of(found: Suspects) -> FailedTest:
    return FailedTest(
        test=found.node,
        outcome=found.outcome,
        exception=_exception(found.failed),
        suspects=[_suspect(suspect) for suspect in found.suspects[:MOST_SUSPECTS]],
        sure=_sure(found),
        location=Location(found.at.file, found.at.line) if found.at is not None else None,
        raised=_raised(found.failed),
        moreSuspects=max(0, len(found.suspects) - MOST_SUSPECTS),
        limits=[units.printable(limit) for limit in found.limits],
    )


def _line(one: SuspectLine, look: LookEvidence, session: Session) -> SuspectedLine:
    text = session.text(one.function.file)
    lines = text.split("\n") if text is not None else []
    return SuspectedLine(
        location=Location(one.function.file, one.line),
        title=_title(one.function),
        source=units.printable(lines[one.line - 1].strip()) if one.line <= len(lines) else "",
        evidence=f"ran in {in_tests(one.counts, look)}",
    )


def _unreached(tests: RecordedTests, one: Unreached) -> Omitted:
    file, name = one.function
    module = next((each.module for each in tests.functions if each[:2] == one.function), "")
    title = _title(Function(file, name, one.line, module))
    of = f"{one.tests:,} of {one.of:,} similar passing tests"
    text = (
        f"{title} did not run, and {of} called it"
        if one.is_function
        else f"{title} did not reach line {one.line}, which {of} that called it ran"
    )
    return Omitted(units.printable(text), Location(file, one.line))


def _label(function: Function) -> str:
    return f"{function.module}:{function.qualname}" if function.module else function.qualname


def _title(function: Function) -> str:
    return units.printable(units.short_label(_label(function)) if function.module else function.qualname)


def _suspect(suspect: Suspect) -> TestSuspect:
    function = suspect.function
    return TestSuspect(
        function=_label(function),
        title=_title(function),
        evidence=[units.printable(phrase) for phrase in suspect.evidence],
        location=Location(function.file, suspect.line),
    )


def _exception(failed: FailedPhase | None) -> str:
    if failed is None or not failed.raised:
        return ""
    first = failed.raised[0]
    message = first.message.strip().partition("\n")[0]
    return units.printable(f"{first.type}: {message}" if message else first.type)


def _raised(failed: FailedPhase | None) -> Location | None:
    for frame in failed.raised[0].frames if failed is not None and failed.raised else ():
        if not library_place(frame.file) and not frame.file.startswith("<"):
            return Location(frame.file, frame.line)
    return None


def _sure(found: Suspects) -> str:
    """Return how sure the list is, and from what it was inferred."""
    if not found.suspects:
        return "not known: no suspect was recorded"
    sources = ["the traceback"] if found.failed is not None else []
    if found.passing or found.failing > 1:
        of = f" (with those of {found.earlier})" if found.earlier else ""
        sources.append(f"the functions that {found.failing:,} failing and {found.passing:,} passing tests{of} called")
    else:
        sources.append("the functions that the test called")
    edited = any("since the test passed" in phrase for suspect in found.suspects for phrase in suspect.evidence)
    sources += ["what was edited since it passed"] if edited else []
    sure = f"the exception is recorded, the suspects are inferred from {units.listed(sources)}"
    if found.look is None:
        return sure
    others = f" and {units.count(found.look.passing, 'similar passing test')}" if found.look.passing else ""
    return f"{sure}, the lines from a second look at the test{others}"
