"""Which surprising visits are consequences: what an earlier visit of the same request did differently explains them.

A service that answers with an error, or wrongly, makes its callers fail, skip calls, or say what they never said, and often
they say it louder. How far one surprise explains a later one is the attributable fraction: of the requests with both, the share
in which the later would not be there without the earlier, 1 - P(later | not earlier) / P(later | earlier). Without the earlier
are requests of the same period to which nothing surprising happened at its place, and, for a little, those of the reference.
Invariant: what explains ended before what it explains, at another place, and counts as far as it surely is a difference itself;
a surprise that is as likely without it keeps its whole blame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clew.compare.stats.tests import F64, I64

AS_GOOD = 0.7
"""Of the explanations that are at least this part as good as the best, the one that ended first is taken."""
REFERENCE = 4.0
"""Requests that those of the reference count for at most: those beside the surprising ones, of the same period, say more."""


class Surprises(NamedTuple):
    """Surprising visits, request by request in the order in which they ended, and the reasons for them."""

    request: I64
    place: I64
    reason: I64
    """What was surprising about the visit: one of those numbered below."""
    could: dict[int, set[int]]
    """By reason the requests that have a visit of the sort that it is of."""
    many: F64
    """Per reason how many requests of the reference have such visits,"""
    had: F64
    """and how many of them the surprise."""
    sure: F64
    """Per reason how far to trust that it is a difference at all, 0 to 1."""


def find_causes(surprises: Surprises) -> tuple[I64, F64]:
    """Per surprising visit the place that it is a consequence of, or -1, and the part of it that is."""
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
    """How far one reason explains another; found when first asked."""

    def __init__(self, surprises: Surprises) -> None:
        self.all = surprises
        self.known: dict[tuple[int, int], float] = {}
        self.having: dict[int, set[int]] = {}
        self.at: dict[int, set[int]] = {}
        """Requests by the place at which something is surprising."""
        rows = zip(surprises.request.tolist(), surprises.place.tolist(), surprises.reason.tolist(), strict=True)
        for request, place, reason in rows:
            self.having.setdefault(reason, set()).add(request)
            self.at.setdefault(place, set()).add(request)

    def of(self, earlier: int, later: int, place: int) -> float:
        if (earlier, later) not in self.known:
            self.known[earlier, later] = self._found(earlier, later, place)
        return self.known[earlier, later]

    def _found(self, earlier: int, later: int, place: int) -> float:
        one, other, could = self.having[earlier], self.having[later], self.all.could[later]
        # Half a request for and against: two requests with both prove little.
        given = (len(one & other) + 0.5) / (len(one & could) + 1)
        usual = could - self.at[place]
        many = float(self.all.many[later])
        trust = min(many, REFERENCE) / max(many, 1.0)
        had = len(other & usual) + trust * float(self.all.had[later])
        without = (had + 0.5) / (len(usual) + trust * many + 1)
        return max(1 - without / given, 0.0) * float(self.all.sure[earlier])
