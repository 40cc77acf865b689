"""The failed tests of a run, each with its exception and the functions that may have made it fail."""

from __future__ import annotations

from dataclasses import dataclass

from clew.compare.failures.earlier_sessions import comparable
from clew.compare.failures.ranking import Suspect, Suspects, failed_tests, suspects_of
from clew.compare.failures.recorded_tests import RecordedTests, tests_of
from clew.graph.model.open_run import OpenRun
from clew.graph.render.library import library_place
from clew.records.errors import ClewError
from clew.records.format.failed_phase import FailedPhase
from clew.server.protocol.shared import Location
from clew.server.protocol.views.answer import FailedTest, TestSuspect
from clew.server.session.session import Cancelled, Session, Task
from clew.server.text import units

MOST_SUSPECTS = 10
MOST_TESTS = 10


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
    found = suspects_of(tests, test)
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


def _suspect(suspect: Suspect) -> TestSuspect:
    function = suspect.function
    label = f"{function.module}:{function.qualname}" if function.module else function.qualname
    return TestSuspect(
        function=label,
        title=units.printable(units.short_label(label) if function.module else function.qualname),
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
    return f"the exception is recorded, the suspects are inferred from {units.listed(sources)}"
