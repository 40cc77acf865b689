"""Decide where the paths of a slice begin and end."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.timing.call_path import request_spans, requests_at
from clew.records.errors import ClewError


class Destination(NamedTuple):
    """The events between which a path is looked for."""

    slice: Slice
    """The slice; of several requests, that of the one that was chosen."""
    begin: int
    """The first event of the request that the slice follows from, -1 if it follows from no request."""
    end: int
    """The last event, -1 for an empty slice."""
    limits: tuple[str, ...] = ()
    """A sentence about the choice among several requests."""


def destination(graph: ExecutionGraph, slice_: Slice, until: int | None = None) -> Destination:
    """Return where the paths of a slice begin and end.

    They end at `until`, else at the end of the request that the slice follows from, else at the slice's last event. Of
    several requests it is the one that took longest, or the first whose slice has `until`. Raise `ClewError` if the
    slice lacks `until`.
    """
    if until is not None and not slice_.contains(until):
        raise ClewError(f"event {until} is not in the slice, so no path of the slice ends there")
    requests = requests_at(graph, slice_.roots) if slice_.forward else np.zeros(0, np.int64)
    if not len(requests):
        rows = slice_.events() if until is None else np.array([until], np.int64)
        last = int(rows[graph.ts[rows] == graph.ts[rows].max()][-1]) if len(rows) else -1
        return Destination(slice_, -1, last)
    spans, chosen = request_spans(graph, requests), 0
    told: tuple[str, ...] = ()
    if len(requests) > 1:
        flows = [replace(slice_, roots=(root,)) for root in slice_.roots]
        chosen = spans.longest(graph)
        if until is not None:
            chosen = next(place for place, flow in enumerate(flows) if flow.contains(until))
        which = "the longest" if until is None else "one"
        name, event = graph.channel(int(requests[chosen])), int(requests[chosen])
        told = (f"This is the path of {which} of {len(requests):,} requests, event {event} ({name}).",)
        slice_ = flows[chosen]
    return Destination(slice_, int(spans.begin[chosen]), int(spans.end[chosen]) if until is None else until, told)
