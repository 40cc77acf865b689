"""Requests grouped by the structure of their flow (Spectroscope's categories).

A flow's string is the pairs of source and destination names in depth-first order, children visited in the order of their
names. Invariant: it depends on names and on who called whom alone, not on times: children of one name are told apart by what is
below them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from clew.graph.columns import Column, Table
from clew.graph.ops.flows import Flows


@dataclass(frozen=True)
class Category:
    """Requests whose flows have one structure."""

    name: str
    """Of its requests; they are of one name."""
    requests: tuple[int, ...]
    """The REQUEST events, in the order they were given."""
    flows: Flows = field(repr=False, compare=False)
    example: int = field(repr=False, compare=False)
    """The number in `flows` of its first request."""

    @property
    def count(self) -> int:
        return len(self.requests)

    @property
    def flow(self) -> tuple[tuple[str, str], ...]:
        """Source and destination of each edge; of a flow without edges its one name, twice."""
        return self.flows.pairs(self.example)

    @property
    def text(self) -> str:
        return self.flows.text(self.example)


def categories(flows: Flows) -> list[Category]:
    """The categories of some requests, the largest first, then by the first request."""
    order = np.argsort(flows.category, kind="stable")
    bounds = np.searchsorted(flows.category[order], np.arange(len(flows.categories) + 1)).tolist()
    made = []
    for key, (begin, end) in zip(flows.categories, pairwise(bounds), strict=True):
        members = order[begin:end]
        if begin < end:
            made.append(Category(key.name, tuple(flows.request[members].tolist()), flows, int(members[0])))
    return sorted(made, key=lambda category: -category.count)


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
