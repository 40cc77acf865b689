"""The six ways that a walk can go on from an event, each with all that lies there.

A walk goes to the causes and effects (by recorded edges), along the thread or task, out to what encloses the event, and into
what it encloses. Invariant: of two events one edge or one row apart each lies on the way to the other; where something is
enclosed, the way out of it leads back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.model import I64, ExecutionGraph
from clew.graph.ops.walk import next_in_strand, previous_in_strand, why
from clew.records.event import CALLS, Kind

_ENDS, _PAUSES = frozenset({Kind.EXIT, Kind.UNWIND}), frozenset({Kind.SUSPEND, Kind.RESUME})
WAYS = ("cause", "effect", "previous", "next", "out", "in")


@dataclass(frozen=True)
class End:
    """An event that one step leads to."""

    event: int
    edge: int = -1
    """The edge's number, -1 when none leads there."""
    near: int = -1
    """The end of the edge on this side: the event itself or another one of its region; -1 without an edge."""


@dataclass(frozen=True)
class Way:
    """What lies in one direction."""

    ends: tuple[End, ...]
    """The one that a step takes first, then the nearest ones."""
    count: int
    """Of all, of which `ends` may be only some."""


def way(graph: ExecutionGraph, event: int, name: str, most: int) -> Way:
    """What lies on one of the `WAYS`, at most so many of it."""
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
    raise ValueError(f"there is no way {name!r}; the ways are {', '.join(WAYS)}")


def out(graph: ExecutionGraph, event: int) -> int:
    """The event that began what is around this one: the call, or the scope where that is nearer; -1 for none. What is
    around a call's end is what is around its beginning; its pauses are in it."""
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
    """The first event of the call that this one is a record of, or of the scope that it opened; -1 for none."""
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
    """First what the chain of `why` names, then the edges to the event itself, then those that came before it, newest first."""
    region = graph.at("region", event)
    edges, targets = graph.index.into(region)
    before = int(np.searchsorted(targets, event, "right"))
    edges, targets = edges[:before], targets[:before]
    kept = (graph.region[graph.edge_src[edges]] != region) | (targets == event)
    edges, targets = edges[kept][::-1], targets[kept][::-1]
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
    """Where the edges from the event itself lead, then those that leave its region later; locks only of the event itself, as
    who got one next is chance. Of edges from one event the one that arrives first."""
    region = graph.at("region", event)
    edges, sources = graph.index.out(region)
    since = int(np.searchsorted(sources, event))
    edges, sources = edges[since:], sources[since:]
    kept = (graph.region[graph.edge_dst[edges]] != region) | (sources == event)
    if graph.edge_excludes is not None:
        kept &= ~graph.edge_excludes[edges] | (sources == event)
    edges, sources = edges[kept], sources[kept]
    count = len(edges)
    # Whole groups of one source, so that what arrives first of each is among them.
    last = int(np.searchsorted(sources, sources[min(most, count) - 1], "right")) if count else 0
    edges, sources = edges[:last], sources[:last]
    order = np.lexsort((graph.ts[graph.edge_dst[edges]], sources))[:most]
    return Way(tuple(_ends(graph.edge_dst, edges[order], sources[order])), count)


def _ends(far: I64, edges: I64, near: I64) -> list[End]:
    return [End(*row) for row in zip(far[edges].tolist(), edges.tolist(), near.tolist(), strict=True)]
