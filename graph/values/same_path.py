"""Whether a second look took the same path as the recorded run: the same functions were called in the same order.

Only functions that both followed are compared, and no generators or coroutines, whose calls the two record at other moments.
Hypothesis calls a test's function once for each example: the last example failed, so the calls of that one are compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.values.flow import Flow
from clew.records.format.event import Kind

_GENERATOR_FLAGS = 0x20 | 0x80 | 0x200


@dataclass(frozen=True)
class PathCheck:
    compared: int
    """How many calls were compared."""
    difference: tuple[str, str] | None = None
    """What the run and the second look called at the first difference; "" for nothing more. None for the same path."""


def check_path(graph: ExecutionGraph, first: int, flow: Flow, function: str = "") -> PathCheck:
    """Compare the calls of a strand from row `first` to the strand's last row, or to the next request, with those of the look's
    first thread. `function` is the name of the test's own function, of which only the last call counts."""
    recorded = _last_round(_recorded(graph, first), function)
    followed = _last_round(_followed(flow), function)
    both = set(recorded) & set(followed)
    # A function that was only counted in the run has no calls there.
    both -= {graph.sites[site].label for site in graph.counted}
    before = [label for label in recorded if label in both]
    now = [label for label in followed if label in both]
    for place, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            return PathCheck(place, (one, other))
    shorter = min(len(before), len(now))
    if len(before) != len(now):
        return PathCheck(shorter, ((before[shorter:] or [""])[0], (now[shorter:] or [""])[0]))
    return PathCheck(shorter)


def _last_round(labels: list[str], function: str) -> list[str]:
    """Return the labels from the last call of a function on if there were several."""
    places = [place for place, label in enumerate(labels) if function and re.split(r"[:.]", label)[-1] == function]
    return labels[places[-1] :] if len(places) > 1 else labels


def _recorded(graph: ExecutionGraph, first: int) -> list[str]:
    strand = graph.strand_of(first)
    rows = np.arange(first, strand.stop)
    later = np.flatnonzero(graph.kind[rows[1:]] == Kind.REQUEST)
    if len(later):
        rows = rows[: later[0] + 1]
    entered = rows[graph.kind[rows] == Kind.ENTER]
    return [graph.sites[site].label for site in graph.site[entered].tolist()]


def _followed(flow: Flow) -> list[str]:
    codes = flow.trace.codes
    thread = flow.calls[0].thread if flow.calls else 0
    calls = (call.code for call in flow.calls if call.thread == thread)
    return [f"{codes[code].module}:{codes[code].name}" for code in calls if not codes[code].flags & _GENERATOR_FLAGS]
