"""Start and end the run of a `pytest --clew` session, remove old sessions, and print the report at the end.

The session's own process starts recording here; its child processes (xdist's workers, programs under test) do so
through the environment. A session in a process that is already recorded (a worker, or pytest under `clew run`) adds its
tests to that run, which becomes the run of a session with its commit.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from clew.instrument.bootstrap import start_from_environment
from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.core import core
from clew.instrument.recorder.redaction import Redaction
from clew.instrument.run_environment import environment
from clew.instrument.testing import suspects
from clew.instrument.testing.hung_tests import hung_tests
from clew.instrument.testing.requests import Tests
from clew.instrument.testing.verdict import Verdict, ask
from clew.records.collector.launch import Attendant
from clew.records.errors import ClewError
from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.default_plan import default_plan
from clew.records.plan.plan import Plan, dump, load
from clew.records.run import git_revision, test_outcomes
from clew.records.run.directory import RUN_VARIABLE, RunInfo, create_run, finish_run, load_run, remove_run, save_run
from clew.records.run.failure_conditions import parse_limits
from clew.records.run.test_sessions import find_sessions, keep_sessions

_CHANGED = (RUN_VARIABLE, "PYTHONPATH")
_NOTHING_RAN = (pytest.ExitCode.OK, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
"""Exit codes of a session that only listed tests, or found none. Earlier errors may still be of interest."""


class Options(NamedTuple):
    """Options of the command line, else of pytest's configuration."""

    plan: str
    baseline: str
    fail_on: str
    summary: str
    """File for the summary; "" for none."""
    keep: int
    report: str
    """File of the JUnit report, "" for none."""
    writes: bool
    """Record what functions write, whatever the plan says."""


def begin(config: pytest.Config) -> None:
    """Start recording. Raises `pytest.UsageError` for an invalid option, or when the run's folder cannot be created."""
    try:
        options = _options(config)
        if not core.active():
            if _is_worker():
                return  # it runs where the environment does not reach; its creator reports that
            session = Session(config.rootpath, options)
            if not session.recording:
                return
            config.pluginmanager.register(session, "clew-session")
        elif not _is_worker():
            _join_run(config.rootpath)
            if options.baseline:
                config.pluginmanager.register(Elsewhere(), "clew-session")
    except ClewError as error:
        raise pytest.UsageError(f"--clew: {error}") from None
    config.pluginmanager.register(Tests(with_identity=bool(options.report)), "clew-tests")
    hung = hung_tests()
    if hung is not None:
        config.pluginmanager.register(hung, "clew-hung-tests")


def _is_worker() -> bool:
    """Return whether this is a worker of xdist.

    A session started by a worker's test inherits the variable but is not a worker; the test's name shows that.
    """
    return "PYTEST_XDIST_WORKER" in os.environ and "PYTEST_CURRENT_TEST" not in os.environ


def _options(config: pytest.Config) -> Options:
    given = config.known_args_namespace

    def chosen(name: str) -> str:
        value = getattr(given, name)
        if value is None:
            value = config.getini(name)
            if value and name in ("clew_plan", "clew_summary"):
                return str(config.rootpath / value)
        return str(value)

    keep = chosen("clew_keep")
    if not keep.isdigit() or not int(keep):
        raise ClewError(f"clew_keep: {keep!r} is not a number of runs to keep; use 1 or more")
    fail_on = chosen("clew_fail_on")
    if fail_on:
        parse_limits(fail_on)
    report = getattr(given, "xmlpath", None)
    writes = config.getini("clew_writes") if given.clew_writes is None else given.clew_writes
    summary = chosen("clew_summary") or os.environ.get("GITHUB_STEP_SUMMARY", "")
    return Options(
        chosen("clew_plan"), chosen("clew_baseline"), fail_on, os.path.abspath(summary) if summary else "", int(keep),
        os.path.abspath(os.path.expanduser(os.path.expandvars(report))) if report else "", bool(writes),
    )  # fmt: skip


def _plan(workspace: Path, file: str) -> Plan:
    if not file:
        return default_plan(workspace)
    try:
        return load(Path(file).read_text(encoding="utf-8"), file)
    except OSError as error:
        raise ClewError(
            f"{file}: cannot be read ({error.strerror}); create it with `clew check --plan {file} app.esl`"
        ) from None


def _of_session(info: RunInfo, root: Path) -> RunInfo:
    """Return the description of a session run with the current tests."""
    at = git_revision.current(root)
    return info._replace(tests=True, commit=at.commit if at else "", dirty=bool(at and at.dirty))


def _join_run(root: Path) -> None:
    """Mark the current run as one with the tests of a commit.

    The run of a session keeps its own mark, because these tests were started by one of its tests.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, ""))
    try:
        info = load_run(folder)
        if not info.tests:
            save_run(folder, _of_session(info, root))
    except (ClewError, OSError):
        return  # it is still recorded, but has no commit


class Session:
    """The run of a new session, from now to its end."""

    def __init__(self, root: Path, options: Options) -> None:
        self._root, self._options = root, options
        plan = _plan(root, options.plan)
        plan = plan._replace(writes=True) if options.writes else plan
        if options.baseline:
            _check_baseline(root, options.baseline)
        self._folder, info = create_run(
            root, name=f"{root.name or 'tests'}-tests", command=Redaction(plan.redact).arguments(sys.orig_argv),
            spec="", plan=dump(plan),
        )  # fmt: skip
        self._info = _of_session(info, root)
        save_run(self._folder, self._info)
        given = environment(self._folder)
        self._before = {name: os.environ.get(name) for name in _CHANGED}
        os.environ.update({name: given[name] for name in _CHANGED})
        self.recording = start_from_environment()
        self._verdict: Verdict | None = None
        self._tests_ran = False
        self._reports = suspects.FailedReports()
        self._suspects = suspects.NONE
        self._session: pytest.Session | None = None
        if not self.recording:
            self._restore()
            remove_run(self._folder)

    def _restore(self) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests_ran = True
        self._reports.add(report)

    # The innermost wrapper: xdist's workers have ended and the JUnit report is written by then, the summary is not.
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
        yield
        self._end(int(exitstatus))
        if self._tests_ran:
            keep_sessions(self._root, self._options.keep)
            if self._reports.any:
                self._suspects = suspects.ask(self._root, self._info.id)
                self._reports.show(self._suspects)
            self._verdict = ask(self._root, self._info, self._options, suspects.properties(self._suspects))
            if self._verdict.failed and not session.exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._session = session

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        question = "--test NODEID" if self._suspects.tests else "TEXT"
        recorded = f"clew: recorded as run {self._info.id}; next: `clew view` or `clew why {question}`"
        if self._verdict is None and not self._folder.exists():
            return
        lines = suspects.summary(self._suspects, terminalreporter.config)
        failed = ""
        if self._verdict is not None:
            lines += self._verdict.lines
            failed = self._verdict.failed
        if not lines:
            terminalreporter.write_line(recorded)
            return
        terminalreporter.section("clew")
        for line in lines:
            terminalreporter.write_line(line, red=line == failed)
        terminalreporter.write_line(recorded)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self._end(int(pytest.ExitCode.USAGE_ERROR))  # a session that never started has no end either
        self._correct_exit()

    def _correct_exit(self) -> None:
        """Write pytest's final exit code to the run, because the comparison and other plugins may change it."""
        if self._session is None or not self._folder.exists():
            return
        exit_code = int(self._session.exitstatus)
        if self._info.exit_code != exit_code:
            self._info = self._info._replace(exit_code=exit_code)
            with contextlib.suppress(OSError):  # a full disk is not an error of the tests
                save_run(self._folder, self._info)

    def _end(self, exit_code: int) -> None:
        if not self.recording:
            return
        self.recording = False
        lifecycle.stop()
        self._restore()
        if not self._tests_ran and exit_code in _NOTHING_RAN:
            remove_run(self._folder)
            return
        # Not while tests run: they may wait for any of their children.
        Attendant(self._folder).finish()
        with contextlib.suppress(OSError):
            test_outcomes.save(self._folder, self._reports.outcomes)
        from clew.records.run.finish import conclude  # needed only at the end

        self._info = finish_run(self._folder, self._info, exit_code, conclude(self._folder))


class Elsewhere:
    """A session that adds its tests to a run ended by another process."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(
            "clew: not compared: the session is part of a live run; run `pytest --clew` on its own"
        )


def _check_baseline(root: Path, name: str) -> None:
    """Check that a baseline is a revision or a session; otherwise raise `RevisionError`.

    A revision without sessions is valid.
    """
    try:
        find_sessions(root, name)
    except git_revision.RevisionError:
        git_revision.resolve(root, name)
