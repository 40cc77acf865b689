"""The calls of some requests as a search for causes sees them: whose place, whose visit, and which time is whose own.

A *place* is what can be suspected: a service, or where a run has only one, a function. A *visit* is what a place does for one
call that reaches it from elsewhere: that call and those below it in the same place. Own time is without that of anything that
ran meanwhile and explains it: *work* and *waiting* are a call's, *edge* time passed on the way to a call and back (network,
queue). Invariant: of a trace made of others' spans, in which nobody recorded who worked and who waited, each instant belongs
to the call that began last of those that go on; so no time counts twice, and no caller looks slow because its callee is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.compare.requests.event_loop_time import idle_times
from clew.compare.requests.own_time import call_times
from clew.compare.stats.tests import F64, I64
from clew.graph.model.array_utils import lengths
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.flows.flows import Flows
from clew.records.run.directory import PACKED_SUFFIX, TRACE_SUFFIX

_NUMBER = re.compile(r" #\d+$")
"""Behind the names of processes that are alike."""
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Side:
    """Columns beside those of `flows`, with codes that both sides of a comparison share."""

    flows: Flows
    service: I64
    """Per call: the name of its process, which for spans of others is `service.name`."""
    label: I64
    template: I64
    """Per log."""
    place: I64
    """Per call: its service, or its label."""

    @cached_property
    def request(self) -> I64:
        """Per call."""
        return np.repeat(np.arange(len(self.flows)), lengths(self.flows.first))

    @cached_property
    def parent(self) -> I64:
        """Per call another, -1 at a root."""
        parent = self.flows.parent.astype(np.int64)
        return np.where(parent >= 0, parent + self.flows.first[self.request], -1)

    @cached_property
    def caller(self) -> I64:
        """Per call the label of its parent, -1 at a root."""
        return self._of_parent(self.label)

    def _of_parent(self, column: I64) -> I64:
        return np.where(self.parent >= 0, column[self.parent], -1) if len(column) else column

    @cached_property
    def enters(self) -> Mask:
        """Does a visit begin with it?"""
        return np.not_equal(self._of_parent(self.place), self.place)

    @cached_property
    def entries(self) -> I64:
        """The calls that visits begin with: visit i with `entries[i]`."""
        return np.flatnonzero(self.enters)

    @cached_property
    def visit(self) -> I64:
        """Per call the number of its visit."""
        above = np.where(self.enters, np.arange(len(self.parent)), self.parent)
        while len(above):
            farther = above[above]
            if np.array_equal(farther, above):
                break
            above = farther
        return np.searchsorted(self.entries, above)

    @cached_property
    def crosses(self) -> I64:
        """Calls from one service to another."""
        return np.flatnonzero((self.parent >= 0) & (self._of_parent(self.service) != self.service))

    @cached_property
    def times(self) -> dict[str, F64]:
        """By kind, "work", "waiting" and "edge", a column of calls, ns. The time of an edge is at the call that it leads to."""
        flows, size = self.flows, len(self.parent)
        made: dict[str, F64] = {kind: np.zeros(size) for kind in KINDS}
        spans = np.array([not is_recorded(run) for run in flows.runs], bool)[flows.run]
        _share_time(flows, np.flatnonzero(spans), made["work"])
        for category in np.unique(flows.category[~spans]).tolist():
            _recorded_times(flows, np.flatnonzero((flows.category == category) & ~spans), made)
        # A span that does nothing but call another service is the way there.
        far = self.crosses[spans[self.request[self.crosses]]]
        far = far[np.unique(self.parent[far], return_index=True)[1]]
        near = np.ones(size, bool)
        near[self.crosses] = False
        far = far[~np.isin(self.parent[far], self.parent[near])]
        made["edge"][far] += made["work"][self.parent[far]]
        made["work"][self.parent[far]] = 0.0
        return made


KINDS: tuple[Literal["work", "waiting", "edge"], ...] = ("work", "waiting", "edge")


@dataclass(frozen=True, eq=False)
class Sides:
    reference: Side
    suspect: Side
    services: tuple[str, ...]
    labels: tuple[str, ...]
    templates: tuple[str, ...]
    places: tuple[str, ...]
    """Services, or labels."""
    by_service: bool

    @property
    def both(self) -> tuple[Side, Side]:
        return self.reference, self.suspect


def two_sides(reference: Flows, suspect: Flows) -> Sides:
    """Under one numbering of services, labels and templates."""
    services: dict[str, int] = {}
    labels: dict[str, int] = {}
    templates: dict[str, int] = {}
    columns = []
    for flows in (reference, suspect):
        columns.append(
            (
                _services(flows, services),
                _codes(flows.labels, flows.label, labels),
                _codes(flows.templates, flows.log_template, templates),
            )
        )
    by_service = max(len(np.unique(column[0])) for column in columns) > 1
    if not by_service:  # one program that is called otherwise in the other run is no other service
        only = [int(service[0]) for service, _, _ in columns if len(service)]
        columns = [(np.full_like(column[0], (only or [0])[-1]), column[1], column[2]) for column in columns]
    sides = [
        Side(flows, *column, column[0] if by_service else column[1])
        for flows, column in zip((reference, suspect), columns, strict=True)
    ]
    places = services if by_service else labels
    return Sides(sides[0], sides[1], tuple(services), tuple(labels), tuple(templates), tuple(places), by_service)


def _codes(names: tuple[str, ...], column: npt.NDArray[np.integer], known: dict[str, int]) -> I64:
    codes = np.array([known.setdefault(name, len(known)) for name in names], np.int64)
    return codes[column] if len(column) else np.zeros(0, np.int64)


def _services(flows: Flows, known: dict[str, int]) -> I64:
    service = np.zeros(len(flows.label), np.int64)
    of_call = np.repeat(flows.run, lengths(flows.first))
    for number, run in enumerate(flows.runs):
        here = np.flatnonzero(of_call == number)
        codes = [known.setdefault(_NUMBER.sub("", process.name), len(known)) for process in run.graph.processes]
        process = run.graph.strand_process[run.graph.strand[flows.event[here]]]
        service[here] = np.array(codes, np.int64)[process]
    return service


def is_recorded(run: OpenRun) -> bool:
    """By clew, or made of spans that others measured?"""
    return any(process.file.endswith((TRACE_SUFFIX, PACKED_SUFFIX)) for process in run.graph.processes)


def _share_time(flows: Flows, requests: I64, into: F64) -> None:
    """Each instant of a request to the call that began last of those that go on."""
    for request in requests.tolist():
        at = flows.places(request)
        parent, begin = flows.parent[at].tolist(), flows.begin_ns[at].tolist()
        end = (flows.begin_ns[at] + flows.total_ns[at]).tolist()
        for place in range(1, len(parent)):
            # Clocks of two machines: what is called begins no earlier than its caller.
            begin[place] = max(begin[place], begin[parent[place]])
        covered: list[tuple[int, int]] = []  # what later calls take, apart from each other, the earliest last
        for place in sorted(range(len(parent)), key=lambda place: (begin[place], place), reverse=True):
            start, reached = begin[place], begin[place]
            stop, free = max(end[place], start), 0
            while covered and covered[-1][0] <= stop:
                low, high = covered.pop()
                free += max(low - reached, 0)
                reached = max(reached, high)
            free += max(stop - reached, 0)
            into[at.start + place] = free
            covered.append((start, max(stop, reached)))


def _recorded_times(flows: Flows, requests: I64, made: dict[str, F64]) -> None:
    """Of requests of one category."""
    found = call_times(flows, requests)
    places = flows.first[requests][:, None] + np.arange(found.work.shape[1])
    idle, on_loop = idle_times(flows, requests, found)
    made["work"][places] = found.work
    made["edge"][places] = np.where(on_loop, idle.delay, found.delay)
    made["waiting"][places] = np.where(on_loop, idle.own - idle.delay, found.own - found.work - found.delay)
