"""Each test as a request: a call scope named by the test's id, with its phases and fixtures as calls in it.

A fixture that several tests may use says so in its name: it is set up in whichever test comes first and torn down in whichever
comes last, so that it is of no test.
Invariant: a test's outcome, output and traceback are as without.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Generator
from time import process_time_ns
from typing import Any

import pytest

from clew.instrument.probes.sites import register
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import Kind

_OUTCOME = "outcome"
_PROCESSOR = "processor_ns"
"""The name of a payload: processor time of all threads. On a busy machine it varies far less than how long something takes."""
IDENTITY = "clew_test"
"""The property of a test in a JUnit report that has its id."""

Wrapper = Generator[None, None, None]


class Tests:
    def __init__(self, *, with_identity: bool) -> None:
        self._site = 0
        self._with_identity = with_identity

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

    # The innermost wrappers: what other plugins do around a phase is not the test's.
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
        # Finalizers run the latest first: those that the fixture adds run between this one's two.
        torn_down = functools.partial(next, _scope(_site_of_fixture(fixturedef, " teardown"), measured=shared), None)
        fixturedef.addfinalizer(torn_down)
        yield from _scope(_site_of_fixture(fixturedef), measured=shared)
        fixturedef.addfinalizer(torn_down)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leaves in the trace how a phase ended, and how the test itself did even if it passed."""
        if report.when == "call" or report.outcome != "passed":
            text = report.outcome if report.when == "call" else f"{report.outcome} at {report.when}"
            if self._site and core.active():
                core.emit(Kind.PAYLOAD, self._site, 0, intern(_OUTCOME), text.encode())


def _scope(site: int, *, measured: bool = False) -> Wrapper:
    """What happens meanwhile is a call of a place; `measured` leaves in the trace what processor time it took."""
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
    """The place of a test: its function's first line, under the name of the test as a whole."""
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
