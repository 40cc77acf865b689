"""Flows of many requests as one table of columns: what each request called, in one order, with times, logs and errors.

A request's flow is its own region with the calls in it, and through the edges that opened them the regions below (joins and
locks open nothing); a request inside another is part of it where an edge or a call leads there, and a flow of its own, too.
Invariant: requests of one category have the same calls in the same places, so that a column of a category is a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import expand
from clew.graph.event import Event
from clew.graph.levels import LabelFunction
from clew.graph.model import I64, Rows
from clew.graph.nodes import OpenRun
from clew.graph.ops.flow_columns import REPEATED, CategoryKey, columns_of
from clew.records.event import Kind

I32 = npt.NDArray[np.int32]
Codes = npt.NDArray[np.signedinteger]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Flows:
    """Columns: of requests, of their calls request by request, of the calls' logs; and what their codes stand for. Times in ns.

    Calls of a request come depth-first, children in the order of their names (equal ones by what is below them, then by when
    they began). A call here is a recorded call, a visit (see `frames`), or at a level coarser than functions a stretch of calls
    with one label."""

    runs: tuple[OpenRun, ...]
    names: tuple[str, ...]
    categories: tuple[CategoryKey, ...]
    labels: tuple[str, ...]
    channels: tuple[str, ...]
    instances: tuple[str, ...]
    """Hosts, or in a run of one host processes; those of one name are numbered."""
    templates: tuple[str, ...]
    """Messages with a NUL in each parameter's place, see `clew.graph.texts`."""

    request: I64
    """Row of the REQUEST event."""
    run: I32
    name: Codes
    start_ns: I64
    """Since 1970."""
    response_ns: I64
    """How long the request's call took; of one that is no call, from the first to the last of its flow."""
    category: Codes
    first: I64
    """Request i has the calls `first[i]` up to `first[i + 1]`."""
    errors: I32
    """Calls that ended by an exception, and logs of level ERROR or above."""

    label: Codes
    parent: I32
    """Place in the request, -1 at its root."""
    channel: Codes
    """What opened it (queue, request, task, …), also at a root that something opened; "" is a plain call."""
    instance: Codes
    begin_ns: I64
    """Since the request's root began."""
    total_ns: I64
    self_ns: I64
    waiting_ns: I64
    delay_ns: I64
    """On the edge: from the cause to its beginning, and for an answer from its sending to when it was waited for."""
    failed: Mask
    event: Rows
    """Row of the ENTER; of a visit its region's first row."""
    repeats: I32
    """How many equal calls this one stands for: 1, unless flows were made with `coalesce`. Times are their sums."""

    log_call: I64
    """Place in the columns of calls."""
    log_template: Codes
    log_level: I32
    log_event: I64

    def __len__(self) -> int:
        return len(self.request)

    def __repr__(self) -> str:
        return f"flows({len(self):,} requests, {len(self.label):,} calls, {len(self.categories):,} categories)"

    @staticmethod
    def of(
        runs: OpenRun | Sequence[OpenRun],
        *,
        level: str | LabelFunction = "function",
        names: Iterable[str] | None = None,
        where: Callable[[Event], bool] | None = None,
        coalesce: bool = False,
    ) -> Flows:
        """All requests of some runs, or those of some names, for which `where` holds. With `coalesce` equal siblings in a row
        count as one call. Raises `ClewError` for a level that there is not."""
        parts = []
        wanted = None if names is None else {names} if isinstance(names, str) else set(names)
        for run in [runs] if isinstance(runs, OpenRun) else runs:
            graph = run.graph
            rows = graph.rows_of([Kind.REQUEST])
            if wanted is not None and len(rows):
                known = [graph.channel_ids[name] for name in wanted if name in graph.channel_ids]
                rows = rows[np.isin(graph.extensions.channel[graph.ext[rows]], known)]
            if where is not None:
                rows = np.array([row for row in rows.tolist() if where(graph.event(row))], np.int64)
            parts.append(flows_of(run, rows, level, coalesce=coalesce))
        return concat(*parts)

    @property
    def matrix_columns(self) -> tuple[str, ...]:
        """The columns of calls."""
        return _OF_CALLS

    def members(self, category: int) -> I64:
        """The requests of a category, in order."""
        return np.flatnonzero(self.category == category)

    def matrix(self, column: str, requests: I64) -> npt.NDArray[Any]:
        """A column of calls for requests of one category, a row per request."""
        width = int(self.first[requests[0] + 1] - self.first[requests[0]])
        values: npt.NDArray[Any] = getattr(self, column)[self.first[requests][:, None] + np.arange(width)]
        return values

    def places(self, request: int) -> slice:
        """Where the calls of a request are."""
        return slice(int(self.first[request]), int(self.first[request + 1]))

    def pairs(self, request: int) -> tuple[tuple[str, str], ...]:
        """The flow as names: caller and called of each call; of a request without calls its one name, twice."""
        at = self.places(request)
        label, parent = self.label[at].tolist(), self.parent[at].tolist()
        marks = [
            self.labels[code] + (REPEATED if many > 1 else "")
            for code, many in zip(label, self.repeats[at].tolist(), strict=True)
        ]
        return tuple((marks[above], mark) for above, mark in zip(parent[1:], marks[1:], strict=True)) or (
            (marks[0],) * 2,
        )

    def text(self, request: int) -> str:
        """The flow in one line, which is the same for all of its category."""
        return " ".join(f"{source}>{target}" for source, target in self.pairs(request))

    def of_call(self, places: I64) -> I64:
        """The requests that calls or logs at some places belong to."""
        return np.searchsorted(self.first, places, "right") - 1

    def location(self, place: int) -> tuple[str, int] | None:
        """Where the code of a call is, file and line; of a visit, that of the call it is in."""
        request = int(self.of_call(np.array([place]))[0])
        graph, event = self.runs[int(self.run[request])].graph, int(self.event[place])
        call = graph.call_of(event)
        return graph.location(event if call < 0 else call)

    def take(self, chosen: Mask | I64) -> Flows:
        """Some requests, by a truth value each or by number; codes stay."""
        which = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        size = (self.first[1:] - self.first[:-1])[which]
        first = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
        calls = expand(self.first[which], self.first[which + 1])
        bounds = np.searchsorted(self.log_call, self.first)
        logs = expand(bounds[which], bounds[which + 1])
        moved = np.repeat(first[:-1] - self.first[which], (bounds[1:] - bounds[:-1])[which])
        changed: dict[str, Any] = {name: getattr(self, name)[which] for name in _OF_REQUESTS}
        changed |= {name: getattr(self, name)[calls] for name in _OF_CALLS}
        changed |= {name: getattr(self, name)[logs] for name in _OF_LOGS}
        return replace(self, **changed | {"first": first, "log_call": self.log_call[logs] + moved})


_OF_REQUESTS = ("request", "run", "name", "start_ns", "response_ns", "category", "errors")
_OF_CALLS = (
    "label", "parent", "channel", "instance", "begin_ns", "total_ns", "self_ns", "waiting_ns", "delay_ns", "failed", "event",
    "repeats",
)  # fmt: skip
_OF_LOGS = ("log_template", "log_level", "log_event")
_CODES = {
    "names": "name", "categories": "category", "labels": "label", "channels": "channel", "instances": "instance",
    "templates": "log_template",
}  # fmt: skip


def concat(*parts: Flows) -> Flows:
    """Requests of several, one after the other, with one numbering of runs, names, categories, labels and so on."""
    if not parts:
        return _nothing()
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {}
    runs: list[OpenRun] = []
    numbers = [[_place(runs, run) for run in part.runs] for part in parts]
    joined["runs"] = tuple(runs)
    joined["run"] = _together([np.array(own, np.int32)[part.run] for own, part in zip(numbers, parts, strict=True)])
    for values, column in _CODES.items():
        known: dict[Any, int] = {}
        codes = [
            np.array([known.setdefault(value, len(known)) for value in getattr(part, values)], np.int32)
            for part in parts
        ]
        joined[values] = tuple(known)
        joined[column] = _together([own[getattr(part, column)] for own, part in zip(codes, parts, strict=True)])
    shift = np.cumsum([0, *(int(part.first[-1]) for part in parts)])
    joined["first"] = _together([part.first[:-1] + by for part, by in zip(parts, shift, strict=False)] + [shift[-1:]])
    joined["log_call"] = _together([part.log_call + by for part, by in zip(parts, shift, strict=False)])
    for field in fields(Flows):
        if field.name not in joined:
            joined[field.name] = _together([getattr(part, field.name) for part in parts])
    return Flows(**joined)


def _together(columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(columns)


def _place(runs: list[OpenRun], run: OpenRun) -> int:
    if run not in runs:
        runs.append(run)
    return runs.index(run)


def _nothing() -> Flows:
    def no(dtype: type) -> npt.NDArray[Any]:
        return np.zeros(0, dtype)

    i, j = np.int32, np.int64
    return Flows(
        (), (), (), (), (), (), (), no(j), no(i), no(i), no(j), no(j), no(i), np.zeros(1, j), no(i), no(i), no(i), no(i), no(i),
        no(j), no(j), no(j), no(j), no(j), no(bool), no(i), no(i), no(j), no(i), no(i), no(j),
    )  # fmt: skip


def flows_of(run: OpenRun, requests: I64, level: str | LabelFunction = "function", *, coalesce: bool = False) -> Flows:
    """The flows of some requests of a run, given as their REQUEST events."""
    made = columns_of(run.graph, requests, level, coalesce=coalesce)
    number = np.zeros(len(requests), np.int32)
    return Flows(runs=(run,), run=number, **made)
