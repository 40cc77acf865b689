"""Find the precursors of a structural mutation: similar flows of the same root that occur less often (Spectroscope).

They are sorted by similarity: the edit distance of the flows as strings, with a token for each pair of names. Invariant: a
weight is 1 / distance. Two categories with equal strings, which differ only in nesting, count as one token apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from clew.compare.requests.category_pairs import Pairing
from clew.compare.stats.tests import F64, I64, normalised_distances


@dataclass(frozen=True)
class Precursor:
    """A category that the requests of a structural mutation may come from."""

    category: int
    flow: str
    distance: float
    """Levenshtein distance divided by the longer length: 0 for equal strings, 1 for strings that share nothing."""
    weight: float
    count_before: int
    count_after: int
    mean_before_ns: float
    added: tuple[tuple[str, str], ...]
    """Pairs of names that occur more often in the mutation."""
    removed: tuple[tuple[str, str], ...]
    """Pairs of names that occur less often in the mutation."""

    def sentence(self) -> str:
        text = (
            f"it may come from a flow with {self.count_before:,} before and {self.count_after:,} after "
            f"({1 - self.distance:.0%} alike"
        )
        for what, pairs in (("with", self.added), ("without", self.removed)):
            if pairs:
                more = f" and {len(pairs) - 1:,} more" if len(pairs) > 1 else ""
                text += f", {what} {' > '.join(pairs[0])}{more}"
        if not self.added and not self.removed:
            text += ", with the same calls in another order or parallelism"
        return f"{text})"


def find_precursors(
    pairing: Pairing, category: int, lost: F64, least: float, means: list[F64]
) -> tuple[Precursor, ...]:
    """Return the categories of the mutation's name that `lost` at least `least` requests.

    `means` are the mean response times by side."""
    candidates = np.flatnonzero((pairing.name == pairing.name[category]) & (lost >= least) & (lost > 0))
    known: dict[tuple[str, str], int] = {}
    own = _pairs(pairing, category)
    own_tokens = _tokens(own, known)
    found = candidates[candidates != category].tolist()
    pairs = [_pairs(pairing, other) for other in found]
    texts = [_tokens(other_pairs, known) for other_pairs in pairs]
    distances = normalised_distances(own_tokens, texts)
    result = []
    for other, other_pairs, distance in zip(found, pairs, distances.tolist(), strict=True):
        apart = max(distance, 1 / max(len(own), len(other_pairs)))
        result.append(
            Precursor(
                category=other,
                flow=pairing.text(other),
                distance=distance,
                weight=1 / apart,
                count_before=int(pairing.counts[0][other]),
                count_after=int(pairing.counts[1][other]),
                mean_before_ns=float(means[0][other]),
                added=tuple((Counter(own) - Counter(other_pairs)).elements()),
                removed=tuple((Counter(other_pairs) - Counter(own)).elements()),
            )
        )
    return tuple(sorted(result, key=lambda precursor: (-precursor.weight, -precursor.count_before, precursor.category)))


def _pairs(pairing: Pairing, category: int) -> tuple[tuple[str, str], ...]:
    flows, request = pairing.example(category)
    return flows.pairs(request)


def _tokens(pairs: tuple[tuple[str, str], ...], known: dict[tuple[str, str], int]) -> I64:
    """Return the pairs as numbers."""
    return np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int64)
