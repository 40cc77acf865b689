"""Represent the calls of a run as spans for export: ids, parents, events and links, for any format.

A strand is also a span; it contains the events outside of calls. Invariant: every edge has a span at both ends.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.build.regions import opens
from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import EdgeKind, Kind

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Link:
    """An edge as seen from its target. Times are in nanoseconds since the start of the run."""

    source: int
    """The source span."""
    edge: int
    sent: int
    came: int


class SpansOf:
    """The spans of a graph: first all calls, in their order, then the strands."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph
        calls = graph.calls
        self.calls = len(calls.enter)
        self.exit = np.where(calls.exit >= 0, calls.exit, self._strand_ends()[graph.strand[calls.enter]])
        self.caller = np.where(calls.caller >= 0, np.searchsorted(calls.enter, calls.caller), -1)
        self.event_span = self._spans_of_events()
        self.parent = self._parents()
        digest = hashlib.blake2b(graph.info.id.encode("utf-8", "replace"), digest_size=8).digest()
        self.base = int.from_bytes(digest, "little")
        self.root = self._roots()
        counts = Counter((strand.process, strand.name) for strand in graph.strands)
        self.strand_names = [
            strand.name if counts[strand.process, strand.name] == 1 else f"{strand.name} {strand.index}"
            for strand in graph.strands
        ]

    def __len__(self) -> int:
        return self.calls + len(self.graph.strands)

    def _strand_ends(self) -> I64:
        return np.array([max(strand.stop - 1, strand.start) for strand in self.graph.strands], np.int64)

    def _spans_of_events(self) -> I64:
        """Return the span of each event: the innermost unfinished call, which can be suspended, else the strand."""
        graph, enter = self.graph, self.graph.calls.enter
        strand = graph.strand.astype(np.int64)
        if not len(enter):
            return strand
        rows = np.arange(len(graph), dtype=np.int64)
        found = np.searchsorted(enter, rows, "right") - 1
        found[(found >= 0) & (strand[enter[found]] != strand)] = -1
        while True:
            over = np.flatnonzero((found >= 0) & (self.exit[found] < rows))
            if not len(over):
                return np.where(found >= 0, found, self.calls + strand)
            found[over] = self.caller[found[over]]

    def _parents(self) -> I64:
        """Return the parent of each span: the caller, else the span that caused the region, else the strand.

        Strands have no parent (-1).
        """
        graph = self.graph
        parent = np.concatenate((self.caller, np.full(len(graph.strands), -1, np.int64)))
        for call in np.flatnonzero(self.caller < 0).tolist():
            row = int(graph.calls.enter[call])
            region = int(graph.region[row])
            parent[call] = self.calls + int(graph.strand[row])
            for edge in graph.index.into(region)[0][:1].tolist():
                source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
                begun = graph.edge_kind[edge] == EdgeKind.USE and graph.ts[source] < graph.ts[row]
                if begun and target <= row + 1 and opens(graph, target):
                    parent[call] = self.event_span[source]
        return parent

    def _roots(self) -> I64:
        root = np.where(self.parent >= 0, self.parent, np.arange(len(self)))
        while True:
            above = root[root]
            if np.array_equal(above, root):
                return root
            root = above

    def id(self, span: int) -> int:
        """Return a 64-bit number, not 0, which is the same in every export of the run."""
        return (self.base + span) & 0xFFFF_FFFF_FFFF_FFFF or 0x8000_0000_0000_0000

    def trace(self, span: int) -> str:
        """Return the trace id as 32 hexadecimal digits."""
        return f"{self.base:016x}{self.id(int(self.root[span])):016x}"

    def bounds(self, span: int) -> tuple[int, int]:
        """Return the rows of the first and last event of a span, (0, -1) for an empty strand."""
        if span < self.calls:
            return int(self.graph.calls.enter[span]), int(self.exit[span])
        strand = self.graph.strands[span - self.calls]
        return (strand.start, strand.stop - 1) if strand.stop > strand.start else (0, -1)

    def failed(self, span: int) -> bool:
        return span < self.calls and int(self.graph.kind[self.exit[span]]) == Kind.UNWIND

    def events(self, kinds: tuple[int, ...]) -> dict[int, list[int]]:
        """Return the events of some kinds by span."""
        found: dict[int, list[int]] = {}
        for row in self.graph.rows_of(kinds).tolist():
            found.setdefault(int(self.event_span[row]), []).append(row)
        return found

    def links(self) -> dict[int, list[Link]]:
        """Return the edges that end in each span."""
        graph = self.graph
        found: dict[int, list[Link]] = {}
        for edge, (source, target) in enumerate(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True)):
            link = Link(int(self.event_span[source]), edge, int(graph.ts[source]), int(graph.ts[target]))
            found.setdefault(int(self.event_span[target]), []).append(link)
        return found

    def by_process(self) -> Iterator[tuple[int, I64]]:
        """Yield each process with its spans, strands first."""
        graph = self.graph
        process = np.concatenate((graph.event_process[graph.calls.enter], graph.strand_process)).astype(np.int64)
        order = np.concatenate((np.arange(self.calls, len(self)), np.arange(self.calls)))
        for number in range(len(graph.processes)):
            yield number, order[process[order] == number]
