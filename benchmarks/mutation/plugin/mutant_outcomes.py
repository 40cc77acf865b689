"""A pytest plugin that runs in the mutated package's environment and writes what each test did to a file of JSON.

`MUTANT_REPORT` names the file, `MUTANT_CODE` the folder of the package. `MUTANT_MEASURE` is empty, "lines" (which tests ran
each line, by coverage.py) or "calls" (the functions of the package in the call tree of the last test, breadth first).
"""

from __future__ import annotations

import collections
import json
import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import pytest

CODE = os.environ["MUTANT_CODE"] + os.sep
TESTS = CODE + "tests" + os.sep
"""Some packages contain their tests."""
MEASURE = os.environ.get("MUTANT_MEASURE", "")
MOST_DEPTH = 200

Place = tuple[str, str]
"""A file, relative to the package, and the qualified name of a function."""


class Outcomes:
    def __init__(self) -> None:
        self.tests: dict[str, dict[str, Any]] = {}
        self.calls: list[Place] = []
        self.coverage: Any = None
        if MEASURE == "lines":
            import coverage

            self.coverage = coverage.Coverage(data_file=None, source=[CODE], config_file=False, branch=False)
            self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self.coverage is not None:
            self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            if self.coverage is not None:
                self.coverage.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        if MEASURE != "calls":
            return (yield)
        tree = CallTree()
        try:
            with tree:
                return (yield)
        finally:
            self.calls = tree.breadth_first()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[Any]:
        report = yield
        found = self.tests.setdefault(item.nodeid, {"outcome": "passed", "when": "", "raised": [], "error": ""})
        if report.outcome != "passed" and found["outcome"] != "failed":
            found["outcome"], found["when"] = report.outcome, report.when
            if call.excinfo is not None and report.outcome == "failed":
                found["raised"] = places(call.excinfo.value)
                found["error"] = type(call.excinfo.value).__name__
        return report

    def pytest_sessionfinish(self) -> None:
        lines: dict[str, dict[int, list[str]]] = {}
        if self.coverage is not None:
            self.coverage.stop()
            data = self.coverage.get_data()
            for file in data.measured_files():
                if file.startswith(TESTS):
                    continue
                found = data.contexts_by_lineno(file)
                lines[os.path.relpath(file, CODE)] = {
                    line: [one for one in contexts if one] for line, contexts in found.items() if any(contexts)
                }
        with open(os.environ["MUTANT_REPORT"], "w", encoding="utf-8") as file:
            json.dump({"tests": self.tests, "lines": lines, "calls": self.calls}, file)


def places(error: BaseException) -> list[Place]:
    """Return the functions of the package in the tracebacks of an exception and of those behind it, innermost first."""
    found: list[Place] = []
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        frames = list(_frames(one.__traceback__))
        found += [place for frame in reversed(frames) if (place := _place(frame)) is not None]
        todo += [*getattr(one, "exceptions", ()), one.__cause__, None if one.__suppress_context__ else one.__context__]
    return list(dict.fromkeys(found))


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _place(frame: FrameType) -> Place | None:
    code = frame.f_code
    if not code.co_filename.startswith(CODE) or code.co_filename.startswith(TESTS):
        return None
    return os.path.relpath(code.co_filename, CODE), code.co_qualname


class CallTree:
    """The least depth at which each function of the package was called, counted in calls of the package."""

    def __init__(self) -> None:
        self.depths: dict[Place, int] = {}
        self.stacks: dict[int, list[bool]] = collections.defaultdict(list)

    def __enter__(self) -> None:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return"):
            return
        stack = self.stacks[threading.get_ident()]
        if event == "return":
            if stack:
                stack.pop()
            return
        place = _place(frame)
        stack.append(place is not None)
        if place is not None:
            depth = min(sum(stack), MOST_DEPTH)
            if depth < self.depths.get(place, MOST_DEPTH + 1):
                self.depths[place] = depth

    def breadth_first(self) -> list[Place]:
        return sorted(self.depths, key=self.depths.__getitem__)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Outcomes())
