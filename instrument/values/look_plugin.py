"""The pytest plugin of a second look: follow one test's set-up and call, and write its value trace.

`second_look` starts pytest with this plugin and tells by the environment what to follow. The values at the end are those of the
failure, so a teardown is not followed. Tests to compare with run afterwards, and only their lines are followed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from clew.instrument.values.executed_lines import ExecutedLines
from clew.instrument.values.look_request import LOOK_VARIABLE, MARKED, SWITCHED_OFF, LookRequest
from clew.records.values.compared_tests import ComparedTest, write_compared_tests

Wrapper = Generator[None, Any, None]
_SELECTIONS: dict[str, Any] = {
    "keyword": "", "markexpr": "", "deselect": None, "lf": False, "failedfirst": False, "newfirst": False,
    "stepwise": False, "maxfail": 0, "stepwise_skip": False, "pyargs": False, "collectonly": False, "setupplan": False,
    "setuponly": False,
}  # fmt: skip
"""Options that choose tests. The second look has its own choice."""
_EFFECTS: dict[str, Any] = {
    "numprocesses": 0, "dist": "no", "tx": [], "usepdb": False, "trace": False, "timeout": 0, "reruns": 0,
    "basetemp": None, "xmlpath": None, "htmlpath": None, "json_report": False, "report_log": None,
    "allure_report_dir": None, "log_file": None, "pastebin": None,
}  # fmt: skip
"""Options, also those of other plugins, that repeat the test, end it early, run it elsewhere, or write files of the user."""


class Look:
    """Follows the test that is asked about."""

    def __init__(self, request: LookRequest) -> None:
        self._request = request
        self._recorder = request.recorder()
        self._error: BaseException | None = None
        self._outcome = ""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Choose the test, then those to compare with. Run none if that is forbidden."""
        wanted = {node: place for place, node in enumerate((self._request.test, *self._request.compared))}
        found = {item.nodeid: item for item in reversed(items) if item.nodeid in wanted}
        chosen = sorted(found.values(), key=lambda item: wanted[item.nodeid])
        if any(_is_marked(item) for item in chosen if item.nodeid == self._request.test):
            self._outcome = MARKED
        elif not config.getini("clew_second_look"):
            self._outcome = SWITCHED_OFF
        is_there = bool(chosen) and chosen[0].nodeid == self._request.test
        items[:] = [item for item in chosen if not _is_marked(item)] if is_there and not self._outcome else []

    # The innermost wrapper: other plugins' work around a phase is not the test's.
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        yield from self._follow(item)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        yield from self._follow(item)

    def _follow(self, item: pytest.Item) -> Wrapper:
        if item.nodeid != self._request.test:
            yield
            return
        self._recorder.start()
        result = yield
        self._recorder.pause()
        error = result.excinfo[1] if result.excinfo is not None else None
        if error is None:
            # The failure of a test of unittest does not leave the phase.
            found = getattr(item, "_excinfo", None)
            error = found[0].value if found else None
        self._keep(error)

    def _keep(self, error: BaseException | None) -> None:
        """Keep the first exception of the test. That of a skipped test is no failure."""
        if self._error is None and not isinstance(error, pytest.skip.Exception):
            self._error = error

    # Before other plugins look at the report, and before the teardown: the values are those of the failure.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid != self._request.test:
            return
        if hasattr(report, "context"):
            # A part of the test, as of unittest's `subTest`: the test goes on.
            self._outcome = "failed" if report.outcome == "failed" else self._outcome
        elif report.when == "call" or report.outcome != "passed":
            self._outcome = self._outcome or report.outcome
            self._recorder.stop(self._error)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        """Keep the exception of a failed part of the test."""
        if item.nodeid == self._request.test and call.excinfo is not None:
            self._keep(call.excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._recorder.stop(self._error)
        self._request.done(self._outcome)


class Comparison:
    """Follows the lines of the tests that the failed one is compared with."""

    def __init__(self, request: LookRequest) -> None:
        self._request = request
        self._compared = frozenset(request.compared)
        self._lines = ExecutedLines(request.is_followed())
        self._tests: list[ComparedTest] = []
        self._end = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Leave out tests when the time is over."""
        if item.nodeid not in self._compared:
            return None
        self._end = self._end or time.monotonic() + self._request.compared_seconds
        return True if time.monotonic() > self._end else None

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        yield from self._follow(item)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        yield from self._follow(item)

    def _follow(self, item: pytest.Item) -> Wrapper:
        if item.nodeid not in self._compared:
            yield
            return
        self._lines.start()
        yield
        self._lines.pause()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid in self._compared and (report.when == "call" or report.outcome != "passed"):
            self._tests.append(ComparedTest(report.nodeid, report.outcome, self._lines.stop()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        with contextlib.suppress(OSError):  # the answer then rests on the failed test alone
            write_compared_tests(Path(self._request.folder), self._tests)


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("clew_no_second_look") is not None


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Wrapper:
    """Turn off what would follow the test, too, or run it in another process."""
    if LOOK_VARIABLE in os.environ:
        early_config.known_args_namespace.no_cov = True
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if LOOK_VARIABLE not in os.environ:
        return
    for name, value in (_SELECTIONS | _EFFECTS).items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)
    request = LookRequest.load(os.environ[LOOK_VARIABLE])
    # The id of a compared test that is not there any more would end the session, so their files are collected.
    files = dict.fromkeys(os.path.join(config.rootpath, node.partition("::")[0]) for node in request.compared)
    config.args = [os.path.join(config.rootpath, request.test), *(file for file in files if os.path.isfile(file))]


def pytest_configure(config: pytest.Config) -> None:
    request = os.environ.pop(LOOK_VARIABLE, "")
    if request:
        if hasattr(config.option, "cacheshow"):
            # Pytest then leaves its cache alone, which knows the tests that failed last.
            config.option.cacheshow = ["*"]
        wanted = LookRequest.load(request)
        config.pluginmanager.register(Look(wanted), "clew-second-look")
        config.pluginmanager.register(Comparison(wanted), "clew-second-look-comparison")
