"""Reference implementation of immediate dominators in Python.

Invariant: the result has the same bytes as that of `_structure.dominators`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
Buffer = Any


def _numbers(data: Buffer) -> npt.NDArray[Any]:
    return np.frombuffer(data, np.uint32) if memoryview(data) else np.zeros(0, np.uint32)


def dominators(nodes: int, source: Buffer, target: Buffer, entries: Buffer) -> tuple[bytes, bytes]:
    ends = (_numbers(column).astype(np.int64) for column in (source, target, entries))
    columns = dict(zip(("source", "target", "entries"), ends, strict=True))
    for name, column in columns.items():
        if len(column) and column.max() >= nodes:
            raise ValueError(f"{name}: no such node")
    if len(columns["source"]) != len(columns["target"]):
        raise ValueError("target: not as many as of source")
    above, reached = _solve(nodes, columns["source"], columns["target"], columns["entries"].tolist())
    return np.array(above, np.int32).tobytes(), reached.astype(np.uint32).tobytes()


def _solve(count: int, source: I64, target: I64, entries: list[int]) -> tuple[list[int], I64]:
    """Return each node's immediate dominator (-1: an entry, or no common node), and the nodes in search order."""
    reached, number, parent = _numbered(count, source, target, entries)
    order = np.argsort(target, kind="stable")
    comes, into = source[order].tolist(), np.searchsorted(target[order], np.arange(count + 1)).tolist()
    size = len(reached) + 1
    semi, best, linked, above = parent.copy(), list(range(size)), [-1] * size, [-1] * size
    waiting: list[list[int]] = [[] for _ in range(size)]
    for entry in entries:
        semi[number[entry]] = 0
    for here in range(size - 1, 0, -1):
        node = reached[here - 1]
        for other in comes[into[node] : into[node + 1]]:
            if number[other] >= 0:
                # A node that is not linked yet represents itself.
                one = number[other]
                semi[here] = min(semi[here], one if one <= here else semi[_least(one, linked, best, semi)])
        waiting[semi[here]].append(here)
        linked[here] = parent[here]
        for one in waiting[parent[here]]:
            other = _least(one, linked, best, semi)
            above[one] = other if semi[other] < semi[one] else parent[here]
        waiting[parent[here]].clear()
    found = [-1] * count
    for here in range(1, size):
        if above[here] != semi[here]:
            above[here] = above[above[here]]
        found[reached[here - 1]] = reached[above[here] - 1] if above[here] else -1
    return found, np.array(reached, np.int64)


def _numbered(count: int, source: I64, target: I64, entries: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Number the nodes from 1 by a depth-first search.

    Return the nodes in search order, each node's number (-1: not reached), and each number's parent (0: an entry).
    """
    order = np.argsort(source, kind="stable")
    to, at = target[order].tolist(), np.searchsorted(source[order], np.arange(count + 1)).tolist()
    end = at[1:]
    reached: list[int] = []
    number, parent = [-1] * count, [0]
    for entry in entries:
        stack, following, before = list[int](), entry, 0
        while True:
            if number[following] < 0:
                reached.append(following)
                number[following] = len(reached)
                parent.append(before)
                stack.append(following)
            while stack and at[stack[-1]] == end[stack[-1]]:
                stack.pop()
            if not stack:
                break
            here = stack[-1]
            before, following = number[here], to[at[here]]
            at[here] += 1
    return reached, number, parent


def _least(here: int, linked: list[int], best: list[int], semi: list[int]) -> int:
    """Return the node with the least semidominator on the path to the tree's root, without the root; compress the path."""
    if linked[here] < 0:
        return here
    way, at = [], here
    while linked[linked[at]] >= 0:
        way.append(at)
        at = linked[at]
    for one in reversed(way):
        up = linked[one]
        if semi[best[up]] < semi[best[one]]:
            best[one] = best[up]
        linked[one] = linked[up]
    return best[here]
