"""Read the tests of a session's run: how each one ended, and which functions of the program it called in all threads and
processes.

Tests, fixtures and their helpers are kept apart from the program. Tests of an earlier session may be read, too, to compare
with. Invariant: a function is one entry, also when several processes imported its module under different names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.failures.behaviours import Behaviours, behaviours_of
from clew.compare.sessions.test_units import PASSED, outcomes_of
from clew.graph.model.graph import ExecutionGraph, Site
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.flows.flows import Flows, concat
from clew.graph.render.library import library_place
from clew.records.format.event import Kind
from clew.records.format.failed_phase import FAILURE, FailedPhase, load

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

TEST = " (test)"
"""The suffix in the names of test calls."""
FAILED = "failed"
_FUNCTIONS = frozenset({"function", "coroutine", "generator", "async_generator", "lambda"})
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_PHASES = frozenset({"pytest:setup", "pytest:call", "pytest:teardown"})
_EXPLANATION = frozenset({"pytest:explanation"})
_CACHE = "recorded tests"


class Function(NamedTuple):
    """A function of the program."""

    file: str
    qualname: str
    """As Python names it, with `<locals>`."""
    line: int
    """The first line of its code: its `def`, or its first decorator."""
    module: str


@dataclass(frozen=True, eq=False)
class RecordedTests:
    """The tests of one run, in the order in which they began, and their calls; then those of an earlier run, if any."""

    run: OpenRun
    earlier: OpenRun | None
    flows: Flows
    nodes: tuple[str, ...]
    outcomes: tuple[str, ...]
    """"passed", "failed", "failed at setup", "skipped", …; "" for a test that did not end."""
    functions: tuple[Function, ...]
    call_function: I64
    """The function of each call of the flows; -1 for a call outside of the program."""
    pairs: I64
    """Which test called which function: two columns, each pair once."""
    behaviours: Behaviours
    failures: dict[int, FailedPhase]
    """The failed phase of each test that has one, the first of several."""
    test_files: frozenset[str]

    @property
    def passed(self) -> Mask:
        return np.array([outcome == PASSED for outcome in self.outcomes], bool)

    @property
    def failed(self) -> Mask:
        """The failed tests of the run itself."""
        failed: Mask = np.array([outcome.startswith(FAILED) for outcome in self.outcomes], bool) & self.own
        return failed

    @property
    def own(self) -> Mask:
        """The tests of the run itself."""
        own: Mask = self.flows.run == 0
        return own

    def counts(self, tests: Mask) -> I64:
        """Return how many of the chosen tests called each function."""
        chosen = self.pairs[tests[self.pairs[:, 0]], 1] if len(self.pairs) else np.zeros(0, np.int64)
        counted: I64 = np.bincount(chosen, minlength=len(self.functions)).astype(np.int64)
        return counted

    def called(self, test: int) -> I64:
        """Return the functions that a test called."""
        functions: I64 = self.pairs[self.pairs[:, 0] == test, 1]
        return functions

    def is_program(self, file: str) -> bool:
        """Return whether a file belongs to the program: neither to its tests nor to a library."""
        return is_program(file, self.run.info.workspace, self.test_files)


def tests_of(run: OpenRun, earlier: OpenRun | None = None) -> RecordedTests:
    """Return the tests of a run, with those of an earlier one; the result is cached with the run's graph."""
    cache: dict[str, RecordedTests] = run.graph.answers.setdefault(_CACHE, {})
    key = earlier.info.id if earlier is not None else ""
    if key not in cache:
        cache[key] = _read(run, earlier)
    return cache[key]


def is_program(file: str, workspace: str, test_files: frozenset[str]) -> bool:
    """Return whether a file belongs to the program under test."""
    if not file or file.startswith("<") or file in test_files or library_place(file):
        return False
    name = os.path.basename(file)
    if name == "conftest.py":
        return False
    try:
        below = os.path.relpath(file, workspace) if os.path.isabs(file) and workspace else file
    except ValueError:  # another drive
        return True
    return below.startswith(os.pardir) or not _TEST_FOLDERS & set(PurePath(below).parts[:-1])


def _read(run: OpenRun, earlier: OpenRun | None) -> RecordedTests:
    runs = [run] if earlier is None else [run, earlier]
    flows = concat(*(_flows(each) for each in runs))
    test_files = _test_files([site for each in runs for site in each.graph.sites])
    functions, of_sites = _functions([each.graph for each in runs], test_files, run.info.workspace)
    owner = flows.of_call(np.arange(len(flows.label)))
    call_function = np.full(len(flows.label), -1, np.int64)
    for number, each in enumerate(runs):
        mine = np.flatnonzero(flows.run[owner] == number)
        call_function[mine] = of_sites[number][each.graph.site[flows.event[mine]]]
    above = np.where(flows.parent >= 0, flows.parent + flows.first[owner], -1)
    outside = _outside(flows, above)
    call_function[outside] = -1
    in_program = np.flatnonzero(call_function >= 0)
    pairs = np.stack((owner[in_program], call_function[in_program]), axis=1)
    return RecordedTests(
        run=run,
        earlier=earlier,
        flows=flows,
        nodes=tuple(flows.names[code] for code in flows.name.tolist()),
        outcomes=tuple(outcomes_of(flows)),
        functions=functions,
        call_function=call_function,
        pairs=np.unique(pairs, axis=0) if len(pairs) else pairs,
        behaviours=behaviours_of(flows, call_function, outside, owner, above),
        failures=_failures(run.graph, flows),
        test_files=test_files,
    )


def _test_files(sites: list[Site]) -> frozenset[str]:
    """Return the files with tests, other than doctests, which are in files of the program."""
    functions = {(site.file, site.qualname) for site in sites if _is_function(site)}
    tests = [(site.file, site.qualname.removesuffix(TEST)) for site in sites if site.qualname.endswith(TEST)]
    return frozenset(file for file, name in tests if (file, name) in functions or not is_doctest(file, name))


def is_doctest(file: str, name: str) -> bool:
    """Return whether a test of a file has the name of a doctest: that of the module, or of something in it."""
    parts = PurePath(file).with_suffix("").parts
    parts = parts[:-1] if parts and parts[-1] == "__init__" else parts
    modules = (".".join(parts[first:]) for first in range(len(parts)))
    return name == PurePath(file).name or any(name == module or name.startswith(f"{module}.") for module in modules)


def _flows(run: OpenRun) -> Flows:
    """Return the flows of a run's tests, in the order in which they began."""
    flows = Flows.of(run)
    is_test = np.array([label.endswith(TEST) for label in flows.labels], bool)
    flows = flows.take(is_test[flows.label[flows.first[:-1]]] if len(flows) else np.zeros(0, bool))
    return flows.take(np.argsort(flows.start_ns, kind="stable"))


def _outside(flows: Flows, above: I64) -> Mask:
    """Return the calls that are no part of a test: those of its report, after its phases, and of explained assertions."""
    is_phase, is_explanation = (
        np.array([label in names for label in flows.labels], bool)[flows.label] for names in (_PHASES, _EXPLANATION)
    )
    outside: Mask = is_explanation | ((flows.parent == 0) & ~is_phase)
    while True:
        inner = outside[above] & (above >= 0) & ~outside
        if not inner.any():
            return outside
        outside |= inner


def _functions(
    graphs: list[ExecutionGraph], test_files: frozenset[str], workspace: str
) -> tuple[tuple[Function, ...], list[I64]]:
    """Return the functions of the program, and the function of each site of each graph."""
    known: dict[tuple[str, str], int] = {}
    functions: list[Function] = []
    of_sites = []
    for graph in graphs:
        of_site = np.full(len(graph.sites), -1, np.int64)
        for number, site in enumerate(graph.sites):
            if not _is_function(site) or not is_program(site.file, workspace, test_files):
                continue
            # A property's getter and setter have one name.
            key = site.file, site.qualname
            if key not in known:
                known[key] = len(functions)
                functions.append(Function(site.file, site.qualname, site.line, site.module))
            of_site[number] = known[key]
        of_sites.append(of_site)
    return tuple(functions), of_sites


def _is_function(site: Site) -> bool:
    return site.kind in _FUNCTIONS and not site.is_adapter


def _failures(graph: ExecutionGraph, flows: Flows) -> dict[int, FailedPhase]:
    """Return the first failed phase of each test that the plugin described."""
    found: dict[int, FailedPhase] = {}
    requests = flows.request[flows.run == 0].tolist()
    test_of = {graph.call_of(row): test for test, row in enumerate(requests)}
    for row in graph.rows_of([Kind.PAYLOAD], FAILURE).tolist():
        # A failed part of a test (unittest's `subTest`) is described inside the test.
        around = graph.with_callers(graph.enclosing_call(row))
        test = next((test_of[call] for call in around if call in test_of), -1)
        failed = load(graph.text(row)) if test >= 0 and test not in found else None
        if failed is not None:
            found[test] = failed
    return found
