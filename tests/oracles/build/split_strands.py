"""Reference implementation of splitting threads into strands in Python."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.split_strands import U8, U32, U64, Steps, _counted
from clew.graph.model.array_utils import lengths
from clew.records.format.event import Kind


def split_by_rows(steps: Steps, kind: U8, site: U32, ext: npt.NDArray[np.int32], key: U64) -> tuple[U32, Steps]:
    """Return the result of `split_strands.split`."""
    lost = (kind == Kind.GAP) & (site == 0)
    # Adjacent gaps count as one.
    first = lost.copy()
    first[1:] &= ~lost[:-1]
    first[:1] &= not steps.dropped
    rows = np.flatnonzero((kind == Kind.STEP_BEGIN) | (kind == Kind.STEP_END) | first)
    keys, since, stack, unmatched = steps.keys.tolist(), steps.since, list(steps.stack), steps.unmatched
    numbers_of = {key: since + place for place, key in reversed([*enumerate(keys[since:])])}
    starts, numbers = [0], [stack[-1]]
    for row, what, this in zip(rows.tolist(), kind[rows].tolist(), _keys(ext[rows], key), strict=True):
        if what == Kind.GAP:
            since = len(keys)
            numbers_of, stack = {0: since}, [since]
            keys.append(0)
            starts.append(row)
        elif what == Kind.STEP_BEGIN:
            if this not in numbers_of:
                numbers_of[this] = len(keys)
                keys.append(this)
            stack.append(numbers_of[this])
            starts.append(row)
        else:
            if len(stack) == 1:
                unmatched += 1
                continue
            ended = numbers_of.get(this)
            # An end names its strand, so unended steps above it end with it.
            while len(stack) > 2 and ended is not None and ended in stack[1:] and stack[-1] != ended:
                stack.pop()
            stack.pop()
            starts.append(row + 1)
        numbers.append(stack[-1])
    strand = np.repeat(np.array(numbers, np.uint32), lengths(np.array([*starts, len(kind)], np.int64)))
    dropped = bool(lost[-1]) if len(lost) else steps.dropped
    counts = _counted(steps, strand, len(keys))
    return strand, Steps(np.array(keys, np.uint64), counts, since, tuple(stack), unmatched, dropped)


def _keys(ext: npt.NDArray[np.int32], key: U64) -> list[int]:
    found: list[int] = np.append(key, np.uint64(0))[ext].tolist()
    return found
