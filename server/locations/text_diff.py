"""Maps the lines of one text to the lines of another, by the lines that both share.

Lines that both texts have exactly once, in one order, are anchors. The same rule applies again between two anchors.
Where no such line is left, the lines are paired that every longest common subsequence pairs. Invariant: paired lines
are equal (except for white space at their ends), pairs never cross, and lines with more than one possible pairing are
not paired. So if lines were only added, changed or removed, no line is ever mapped to another one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from clew.server.locations.definitions import Outline, outline

if TYPE_CHECKING:
    import numpy as np

MOST = 1 << 20
"""Maximum number of line pairs that are compared between two anchors; larger sections count as new."""
_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class LineMap:
    """Lines count from 1; 0 means no line."""

    forward: tuple[int, ...]
    """The new line for each old line; `forward[0]` is 0."""
    backward: tuple[int, ...]
    """The old line for each new line."""

    def new(self, line: int) -> int:
        return self.forward[line] if 0 < line < len(self.forward) else 0

    def old(self, line: int) -> int:
        return self.backward[line] if 0 < line < len(self.backward) else 0

    def near_new(self, line: int) -> int:
        """Return where a removed old line would be: after the last line before it that still exists."""
        for before in range(min(line, len(self.forward) - 1), 0, -1):
            if self.forward[before]:
                return min(self.forward[before] + (before < line), max(len(self.backward) - 1, 1))
        return 1


def lines_of(text: str) -> list[str]:
    """Split a text into lines as Python and editors do: form feed and U+2028 do not end a line."""
    return _BREAK.split(text)


@lru_cache(maxsize=64)
def line_map(old: str, new: str) -> LineMap:
    """Return the map between two versions of a text."""
    if old == new:
        same = tuple(range(len(lines_of(old)) + 1))
        return LineMap(same, same)
    numbers: dict[tuple[str, str], int] = {}
    before, after = outline(old), outline(new)
    # The end of a function may equal the end of another one; it still maps to its own function if no function was
    # removed.
    by_function = before is not None and after is not None and all(
        len(after.get(name, ())) == len(found) for name, found in before.items()
    )  # fmt: skip

    def tokens(text: str, of: Outline | None) -> list[int]:
        rows = [row.rstrip() for row in lines_of(text)]
        scopes = _scopes(of, len(rows)) if by_function else [""] * len(rows)
        found = []
        for row, scope in zip(rows, scopes, strict=True):
            # Whether a blank line or a comment at the end of a function belongs to it depends on the lines below.
            token = (row, scope if row and not row.lstrip().startswith("#") else "")
            found.append(numbers.setdefault(token, len(numbers)))
        return found

    first, second = tokens(old, before), tokens(new, after)
    forward, backward = [0] * (len(first) + 1), [0] * (len(second) + 1)
    for one, other in _pairs(first, second):
        forward[one + 1], backward[other + 1] = other + 1, one + 1
    return LineMap(tuple(forward), tuple(backward))


def _scopes(found: Outline | None, count: int) -> list[str]:
    """Return the innermost function of each line."""
    scopes = [""] * count
    definitions = [
        definition for named in (found or {}).values() for definition in named if "<" not in definition.qualname
    ]
    for definition in sorted(definitions, key=lambda one: (one.first_line, -one.end_line)):
        last = min(definition.end_line, count)
        scopes[definition.first_line - 1 : last] = [definition.qualname] * (last - definition.first_line + 1)
    return scopes


def _pairs(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of indices into both sequences."""
    found: list[tuple[int, int]] = []
    pending = [(0, len(first), 0, len(second))]
    while pending:
        from_, to, from_2, to_2 = pending.pop()
        if from_ == to or from_2 == to_2:
            continue
        if first[from_:to] == second[from_2:to_2]:
            found += zip(range(from_, to), range(from_2, to_2), strict=True)
            continue
        fast = _held_fast(first[from_:to], second[from_2:to_2])
        if not fast:
            sure, sure_2 = _sure(first[from_:to], second[from_2:to_2])
            found += zip((sure + from_).tolist(), (sure_2 + from_2).tolist(), strict=True)
            continue
        for one, other in fast:
            found.append((from_ + one, from_2 + other))
        ends = [(-1, -1), *fast, (to - from_, to_2 - from_2)]
        pending += [
            (from_ + one + 1, from_ + next_, from_2 + other + 1, from_2 + next_2)
            for (one, other), (next_, next_2) in pairwise(ends)
        ]
    return found


def _held_fast(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Return the anchors: values that both sequences have exactly once, in the longest common order."""
    counts, counts_2 = Counter(first), Counter(second)
    places = {token: place for place, token in enumerate(second) if counts_2[token] == 1}
    both = [(place, places[token]) for place, token in enumerate(first) if counts[token] == 1 and token in places]
    # The longest ascending sequence of the second indices, by patience sorting: `ends` has the least end of a sequence
    # of each length.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, other) in enumerate(both):
        length = bisect_left(ends, other)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(other)
            last.append(number)
        else:
            ends[length], last[length] = other, number
    row: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        row.append(both[at])
        at = before[at]
    return row[::-1]


def _sure(first: Sequence[int], second: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that are in every longest common subsequence."""
    import numpy as np  # a starting server does not load it

    if len(first) * len(second) > MOST:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing
    equal = np.equal.outer(np.asarray(first), np.asarray(second))
    prefix = _lengths(equal)
    suffix = _lengths(equal[::-1, ::-1])[::-1, ::-1]
    rank = prefix[:-1, :-1] + 1
    one, other = np.nonzero(equal & (rank + suffix[1:, 1:] == prefix[-1, -1]))
    # Every longest common subsequence has one pair of each rank: a pair is in all of them if it is the only one of its
    # rank.
    ranks = rank[one, other]
    alone = np.bincount(ranks, minlength=1)[ranks] == 1
    return one[alone], other[alone]


def _lengths(equal: np.ndarray) -> np.ndarray:
    """Return the lengths of the longest common subsequences of all pairs of prefixes."""
    import numpy as np

    found = np.zeros((equal.shape[0] + 1, equal.shape[1] + 1), np.int32)
    for row in range(equal.shape[0]):
        np.maximum.accumulate(np.maximum(found[row, 1:], found[row, :-1] + equal[row]), out=found[row + 1, 1:])
    return found
