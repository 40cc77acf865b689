"""Tell who waits for whom when a test times out under pytest-timeout, or when a worker of pytest-xdist dies.

Another process answers, from the records of this one, while the test still hangs. Invariant: the outcome of a test is
unchanged, and any obstacle to an answer leaves only the answer out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

from clew.instrument.recorder import lifecycle
from clew.records.attach.registry import CONTROL_VARIABLE
from clew.records.run.directory import CAUSE_VARIABLE, RUN_VARIABLE

TITLE = "clew hang"
_RECORDING = frozenset({RUN_VARIABLE, CAUSE_VARIABLE, CONTROL_VARIABLE})
_PATIENCE = 20.0
"""Maximum seconds to wait for an answer."""


class HungTests:
    """Adds a section to the reports of tests that hang."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._told: dict[str, str] = {}
        """Answers by the ids of tests."""

    def pytest_sessionstart(self) -> None:
        module: Any = sys.modules.get("pytest_timeout")
        for name in ("timeout_sigalrm", "timeout_timer"):
            original = getattr(module, name, None)
            if original is not None and not hasattr(original, "clew_original"):
                setattr(module, name, self._telling(module, original, prints=name == "timeout_timer"))

    def _telling(self, module: Any, original: Callable[..., Any], *, prints: bool) -> Callable[..., Any]:
        """Return a handler of a timeout that asks for an answer first. pytest-timeout calls it by its name."""

        def timed_out(item: pytest.Item, settings: Any) -> None:
            __tracebackhide__ = True
            if settings.disable_debugger_detection or not module.is_debugging():
                text = self._told[item.nodeid] = ask(self._run, item.nodeid)
                if prints and text:
                    _print(item, text)
            original(item, settings)

        timed_out.clew_original = original  # type: ignore[attr-defined]
        return timed_out

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, None]:
        outcome = yield
        text = self._told.pop(item.nodeid, "")
        if text:
            outcome.get_result().sections.append((TITLE, text))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Add the answer to the report of a worker of xdist that died; its records are there."""
        text = ask(self._run, crashitem)
        if text:
            report.sections.append((TITLE, text))


def _print(item: pytest.Item, text: str) -> None:
    """Print before the process ends: the method `thread` of pytest-timeout makes no report."""
    try:
        capture: Any = item.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(item)
        terminal = item.config.get_terminal_writer()
        terminal.sep("+", title=TITLE)
        terminal.write(text)
        terminal.flush()
    except Exception:  # it must not keep pytest-timeout from its work
        return


def ask(run: str, test: str) -> str:
    """Return the text of `clew hang` about a test of a run, "" if there is none."""
    environment = {name: value for name, value in os.environ.items() if name not in _RECORDING}
    command = [sys.executable, "-P", "-m", "clew", "hang", run, "--test", test]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except Exception:
        return ""
    return done.stdout if done.returncode == 0 else ""


def hung_tests() -> HungTests | None:
    """Return the plugin for the run that records this process, if any."""
    run = lifecycle.run_folder()
    return HungTests(str(run)) if run else None
