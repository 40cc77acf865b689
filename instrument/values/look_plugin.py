"""The pytest plugin of a second look: follow one test's set-up, call and teardown, and write its value trace.

`second_look` starts pytest with this plugin and tells by the environment what to follow. The values at the end are those of the
failure, so a teardown is not followed.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

from clew.instrument.values.look_request import LOOK_VARIABLE, MARKED, SWITCHED_OFF, LookRequest

Wrapper = Generator[None, Any, None]
_SELECTIONS: dict[str, Any] = {
    "keyword": "", "markexpr": "", "deselect": None, "lf": False, "failedfirst": False, "newfirst": False,
    "stepwise": False, "stepwise_skip": False, "pyargs": False, "collectonly": False, "setupplan": False,
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
    def __init__(self, request: LookRequest) -> None:
        self._request = request
        self._recorder = request.recorder()
        self._error: BaseException | None = None
        self._outcome = ""

    # The innermost wrapper: other plugins' work around a phase is not the test's.
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        yield from self._follow(item)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        yield from self._follow(item)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Run no test if that is forbidden."""
        wanted = [item for item in items if item.nodeid == self._request.test]
        if any(item.get_closest_marker("clew_no_second_look") for item in wanted):
            self._outcome = MARKED
        elif not config.getini("clew_second_look"):
            self._outcome = SWITCHED_OFF
        if self._outcome:
            items.clear()

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
        if self._error is None and not isinstance(error, pytest.skip.Exception):
            self._error = error

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        is_telling = report.when == "call" or report.outcome != "passed"
        if report.nodeid == self._request.test and is_telling and not self._outcome:
            self._outcome = report.outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._recorder.stop(self._error)
        self._request.done(self._outcome)


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
    test = LookRequest.load(os.environ[LOOK_VARIABLE]).test
    config.args = [os.path.join(config.rootpath, test)]


def pytest_configure(config: pytest.Config) -> None:
    request = os.environ.pop(LOOK_VARIABLE, "")
    if request:
        if hasattr(config.option, "cacheshow"):
            # Pytest then leaves its cache alone, which knows the tests that failed last.
            config.option.cacheshow = ["*"]
        config.pluginmanager.register(Look(LookRequest.load(request)), "clew-second-look")
