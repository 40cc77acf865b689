"""Record each test as a request: a call scope named by the test's id, with its phases and fixtures as calls in it.

A shared fixture is marked in its name: it is set up in the first test and torn down in the last one, so it belongs to
no single test. Invariant: a test's outcome, output and traceback are unchanged.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Generator
from time import process_time_ns
from typing import Any

import pytest

from clew.instrument.probes.sites import register
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.instrument.testing.explanations import mark_explanations
from clew.instrument.testing.failures import described
from clew.records.format.event import Kind
from clew.records.format.failed_phase import FAILURE

_OUTCOME = "outcome"
_PROCESSOR = "processor_ns"
"""Name of a payload: processor time of all threads. On a busy machine it varies far less than elapsed time."""
IDENTITY = "clew_test"
"""Property with a test's id in a JUnit report."""

Wrapper = Generator[None, None, None]


class Tests:
    def __init__(self, *, with_identity: bool) -> None:
        self._site = 0
        self._with_identity = with_identity
        mark_explanations()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Wrapper:
        identity = (IDENTITY, item.nodeid)
        if self._with_identity and identity not in item.user_properties:
            item.user_properties.append(identity)
        if not core.active():
            yield
            return
        self._site = site = _site_of_test(item)
        core.Probe(site, Kind.ENTER)()
        core.emit(Kind.REQUEST, site, 0, intern(item.nodeid))
        yield
        self._site = 0
        core.Probe(site, Kind.EXIT)()

    # The innermost wrappers: work of other plugins around a phase does not belong to the test.
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Wrapper:
        yield from _scope(_phase("setup"), measured=True)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Wrapper:
        yield from _scope(_phase("call"), measured=True)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Wrapper:
        yield from _scope(_phase("teardown"), measured=True)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Wrapper:
        shared = fixturedef.scope != "function"
        # Finalizers run in reverse order: those that the fixture adds run between this one's two.
        torn_down = functools.partial(next, _scope(_site_of_fixture(fixturedef, " teardown"), measured=shared), None)
        fixturedef.addfinalizer(torn_down)
        yield from _scope(_site_of_fixture(fixturedef), measured=shared)
        fixturedef.addfinalizer(torn_down)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
        """Record the exception that failed a phase."""
        outcome = yield
        if not self._site or not core.active():
            return
        with contextlib.suppress(Exception):  # a report must not be lost, however odd its exception is
            report = outcome.get_result()
            text = described(call, report) if report.outcome == "failed" else None
            if text is not None:
                core.emit(Kind.PAYLOAD, self._site, 0, intern(FAILURE), text.encode("utf-8", "replace"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record how a phase ended, and the result of the test itself even if it passed."""
        if report.when == "call" or report.outcome != "passed":
            text = report.outcome if report.when == "call" else f"{report.outcome} at {report.when}"
            if self._site and core.active():
                core.emit(Kind.PAYLOAD, self._site, 0, intern(_OUTCOME), text.encode())


def _scope(site: int, *, measured: bool = False) -> Wrapper:
    """Record the enclosed code as a call of a site; `measured` records its processor time."""
    if not core.active():
        yield
        return
    core.Probe(site, Kind.ENTER)()
    begin = process_time_ns() if measured else 0
    yield  # a hook's exception is in its result
    if measured and core.active():
        core.emit(Kind.PAYLOAD, site, 0, intern(_PROCESSOR), str(process_time_ns() - begin).encode())
    core.Probe(site, Kind.EXIT)()


def _site_of_test(item: pytest.Item) -> int:
    """Return the site of a test: its function's first line, under the name of the whole test."""
    file, line, _ = item.location
    module = getattr(getattr(item, "module", None), "__name__", None)
    name = item.nodeid.partition("::")[2].replace("::", ".") or item.name
    return _registered(
        module if type(module) is str else "tests", f"{name} (test)", str(item.config.rootpath / file), (line or 0) + 1
    )


def _phase(name: str) -> int:
    return _registered("pytest", name, pytest.__file__, 1)


def _site_of_fixture(fixture: pytest.FixtureDef[Any], part: str = "") -> int:
    shared = "" if fixture.scope == "function" else f"{fixture.scope} "
    function: Any = inspect.unwrap(fixture.func)
    code = getattr(function, "__code__", None)
    module = getattr(function, "__module__", None)
    return _registered(
        module if type(module) is str else "tests",
        f"{fixture.argname} ({shared}fixture{part})",
        code.co_filename if code else pytest.__file__,
        code.co_firstlineno if code else 1,
    )


@functools.cache
def _registered(module: str, name: str, file: str, line: int) -> int:
    return register(module, name, file, line, line, "annotation")
