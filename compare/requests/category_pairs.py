"""Give two sets of requests common numbers for their names and categories, without copying their calls.

Invariant: the requests of a category have equal calls on both sides, so each column of a category is a matrix on each
side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.compare.stats.tests import I64, Samples, by_group
from clew.graph.ops.flows.columns import CategoryKey
from clew.graph.ops.flows.flows import Flows


@dataclass(frozen=True, eq=False)
class Pairing:
    """Two sets of requests with common numbers for names and categories."""

    before: Flows
    after: Flows

    @property
    def sides(self) -> tuple[Flows, Flows]:
        return self.before, self.after

    @cached_property
    def keys(self) -> tuple[CategoryKey, ...]:
        """Return the categories that occur on either side, those before first."""
        return tuple(
            dict.fromkeys(flows.categories[code] for flows in self.sides for code in np.unique(flows.category).tolist())
        )

    @cached_property
    def category(self) -> tuple[I64, I64]:
        """Return, per side, the number in `keys` of each request's category."""
        place = {key: number for number, key in enumerate(self.keys)}
        return _renumbered([([place.get(key, -1) for key in flows.categories], flows.category) for flows in self.sides])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of requests; if a name has several root calls, each name includes its root call."""
        roots = dict.fromkeys(self._roots)
        several = Counter(name for name, _ in roots)
        return tuple(name if several[name] == 1 else f"{root} ({name})" for name, root in roots)

    @cached_property
    def name(self) -> I64:
        """Return the index in `names` of each category's name."""
        place = {root: number for number, root in enumerate(dict.fromkeys(self._roots))}
        return np.array([place[root] for root in self._roots], np.int64)

    @cached_property
    def _roots(self) -> list[tuple[str, str]]:
        """Return, per category, the name of its requests and the label of their root call."""
        examples = (self.example(category) for category in range(len(self.keys)))
        return [
            (key.name, flows.labels[flows.label[flows.first[request]]])
            for key, (flows, request) in zip(self.keys, examples, strict=True)
        ]

    def name_of(self, category: int) -> str:
        return self.names[int(self.name[category])]

    @cached_property
    def counts(self) -> tuple[I64, I64]:
        """Return, per side, the number of requests of each category."""
        before, after = (np.bincount(category, minlength=len(self.keys)) for category in self.category)
        return before, after

    @cached_property
    def members(self) -> tuple[tuple[I64, I64], tuple[I64, I64]]:
        """Return, per side, the requests ordered by category, and the index of the first request of each category."""
        first, second = (
            (order, np.searchsorted(category[order], np.arange(len(self.keys) + 1)))
            for category, order in ((category, np.argsort(category, kind="stable")) for category in self.category)
        )
        return first, second

    def requests(self, side: int, category: int) -> I64:
        order, first = self.members[side]
        return order[first[category] : first[category + 1]]

    def samples(self, column: str) -> tuple[Samples, Samples]:
        """Return a column of the requests of both sides, grouped by category."""
        before, after = (
            by_group(getattr(flows, column), category, len(self.keys))
            for flows, category in zip(self.sides, self.category, strict=True)
        )
        return before, after

    def example(self, category: int) -> tuple[Flows, int]:
        """Return a request of the category, preferably from after."""
        for side in (1, 0):
            requests = self.requests(side, category)
            if len(requests):
                return self.sides[side], int(requests[0])
        raise IndexError(category)

    def location(self, category: int, place: int) -> tuple[str, int] | None:
        """Return the location in the code of a call of the category."""
        flows, request = self.example(category)
        return flows.location(int(flows.first[request]) + place)

    def text(self, category: int) -> str:
        flows, request = self.example(category)
        return flows.text(request)


def _renumbered(sides: Sequence[tuple[list[int], npt.NDArray[Any]]]) -> tuple[I64, I64]:
    one, other = (np.array(numbers, np.int64)[codes] for numbers, codes in sides)
    return one, other
