"""The name that looks most like a word, among names of which few change from question to question.

Invariant: the answer is that of `problem.nearest`, up to the order of names that are made of the same letters.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Iterable

from clew.esl.problem import likely

CUTOFF = 0.7
FEW = 16
"""Names that may differ before everything is looked for anew."""


class Names:
    """Some names, and what was found among them."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self._near: dict[str, str] = {}
        """By word, "" where nothing is near."""
        self._letters = {"".join(sorted(name)): name for name in sorted(names, reverse=True)}

    def nearest(self, word: str) -> str:
        near = self._near.get(word)
        if near is None:
            near = self._near[word] = _best(word, self.names)
        # Letters that changed places make short words look different.
        return near or self._letters.get("".join(sorted(word)), "")

    def with_others(self, names: frozenset[str]) -> Names:
        """Other names, with what is still true of what was found: the nearest of all is the nearest of the new ones and of
        what was nearest before."""
        made, added = Names(names), names - self.names
        for word, near in self._near.items():
            if not near or near in names:
                made._near[word] = _best(word, [*added, *([near] if near else [])]) if added else near
        return made


_latest: deque[Names] = deque(maxlen=16)


def among(names: Iterable[str]) -> Names:
    asked = frozenset(names)
    least = min(_latest, key=lambda known: len(known.names ^ asked), default=None)
    if least is not None and least.names == asked:
        return least
    near = least is not None and len(least.names ^ asked) <= FEW
    made = least.with_others(asked) if least is not None and near else Names(asked)
    _latest.append(made)
    return made


def _best(word: str, names: Iterable[str]) -> str:
    found = difflib.get_close_matches(word, likely(word, names, CUTOFF), n=1, cutoff=CUTOFF)
    return found[0] if found else ""
