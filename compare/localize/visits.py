"""Map the calls of requests to places, visits and own times, for localization.

A *place* is a possible suspect: a service or, if a run has only one service, a function. A *visit* consists of a call that
reaches a place from another place, and the calls below it in the same place. Own time excludes the time of concurrent work
that explains it: *work* and *waiting* belong to a call; *edge* time passes on the way to a call and back (network, queue).

Invariant: in an imported trace, which does not record who worked and who waited, each instant belongs to the running call
that began last. Therefore no time counts twice, and a slow callee does not make its caller look slow.
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
from clew.records.run.directory import COMPRESSED_SUFFIX, TRACE_SUFFIX

_NUMBER = re.compile(r" #\d+$")
"""The numeric suffix of the names of identical processes."""
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: columns in addition to those of `flows`, with codes that both sides share."""

    flows: Flows
    service: I64
    """The service of each call: the name of its process; for imported spans, `service.name`."""
    label: I64
    template: I64
    """The template of each log."""
    place: I64
    """The place of each call: its service, or its label."""

    @cached_property
    def request(self) -> I64:
        """Return the request of each call."""
        return np.repeat(np.arange(len(self.flows)), lengths(self.flows.first))

    @cached_property
    def parent(self) -> I64:
        """Return the parent of each call; -1 for a root."""
        parent = self.flows.parent.astype(np.int64)
        return np.where(parent >= 0, parent + self.flows.first[self.request], -1)

    @cached_property
    def caller(self) -> I64:
        """Return the label of each call's parent; -1 for a root."""
        return self._of_parent(self.label)

    def _of_parent(self, column: I64) -> I64:
        return np.where(self.parent >= 0, column[self.parent], -1) if len(column) else column

    @cached_property
    def enters(self) -> Mask:
        """Return whether each call begins a visit."""
        return np.not_equal(self._of_parent(self.place), self.place)

    @cached_property
    def entries(self) -> I64:
        """Return the calls that begin visits: visit i begins with `entries[i]`."""
        return np.flatnonzero(self.enters)

    @cached_property
    def visit(self) -> I64:
        """Return the number of each call's visit."""
        above = np.where(self.enters, np.arange(len(self.parent)), self.parent)
        while len(above):
            farther = above[above]
            if np.array_equal(farther, above):
                break
            above = farther
        return np.searchsorted(self.entries, above)

    @cached_property
    def crosses(self) -> I64:
        """Return the calls from one service to another."""
        return np.flatnonzero((self.parent >= 0) & (self._of_parent(self.service) != self.service))

    @cached_property
    def times(self) -> dict[str, F64]:
        """Return the own times of calls in ns, by kind: "work", "waiting" and "edge". The time of an edge belongs to its
        callee."""
        flows, size = self.flows, len(self.parent)
        made: dict[str, F64] = {kind: np.zeros(size) for kind in KINDS}
        spans = np.array([not is_recorded(run) for run in flows.runs], bool)[flows.run]
        _share_time(flows, np.flatnonzero(spans), made["work"])
        for category in np.unique(flows.category[~spans]).tolist():
            _recorded_times(flows, np.flatnonzero((flows.category == category) & ~spans), made)
        # The own time of a span that only calls another service is the time of the hop to that service.
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
    """Both sides of a comparison, with the names behind their shared codes."""

    reference: Side
    suspect: Side
    services: tuple[str, ...]
    labels: tuple[str, ...]
    templates: tuple[str, ...]
    places: tuple[str, ...]
    """The names of the services, or of the labels."""
    by_service: bool

    @property
    def both(self) -> tuple[Side, Side]:
        return self.reference, self.suspect


def two_sides(reference: Flows, suspect: Flows) -> Sides:
    """Return both sides of a comparison with common codes of services, labels and templates."""
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
    if not by_service:  # one program with another process name in the other run is still the same service
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
    """Return whether clew recorded the run; otherwise it was imported from spans."""
    return any(process.file.endswith((TRACE_SUFFIX, COMPRESSED_SUFFIX)) for process in run.graph.processes)


def _share_time(flows: Flows, requests: I64, into: F64) -> None:
    """Add each instant of a request to the running call that began last."""
    for request in requests.tolist():
        at = flows.places(request)
        parent, begin = flows.parent[at].tolist(), flows.begin_ns[at].tolist()
        end = (flows.begin_ns[at] + flows.total_ns[at]).tolist()
        for place in range(1, len(parent)):
            # Clocks of two machines may differ: a callee cannot begin before its caller.
            begin[place] = max(begin[place], begin[parent[place]])
        covered: list[tuple[int, int]] = []  # disjoint intervals of the later calls, the earliest last
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
    """Write the own times of recorded requests of one category."""
    found = call_times(flows, requests)
    places = flows.first[requests][:, None] + np.arange(found.work.shape[1])
    idle, on_loop = idle_times(flows, requests, found)
    made["work"][places] = found.work
    made["edge"][places] = np.where(on_loop, idle.delay, found.delay)
    made["waiting"][places] = np.where(on_loop, idle.own - idle.delay, found.own - found.work - found.delay)
