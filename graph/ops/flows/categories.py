"""Group requests by the structure of their flow (Spectroscope's categories).

A flow's string lists the pairs of source and destination names in depth-first order, with children sorted by name.
Invariant: the string depends only on names and on the caller of each call, not on times. Children with one name are
distinguished by their subtrees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from clew.graph.ops.flows.flows import Flows
from clew.graph.render.table import Column, Table


@dataclass(frozen=True)
class Category:
    """Requests whose flows have one structure."""

    name: str
    """The common name of the requests."""
    requests: tuple[int, ...]
    """The REQUEST events, in the order they were given."""
    flows: Flows = field(repr=False, compare=False)
    example: int = field(repr=False, compare=False)
    """The index in `flows` of the category's first request."""

    @property
    def count(self) -> int:
        return len(self.requests)

    @property
    def flow(self) -> tuple[tuple[str, str], ...]:
        """Return the source and destination of each edge. A flow without edges gives its one name, twice."""
        return self.flows.pairs(self.example)

    @property
    def text(self) -> str:
        return self.flows.text(self.example)


def categories(flows: Flows) -> list[Category]:
    """Return the categories of some requests, largest first, then by the first request."""
    order = np.argsort(flows.category, kind="stable")
    bounds = np.searchsorted(flows.category[order], np.arange(len(flows.categories) + 1)).tolist()
    made = []
    for key, (begin, end) in zip(flows.categories, pairwise(bounds), strict=True):
        members = order[begin:end]
        if begin < end:
            made.append(Category(key.name, tuple(flows.request[members].tolist()), flows, int(members[0])))
    return sorted(made, key=lambda category: -category.count)


def category_table(found: list[Category]) -> Table:
    """Return a table with one row per category, including its first request."""
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
