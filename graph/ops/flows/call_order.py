"""Find the causal order of the calls that one call made: one after the other, or in parallel.

A call that its caller made directly lasts from its beginning to its end. A call that an edge opened (a task, a message) lasts,
for its caller, from the event that led to it until its answer is joined; without a join it does not end. Both are seen from the
caller's own strand, so neither the schedule of parallel work nor clocks of other hosts matter. Invariant: calls that begin
with no end of another one between them are in one *group*; groups are in the order of time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import I64
from clew.graph.ops.flows.calls import Frames
from clew.records.format.event import Kind

I32 = npt.NDArray[np.int32]
NEVER = np.int64(1) << 62


class Order(NamedTuple):
    """Per frame, its group among the frames of its parent, and how many more groups begin before it ends."""

    group: I64
    span: I64


def call_order(frames: Frames, parent: I32, begin: I64, total: I64) -> Order:
    """Return the order of frames, whose parents may be merged; frames without a parent are in group 0."""
    begin, end = _seen_by_caller(frames, begin, total)
    count = len(parent)
    group, span = np.zeros(count, np.int64), np.zeros(count, np.int64)
    below = np.flatnonzero(parent >= 0)
    several = np.bincount(parent[below], minlength=count) > 1
    below = below[several[parent[below]]]
    if not len(below):
        return Order(group, span)
    # Beginnings and ends by time; at one time, ends are first, but for the end of a call that took no time.
    number = np.concatenate((below, below))
    is_begin = np.arange(len(number)) < len(below)
    time = np.where(is_begin, begin[number], end[number])
    late = is_begin | (end[number] == begin[number])
    order = np.lexsort((~is_begin, late, time, parent[number]))
    number, is_begin = number[order], is_begin[order]
    above = parent[number]
    new = np.zeros(len(number), np.int64)
    new[1:] = is_begin[1:] & ~is_begin[:-1] & (above[1:] == above[:-1])
    passed = np.cumsum(new)
    first = np.flatnonzero(np.concatenate(([True], above[1:] != above[:-1])))
    passed -= np.repeat(passed[first], np.diff(np.append(first, len(number))))
    group[number[is_begin]] = passed[is_begin]
    span[number[~is_begin]] = passed[~is_begin]
    span[below] -= group[below]
    return Order(group, span)


def _seen_by_caller(frames: Frames, begin: I64, total: I64) -> tuple[I64, I64]:
    """Return when each frame begins and ends for its caller, in ns."""
    graph = frames.graph
    begin, end = begin.copy(), begin + total
    region = np.concatenate((frames.where.home.astype(np.int64), frames.visits.region))
    tops = np.flatnonzero((frames.parent >= 0) & (frames.cause[region] >= 0) & (frames.hung[region] == frames.parent))
    if not len(tops):
        return begin, end
    # Several frames of one region follow each other: the first begins with the cause, the last ends with the join.
    tops = tops[np.lexsort((begin[tops], region[tops]))]
    of = region[tops]
    new = np.concatenate(([True], of[1:] != of[:-1]))
    first, last = tops[new], tops[np.append(new[1:], True)]
    begin[first] = graph.ts[frames.cause[region[first]]]
    joined = _joins(frames)
    end[last] = joined[region[last]]
    end[tops] = np.maximum(end[tops], begin[tops])
    return begin, end


def _joins(frames: Frames) -> I64:
    """Return, per region, when its answer is first joined where the region was opened; `NEVER` if it is not."""
    graph, cause = frames.graph, frames.cause
    answered = graph.region[graph.edge_src].astype(np.int64)
    back = np.flatnonzero((cause[answered] >= 0) & (graph.kind[graph.edge_dst] == Kind.JOIN))
    sent, joined = cause[answered[back]], graph.edge_dst[back]
    back = back[(graph.region[joined] == graph.region[sent]) & (joined > sent)]
    found = np.full(len(cause), NEVER, np.int64)
    np.minimum.at(found, answered[back], graph.ts[graph.edge_dst[back]])
    return found
