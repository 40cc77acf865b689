"""Report the suspects of failed tests at the end of a session: run `clew why --failed`, and add a section to each report.

Another process answers, because ranking loads numpy and graphs. Invariant: any obstacle to an answer leaves only the answer
out, and outcomes are unchanged.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.records.fast_namedtuple import NamedTuple

TITLE = "clew: suspects"
PROPERTY = "clew_suspects"
"""The property of a test in a JUnit report."""
_PATIENCE = 120.0
"""Maximum seconds to wait for an answer."""


class Suspects(NamedTuple):
    """The suspects of a session's failed tests."""

    tests: dict[str, list[str]]
    """At most five lines for each test, by its id."""
    omitted: list[str]
    """The ids of further failed tests."""


NONE = Suspects({}, [])


def ask(root: Path, run: str) -> Suspects:
    """Return the suspects of a finished session's failed tests; none if there is an obstacle."""
    command = [sys.executable, "-P", "-m", "clew", "why", "--failed", "--run", run, "--workspace", str(root), "--json"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
        found: dict[str, Any] = json.loads(done.stdout)
        tests = {str(node): [str(line) for line in lines] for node, lines in found["reports"].items()}
        return Suspects(tests, [str(node) for node in found["omitted"]])
    except Exception:
        return NONE


class FailedReports:
    """The reports of the tests that failed."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        """How each test ended: the first phase that did not pass."""
        self._first: dict[str, pytest.TestReport] = {}

    def add(self, report: pytest.TestReport) -> None:
        node, failed = report.nodeid, report.outcome == "failed"
        if failed:
            self._first.setdefault(node, report)
        if report.when == "call" or report.outcome != "passed":
            outcome = str(report.outcome) if report.when == "call" else f"{report.outcome} at {report.when}"
            if report.outcome != "passed":
                # A test that is run again reports once more: its last outcome counts.
                known = self.outcomes.get(node, "passed")
                self.outcomes[node] = outcome if known in ("passed", "rerun") else known
            else:
                self.outcomes[node] = outcome

    @property
    def any(self) -> bool:
        return bool(self._first)

    def show(self, suspects: Suspects) -> None:
        """Add a section to the report of each test."""
        for node, lines in suspects.tests.items():
            if node in self._first and lines:
                self._first[node].sections.append((TITLE, "\n".join(lines)))


def summary(suspects: Suspects, config: pytest.Config) -> list[str]:
    """Return what the reports of tests do not show: all of it with `--tb=no` and the like, else the tests left out."""
    lines = []
    if config.getoption("tbstyle", "auto") in ("no", "line") or config.getoption("showcapture", "all") != "all":
        for node, found in suspects.tests.items():
            lines += [f"suspects of {node}:", *(f"  {line}" for line in found)]
    if suspects.omitted:
        others = len(suspects.omitted)
        tests = f"{others:,} more failed test{'s' * (others > 1)}"
        lines.append(f"suspects of {tests}: `clew why --test NODEID`, for example {suspects.omitted[0]}")
    return lines


def properties(suspects: Suspects) -> dict[str, dict[str, str]]:
    """Return the properties of tests in a JUnit report."""
    return {node: {PROPERTY: "\n".join(lines)} for node, lines in suspects.tests.items() if lines}
