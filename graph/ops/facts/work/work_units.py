"""Tell in which unit of work an event is: a request, a detached scope, or the whole life of a thread or task."""

from __future__ import annotations

from clew.graph.model.graph import ExecutionGraph, RegionKind


def request_of(graph: ExecutionGraph, row: int) -> int:
    """Return the REQUEST event of the request that a row is in, -1 for none."""
    region = _request_region(graph, row)
    return int(graph.regions.opener[region]) if region >= 0 else -1


def unit_of(graph: ExecutionGraph, row: int) -> int:
    """Return the first row of the unit of work that a row is in.

    An awaited call that was received inside a request belongs to the request.
    """
    region = _request_region(graph, row)
    first = int(graph.regions.first[region if region >= 0 else graph.region[row]])
    return first if first >= 0 else row


def _request_region(graph: ExecutionGraph, row: int) -> int:
    region = int(graph.region[row])
    while region >= 0 and graph.regions.kind[region] != RegionKind.REQUEST:
        region = int(graph.regions.parent[region])
    return region
