"""Describe strands as nested activations: the calls of each strand, in segments that nest.

An *activation* is a call or, for a generator or coroutine, a segment of one: from its call or resumption until it returns,
raises or is suspended. An activation that the strand left only to wait continues as the same activation. An activation is
unfinished if an enclosing activation ended without it; it ends there. Invariant: activations of a strand nest and are in
preorder: those inside activation i are the next `size[i] - 1`.
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
"""The way in which an activation began if it was not called."""
RAISED, SUSPENDED, UNFINISHED = 1, 2, 3
"""The ways in which an activation ended if it did not return; as in csrc/activations.h."""
WAYS = 8
"""The number of ways to begin (called, `RESUMED`) and end (returned, `RAISED`, …). A way is the sum of both."""


@dataclass(frozen=True, eq=False)
class Activations:
    """The activations as columns, strand by strand."""

    labels: tuple[str, ...]
    strands: tuple[int, ...]
    bounds: I64
    """Strand number i has the activations from `bounds[i]` to `bounds[i + 1]`."""
    from_ns: I64
    """The time of each strand's first event."""
    to_ns: I64
    """The time of each strand's last event."""
    events: int
    what: I32
    """`WAYS * label + way` of each activation; two activations of equal content and `what` are alike."""
    parent: I32
    """The enclosing activation; -1 at the top of a strand."""
    size: I32
    first: I64
    """The row of the event that began each activation."""
    last: I64
    """The row of the event that ended each activation."""
    begin_ns: I64
    end_ns: I64
    own_ns: I64
    """The time in its own code, without recorded calls and waiting."""

    def __len__(self) -> int:
        return len(self.what)

    @property
    def span_ns(self) -> I64:
        """Return the time of each strand from its first event to its last."""
        return self.to_ns - self.from_ns

    @cached_property
    def depth(self) -> I32:
        """Return the number of activations around each activation."""
        return depths(self.size)

    @cached_property
    def opens(self) -> I64:
        """Return the position of each activation's begin in the sequence of begins and ends, which has a gap between
        strands."""
        place = np.arange(len(self), dtype=np.int64) * 2
        place -= self.depth
        place += np.repeat(np.arange(len(self.strands)), np.diff(self.bounds))
        return place

    @cached_property
    def closes(self) -> I64:
        """Return the position of each activation's end in the sequence."""
        return self.opens + 2 * self.size.astype(np.int64) - 1

    def sequence(self) -> I32:
        """Return the begins and ends as symbols, strand after strand, separated by unique symbols."""
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
        """Return the strand of each activation, as an index in `strands`."""
        return np.repeat(np.arange(len(self.strands), dtype=np.int32), np.diff(self.bounds))


def depths(size: npt.NDArray[np.signedinteger[Any]]) -> I32:
    """Return the depth of each activation, given the sizes of consecutive activations and all activations inside them."""
    change = np.ones(len(size) + 1, np.int32)
    np.subtract.at(change, np.arange(len(size)) + size, 1)
    return (np.cumsum(change[:-1]) - 1).astype(np.int32)


def activations_of(
    graph: ExecutionGraph, strands: Sequence[int], level: str | LabelFunction = "function"
) -> Activations:
    """Return the activations of some strands at a level of code. Raises `ClewError` for an unknown or unsuitable level."""
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
        parent, size, way, first, last, own = _activations_of_strand(strand.start, *columns)
        parts.append((parent, size, first, last, own))
        ways.append(way)
        # A resumed function has the same site as a called one.
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


def _activations_of_strand(
    start: int, kind: U8, call: Rows, ts: I64, idle: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[Any], ...]:
    """Return the columns of one strand with first row `start`: parent, size, way, first, last, own time."""
    made = kernels.activations(
        start, np.ascontiguousarray(kind), np.ascontiguousarray(call), call.dtype == np.int64, np.ascontiguousarray(ts),
        np.ascontiguousarray(idle),
    )  # fmt: skip
    return tuple(np.frombuffer(column, dtype) for column, dtype in zip(made, _COLUMNS, strict=True))


_COLUMNS = (np.int32, np.int32, np.uint8, np.int64, np.int64, np.int64)
