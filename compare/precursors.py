"""Where a structural mutation comes from: flows of the same root that there is less of, the likest first (Spectroscope).

Likeness is the edit distance of the flows' strings, a token for each pair of names. Invariant: a weight is 1 / distance, and
two categories of one string, which differ in their nesting alone, count as one token apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.compare.pairing import Pairing
from clew.compare.statistics import F64, I64, normalised_distances


@dataclass(frozen=True)
class Precursor:
    category: int
    flow: str
    distance: float
    """Levenshtein's over the longer length: 0 for the same string, 1 where nothing is shared."""
    weight: float
    count_before: int
    count_after: int
    mean_before_ns: float

    def sentence(self) -> str:
        return (
            f"it may come from one that had {self.count_before:,} before and {self.count_after:,} after "
            f"({1 - self.distance:.0%} alike)"
        )


def find_precursors(
    pairing: Pairing, category: int, lost: F64, least: float, means: list[F64]
) -> tuple[Precursor, ...]:
    """Those of the mutation's name that `lost` at least so many requests. `means` are of response times, by side."""
    candidates = np.flatnonzero((pairing.name == pairing.name[category]) & (lost >= least) & (lost > 0))
    known: dict[tuple[str, str], int] = {}
    mine = _tokens(pairing, category, known)
    found = candidates[candidates != category].tolist()
    texts = [_tokens(pairing, other, known) for other in found]
    distances = normalised_distances(mine, texts)
    result = []
    for other, tokens, distance in zip(found, texts, distances.tolist(), strict=True):
        apart = max(distance, 1 / max(len(mine), len(tokens)))
        result.append(
            Precursor(
                category=other,
                flow=pairing.text(other),
                distance=distance,
                weight=1 / apart,
                count_before=int(pairing.counts[0][other]),
                count_after=int(pairing.counts[1][other]),
                mean_before_ns=float(means[0][other]),
            )
        )
    return tuple(sorted(result, key=lambda precursor: (-precursor.weight, -precursor.count_before, precursor.category)))


def _tokens(pairing: Pairing, category: int, known: dict[tuple[str, str], int]) -> I64:
    """The flow's pairs as numbers."""
    flows, request = pairing.example(category)
    return np.array([known.setdefault(pair, len(known)) for pair in flows.pairs(request)], np.int64)
