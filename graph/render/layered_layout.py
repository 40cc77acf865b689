"""Compute a simple layered layout: causes to the left of their effects, with few crossings.

Invariant: the layout depends only on the graph, and nodes never overlap: each node has its own place in a layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SWEEPS = 4


def layered(nodes: int, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return for each node its layer and its place in the layer, both from 0. Edges that close a cycle count as
    reversed.
    """
    pairs = _acyclic(nodes, sorted({(a, b) for a, b in edges if a != b}))
    before: list[list[int]] = [[] for _ in range(nodes)]
    after: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs:
        before[b].append(a)
        after[a].append(b)
    layer = _longest_paths(before, after)
    layers: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in range(nodes):
        layers[layer[node]].append(node)
    place = [0] * nodes
    for members in layers:
        _number(members, place)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for members in layers if forward else reversed(layers):
            neighbours = before if forward else after
            members.sort(key=lambda node: (_middle(neighbours[node], place, place[node]), place[node]))
            _number(members, place)
    return list(zip(layer, place, strict=True))


def _number(members: Sequence[int], place: list[int]) -> None:
    for number, node in enumerate(members):
        place[node] = number


def _middle(neighbours: Sequence[int], place: Sequence[int], otherwise: int) -> float:
    return sum(place[node] for node in neighbours) / len(neighbours) if neighbours else otherwise


def _acyclic(nodes: int, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges, reversing those that lead back to a node that the depth-first walk has not finished."""
    out: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs:
        out[a].append(b)
    state = [0] * nodes  # 1: in progress, 2: done
    result = set()
    for root in range(nodes):
        stack = [] if state[root] else [(root, iter(out[root]))]
        state[root] = state[root] or 1
        while stack:
            node, rest = stack[-1]
            for other in rest:
                result.add((other, node) if state[other] == 1 else (node, other))
                if not state[other]:
                    state[other] = 1
                    stack.append((other, iter(out[other])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return sorted(result)


def _longest_paths(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> list[int]:
    waits = [len(nodes) for nodes in before]
    ready = [node for node, count in enumerate(waits) if not count]
    layer = [0] * len(before)
    for node in ready:
        for other in after[node]:
            layer[other] = max(layer[other], layer[node] + 1)
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    return layer
