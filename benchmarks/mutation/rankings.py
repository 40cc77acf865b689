"""Ranked lists of functions, from each source of evidence, and the rank of the mutated function in them."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from mutation.operators import functions, innermost
from mutation.set_up import Place, Session

NEVER = math.inf
"""The rank of a function that a list does not contain."""


def rank_of(place: Place, ranking: Sequence[Place]) -> float:
    """Return the rank of a function, from 1."""
    return ranking.index(place) + 1 if place in ranking else NEVER


def ochiai(session: Session, sources: Path, seed: str) -> list[Place]:
    """Rank functions by the highest of Ochiai's coefficients of their lines, over the passed and the failed tests.

    Functions with equal coefficients are ordered by chance, as `seed` says.
    """
    failed = set(session.failed)
    counted = failed | {test for test, outcome in session.outcomes.items() if outcome == "passed"}
    best: dict[Place, float] = defaultdict(float)
    for file, lines in session.lines.items():
        found = functions((sources / file).read_text(encoding="utf-8"))
        for line, ran in lines.items():
            name = innermost(found, line)
            tests = counted.intersection(ran)
            bad = len(tests & failed)
            if name is None or not bad:
                continue
            best[file, name] = max(best[file, name], bad / math.sqrt(len(failed) * len(tests)))
    return sorted(best, key=lambda place: (-best[place], _chance(seed, place)))


def _chance(seed: str, place: Place) -> bytes:
    return hashlib.sha256(f"{seed} {place}".encode()).digest()


def sign_test(ours: Iterable[bool], theirs: Iterable[bool]) -> tuple[int, int, float]:
    """Return in how many pairs only we hit, in how many only they did, and McNemar's exact two-sided p."""
    pairs = list(zip(ours, theirs, strict=True))
    only_ours = sum(one and not other for one, other in pairs)
    only_theirs = sum(other and not one for one, other in pairs)
    both = only_ours + only_theirs
    tail = sum(math.comb(both, count) for count in range(min(only_ours, only_theirs) + 1)) / 2**both
    return only_ours, only_theirs, min(1.0, 2 * tail)
