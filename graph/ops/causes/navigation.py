"""Find the six ways that a walk can continue from an event, each with all events in that direction.

A walk follows recorded edges to causes and effects, moves along the thread or task, out to the enclosing event, or in
to the enclosed events. Invariant: if two events are one edge or one row apart, each lies on the way to the other. If
an event encloses others, the way out of them leads back to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.ops.causes.why import next_in_strand, previous_in_strand, why
from clew.records.format.event import CALLS, Kind

_ENDS, _PAUSES = frozenset({Kind.EXIT, Kind.UNWIND}), frozenset({Kind.SUSPEND, Kind.RESUME})
WAYS = ("cause", "effect", "previous", "next", "out", "in")


@dataclass(frozen=True)
class End:
    """An event that one step leads to."""

    event: int
    edge: int = -1
    """The edge's number, -1 if the step follows no edge."""
    near: int = -1
    """The near end of the edge: the event itself or another event of its region; -1 without an edge."""


@dataclass(frozen=True)
class Way:
    """The events in one direction."""

    ends: tuple[End, ...]
    """The event that a step takes first, then the nearest other events."""
    count: int
    """The number of all events in this direction; `ends` may hold only some of them."""


def way(graph: ExecutionGraph, event: int, name: str, most: int) -> Way:
    """Return up to `most` events on one of the `WAYS`."""
    match name:
        case "cause":
            return _causes(graph, event, most)
        case "effect":
            return _effects(graph, event, most)
        case "previous":
            return _single(previous_in_strand(graph, event))
        case "next":
            return _single(next_in_strand(graph, event))
        case "out":
            return _single(out(graph, event))
        case "in":
            return _single(inside(graph, event))
    raise ValueError(f"unknown way {name!r}; the ways are {', '.join(WAYS)}")


def out(graph: ExecutionGraph, event: int) -> int:
    """Return the event that began the enclosing call, or the enclosing scope if that is nearer; -1 if neither exists.

    The end of a call has the same enclosing event as its beginning. The pauses of a call are inside the call.
    """
    kind, call = graph.at("kind", event), graph.call_of(event)
    paused = kind in _PAUSES and call < event
    if kind in _ENDS and call >= 0:
        event = call
    region = graph.at("region", event)
    opener = int(graph.regions.opener[region])
    while opener >= event or (opener < 0 <= region):
        region = int(graph.regions.parent[region])
        opener = int(graph.regions.opener[region]) if region >= 0 else -1
    return max(call if paused else graph.enclosing_call(event), opener)


def inside(graph: ExecutionGraph, event: int) -> int:
    """Return the first event inside the call that this event records, or inside the scope that it opened; -1 for none."""
    call = graph.call_of(event) if graph.at("kind", event) in CALLS else -1
    for begin in (call, event):
        if begin < 0:
            continue
        following = next_in_strand(graph, begin)
        if following >= 0 and following != event and out(graph, following) == begin:
            return following
    return -1


def _single(event: int) -> Way:
    return Way((End(event),), 1) if event >= 0 else Way((), 0)


def _causes(graph: ExecutionGraph, event: int, most: int) -> Way:
    """Return the next step of the `why` chain first, then the edges to the event itself, then earlier edges, newest
    first.
    """
    region = graph.at("region", event)
    edges, targets = graph.index.into(region)
    before = int(np.searchsorted(targets, event, "right"))
    edges, targets = edges[:before], targets[:before]
    chosen = (graph.region[graph.edge_src[edges]] != region) | (targets == event)
    edges, targets = edges[chosen][::-1], targets[chosen][::-1]
    steps = why(graph, event, steps_at_most=1)
    found = (
        [End(steps[1].event, steps[1].edge, steps[1].target_event if steps[1].edge >= 0 else -1)] if steps[1:] else []
    )
    chosen = found[0].edge if found else -1
    others = edges != chosen
    taken = edges[others][: most - len(found)], targets[others][: most - len(found)]
    found += _ends(graph.edge_src, *taken)
    return Way(tuple(found), int(others.sum()) + (len(steps) > 1))


def _effects(graph: ExecutionGraph, event: int, most: int) -> Way:
    """Return where the edges from the event itself lead, then the edges that leave its region later.

    Lock edges count only from the event itself, because the next holder of a lock is chance. If several edges leave
    one event, only the one that arrives first is returned.
    """
    region = graph.at("region", event)
    edges, sources = graph.index.out(region)
    since = int(np.searchsorted(sources, event))
    edges, sources = edges[since:], sources[since:]
    chosen = (graph.region[graph.edge_dst[edges]] != region) | (sources == event)
    if graph.edge_excludes is not None:
        chosen &= ~graph.edge_excludes[edges] | (sources == event)
    edges, sources = edges[chosen], sources[chosen]
    count = len(edges)
    # Take whole groups with one source, so that the first arrival of each source is included.
    last = int(np.searchsorted(sources, sources[min(most, count) - 1], "right")) if count else 0
    edges, sources = edges[:last], sources[:last]
    order = np.lexsort((graph.ts[graph.edge_dst[edges]], sources))[:most]
    return Way(tuple(_ends(graph.edge_dst, edges[order], sources[order])), count)


def _ends(far: I64, edges: I64, near: I64) -> list[End]:
    return [End(*row) for row in zip(far[edges].tolist(), edges.tolist(), near.tolist(), strict=True)]
