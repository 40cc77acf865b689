"""Immediate dominators in Python: what the kernel's are tested against, and where there is no C kernel.

Invariant: the same bytes as from `_kernel.dominators`, which has the algorithm's source.
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
    """Per node its immediate dominator (-1: an entry, or nothing in common), and the nodes in reverse postorder."""
    order = np.argsort(source, kind="stable")
    to, first = target[order].tolist(), np.searchsorted(source[order], np.arange(count + 1)).tolist()
    postorder: list[int] = []
    seen = bytearray(count)
    at = first[:-1].copy()
    for entry in reversed(entries):
        if seen[entry]:
            continue
        seen[entry] = 1
        stack = [entry]
        while stack:
            here = stack[-1]
            if at[here] == first[here + 1]:
                postorder.append(stack.pop())
                continue
            following = to[at[here]]
            at[here] += 1
            if not seen[following]:
                seen[following] = 1
                stack.append(following)
    reached = postorder[::-1]
    rank = [0] * count
    for number, here in enumerate(reached):
        rank[here] = number
    order = np.argsort(target, kind="stable")
    comes, into = source[order].tolist(), np.searchsorted(target[order], np.arange(count + 1)).tolist()
    above, known = [-1] * count, bytearray(count)
    for entry in entries:
        known[entry] = 1
    fixed, changed = set(entries), True
    while changed:
        changed = False
        for here in reached:
            if here in fixed:
                continue
            met, any_ = -1, False
            for other in comes[into[here] : into[here + 1]]:
                if known[other]:
                    met = meet(met, other, above, rank) if any_ else other
                    any_ = True
            if not known[here] or above[here] != met:
                known[here], above[here], changed = 1, met, True
    return above, np.array(reached, np.int64)


def meet(one: int, other: int, above: list[int], rank: list[int]) -> int:
    """The last stretch that both have in common on the way from the roots, -1 for none."""
    while one != other:
        if one < 0 or other < 0:
            return -1
        if rank[one] > rank[other]:
            one = above[one]
        else:
            other = above[other]
    return one
