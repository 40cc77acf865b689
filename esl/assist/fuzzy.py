"""Find the name most similar to a word, among names that change little between calls.

Invariant: the result is that of `problem.nearest`, except for the order of names made of the same letters.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Iterable

from clew.esl.syntax.problem import likely

CUTOFF = 0.7
FEW = 16
"""Maximum number of changed names before the cache is rebuilt."""


class Names:
    """A set of names with the cached results for it."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self._near: dict[str, str] = {}
        """Result by word, "" if no name is similar."""
        self._letters = {"".join(sorted(name)): name for name in sorted(names, reverse=True)}

    def nearest(self, word: str) -> str:
        near = self._near.get(word)
        if near is None:
            near = self._near[word] = _best(word, self.names)
        # Transposed letters change the similarity of short words strongly.
        return near or self._letters.get("".join(sorted(word)), "")

    def with_others(self, names: frozenset[str]) -> Names:
        """Return a cache for changed names that reuses the valid results: the nearest name is either a new one or the
        previous result."""
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
