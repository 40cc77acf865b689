"""Attribute surprising visits to earlier visits of the same request that explain them.

If a service fails or answers wrongly, its callers may fail, skip calls, or log unusual messages, often more conspicuously.
The attributable fraction measures how far one surprise explains a later one: 1 - P(later | not earlier) / P(later | earlier).
This is the share of requests with both surprises in which the later one would not occur without the earlier one. Requests
without the earlier surprise are those of the same period without any surprise at its place and, with a small weight, those of
the reference.

Invariants: an explaining visit ended before the visit that it explains, at another place. Its strength is limited by the
confidence that it differs at all. A surprise that is as likely without the earlier one keeps its full blame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clew.compare.stats.tests import F64, I64

AS_GOOD = 0.7
"""Of the explanations whose strength is at least this share of the maximum, the one that ended first is chosen."""
REFERENCE = 4.0
"""The maximum weight of the reference, in requests: requests of the same period are better evidence."""


class Surprises(NamedTuple):
    """The surprising visits, ordered by request and then by end, and the reasons for the surprise."""

    request: I64
    place: I64
    reason: I64
    """The number of the reason for the surprise at each visit; the fields below are indexed by it."""
    requests_of_type: dict[int, set[int]]
    """Per reason, the requests with a visit of the type that the reason refers to."""
    reference_requests: F64
    """Per reason, the number of reference requests with such visits."""
    reference_surprised: F64
    """Per reason, the number of these reference requests that have the surprise."""
    confidence: F64
    """Per reason, the confidence that it is a difference at all, from 0 to 1."""


def find_causes(surprises: Surprises) -> tuple[I64, F64]:
    """Return, per surprising visit, the place that explains it, or -1, and the share of the surprise that is explained."""
    strength = _Strength(surprises)
    cause = np.full(len(surprises.request), -1, np.int64)
    part = np.zeros(len(cause))
    request, earlier = -1, dict[int, int]()
    rows = zip(surprises.request.tolist(), surprises.place.tolist(), surprises.reason.tolist(), strict=True)
    for row, (of, place, reason) in enumerate(rows):
        if of != request:
            request, earlier = of, {}
        others = [(strength.of(one, reason, there), there) for one, there in earlier.items() if there != place]
        most = max((how for how, _ in others), default=0.0)
        if most > 0:
            part[row], cause[row] = next(pair for pair in others if pair[0] >= AS_GOOD * most)
        earlier.setdefault(reason, place)
    return cause, part


class _Strength:
    """The strength with which one reason explains another; computed on first use."""

    def __init__(self, surprises: Surprises) -> None:
        self.all = surprises
        self.cache: dict[tuple[int, int], float] = {}
        self.having: dict[int, set[int]] = {}
        self.at: dict[int, set[int]] = {}
        """Requests by the place at which something is surprising."""
        rows = zip(surprises.request.tolist(), surprises.place.tolist(), surprises.reason.tolist(), strict=True)
        for request, place, reason in rows:
            self.having.setdefault(reason, set()).add(request)
            self.at.setdefault(place, set()).add(request)

    def of(self, earlier: int, later: int, place: int) -> float:
        if (earlier, later) not in self.cache:
            self.cache[earlier, later] = self._compute(earlier, later, place)
        return self.cache[earlier, later]

    def _compute(self, earlier: int, later: int, place: int) -> float:
        one, other, could = self.having[earlier], self.having[later], self.all.requests_of_type[later]
        # Add half a request for and half against, because two requests with both surprises prove little.
        given = (len(one & other) + 0.5) / (len(one & could) + 1)
        usual = could - self.at[place]
        references = float(self.all.reference_requests[later])
        trust = min(references, REFERENCE) / max(references, 1.0)
        surprised = len(other & usual) + trust * float(self.all.reference_surprised[later])
        without = (surprised + 0.5) / (len(usual) + trust * references + 1)
        return max(1 - without / given, 0.0) * float(self.all.confidence[earlier])
