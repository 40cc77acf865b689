"""Read how connections ended: which call closed an end, and who saw that the other end was closed.

The records are SEND and JOIN of the channel "socket" whose text ends with "$" (`graph/build/byte_stream_edges.py`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from clew.graph.model.array_utils import I64
from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import FLAG_BYTES, Kind

_MOST_HOPS = 6
"""The most edges between an end that was seen and what it led to."""
_WAKES = frozenset({"asyncio.handle", "asyncio.stream", "asyncio.future", "asyncio.event", "anyio.stream"})
_MOST_PARENTS = 8
_STREAMS = frozenset({"asyncio.stream"})
_HANDLES = frozenset({"asyncio.handle"})
_START_ROWS = 4
"""The number of rows at the beginning of a task or callback in which the edge that started it ends."""


@dataclass(frozen=True)
class PeerLeft:
    """The other end of a connection was closed, which a strand saw."""

    row: int
    """The read that saw the end."""
    closed: int
    """The call that closed the other end, -1 if that was not recorded: it came from outside."""
    led_here: bool
    """Whether recorded edges lead from the read to the row that was asked about."""


@dataclass
class _End:
    """What a process did with one end of a connection, by the key of the direction that it writes to; rows by time."""

    used: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    saw_end: int = -1
    closed: int = -1
    lost: bool = False


def byte_rows(graph: ExecutionGraph) -> I64:
    """Return the records of writes to connections, of reads from them and of their ends, by time."""
    rows = graph.rows_of([Kind.SEND, Kind.JOIN], "socket")
    rows = rows[graph.extensions.flags[graph.ext[rows]] & FLAG_BYTES > 0]
    ordered: I64 = rows[np.argsort(graph.ts[rows], kind="stable")]
    return ordered


class ConnectionEnds:
    """The ends of all connections of a run."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph

    @classmethod
    def of(cls, graph: ExecutionGraph) -> ConnectionEnds:
        """Return the ends of a graph's connections, which are cached with it."""
        return cached(graph, "connection ends", lambda: cls(graph))

    @cached_property
    def _ends(self) -> dict[tuple[int, int], _End]:
        graph = self.graph
        found: dict[tuple[int, int], _End] = defaultdict(_End)
        for row in byte_rows(graph).tolist():
            sends = graph.at("kind", row) == Kind.SEND
            end = found[graph.strand_of(row).process, graph.key(row) ^ (not sends)]
            text = graph.text(row)
            if text.endswith("$"):
                if sends:
                    end.closed = row
                else:
                    end.saw_end = row
            elif text.endswith("-"):
                end.lost = True
            else:
                end.used.append(row)
                (end.written if sends else end.arrived).append(row)
        return dict(found)

    @cached_property
    def _seen_in(self) -> dict[int, list[int]]:
        """The reads that saw an end, by region."""
        found = defaultdict(list)
        for end in self._ends.values():
            if end.saw_end >= 0:
                found[self.graph.at("region", end.saw_end)].append(end.saw_end)
        return {region: sorted(rows) for region, rows in found.items()}

    def left_open(self, strand: int, row: int) -> int:
        """Return the last use before a row of the connection that a strand used last, if nobody wrote to it or closed it later.

        The result is -1 if there is no such connection, or if not all of its uses were recorded.
        """
        graph = self.graph
        mine = [(graph.at("ts", use), use, end) for use, end in self._by_strand.get(strand, ()) if use <= row]
        if not mine:
            return -1
        _, use, end = max(mine, key=lambda found: found[0])
        later = bool(end.written) and graph.at("ts", end.written[-1]) > graph.at("ts", row)
        return -1 if end.lost or end.closed >= 0 or end.saw_end >= 0 or later else use

    @cached_property
    def _by_strand(self) -> dict[int, list[tuple[int, _End]]]:
        """The uses of connections by strand."""
        found: dict[int, list[tuple[int, _End]]] = defaultdict(list)
        for end in self._ends.values():
            for use in end.used:
                found[self.graph.at("strand", use)].append((use, end))
        return dict(found)

    def peer_left(self, row: int) -> PeerLeft | None:
        """Return the end of a connection that led to a row; else, that of the connection that its work came from."""
        if not self._seen_in:
            return None
        seen = self._led_to(row)
        led_here = seen >= 0
        seen = seen if led_here else self._of_origin(row)
        return PeerLeft(seen, self._closer(seen), led_here) if seen >= 0 else None

    def peer_left_in(self, row: int) -> PeerLeft | None:
        """Return the end of a connection that the callback around a row saw before it."""
        seen = [end for end in self._seen_in.get(self.graph.at("region", row), ()) if end <= row]
        return PeerLeft(seen[-1], self._closer(seen[-1]), led_here=True) if seen else None

    def _led_to(self, row: int) -> int:
        """Return the read of an end from which edges lead to a row: through steps of tasks and callbacks, -1 for none."""
        graph = self.graph
        ready, known = [(row, 0)], set()
        while ready:
            at, hops = ready.pop(0)
            first = self.step_begin(at)
            if (first, at) in known:
                continue
            known.add((first, at))
            seen = [end for end in self._seen_in.get(graph.at("region", at), ()) if first <= end <= at]
            if seen:
                return seen[-1]
            if hops < _MOST_HOPS:
                ready += [(source, hops + 1) for source in self._woken_by(first, at)]
        return -1

    def step_begin(self, row: int) -> int:
        """Return the first row of the step of a task, or of the callback, that a row is in."""
        graph = self.graph
        first = max(int(graph.regions.first[graph.at("region", row)]), graph.strand_of(row).start)
        for at in range(row, max(first, row - 2000) - 1, -1):
            if graph.at("kind", at) == Kind.STEP_BEGIN:
                return at
        return first

    def _woken_by(self, first: int, last: int) -> list[int]:
        """Return the sources of the edges that woke a step or callback, or gave it data, the latest first."""
        return [source for _, source in self.sources(first, last, _WAKES)][::-1]

    def sources(self, first: int, last: int, channels: frozenset[str] | None = None) -> list[tuple[int, int]]:
        """Return the edges into rows of a region, as pairs of a target and a source; by default of all channels."""
        graph = self.graph
        edges, targets = graph.index.into(graph.at("region", first))
        low, high = bisect_left(targets, first), bisect_right(targets, last)
        return [
            (int(target), int(graph.edge_src[edge]))
            for edge, target in zip(edges[low:high].tolist(), targets[low:high].tolist(), strict=True)
            if channels is None or graph.strings[int(graph.edge_channel[edge])] in channels
        ]

    def _of_origin(self, row: int) -> int:
        """Return the read that saw the end, before a row, of the connection whose bytes began the row's work; -1 for none.

        The work began in the callback or task that read the bytes; what it started belongs to it.
        """
        graph = self.graph
        ns, process = graph.at("ts", row), graph.strand_of(row).process
        for _ in range(_MOST_PARENTS):
            first = int(graph.regions.first[graph.at("region", row)])
            arrived = self._arrived_in(first, row)
            arrived += (one for _, source in self.sources(first, row, _STREAMS) for one in self._arrived_in(-1, source))
            if arrived:
                begun = min(arrived, key=lambda arrival: graph.at("ts", arrival))
                seen = self._ends[process, graph.key(begun) ^ 1].saw_end
                return seen if seen >= 0 and graph.at("ts", seen) <= ns else -1
            starts = self.sources(first, first + _START_ROWS, _HANDLES)
            if not starts:
                return -1
            row = starts[0][1]
        return -1

    def _arrived_in(self, first: int, last: int) -> list[int]:
        """Return the reads of bytes in the region of a row, from a row on and up to it."""
        return [row for row in self._arrivals.get(self.graph.at("region", last), ()) if first <= row <= last]

    @cached_property
    def _arrivals(self) -> dict[int, list[int]]:
        """The reads of bytes, by region."""
        found = defaultdict(list)
        for end in self._ends.values():
            for row in end.arrived:
                found[self.graph.at("region", row)].append(row)
        return dict(found)

    def _closer(self, seen: int) -> int:
        """Return the call that closed the end whose closing a read saw, -1 if it was not recorded."""
        graph = self.graph
        key, text, ns = graph.key(seen), graph.text(seen), graph.at("ts", seen)
        for (_process, direction), end in self._ends.items():
            if direction == key and end.closed >= 0 and graph.text(end.closed) == text:
                return end.closed if graph.at("ts", end.closed) <= ns else -1
        return -1
