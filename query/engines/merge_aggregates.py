"""Merge the aggregates of parts into one. Nodes are columns that can be merged by part and by label.

Invariant: merging is independent of the order and loses no data of a node, so the result equals the aggregate of the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import components
from clew.graph.ops.aggregation.aggregate import AggregateEdge, AggregateNode
from clew.graph.ops.aggregation.edges import EdgeColumns, edge_name, without_implied

I64 = npt.NDArray[np.int64]
Objects = npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of an aggregate as columns, one row per node. Events have numbers of the run."""

    label: Objects
    events: I64
    first: tuple[I64, I64]
    """The time and number of each node's first event; of simultaneous events, the smallest number."""
    last: tuple[I64, I64]
    order: tuple[I64, I64]
    """The sort keys of nodes that start at the same time."""
    sums: dict[str, I64]
    strands: tuple[I64, I64]
    """The distinct pairs of a node and a strand that has events in it."""
    flags: I64
    """Bits per node: 1 if it has a request, 2 if it has a call."""
    names: Objects
    """The kind, process, strand and location of each node's first event."""

    def __len__(self) -> int:
        return len(self.events)

    def merged(self, into: I64, count: int) -> Nodes:
        """Return `count` nodes, where node i is merged into node `into[i]`."""

        def pick(*keys: I64) -> I64:
            """Return, per merged node, the row with the smallest keys; the last key is the primary one."""
            order = np.lexsort((*keys, into))
            begin = np.searchsorted(into[order], np.arange(count))
            picked: I64 = order[begin]
            return picked

        def total(column: I64) -> I64:
            made = np.zeros(count, np.int64)
            np.add.at(made, into, column)
            return made

        first, last = pick(self.first[1], self.first[0]), pick(self.last[1], -self.last[0])
        order = pick(self.order[1], self.order[0])
        flags = np.zeros(count, np.int64)
        np.bitwise_or.at(flags, into, self.flags)
        pairs = np.unique(np.stack((into[self.strands[0]], self.strands[1])), axis=1)
        return Nodes(
            self.label[first],
            total(self.events),
            (self.first[0][first], self.first[1][first]),
            (self.last[0][last], self.last[1][last]),
            (self.order[0][order], self.order[1][order]),
            {name: total(column) for name, column in self.sums.items()},
            (pairs[0], pairs[1]),
            flags,
            self.names[first],
        )


def concatenated(nodes: Sequence[Nodes]) -> Nodes:
    """Return the nodes of several parts, one part after the other."""
    offset = np.cumsum([0] + [len(part) for part in nodes])

    def both(name: str) -> tuple[I64, I64]:
        first, second = zip(*(getattr(part, name) for part in nodes), strict=True)
        return np.concatenate(first), np.concatenate(second)

    return Nodes(
        np.concatenate([part.label for part in nodes]),
        np.concatenate([part.events for part in nodes]),
        both("first"),
        both("last"),
        both("order"),
        {name: np.concatenate([part.sums[name] for part in nodes]) for name in nodes[0].sums},
        (
            np.concatenate([part.strands[0] + begin for part, begin in zip(nodes, offset.tolist(), strict=False)]),
            np.concatenate([part.strands[1] for part in nodes]),
        ),
        np.concatenate([part.flags for part in nodes]),
        np.concatenate([part.names for part in nodes]),
    )


@dataclass(frozen=True, eq=False)
class PartAggregate:
    """The aggregate of one part."""

    nodes: Nodes
    columns: EdgeColumns
    """The edges inside the part, including those that calls imply."""
    outgoing: tuple[npt.NDArray[Any], I64]
    """The edges to other parts (`partition.REMOTE`) that start in the slice, and the node of each."""
    incoming: tuple[npt.NDArray[Any], I64]
    """The edges from other parts that end in the slice, and the node of each."""
    located: bool


@dataclass(frozen=True, eq=False)
class PartsAggregate:
    """An aggregate of a partitioned run, with the interface of `AggregateGraph`. Events have numbers of the run."""

    level: str
    strings: list[str]
    columns_of_nodes: Nodes
    columns: EdgeColumns
    unplaced: int = 0

    def __len__(self) -> int:
        return len(self.columns_of_nodes)

    def label(self, node: int) -> str:
        return str(self.columns_of_nodes.label[node])

    @property
    def sums(self) -> dict[str, I64]:
        return self.columns_of_nodes.sums

    @property
    def sizes(self) -> I64:
        """Return the number of events per node."""
        return self.columns_of_nodes.events

    @property
    def spans(self) -> tuple[I64, I64]:
        """Return the times of each node's first and last event, in ns since the start of the run."""
        return self.columns_of_nodes.first[0], self.columns_of_nodes.last[0]

    @cached_property
    def nodes(self) -> list[AggregateNode]:
        """Return the nodes, sorted by the time of their first event; the `id` of a node is its index."""
        of = self.columns_of_nodes
        strands = np.bincount(of.strands[0], minlength=len(of))
        made = []
        for node in range(len(of)):
            kind, process, strand, location = of.names[node]
            if self.level != "event":
                kind = "request" if of.flags[node] & 1 else "call" if of.flags[node] & 2 else "strand"
            made.append(
                AggregateNode(
                    id=node,
                    label=self.label(node),
                    events=int(of.events[node]),
                    first_ns=int(of.first[0][node]),
                    last_ns=int(of.last[0][node]),
                    first_event=int(of.first[1][node]),
                    last_event=int(of.last[1][node]),
                    process=process,
                    strand=strand,
                    strands=int(strands[node]),
                    kind=kind,
                    location=location,
                    **{name: int(column[node]) for name, column in of.sums.items()},
                )
            )
        return made

    @cached_property
    def edges(self) -> list[AggregateEdge]:
        """Return the edges, sorted by source and then target."""
        edges = self.columns
        columns = (edges.source, edges.target, edges.kind, edges.channel, edges.count, edges.latency)
        return [
            AggregateEdge(a, b, edge_name(kind), self.strings[channel], count, latency)
            for a, b, kind, channel, count, latency in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def by_label(self) -> PartsAggregate:
        """Return the aggregate with one node per label, with sums of nodes and edges; edges inside a label are dropped."""
        if self.level == "event":  # every event is a separate node, even if two labels are equal
            return self
        numbers: dict[str, int] = {}
        into = np.array([numbers.setdefault(label, len(numbers)) for label in self.columns_of_nodes.label], np.int64)
        edges = replace(self.columns, source=into[self.columns.source], target=into[self.columns.target])
        nodes = self.columns_of_nodes.merged(into, len(numbers)) if len(into) else self.columns_of_nodes
        return replace(self, columns_of_nodes=nodes, columns=edges.merged())

    def with_counted(self, counted: dict[str, int], unplaced: int) -> PartsAggregate:
        """Return the aggregate with calls that were only counted; they are added to the first node of their label."""
        first: dict[str, int] = {}
        for node, label in enumerate(self.columns_of_nodes.label):
            first.setdefault(label, node)
        more = np.zeros(len(self), np.int64)
        for label, calls in counted.items():
            if label in first:
                more[first[label]] += calls
            else:
                unplaced += calls
        nodes = self.columns_of_nodes
        sums = {**nodes.sums, "calls": nodes.sums["calls"] + more, "counted": more}
        return replace(self, columns_of_nodes=replace(nodes, sums=sums), unplaced=unplaced)


def merge_parts(parts: Sequence[PartAggregate], level: str, strings: list[str]) -> PartsAggregate:
    """Merge the aggregates of all parts into one; nodes with one label that an edge connects become one node."""
    offset = np.cumsum([0] + [len(part.nodes) for part in parts])
    nodes = concatenated([part.nodes for part in parts])
    sent = np.concatenate([part.outgoing[0] for part in parts])
    got = np.concatenate([part.incoming[0]["number"] for part in parts])
    sender = np.concatenate([part.outgoing[1] + begin for part, begin in zip(parts, offset.tolist(), strict=False)])
    getter = np.concatenate([part.incoming[1] + begin for part, begin in zip(parts, offset.tolist(), strict=False)])
    # An edge between parts belongs to the slice if both its ends do.
    _, here, there = np.intersect1d(sent["number"], got, assume_unique=True, return_indices=True)
    a, b, edge = sender[here], getter[there], sent[here]
    equal = nodes.label[a] == nodes.label[b] if level != "event" else np.zeros(len(a), bool)
    equal = equal.astype(bool)
    into = components(len(nodes), a[equal], b[equal])
    count = int(into.max()) + 1 if len(into) else 0
    merged = nodes.merged(into, count) if count else nodes
    rank = np.empty(count, np.int64)
    begin = merged.first[1] if level == "event" else merged.first[0]
    rank[np.lexsort((merged.order[1], merged.order[0], begin))] = np.arange(count)
    merged = merged.merged(rank, count) if count else merged
    into = rank[into]

    def joined(name: str, more: I64) -> I64:
        return np.concatenate([*(getattr(part.columns, name) for part in parts), more]).astype(np.int64)

    def ends(name: str, more: I64) -> I64:
        local = [getattr(part.columns, name) + begin for part, begin in zip(parts, offset.tolist(), strict=False)]
        made: I64 = into[np.concatenate([*local, more]).astype(np.int64)]
        return made

    columns = EdgeColumns(
        ends("source", a),
        ends("target", b),
        joined("kind", edge["kind"]),
        joined("channel", edge["channel"]),
        joined("count", np.ones(len(edge), np.int64)),
        joined("latency", edge["latency"]),
    )
    return PartsAggregate(level, strings, merged, without_implied(columns.merged(), count))
