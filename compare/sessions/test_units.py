"""Divide test sessions into comparable units: the call of each test, its fixtures, and the fixtures that tests share.

The fixtures of a test are one unit, from set-up to teardown. The calls of a shared fixture do not belong to a test: it is set
up in the first test that uses it and torn down in the last one. Its set-up and teardown are separate units, because a session
that ends early tears down after all tests. Work of a shared fixture in between (such as a server that tests call) depends on
the selected tests and belongs to no unit.

Invariant: every call belongs to at most one unit. A function with calls that were only counted is left out on all sides,
as if its caller had called its callees.
"""

from __future__ import annotations

import bisect
import math
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.flows.flows import Flows, Mask
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]

# The names that the pytest plugin gives to the calls.
_TEST = re.compile(r" \(test\)$")
_SHARED = re.compile(r" \((class|module|package|session) fixture( teardown)?\)$")
_FIXTURE = re.compile(r" \(fixture( teardown)?\)$")
_SETUP, _CALL, _TEARDOWN = "pytest:setup", "pytest:call", "pytest:teardown"
_OUTCOME, _PROCESSOR = "outcome", "processor_ns"
PASSED = "passed"
TEST, FIXTURES, SHARED = "test", "fixtures", "shared fixture"


class Subject(NamedTuple):
    """The identity of what is compared; the same in every session."""

    kind: str
    """"test", "fixtures" (of a test, without shared ones) or "shared fixture"."""
    name: str
    """The id of a test, or the name of a shared fixture in the trace."""

    def __str__(self) -> str:
        return f"fixtures of {self.name}" if self.kind == FIXTURES else self.name


@dataclass(frozen=True, eq=False)
class Units:
    """The units as columns: each is one execution of a subject. Times are in ns."""

    flows: Flows
    """The flows of the tests only."""
    subjects: tuple[Subject, ...]
    subject: I64
    run: I64
    request: I64
    call: I64
    """The index of the call that begins each unit."""
    time_ns: npt.NDArray[np.float64]
    processor_ns: npt.NDArray[np.float64]
    """The processor time of each unit; NaN if unknown."""
    outcome: tuple[str, ...]
    """The outcome of each unit's test: "passed", "failed", "skipped", "failed at setup", …"""

    call_unit: I64
    """The unit of each call of the flows; -1 for none."""
    call_context: I64
    """The context of each call: the chain of calls from its unit to the call; 0 is the unit itself."""
    context_parent: I64
    context_label: I64
    counted: tuple[str, ...]
    """The functions that are left out."""

    def path(self, context: int) -> list[str]:
        """Return the labels of a context, outermost first."""
        found = []
        while context > 0:
            found.append(self.flows.labels[self.context_label[context]])
            context = int(self.context_parent[context])
        return found[::-1]


def units_of(flows: Flows) -> Units:
    """Divide all tests of some sessions' runs into units."""
    flows = flows.take(_which(flows, _TEST)[flows.label[flows.first[:-1]]])
    counted = {run.graph.sites[site].label for run in flows.runs for site in run.graph.counted}
    owner = flows.of_call(np.arange(len(flows.label)))
    above = np.where(flows.parent >= 0, flows.parent + flows.first[owner], -1)
    traversal = _Traversal(flows, above, owner, np.array([label in counted for label in flows.labels], bool))
    names = {subject: number for number, subject in enumerate(dict.fromkeys(traversal.subjects))}
    outcomes = outcomes_of(flows)
    return Units(
        flows=flows,
        subjects=tuple(names),
        subject=np.array([names[subject] for subject in traversal.subjects], np.int64),
        run=flows.run[traversal.requests].astype(np.int64) if traversal.requests else np.zeros(0, np.int64),
        request=np.array(traversal.requests, np.int64),
        call=traversal.begun,
        time_ns=_times(flows, above, traversal),
        processor_ns=_processor(flows, above, traversal),
        outcome=tuple(outcomes[request] for request in traversal.requests),
        call_unit=traversal.unit,
        call_context=traversal.context,
        context_parent=np.array([context for context, _ in traversal.contexts], np.int64),
        context_label=np.array([label for _, label in traversal.contexts], np.int64),
        counted=tuple(sorted(counted)),
    )


def _which(flows: Flows, pattern: re.Pattern[str]) -> Mask:
    """Return, per label, whether it matches a pattern."""
    return np.array([pattern.search(label) is not None for label in flows.labels], bool)


class _Traversal:
    """The assignment of calls to units and contexts: from the tests down, all calls of one depth at a time."""

    def __init__(self, flows: Flows, above: I64, owner: I64, counted: Mask) -> None:
        self.unit = np.full(len(above), -1, np.int64)
        self.context = np.zeros(len(above), np.int64)
        self.subjects: list[Subject] = []
        self.requests: list[int] = []
        self.contexts: list[tuple[int, int]] = [(-1, -1)]
        self._begun: list[I64] = []
        self._unit_ends: list[float] = []
        """The end of each unit in ns since the start of its request; later calls do not belong to it."""
        self.torn_down = np.zeros(0, np.int64)
        """The teardowns of tests, which are the second part of their units."""
        self._context_numbers: dict[int, int] = {}
        self._flows, self._owner = flows, owner
        shared = _which(flows, _SHARED)
        phases = [np.array([label == name for label in flows.labels], bool) for name in (_CALL, _SETUP, _TEARDOWN)]
        order = np.argsort(above, kind="stable")
        parents = above[order]
        level = np.flatnonzero(above < 0)
        top = True
        while len(level):
            level = np.sort(
                order[expand(np.searchsorted(parents, level, "left"), np.searchsorted(parents, level, "right"))]
            )
            label, parent = flows.label[level], above[level]
            self.unit[level] = self.unit[parent]
            late = self.unit[level] >= 0
            late[late] = flows.begin_ns[level[late]] > np.array(self._unit_ends)[self.unit[level[late]]]
            self.unit[level[late]] = -1
            self.context[level] = self.context[parent]
            begun = np.zeros(len(level), bool)
            if top:
                for is_phase, kind in zip(phases, (TEST, FIXTURES), strict=False):
                    begun |= self._begin(level, is_phase[label], kind)
                begun |= self._assign_teardowns(level, phases[-1][label])
            begun |= self._begin(level, shared[label], SHARED)
            self._assign_contexts(level[~begun & ~counted[label] & (self.unit[level] >= 0)], above)
            top = False

    @property
    def begun(self) -> I64:
        """Return the call that begins each unit."""
        return np.concatenate(self._begun) if self._begun else np.zeros(0, np.int64)

    def _begin(self, level: I64, mask: Mask, kind: str) -> Mask:
        calls, flows = level[mask], self._flows
        self.unit[calls] = np.arange(len(calls)) + len(self.subjects)
        self.context[calls] = 0
        requests = self._owner[calls].tolist()
        names = [flows.names[code] for code in flows.name[requests].tolist()]
        if kind == SHARED:
            names = [flows.labels[code] for code in flows.label[calls].tolist()]
        self.subjects += [Subject(kind, name) for name in names]
        self.requests += requests
        self._begun.append(calls)
        ends = flows.begin_ns[calls] + flows.total_ns[calls]
        self._unit_ends += ends.tolist() if kind == SHARED else [math.inf] * len(calls)
        return mask

    def _assign_teardowns(self, level: I64, mask: Mask) -> Mask:
        """Assign the teardown of each test to the unit of its set-up, if that was recorded."""
        set_up = {request: unit for unit, request in enumerate(self.requests) if self.subjects[unit].kind == FIXTURES}
        calls = level[mask]
        self.unit[calls] = [set_up.get(request, -1) for request in self._owner[calls].tolist()]
        self.torn_down = calls[self.unit[calls] >= 0]
        return mask

    def _assign_contexts(self, calls: I64, above: I64) -> None:
        key = self.context[above[calls]] * len(self._flows.labels) + self._flows.label[calls]
        keys, which = np.unique(key, return_inverse=True)
        numbers = np.zeros(len(keys), np.int64)
        for place, value in enumerate(keys.tolist()):
            number = self._context_numbers.setdefault(value, len(self.contexts))
            if number == len(self.contexts):
                self.contexts.append(divmod(value, len(self._flows.labels)))
            numbers[place] = number
        self.context[calls] = numbers[which.reshape(-1)]


def _times(flows: Flows, above: I64, traversal: _Traversal) -> npt.NDArray[np.float64]:
    """Return the time of each unit, without nested units.

    The unit of a test's call or of a shared fixture has the time of its call; the unit of a test's fixtures has the sum of
    its fixtures.
    """
    time = np.zeros(len(traversal.subjects))
    around_test = np.array([label in (_SETUP, _TEARDOWN) for label in flows.labels], bool)[flows.label]
    calls = traversal.begun[~around_test[traversal.begun]]
    time[traversal.unit[calls]] = flows.total_ns[calls]
    inside = above >= 0
    inside[inside] = around_test[above[inside]]
    fixtures = np.flatnonzero(inside & _which(flows, _FIXTURE)[flows.label] & (traversal.unit >= 0))
    np.add.at(time, traversal.unit[fixtures], flows.total_ns[fixtures])
    nested = calls[~inside[calls]]
    around = traversal.unit[above[nested]]
    np.subtract.at(time, around[around >= 0], flows.total_ns[nested[around >= 0]])
    return time


def _payloads(run: OpenRun, name: str) -> list[int]:
    """Return the events by which the plugin recorded values of a name."""
    graph = run.graph
    found: list[int] = graph.rows_of([Kind.PAYLOAD], name).tolist()
    return found


def outcomes_of(flows: Flows) -> list[str]:
    """Return the outcome of each request: that of the first phase that did not pass, otherwise "passed"."""
    found: list[list[str]] = [[] for _ in range(len(flows))]
    for number, run in enumerate(flows.runs):
        requests = np.flatnonzero(flows.run == number)
        rows = _payloads(run, _OUTCOME)
        for place, row in zip(_last_before(run, flows.request[requests], rows), rows, strict=True):
            if place >= 0:
                found[requests[place]].append(run.graph.text(row))
    return [next((text for text in texts if text != PASSED), PASSED if texts else "") for texts in found]


def _processor(flows: Flows, above: I64, traversal: _Traversal) -> npt.NDArray[np.float64]:
    """Return the processor time of each unit's calls, without nested units."""
    calls = np.concatenate((traversal.begun, traversal.torn_down))
    unit = traversal.unit[calls]
    measured = np.full(len(calls), np.nan)
    run_of = flows.run[flows.of_call(calls)]
    for number, run in enumerate(flows.runs):
        of_run = np.flatnonzero(run_of == number)
        rows = _payloads(run, _PROCESSOR)
        for place, row in zip(_last_before(run, flows.event[calls[of_run]].astype(np.int64), rows), rows, strict=True):
            if place >= 0:
                measured[of_run[place]] = float(run.graph.text(row))
    time = np.zeros(len(traversal.subjects))
    np.add.at(time, unit, np.nan_to_num(measured))
    time[unit[: len(traversal.begun)][np.isnan(measured[: len(traversal.begun)])]] = np.nan
    nested = np.flatnonzero(traversal.unit[above[calls]] >= 0)
    np.subtract.at(time, traversal.unit[above[calls[nested]]], np.nan_to_num(measured[nested]))
    return time


def _last_before(run: OpenRun, events: I64, rows: list[int]) -> list[int]:
    """Return, per row, the index in `events` of the last event before it at the same site of the same strand; -1 without
    one."""
    graph = run.graph
    begun: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row, place in sorted((event, place) for place, event in enumerate(events.tolist())):
        begun.setdefault((int(graph.strand[row]), int(graph.site[row])), []).append((row, place))
    of = ((row, begun.get((int(graph.strand[row]), int(graph.site[row])), [])) for row in rows)
    found = ((earlier, bisect.bisect(earlier, (row, 0))) for row, earlier in of)
    return [earlier[at - 1][1] if at else -1 for earlier, at in found]
