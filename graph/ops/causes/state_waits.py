"""Find the state behind the waits of a region: the state that other regions read on its behalf.

A handler can hand its work to a batch, a pool or another process and wait for the answer. It then does not itself
read the state that decided the answer. The use of that state lies on a trip that left the region and returned. This
module searches for such trips, only through events since the region began and never through the region itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque

from clew.graph.build.regions import opens
from clew.graph.model.edge_index import MAX_CACHED
from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import EdgeKind

_STATE = int(EdgeKind.STATE)

EDGES_SEARCHED = 50_000
"""The search limit. A wait with more edges behind it is too vague to name one state as its cause."""


def edges_into(graph: ExecutionGraph, region: int, row: int, *, causal: bool = False) -> list[int]:
    """Return the edges from other regions to events of a region up to `row`, sorted by target.

    With `causal`, exclude the edges of mutual exclusion.
    """
    edges, targets = entering(graph, region, causal=causal)
    return edges[: bisect_right(targets, row)]


def entering(graph: ExecutionGraph, region: int, *, causal: bool) -> tuple[list[int], list[int]]:
    """Return all edges from other regions into one region, and their targets. The lists are shared: callers must not
    change them.
    """
    cache = graph.index.entering
    known = cache.get((region, causal))
    if known is None:
        edges, targets = graph.index.into(region)
        other = graph.region[graph.edge_src[edges]] != region
        if causal and graph.edge_excludes is not None:
            other &= ~graph.edge_excludes[edges]
        if len(cache) >= MAX_CACHED:
            cache.clear()
        known = cache[region, causal] = edges[other].tolist(), targets[other].tolist()
    return known


def path_to_state(graph: ExecutionGraph, region: int, row: int) -> list[int]:
    """Return the edges from the region's row back to the latest use of a state by the region or by one of its trips.

    The state edge comes last. The path is empty if no such use exists. A region that only waited for a lock does not
    receive state from the holder. A region that was not opened by an edge (a main loop, for example) makes trips for
    many reasons, so only its last wait counts.
    """
    into = edges_into(graph, region, row, causal=True)
    if not into:
        return []
    opened = any(opens(graph, int(graph.edge_dst[edge])) for edge in into)
    begun = int(graph.ts[graph.regions.first[region]])
    direct = [edge for edge in into if graph.edge_kind[edge] == _STATE]
    waits = [edge for edge in into if graph.edge_kind[edge] != _STATE and not opens(graph, int(graph.edge_dst[edge]))]
    found: list[tuple[int, list[int]]] = [(int(graph.ts[graph.edge_dst[edge]]), [edge]) for edge in direct[-1:]]
    found += _behind(graph, region, begun, waits if opened else waits[-1:])
    return max(found, key=lambda candidate: candidate[0])[1] if found else []


def _behind(graph: ExecutionGraph, region: int, begun: int, waits: list[int]) -> list[tuple[int, list[int]]]:
    """Return (time of the use, edges that lead to it) for every state edge on trips that end in `waits`."""
    reached: dict[int, int] = {}
    found: list[tuple[int, list[int]]] = []
    # Start with the latest wait, so that among several ways to one use the way that ends closest to the row wins.
    queue: deque[tuple[int, tuple[int, ...]]] = deque((edge, (edge,)) for edge in reversed(waits))
    budget = EDGES_SEARCHED
    while queue and budget > 0:
        edge, path = queue.popleft()
        source = int(graph.edge_src[edge])
        away = int(graph.region[source])
        before = reached.get(away, -1)
        if source <= before or graph.ts[source] < begun:
            continue
        reached[away] = source
        for further in reversed(edges_into(graph, away, source, causal=True)):
            budget -= 1
            target = int(graph.edge_dst[further])
            if target <= before or graph.ts[target] < begun:
                break
            if int(graph.region[graph.edge_src[further]]) == region:
                continue
            if graph.edge_kind[further] == _STATE:
                found.append((int(graph.ts[target]), [*path, further]))
            else:
                queue.append((further, (*path, further)))
    return found
