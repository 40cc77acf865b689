"""Store the flows of many requests as one table of columns: the calls of each request, with times, logs and errors.

A request's flow is its own region with its calls, plus the regions below, through the edges that opened them. Joins
and locks do not open regions. A request inside another is part of the outer flow if an edge or a call leads there,
and also has a flow of its own. Invariant: requests of one category have the same calls in the same places, so a
column of a category is a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.event import Event
from clew.graph.model.graph import I64, Rows
from clew.graph.model.levels import LabelFunction
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.flows.columns import REPEATED, CategoryKey, columns_of
from clew.records.format.event import Kind

I32 = npt.NDArray[np.int32]
Codes = npt.NDArray[np.signedinteger]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Flows:
    """Columns of requests, of their calls request by request, of the calls' logs, and the names behind the
    codes.

    Times are in ns. The calls of a request come depth-first, children sorted by name. Children with equal names are
    sorted by their subtrees, then by when they began. A call here is a recorded call, a visit (see `calls.py`), or at a
    level coarser than functions a group of connected calls with one label.
    """

    runs: tuple[OpenRun, ...]
    names: tuple[str, ...]
    categories: tuple[CategoryKey, ...]
    labels: tuple[str, ...]
    channels: tuple[str, ...]
    instances: tuple[str, ...]
    """Hosts, or processes in a run of one host. Instances with the same name are numbered."""
    templates: tuple[str, ...]
    """Messages with a NUL in place of each parameter, see `clew.graph.model.text_templates`."""

    request: I64
    """The row of the REQUEST event."""
    run: I32
    name: Codes
    start_ns: I64
    """The start in ns since 1970."""
    response_ns: I64
    """The duration of the request's call. Without a call, the time from the first to the last event of its scope."""
    category: Codes
    first: I64
    """The offsets of the requests: request i has the calls `first[i]` up to `first[i + 1]`."""
    errors: I32
    """Calls that ended with an exception, and logs of level ERROR or above."""

    label: Codes
    parent: I32
    """The index of the parent in the request, -1 at its root."""
    channel: Codes
    """The channel that opened the call (queue, request, task, …), also for a root that was opened; "" for a plain
    call.
    """
    instance: Codes
    begin_ns: I64
    """The time since the request's root began."""
    total_ns: I64
    self_ns: I64
    """The work of the call, with its waiting that no record explains: sleep and I/O."""
    waiting_ns: I64
    """The waiting that an edge or a suspension explains."""
    taken_ns: I64
    """The time in which the call would have worked, but others had the processor or the GIL."""
    delay_ns: I64
    """The time on the edge: from the cause to the call's beginning, and for an answer from its sending to the wait
    for it.
    """
    failed: Mask
    event: Rows
    """The row of the ENTER; for a visit, its region's first row."""
    repeats: I32
    """The number of equal calls that this call represents: 1, unless the flows were built with `coalesce`. Times are
    sums.
    """

    log_call: I64
    """The index of the call in the columns of calls."""
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
        ordered: bool = False,
    ) -> Flows:
        """Return all requests of some runs, filtered by `names` and by `where`.

        With `ordered`, calls one after the other and calls in parallel are different flows. With `coalesce`, consecutive equal
        siblings count as one call, in any order. Raise `ClewError` for an unknown level.
        """
        parts = []
        chosen_names = None if names is None else {names} if isinstance(names, str) else set(names)
        for run in [runs] if isinstance(runs, OpenRun) else runs:
            graph = run.graph
            rows = graph.rows_of([Kind.REQUEST])
            if chosen_names is not None and len(rows):
                known = [graph.channel_ids[name] for name in chosen_names if name in graph.channel_ids]
                rows = rows[np.isin(graph.extensions.channel[graph.ext[rows]], known)]
            if where is not None:
                rows = np.array([row for row in rows.tolist() if where(graph.event(row))], np.int64)
            parts.append(flows_of(run, rows, level, coalesce=coalesce, ordered=ordered))
        return concat(*parts)

    @property
    def matrix_columns(self) -> tuple[str, ...]:
        """Return the names of the columns of calls."""
        return _OF_CALLS

    def members(self, category: int) -> I64:
        """Return the requests of a category, in order."""
        return np.flatnonzero(self.category == category)

    def matrix(self, column: str, requests: I64) -> npt.NDArray[Any]:
        """Return a column of calls for requests of one category, one row per request."""
        width = int(self.first[requests[0] + 1] - self.first[requests[0]])
        values: npt.NDArray[Any] = getattr(self, column)[self.first[requests][:, None] + np.arange(width)]
        return values

    def places(self, request: int) -> slice:
        """Return the slice of a request's calls in the columns of calls."""
        return slice(int(self.first[request]), int(self.first[request + 1]))

    def pairs(self, request: int) -> tuple[tuple[str, str], ...]:
        """Return the flow as names: caller and callee of each call. A request without calls gives its one name,
        twice.
        """
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
        """Return the flow in one line, which is the same for all requests of its category."""
        return " ".join(f"{source}>{target}" for source, target in self.pairs(request))

    def of_call(self, places: I64) -> I64:
        """Return the requests that the calls or logs at some places belong to."""
        return np.searchsorted(self.first, places, "right") - 1

    def location(self, place: int) -> tuple[str, int] | None:
        """Return the file and line of a call's code; for a visit, those of the enclosing call."""
        request = int(self.of_call(np.array([place]))[0])
        graph, event = self.runs[int(self.run[request])].graph, int(self.event[place])
        call = graph.call_of(event)
        return graph.location(event if call < 0 else call)

    def take(self, chosen: Mask | I64) -> Flows:
        """Return some requests, selected by a mask or by number. Codes stay unchanged."""
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
    "label", "parent", "channel", "instance", "begin_ns", "total_ns", "self_ns", "waiting_ns", "taken_ns", "delay_ns", "failed",
    "event", "repeats",
)  # fmt: skip
_OF_LOGS = ("log_template", "log_level", "log_event")
_CODES = {
    "names": "name", "categories": "category", "labels": "label", "channels": "channel", "instances": "instance",
    "templates": "log_template",
}  # fmt: skip


def concat(*parts: Flows) -> Flows:
    """Concatenate the requests of several tables, with one numbering of runs, names, categories, labels and other
    codes.
    """
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
        no(j), no(j), no(j), no(j), no(j), no(j), no(bool), no(i), no(i), no(j), no(i), no(i), no(j),
    )  # fmt: skip


def flows_of(
    run: OpenRun,
    requests: I64,
    level: str | LabelFunction = "function",
    *,
    coalesce: bool = False,
    ordered: bool = False,
) -> Flows:
    """Return the flows of some requests of a run, given as their REQUEST events."""
    made = columns_of(run.graph, requests, level, coalesce=coalesce, ordered=ordered)
    number = np.zeros(len(requests), np.int32)
    return Flows(runs=(run,), run=number, **made)
