"""A test session as a run: how `pytest --clew` begins and ends it, and each test as a request in it.

The session's own process starts recording here, as what it starts (xdist's workers, programs under test) does through the
environment. A session in a process that is recorded already (a worker, or pytest under `clew run`) adds its tests to that run.

Invariant: a test's outcome, output and traceback are as without.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from clew.instrument.bootstrap import start_from_environment
from clew.instrument.launch import environment
from clew.instrument.probes.sites import register
from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.collector import Attendant
from clew.records.counted import counted_notes
from clew.records.default import default_plan
from clew.records.errors import ClewError
from clew.records.event import Kind
from clew.records.plan import Plan, dump, load
from clew.records.run import RUN_VARIABLE, create_run, finish_run

_CHANGED = (RUN_VARIABLE, "PYTHONPATH")
_OUTCOME = "outcome"


def begin(config: pytest.Config, plan_file: str | None) -> None:
    """Records from here on. Raises `pytest.UsageError` when the plan or the run's folder is not to be had."""
    if core.active():
        config.pluginmanager.register(Tests(), "clew-tests")
        return
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return  # it runs where the environment does not reach; whoever started it says so
    try:
        session = Session(config.rootpath, plan_file)
    except ClewError as error:
        raise pytest.UsageError(f"--clew: {error}") from None
    if session.recording:
        config.pluginmanager.register(session, "clew-session")
        config.pluginmanager.register(Tests(), "clew-tests")


def _plan(workspace: Path, file: str | None) -> Plan:
    if file is None:
        return default_plan(workspace)
    try:
        return load(Path(file).read_text(encoding="utf-8"), file)
    except OSError as error:
        raise ClewError(
            f"{file}: cannot be read ({error.strerror}); `clew check --plan {file} app.esl` writes it"
        ) from None


class Session:
    """The run of a session that was not recorded before, from now to its end."""

    def __init__(self, root: Path, plan_file: str | None) -> None:
        plan = _plan(root, plan_file)
        self._folder, self._info = create_run(
            root, name=f"{root.name or 'tests'}-tests", command=list(sys.orig_argv), spec="", plan=dump(plan)
        )
        given = environment(self._folder)
        self._before = {name: os.environ.get(name) for name in _CHANGED}
        os.environ.update({name: given[name] for name in _CHANGED})
        self.recording = start_from_environment()
        self._exit_code = 0
        if not self.recording:
            self._restore()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _restore(self) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._exit_code = int(exitstatus)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"clew: recorded as run {self._info.id}; next: `clew view` or `clew why TEXT`")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        lifecycle.stop()
        self._restore()
        # Not while tests run: they may wait for any child of theirs.
        Attendant(self._folder).finish()
        finish_run(self._folder, self._info, self._exit_code, counted_notes(self._folder))


class Tests:
    """Each test, its fixtures included, is a call scope and a request that is named by the test's id."""

    def __init__(self) -> None:
        self._site = 0

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        if not core.active():
            yield
            return
        self._site = site = _site(item)
        core.Probe(site, Kind.ENTER)()
        core.emit(Kind.REQUEST, site, 0, intern(item.nodeid))
        yield
        self._site = 0
        core.Probe(site, Kind.EXIT)()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leaves in the trace how a phase ended, and how the test itself did even if it passed."""
        if self._site and core.active() and (report.when == "call" or report.outcome != "passed"):
            text = report.outcome if report.when == "call" else f"{report.outcome} at {report.when}"
            core.emit(Kind.PAYLOAD, self._site, 0, intern(_OUTCOME), text.encode())


def _site(item: pytest.Item) -> int:
    """The place of a test: its function's first line, under the name of the test as a whole."""
    file, line, _ = item.location
    module = getattr(getattr(item, "module", None), "__name__", None)
    name = item.nodeid.partition("::")[2].replace("::", ".") or item.name
    return _registered(
        module if type(module) is str else "tests", f"{name} (test)", str(item.config.rootpath / file), (line or 0) + 1
    )


@functools.cache
def _registered(module: str, name: str, file: str, line: int) -> int:
    return register(module, name, file, line, line, "annotation")
