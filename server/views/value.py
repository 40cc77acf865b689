"""Why a value is what it is: run the test or program again under the tracer of values, and explain the value by its chain."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.values import criteria
from clew.graph.values.chain import MOST_STEPS, chain_of
from clew.graph.values.criteria import Criterion, NoSuchValue
from clew.graph.values.flow import Flow
from clew.graph.values.omissions import omissions
from clew.graph.values.replay import replay
from clew.graph.values.same_path import check_path
from clew.graph.values.statements import Statements
from clew.instrument.values.look_request import LookRequest
from clew.instrument.values.second_look import (
    SecondLookError,
    check_interpreter,
    look_at_program,
    look_at_test,
    program_of,
    pytest_words,
)
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.records.plan.plan import Plan, Redact, load
from clew.records.run.directory import PLAN_FILE
from clew.records.values.trace_files import read_value_trace
from clew.records.values.trace_format import CUTS, ValueTrace
from clew.server.locations.paths import same_file_key
from clew.server.locations.tests_at_line import tests_at
from clew.server.protocol.second_look import ValueParams, ValueResult
from clew.server.protocol.views.value import Omitted, ValueAnswer, ValueStepText
from clew.server.session.session import Session, Task
from clew.server.text import units
from clew.server.text.value_chain import ValueWords
from clew.server.views.target import NothingFound

if TYPE_CHECKING:
    from clew.query.api import Run

FOLDER = "second-looks"
"""In the folder of the run: its second looks."""
MOST_TESTS = 20
"""The most other tests that an answer names."""
MOST_OF_DECISION = 4
"""The most steps about a branch that kept something from running."""
Likely = Callable[[Sequence[int]], Sequence[Sequence[int]]]
"""Returns the ways from nodes back to likely lines, the likeliest first; see `chain_of`."""


def no_ways(nodes: Sequence[int]) -> Sequence[Sequence[int]]:
    """Return no ways, where no evidence makes a line likely."""
    return ()


@dataclass(frozen=True)
class ValueQuestion:
    """What is asked: the value of an expression, at a line; without one, what the failure or the log line tells."""

    expression: str = ""
    file: str = ""
    line: int = 0
    test: str = ""
    """The id of the test to run again; "" for the program of the run."""
    event: int = -1
    """The log line whose arguments are asked about; -1 for none."""
    may_repeat: bool = False
    """Whether the user allows the program to run again. A test may always."""
    most: int = MOST_STEPS
    compared: tuple[str, ...] = ()
    """Ids of tests whose lines are followed, too."""
    expected: str = ""
    """How long the second look will take, in words; "" if that is not known."""


@dataclass(frozen=True)
class Looked:
    """A second look that was taken."""

    folder: Path
    flow: Flow
    statements: Statements


def look(session: Session, run: Run, question: ValueQuestion, task: Task) -> Looked:
    """Take a second look. Raises `SecondLookError` and `Cancelled`."""
    check_interpreter()
    folder = _run_again(run, question, task)
    trace = read_value_trace(folder)
    task.phase(f"following the values of {units.count(trace.opcodes, 'instruction')}")
    with task.interruptible():
        flow = replay(trace, lambda _done, _all: task.check())
    return Looked(folder, flow, Statements(flow, _Source(session)))


def asked_about(run: Run, looked: Looked, question: ValueQuestion) -> Criterion:
    """Return the values that a question asks about. Raises `NoSuchValue` and `NothingFound`."""
    return _criterion(run, looked.flow, looked.statements, question)


def explained(
    run: Run, looked: Looked, question: ValueQuestion, criterion: Criterion, likely: Likely = no_ways
) -> ValueAnswer:
    """Return the answer of a second look; `likely` returns the ways from values back to likely lines."""
    flow, statements = looked.flow, looked.statements
    chain = chain_of(flow, statements, list(criterion.nodes), question.most, likely(criterion.nodes))
    trace = flow.trace
    base = run.info.workspace
    thread = flow.calls[flow.call[criterion.nodes[0]]].thread
    words = ValueWords(
        flow, statements, thread, base, tells_calls=not question.expression, not_raised=criterion.not_raised
    )
    steps = words.steps(chain)
    omitted = [
        Omitted(
            words.omission(one),
            words.call_location(one),
            decision(looked, words, words.omission_branch(one), likely, steps),
        )
        for one in omissions(flow, chain)
    ]
    return ValueAnswer(
        title=_title(trace, question, base),
        steps=steps,
        moreSteps=chain.more,
        omitted=omitted,
        notes=_notes(run, flow, criterion, question),
        instructions=trace.opcodes,
        seconds=trace.seconds,
        functions=list(dict.fromkeys(step.function for step in steps if step.function)),
    )


def decision(
    looked: Looked, words: ValueWords, branch: int, likely: Likely, told: Sequence[ValueStepText] = ()
) -> list[ValueStepText]:
    """Return what a branch decided, and the way from it to the likeliest line if its value depends on one.

    `told` are the steps above. Where the branch is one of them, they explain its value already.
    """
    if not branch:
        return []
    (first, *_) = found = words.steps(chain_of(looked.flow, looked.statements, [branch], 1))
    if any((one.text, one.location) == (first.text, first.location) for one in told):
        return found
    ways = likely([branch])[:1]
    return words.steps(chain_of(looked.flow, looked.statements, [branch], MOST_OF_DECISION, ways)) if ways else found


def value_answer(session: Session, run: Run, question: ValueQuestion, task: Task) -> ValueAnswer:
    """Take a second look and answer. Raises `SecondLookError`, `NoSuchValue`, `NothingFound` and `Cancelled`."""
    looked = look(session, run, question, task)
    return explained(run, looked, question, asked_about(run, looked, question))


def value_view(session: Session, params: ValueParams, task: Task) -> ValueResult:
    """Answer for the newest fitting test. It never runs a program again: the answer then names the command."""
    from clew.compare.failures.recorded_tests import tests_of

    # That module asks this one for the values of a failed test.
    from clew.server.views.failed_test import expected_look, failed_test, looked_test

    run = session.open(params.run, task)
    ref, place = session.ref(run), params.location
    tests: list[str] = []
    if run.info.tests:
        with task.interruptible():
            recorded = tests_of(run)
            called = tests_at(session, run, place.path, place.line) if place is not None else []
        failed = [recorded.nodes[test] for test in np.flatnonzero(recorded.failed).tolist()]
        tests = called if place is not None else failed[::-1]
    test = params.test or next(iter(tests), "")
    if not run.info.tests or not test:
        message, command = _why_not(session, run, params)
        return ValueResult(ref, "", 0.0, [], message=message, command=command)
    others = [other for other in tests if other != test][:MOST_TESTS]
    numbers = [number for number, node in enumerate(recorded.nodes) if node == test and recorded.own[number]]
    took = float(recorded.flows.response_ns[numbers[-1]]) if numbers else 0.0
    result = ValueResult(ref, test, took, others)
    if not numbers:
        return replace(result, message=f"Run {run.info.name} has no test {test}.")
    if place is not None and _is_unsaved(session, place.path):
        name = os.path.basename(place.path)
        return replace(
            result, message=f"{name} has unsaved changes. A second look runs the saved file: save it, then ask again."
        )
    # The lines of similar tests tell about a failure, not about one value.
    of_failure = not params.expression and recorded.failed[numbers[-1]]
    if not params.isLook:
        with task.interruptible():
            seconds, similar = expected_look(session, run, test, task, compares=of_failure)
        return replace(result, expectedNs=seconds * 1e9, similar=similar)
    if of_failure:
        found = looked_test(session, run, test, task, may_take_long=True)
        if found is not None:
            return replace(result, answer=found.value, failed=found, message=found.noValue)
    question = ValueQuestion(
        expression=params.expression,
        file=place.path if place is not None else "",
        line=place.line if place is not None else 0,
        test=test,
    )
    try:
        answer = value_answer(session, run, question, task)
    except (NoSuchValue, NothingFound, SecondLookError) as error:
        text = str(error)
        return replace(result, message=text[:1].upper() + text[1:])
    return replace(result, answer=answer, failed=failed_test(session, run, test, task))


def _is_unsaved(session: Session, path: str) -> bool:
    text = session.overlay(path)
    if text is None:
        return False
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines() != text.splitlines()
    except OSError:
        return True


def _why_not(session: Session, run: Run, params: ValueParams) -> tuple[str, str]:
    """Return why no test can run again, and the command for a program, if there is one."""
    place = params.location
    if run.info.tests:
        where = (
            f" called the function at {units.place(place.path, place.line, run.info.workspace)}" if place else " failed"
        )
        return f"No test of run {run.info.name}{where}.", ""
    if run.info.imported or place is None or not params.expression:
        return f"Run {run.info.name} is not a test session. Only a test runs again from here.", ""
    at = units.place(place.path, place.line, str(session.workspace))
    command = shlex.join(["clew", "why", "--value", params.expression, "--at", at, "--again"])
    message = (
        f"Run {run.info.name} is not a test session. A second look runs the program again{_took(run)}, with all that it does "
        "to files, databases and other programs. If that is safe, this command answers:"
    )
    return message, command


class _Source:
    """Reads source files, each once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lines: dict[str, list[str]] = {}

    def __call__(self, file: str) -> list[str]:
        found = self._lines.get(file)
        if found is None:
            text = self._session.text(file)
            found = self._lines[file] = text.split("\n") if text is not None else []
        return found


def _run_again(run: Run, question: ValueQuestion, task: Task) -> Path:
    """Return the folder of the value trace."""
    what = question.test or " ".join(run.info.command)
    folder = run.folder / FOLDER / hashlib.sha1(what.encode(), usedforsecurity=False).hexdigest()[:16]
    if run.info.imported:
        raise SecondLookError("a second look runs the program again; an imported trace has no program")
    request = LookRequest(str(folder), run.info.workspace, question.test, compared=question.compared)
    redact = _plan(run).redact or Redact()
    request = request._replace(names=tuple(redact.names), patterns=tuple(redact.patterns))
    python, pythonpath = _python(run), run.info.pythonpath
    if question.test:
        task.phase(f"running {question.test} again{question.expected}")
        words = pytest_words(run.info.command)
        # The test's id is relative to the root folder of the tests, which pytest finds from the same place as before.
        cwd = run.info.cwd if words else run.info.workspace
        look_at_test(
            request, python=python, words=words, cwd=cwd, pythonpath=pythonpath, tick=lambda seconds: task.check()
        )
    else:
        shown = " ".join(program_of(run.info.command))
        if not question.may_repeat:
            raise SecondLookError(
                f"a second look runs `{shown}` again{_took(run)}, with all that it does to files, databases and other "
                "programs; add --again if that is safe"
            )
        task.phase(f"running {shown} again{_took(run)}")
        look_at_program(
            run.info.command, Path(run.info.cwd), request, python=python, pythonpath=pythonpath,
            tick=lambda seconds: task.check(),
        )  # fmt: skip
    return folder


def _plan(run: Run) -> Plan:
    try:
        return load((run.folder / PLAN_FILE).read_text(encoding="utf-8"), PLAN_FILE)
    except (OSError, ClewError):
        return Plan()


def _took(run: Run) -> str:
    if run.info.finished is None:
        return ""
    return f", which took {units.duration(run.info.finished - run.info.started)}"


def _python(run: Run) -> str:
    """Return the interpreter that ran the program, if the command names it; else ""."""
    first = run.info.command[0] if run.info.command else ""
    if not os.path.basename(first).startswith("python"):
        return ""
    return first if os.path.isabs(first) and os.path.exists(first) else shutil.which(first) or ""


def _criterion(run: Run, flow: Flow, statements: Statements, question: ValueQuestion) -> Criterion:
    if question.expression:
        file, line = question.file, question.line
        if not file and question.event >= 0:
            site = run.graph.sites[int(run.graph.site[question.event])]
            file, line = site.file, site.line
        if not file and flow.trace.outcome.exception >= 0:
            raised = flow.raised.get(flow.trace.outcome.exception, 0)
            if raised:
                file, line = flow.code_of(raised).file, flow.line_of(raised)
        if not file:
            raise NothingFound(f"at which line is {question.expression} asked about? Add --at FILE:LINE")
        return criteria.of_expression(flow, statements, question.expression, _followed_file(flow, file), line)
    if question.event >= 0:
        return _of_log_line(run, flow, question.event)
    if flow.trace.outcome.exception < 0:
        what = question.test or "the program"
        raise NothingFound(f"{what} did not fail in the second look; name the value: --value EXPRESSION --at FILE:LINE")
    return criteria.of_failure(flow, flow.trace.outcome.exception)


def _of_log_line(run: Run, flow: Flow, event: int) -> Criterion:
    graph = run.graph
    if graph.kind[event] == Kind.EXCEPTION and flow.trace.outcome.exception >= 0:
        return criteria.of_failure(flow, flow.trace.outcome.exception)
    site = graph.sites[int(graph.site[event])]
    same = np.flatnonzero((graph.site == graph.site[event]) & (graph.kind == graph.kind[event]))
    number = int(np.count_nonzero(graph.ts[same] < graph.ts[event]))
    return criteria.of_call_at(flow, _followed_file(flow, site.file), site.line, number)


def _followed_file(flow: Flow, file: str) -> str:
    """Return the name under which a file was followed. Raises `NothingFound`."""
    key = same_file_key(file)
    files = {code.file for code in flow.trace.codes}
    for one in files:
        if same_file_key(one) == key or one.endswith(os.sep + file):
            return one
    raise NothingFound(f"{file}: no function of it ran in the second look")


def _title(trace: ValueTrace, question: ValueQuestion, base: str) -> str:
    what = question.test or "the program"
    if question.expression:
        place = f" at {units.place(question.file, question.line, base)}" if question.file else ""
        return f"the value of {question.expression}{place}, in {what}"
    if question.event >= 0 or trace.outcome.exception < 0:
        return f"the values of the line, in {what}"
    return f"{what} failed with {trace.outcome.message}"


def _notes(run: Run, flow: Flow, criterion: Criterion, question: ValueQuestion) -> list[str]:
    notes = []
    if flow.trace.cut:
        notes.append(f"The second look ends early: {CUTS[flow.trace.cut]}. What came later is not in the answer.")
    if criterion.is_fallback:
        notes.append("The failure itself tells no value. The steps explain the last results that the test got.")
    first = _first_row(run, question.test)
    if first >= 0:
        checked = check_path(run.graph, first, flow, question.test.rpartition("::")[2].partition("[")[0])
        if checked.difference is not None:
            before, now = (name or "nothing more" for name in checked.difference)
            notes.append(
                f"The second look took another path than the run: after {units.count(checked.compared, 'equal call')}, the run "
                f"called {before}, the second look {now}. The values may differ from those of the run."
            )
    return notes


def _first_row(run: Run, test: str) -> int:
    """Return the row from which the run and the second look are compared; -1 if there is none."""
    graph = run.graph
    if test:
        found = [row for row in graph.rows_of([Kind.REQUEST]).tolist() if graph.channel(row) == test]
        return found[-1] if found else -1
    entered = graph.rows_of([Kind.ENTER])
    return int(entered[np.argmin(graph.ts[entered])]) if len(entered) else -1
