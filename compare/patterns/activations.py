"""Strands as sequences of what began and what ended: the calls of each, in pieces that nest.

An *activation* is a call, or of a generator or coroutine a stretch of one from where it was called or resumed to where it
returned, raised or was suspended. One that was only left while its strand waited goes on as the same; one above which something
ended without it is unfinished, and ends there. Invariant: activations of a strand nest without exception and come in preorder:
those in activation i are the next `size[i] - 1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.compare.patterns import _sequitur as kernels
from clew.compare.patterns.sequitur import I32, I64
from clew.graph.model.graph import ExecutionGraph, Rows
from clew.graph.model.levels import RUNTIME, LabelFunction, labels_of, level_names
from clew.records.errors import ClewError

U8 = npt.NDArray[np.uint8]
RESUMED = 4
"""How an activation began, if it was not called,"""
RAISED, SUSPENDED, UNFINISHED = 1, 2, 3
"""and how it ended, if it did not return; as in csrc/activations.h."""
WAYS = 8
"""In so many ways may what has a label begin (called, `RESUMED`) and end (returned, `RAISED`, …); a way is their sum."""


@dataclass(frozen=True, eq=False)
class Activations:
    """Columns, strand by strand."""

    labels: tuple[str, ...]
    strands: tuple[int, ...]
    bounds: I64
    """Strand number i has the activations `bounds[i]` up to `bounds[i + 1]`."""
    from_ns: I64
    """Per strand its first event's time,"""
    to_ns: I64
    """and its last one's."""
    events: int
    what: I32
    """What it is, `WAYS * label + way`: two of equal content and `what` are alike."""
    parent: I32
    """-1 where a strand called it."""
    size: I32
    first: I64
    """Row of the event it began with, and"""
    last: I64
    """of the one it ended with."""
    begin_ns: I64
    end_ns: I64
    own_ns: I64
    """In its own code: without recorded calls and waits."""

    def __len__(self) -> int:
        return len(self.what)

    @property
    def span_ns(self) -> I64:
        """Per strand from its first event to its last."""
        return self.to_ns - self.from_ns

    @cached_property
    def depth(self) -> I32:
        """How many activations are around each."""
        return depths(self.size)

    @cached_property
    def opens(self) -> I64:
        """Per activation where in the sequence of beginnings and ends it begins. Between two strands a place is left."""
        place = np.arange(len(self), dtype=np.int64) * 2
        place -= self.depth
        place += np.repeat(np.arange(len(self.strands)), np.diff(self.bounds))
        return place

    @cached_property
    def closes(self) -> I64:
        """And where it ends."""
        return self.opens + 2 * self.size.astype(np.int64) - 1

    def sequence(self) -> I32:
        """Beginnings and ends as symbols, strand after strand; between them symbols that are there once."""
        strands = len(self.strands)
        made = np.full(2 * len(self) + max(strands - 1, 0), -1, np.int32)
        label, way = self.what // WAYS, self.what % WAYS
        made[self.opens] = label * 6 + way // 4
        made[self.closes] = label * 6 + 2 + way % 4
        between = np.flatnonzero(made < 0)
        made[between] = 6 * len(self.labels) + np.arange(len(between))
        return made

    @cached_property
    def strand_of(self) -> I32:
        """Per activation its strand, as a place in `strands`."""
        return np.repeat(np.arange(len(self.strands), dtype=np.int32), np.diff(self.bounds))


def depths(size: npt.NDArray[np.signedinteger[Any]]) -> I32:
    """How many are around each of activations side by side and what is in them, told by their sizes."""
    change = np.ones(len(size) + 1, np.int32)
    np.subtract.at(change, np.arange(len(size)) + size, 1)
    return (np.cumsum(change[:-1]) - 1).astype(np.int32)


def activations_of(
    graph: ExecutionGraph, strands: Sequence[int], level: str | LabelFunction = "function"
) -> Activations:
    """Of some strands of a graph, at a level of code. Raises `ClewError` for a level that there is not."""
    if level in (*RUNTIME, "event"):
        known = ", ".join(name for name in level_names(graph) if name not in (*RUNTIME, "event"))
        raise ClewError(f"patterns are not available at level {level!r}; levels: {known}")
    labels = labels_of(graph, level)
    by_site = labels.codes[0] if labels.codes is not None else None
    parts: list[tuple[I64, ...]] = []
    ways: list[I64] = []
    codes: list[I64] = []
    ts = graph.ts
    events = 0
    for number in strands:
        strand = graph.strands[number]
        rows = slice(strand.start, strand.stop)
        columns = graph.kind[rows], graph.call[rows], ts[rows], graph.idle[rows]
        events += strand.stop - strand.start
        parent, size, way, first, last, own = _walk(strand.start, *columns)
        parts.append((parent, size, first, last, own))
        ways.append(way)
        # Who was resumed is known by the same site as who was called.
        codes.append(
            by_site[graph.site[first]] if by_site is not None else labels.of(graph.call[first].astype(np.int64))
        )
    label = _joined(codes, np.int64)
    used, code = np.unique(label, return_inverse=True)
    counts = [len(part[0]) for part in parts]
    bounds = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    parent, size, first, last, own = (
        _joined([part[column] for part in parts], dtype)
        for column, dtype in enumerate((np.int32, np.int32, np.int64, np.int64, np.int64))
    )
    parent = np.where(parent >= 0, parent + np.repeat(bounds[:-1], counts), -1).astype(np.int32)
    spans = np.array([(graph.strands[number].start, graph.strands[number].stop) for number in strands], np.int64)
    start, stop = spans.reshape(-1, 2).T
    there = stop > start
    from_ns, to_ns = np.zeros(len(start), np.int64), np.zeros(len(start), np.int64)
    from_ns[there], to_ns[there] = ts[start[there]], ts[stop[there] - 1]
    return Activations(
        labels=tuple(labels.name(int(one)) for one in used.tolist()),
        strands=tuple(strands),
        bounds=bounds,
        from_ns=from_ns,
        to_ns=to_ns,
        events=events,
        what=(code * WAYS + _joined(ways, np.int64)).astype(np.int32),
        parent=parent,
        size=size,
        first=first,
        last=last,
        begin_ns=ts[first],
        end_ns=ts[last],
        own_ns=own,
    )


def _joined(parts: list[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _walk(start: int, kind: U8, call: Rows, ts: I64, idle: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[Any], ...]:
    """Of one strand, whose first row is `start`: parent, size, way, first, last, own."""
    made = kernels.activations(
        start, np.ascontiguousarray(kind), np.ascontiguousarray(call), call.dtype == np.int64, np.ascontiguousarray(ts),
        np.ascontiguousarray(idle),
    )  # fmt: skip
    return tuple(np.frombuffer(column, dtype) for column, dtype in zip(made, _COLUMNS, strict=True))


_COLUMNS = (np.int32, np.int32, np.uint8, np.int64, np.int64, np.int64)
