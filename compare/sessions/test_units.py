"""What of test sessions is compared with each other: each test's own call, its fixtures, and the fixtures that tests share.

A test's fixtures are one unit, from their set-up to their teardown. A shared fixture is set up in the test that comes first and
torn down in the last one, so its calls are no test's; the two are apart, as a session that ends early tears down after all
tests. What it goes on with in between (a server that tests ask) depends on which tests there are, and is of none.
Invariant: every call belongs to one unit at most; a function of which some calls were only counted is left out on all sides, as
if its callees had been called by its caller.
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

# As the pytest plugin names them.
_TEST = re.compile(r" \(test\)$")
_SHARED = re.compile(r" \((class|module|package|session) fixture( teardown)?\)$")
_FIXTURE = re.compile(r" \(fixture( teardown)?\)$")
_SETUP, _CALL, _TEARDOWN = "pytest:setup", "pytest:call", "pytest:teardown"
_OUTCOME, _PROCESSOR = "outcome", "processor_ns"
PASSED = "passed"
TEST, FIXTURES, SHARED = "test", "fixtures", "shared fixture"


class Subject(NamedTuple):
    """What is compared; the same in every session."""

    kind: str
    """"test", "fixtures" (of a test, without shared ones) or "shared fixture"."""
    name: str
    """Of a test its id, of a shared fixture what it is called in the trace."""

    def __str__(self) -> str:
        return f"fixtures of {self.name}" if self.kind == FIXTURES else self.name


@dataclass(frozen=True, eq=False)
class Units:
    """Columns: a unit is one subject as it was once run. Times in ns."""

    flows: Flows
    """Of the tests alone."""
    subjects: tuple[Subject, ...]
    subject: I64
    run: I64
    request: I64
    call: I64
    """Place of the call that it begins with."""
    time_ns: npt.NDArray[np.float64]
    processor_ns: npt.NDArray[np.float64]
    """NaN where it is not known."""
    outcome: tuple[str, ...]
    """Of its test: "passed", "failed", "skipped", "failed at setup", …"""

    call_unit: I64
    """Per call of the flows the unit that it is part of, -1 for none,"""
    call_context: I64
    """and its context: the calls that it is in, from its unit on; 0 is the unit itself."""
    context_parent: I64
    context_label: I64
    counted: tuple[str, ...]
    """Functions that are left out."""

    def path(self, context: int) -> list[str]:
        """The labels of a context, outermost first."""
        found = []
        while context > 0:
            found.append(self.flows.labels[self.context_label[context]])
            context = int(self.context_parent[context])
        return found[::-1]


def units_of(flows: Flows) -> Units:
    """Of all requests of some sessions' runs."""
    flows = flows.take(_which(flows, _TEST)[flows.label[flows.first[:-1]]])
    counted = {run.graph.sites[site].label for run in flows.runs for site in run.graph.counted}
    owner = flows.of_call(np.arange(len(flows.label)))
    above = np.where(flows.parent >= 0, flows.parent + flows.first[owner], -1)
    walk = _Walk(flows, above, owner, np.array([label in counted for label in flows.labels], bool))
    names = {subject: number for number, subject in enumerate(dict.fromkeys(walk.subjects))}
    outcomes = _outcomes(flows)
    return Units(
        flows=flows,
        subjects=tuple(names),
        subject=np.array([names[subject] for subject in walk.subjects], np.int64),
        run=flows.run[walk.requests].astype(np.int64) if walk.requests else np.zeros(0, np.int64),
        request=np.array(walk.requests, np.int64),
        call=walk.begun,
        time_ns=_times(flows, above, walk),
        processor_ns=_processor(flows, above, walk),
        outcome=tuple(outcomes[request] for request in walk.requests),
        call_unit=walk.unit,
        call_context=walk.context,
        context_parent=np.array([context for context, _ in walk.contexts], np.int64),
        context_label=np.array([label for _, label in walk.contexts], np.int64),
        counted=tuple(sorted(counted)),
    )


def _which(flows: Flows, pattern: re.Pattern[str]) -> Mask:
    """Per label whether it is of a kind."""
    return np.array([pattern.search(label) is not None for label in flows.labels], bool)


class _Walk:
    """From the tests down, all calls of one depth at a time."""

    def __init__(self, flows: Flows, above: I64, owner: I64, counted: Mask) -> None:
        self.unit = np.full(len(above), -1, np.int64)
        self.context = np.zeros(len(above), np.int64)
        self.subjects: list[Subject] = []
        self.requests: list[int] = []
        self.contexts: list[tuple[int, int]] = [(-1, -1)]
        self._begun: list[I64] = []
        self._over: list[float] = []
        """Per unit when what else it does is its no longer, since its request began, ns."""
        self.torn_down = np.zeros(0, np.int64)
        """The calls that are the second part of a unit: tests' teardowns."""
        self._known: dict[int, int] = {}
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
            late[late] = flows.begin_ns[level[late]] > np.array(self._over)[self.unit[level[late]]]
            self.unit[level[late]] = -1
            self.context[level] = self.context[parent]
            begun = np.zeros(len(level), bool)
            if top:
                for is_phase, kind in zip(phases, (TEST, FIXTURES), strict=False):
                    begun |= self._begin(level, is_phase[label], kind)
                begun |= self._go_on_with_fixtures(level, phases[-1][label])
            begun |= self._begin(level, shared[label], SHARED)
            self._go_on(level[~begun & ~counted[label] & (self.unit[level] >= 0)], above)
            top = False

    @property
    def begun(self) -> I64:
        """Per unit the call that it begins with."""
        return np.concatenate(self._begun) if self._begun else np.zeros(0, np.int64)

    def _begin(self, level: I64, those: Mask, kind: str) -> Mask:
        calls, flows = level[those], self._flows
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
        self._over += ends.tolist() if kind == SHARED else [math.inf] * len(calls)
        return those

    def _go_on_with_fixtures(self, level: I64, those: Mask) -> Mask:
        """A test's teardown is of the unit that its setup is, if that was recorded."""
        set_up = {request: unit for unit, request in enumerate(self.requests) if self.subjects[unit].kind == FIXTURES}
        calls = level[those]
        self.unit[calls] = [set_up.get(request, -1) for request in self._owner[calls].tolist()]
        self.torn_down = calls[self.unit[calls] >= 0]
        return those

    def _go_on(self, calls: I64, above: I64) -> None:
        key = self.context[above[calls]] * len(self._flows.labels) + self._flows.label[calls]
        keys, which = np.unique(key, return_inverse=True)
        numbers = np.zeros(len(keys), np.int64)
        for place, value in enumerate(keys.tolist()):
            number = self._known.setdefault(value, len(self.contexts))
            if number == len(self.contexts):
                self.contexts.append(divmod(value, len(self._flows.labels)))
            numbers[place] = number
        self.context[calls] = numbers[which.reshape(-1)]


def _times(flows: Flows, above: I64, walk: _Walk) -> npt.NDArray[np.float64]:
    """Of a test's call and a shared fixture all of it, of fixtures theirs alone; without units inside."""
    time = np.zeros(len(walk.subjects))
    around_test = np.array([label in (_SETUP, _TEARDOWN) for label in flows.labels], bool)[flows.label]
    mine = walk.begun[~around_test[walk.begun]]
    time[walk.unit[mine]] = flows.total_ns[mine]
    inside = above >= 0
    inside[inside] = around_test[above[inside]]
    fixtures = np.flatnonzero(inside & _which(flows, _FIXTURE)[flows.label] & (walk.unit >= 0))
    np.add.at(time, walk.unit[fixtures], flows.total_ns[fixtures])
    nested = mine[~inside[mine]]
    around = walk.unit[above[nested]]
    np.subtract.at(time, around[around >= 0], flows.total_ns[nested[around >= 0]])
    return time


def _payloads(run: OpenRun, name: str) -> list[int]:
    """The events by which the plugin left something of a name in the trace."""
    graph = run.graph
    if name not in graph.channel_ids:
        return []
    rows = graph.rows_of([Kind.PAYLOAD])
    found: list[int] = rows[graph.extensions.channel[graph.ext[rows]] == graph.channel_ids[name]].tolist()
    return found


def _outcomes(flows: Flows) -> list[str]:
    """Per request: how the first of its phases ended that did not as it should, else "passed"."""
    found: list[list[str]] = [[] for _ in range(len(flows))]
    for number, run in enumerate(flows.runs):
        mine = np.flatnonzero(flows.run == number)
        rows = _payloads(run, _OUTCOME)
        for place, row in zip(_last_before(run, flows.request[mine], rows), rows, strict=True):
            if place >= 0:
                found[mine[place]].append(run.graph.text(row))
    return [next((text for text in texts if text != PASSED), PASSED if texts else "") for texts in found]


def _processor(flows: Flows, above: I64, walk: _Walk) -> npt.NDArray[np.float64]:
    """Per unit the processor time of its calls, without units inside."""
    calls = np.concatenate((walk.begun, walk.torn_down))
    unit = walk.unit[calls]
    took = np.full(len(calls), np.nan)
    run_of = flows.run[flows.of_call(calls)]
    for number, run in enumerate(flows.runs):
        mine = np.flatnonzero(run_of == number)
        rows = _payloads(run, _PROCESSOR)
        for place, row in zip(_last_before(run, flows.event[calls[mine]].astype(np.int64), rows), rows, strict=True):
            if place >= 0:
                took[mine[place]] = float(run.graph.text(row))
    time = np.zeros(len(walk.subjects))
    np.add.at(time, unit, np.nan_to_num(took))
    time[unit[: len(walk.begun)][np.isnan(took[: len(walk.begun)])]] = np.nan
    nested = np.flatnonzero(walk.unit[above[calls]] >= 0)
    np.subtract.at(time, walk.unit[above[calls[nested]]], np.nan_to_num(took[nested]))
    return time


def _last_before(run: OpenRun, events: I64, rows: list[int]) -> list[int]:
    """Of each row the last event before it that is of the same place in the same thread, as a place in `events`; -1: none."""
    graph = run.graph
    begun: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row, place in sorted((event, place) for place, event in enumerate(events.tolist())):
        begun.setdefault((int(graph.strand[row]), int(graph.site[row])), []).append((row, place))
    of = ((row, begun.get((int(graph.strand[row]), int(graph.site[row])), [])) for row in rows)
    found = ((mine, bisect.bisect(mine, (row, 0))) for row, mine in of)
    return [mine[at - 1][1] if at else -1 for mine, at in found]
