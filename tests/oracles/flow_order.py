"""Reference implementation of the depth-first order of flows in Python."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from clew.graph.model.graph import I64
from clew.graph.ops.flows.order import I32, U64, Ordered

_REPEATED = 0xD6E8FEB86659FD93


_ALL = (1 << 64) - 1


def order_in_python(parent: I32, label: I32, begin: I64, name: U64, roots: I32, *, coalesce: bool) -> Ordered:
    children: dict[int, list[int]] = defaultdict(list)
    for frame in np.flatnonzero(parent >= 0).tolist():
        children[int(parent[frame])].append(frame)
    labels, begins, names = label.tolist(), begin.tolist(), name.tolist()
    first, shapes = [0], list[int]()
    frames, above, again, where = list[int](), list[int](), list[int](), list[int]()
    for root in roots.tolist():
        below = [root]
        for frame in below:
            below.extend(children.get(frame, ()))
        shape, size, kids = dict[int, int](), dict[int, int](), dict[int, list[list[int]]]()
        for frame in reversed(below):
            mine = sorted(children.get(frame, ()), key=lambda kid: (labels[kid], shape[kid], begins[kid], kid))
            kids[frame] = _runs(mine, shape, size) if coalesce else [[kid] for kid in mine]
            found = _mix(names[labels[frame]])
            for run in kids[frame]:
                one = shape[run[0]]
                found = _mix(found * 3 + (one if len(run) == 1 else _mix(one ^ _REPEATED)))
            shape[frame] = found
            size[frame] = 1 + sum(size[run[0]] for run in kids[frame])
        base, rows = len(frames), size[root]
        frames += [0] * rows
        above += [0] * rows
        place, repeated, up = {root: 0}, set[int](), {root: -1}
        for frame in below:
            at = place[frame]
            if frame in repeated:
                again.append(frame)
                where.append(base + at)
            else:
                frames[base + at], above[base + at] = frame, up[frame]
            following = at + 1
            for run in kids[frame]:
                for number, kid in enumerate(run):
                    place[kid], up[kid] = following, at
                    if number or frame in repeated:
                        repeated.add(kid)
                following += size[run[0]]
        first.append(base + rows)
        shapes.append(shape[root])
    return Ordered(
        np.array(first, np.int64), np.array(shapes, np.uint64), np.array(frames, np.int32), np.array(above, np.int32),
        np.array(again, np.int32), np.array(where, np.int64),
    )  # fmt: skip


def _runs(kids: list[int], shape: dict[int, int], size: dict[int, int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for kid in kids:
        if runs and (shape[runs[-1][0]], size[runs[-1][0]]) == (shape[kid], size[kid]):
            runs[-1].append(kid)
        else:
            runs.append([kid])
    return runs


def _mix(x: int) -> int:
    x &= _ALL
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _ALL
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _ALL
    return x ^ x >> 31
