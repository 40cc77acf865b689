"""Requests grouped by the structure of their flow (Spectroscope's categories).

A flow's string is the pairs of source and destination names in depth-first edge order, children visited in the order of their
names. Invariant: it depends on names and edges alone, not on times: children of one name are told apart by what is below them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from clew.graph.columns import Column, Table
from clew.graph.levels import LabelFunction
from clew.graph.model import I64, ExecutionGraph
from clew.graph.ops.aggregate import AggregateGraph, aggregate
from clew.graph.ops.slice import slice_events

ROUNDS = 64
"""How deep children of one name are compared."""


@dataclass(frozen=True)
class Category:
    """Requests whose flows have one structure."""

    name: str
    """Of its requests; they are of one name."""
    flow: tuple[tuple[str, str], ...]
    """Source and destination of each edge; of a flow without edges its one name, twice."""
    requests: tuple[int, ...]
    """The REQUEST events, in the order they were given."""

    @property
    def count(self) -> int:
        return len(self.requests)

    @property
    def text(self) -> str:
        return " ".join(f"{source}>{target}" for source, target in self.flow)


def categories(graph: ExecutionGraph, requests: I64, roots: I64, level: str | LabelFunction) -> list[Category]:
    """The categories of some requests, given with the event that each one's flow begins with; the largest first, then by the
    first request."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[int]] = defaultdict(list)
    for request, root in zip(requests.tolist(), roots.tolist(), strict=True):
        flow = flow_of(aggregate(slice_events(graph, [root], "forward"), level), root)
        found[graph.channel(request), flow].append(request)
    made = [Category(name, flow, tuple(members)) for (name, flow), members in found.items()]
    return sorted(made, key=lambda category: -category.count)


def flow_of(condensed: AggregateGraph, root: int) -> tuple[tuple[str, str], ...]:
    """The pairs of names, from the node that holds event `root`."""
    names = [condensed.label(node) for node in range(len(condensed))]
    below: list[set[int]] = [set() for _ in names]
    columns = condensed.columns
    for source, target in zip(columns.source.tolist(), columns.target.tolist(), strict=True):
        below[source].add(target)
    first = condensed.node_of(root)
    assert first is not None  # a slice holds its root
    shape = _shapes(names, below)
    children = [sorted(nodes, key=lambda node: (names[node], shape[node], node), reverse=True) for nodes in below]
    flow = []
    seen = {first}
    stack = [(first, child) for child in children[first]]
    while stack:
        source, target = stack.pop()
        flow.append((names[source], names[target]))
        if target not in seen:
            seen.add(target)
            stack.extend((target, child) for child in children[target])
    return tuple(flow) or ((names[first], names[first]),)


def _shapes(names: list[str], below: list[set[int]]) -> list[str]:
    """Per node a text that is the same for nodes with the same below them."""
    shape = [""] * len(names)
    kinds = 0
    for _ in range(ROUNDS):
        shape = [
            hashlib.blake2b(
                "\0".join([name, *sorted(shape[node] for node in nodes)]).encode("utf-8", "surrogatepass"),
                digest_size=12,
            ).hexdigest()
            for name, nodes in zip(names, below, strict=True)
        ]
        # Once a round tells no more nodes apart, none will.
        if len(set(shape)) == kinds:
            break
        kinds = len(set(shape))
    return shape


def category_table(found: list[Category]) -> Table:
    """A row per category, with its first request."""
    places = np.arange(len(found))
    return Table(
        {
            "category": Column(places),
            "name": Column(places, [category.name for category in found]),
            "requests": Column(np.array([category.count for category in found], np.int64)),
            "first": Column(np.array([category.requests[0] for category in found], np.int64)),
            "flow": Column(places, [category.text for category in found]),
        }
    )
