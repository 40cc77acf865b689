"""Find consecutive calls that repeat: take the rules of a grammar, cut them to whole calls, and count them everywhere.

A rule of the grammar may begin in one call and end in another. Between the ends of calls that began before it and the
beginnings of calls that end after it are ranges of whole calls, consecutive with one caller. A range over several rounds of a
loop is reduced to its rounds: from one beginning to the next, and a period of several rounds if it covers half of the
occurrences. A round begins with the call that comes first in the list.

Invariant: the occurrences of a row are found in the lists of shapes from the left, without overlaps, independently of the
grammar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.patterns.activation_shapes import Shapes
from clew.compare.patterns.sequitur import I32, I64, Grammar

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of consecutive calls, and their places: occurrence k, of row `row[k]`, begins at `place[k]` of the lists of
    shapes."""

    width: I64
    """The number of consecutive calls of each row."""
    row: I64
    place: I64

    def __len__(self) -> int:
        return len(self.width)


def rows_of(shapes: Shapes, grammar: Grammar, widest: int) -> Rows:
    """Return the rows of 2 to `widest` calls that the grammar of `shapes.of.sequence()` contains."""
    low, high = _sibling_ranges(shapes, *_ranges(grammar))
    width = np.minimum(high - low + 1, widest)
    low, width = low[width > 1], width[width > 1]
    names = Names(shapes.inside, int(width.max(initial=1)))
    once, _ = names.distinct(low, width)
    rounds = _rounds(shapes, names, low[once], width[once])
    low, width = rounds.low, rounds.width
    once, number = names.distinct(low, width)
    found = occurrences(shapes, names, low[once], width[once])
    # Of an original row and the row that begins with a round instead, keep the more frequent one; of equally frequent ones the
    # one that cuts fewer runs of equal calls.
    cuts = np.bincount(found.row, _cuts(shapes, found), len(found))
    count = np.bincount(found.row, shapes.times[shapes.list_of[found.place]], len(found))
    selected = np.zeros(len(found), bool)
    settled = number[: rounds.settled]
    selected[settled[count[settled] >= rounds.least]] = True
    original, moved = number[rounds.settled :].reshape(2, -1)
    more, same = count[moved] > count[original], count[moved] == count[original]
    selected[np.where(more | (same & (cuts[moved] <= cuts[original])), moved, original)] = True
    there = selected[found.row]
    return Rows(found.width[selected], (np.cumsum(selected) - 1)[found.row[there]], found.place[there])


def _ranges(grammar: Grammar) -> tuple[I64, I64]:
    """Return ranges of the sequence, as begins and ends: one per rule, and two repetitions of each symbol with an exponent.

    Two repetitions are needed because whole calls may span the boundary between them.
    """
    size = np.where(grammar.symbol < 0, grammar.length[~np.minimum(grammar.symbol, -1)], 1)
    passed = np.concatenate(([0], np.cumsum(size * grammar.exponent)))
    rule = np.repeat(np.arange(len(grammar)), np.diff(grammar.first))
    begin = grammar.start[rule] + passed[:-1] - passed[grammar.first[rule]]
    twice = np.flatnonzero((grammar.symbol < 0) & (grammar.exponent > 1))
    return (
        np.concatenate((grammar.start[1:], begin[twice])),
        np.concatenate((grammar.start[1:] + grammar.length[1:], begin[twice] + 2 * size[twice])),
    )


def _sibling_ranges(shapes: Shapes, begin: I64, end: I64) -> tuple[I64, I64]:
    """Return the rows in ranges of the sequence: the places of the first and the last call of each."""
    of = shapes.of
    node = np.full(int(of.closes.max(initial=-1)) + 2, -1, np.int32)
    numbers = np.arange(len(of), dtype=np.int32)
    node[of.opens] = numbers
    node[of.closes] = numbers
    opens = np.zeros(len(node), bool)
    opens[of.opens] = True
    lasts = shapes.first[1:] - 1
    found: list[tuple[I64, I64]] = []
    # From the left: skip the ends of calls that began before, and climb to callers whose end is inside.
    left = begin.copy()
    active = np.flatnonzero(left < end)
    while len(active):
        at = left[active]
        one, whole = node[at], opens[at]
        caller = np.where(whole, of.parent[one], -1)
        inside = whole & (caller >= 0)
        inside[inside] = of.closes[caller[inside]] < end[active[inside]]
        found.append((shapes.place[one[inside]], lasts[shapes.shape[caller[inside]]]))
        left[active[~whole]] += 1
        left[active[inside]] = of.closes[caller[inside]] + 1
        active = active[(~whole | inside)]
        active = active[left[active] < end[active]]
    # From the right, do the same backwards.
    right = end - 1
    active = np.flatnonzero(right >= left)
    while len(active):
        at = right[active]
        one, whole = node[at], ~opens[at]
        caller = np.where(whole, of.parent[one], -1)
        inside = whole & (caller >= 0)
        inside[inside] = of.opens[caller[inside]] >= begin[active[inside]]
        found.append((shapes.first[shapes.shape[caller[inside]]], shapes.place[one[inside]]))
        right[active[~whole]] -= 1
        right[active[inside]] = of.opens[caller[inside]] - 1
        active = active[(~whole | inside)]
        active = active[right[active] >= left[active]]
    middle = np.flatnonzero(left < right)
    found.append((shapes.place[node[left[middle]]], shapes.place[node[right[middle]]]))
    low, high = (np.concatenate(column) for column in zip(*found, strict=True))
    return low, high


def _cuts(shapes: Shapes, rows: Rows) -> I64:
    """Return, per occurrence, how many of its ends are inside a run of equal calls."""
    same = np.zeros(len(shapes.inside) + 1, np.int64)
    same[1:-1] = (shapes.inside[1:] == shapes.inside[:-1]) & (shapes.list_of[1:] == shapes.list_of[:-1])
    result: I64 = same[rows.place] + same[rows.place + rows.width[rows.row]]
    return result


class Names:
    """Numbers for ranges of a sequence, by doubling: two ranges of one width have the same number exactly if they are
    equal."""

    def __init__(self, sequence: I32, widest: int) -> None:
        self._ranks = [np.unique(sequence, return_inverse=True)[1].astype(np.int64)]
        while 1 << len(self._ranks) <= widest:
            last, half = self._ranks[-1], 1 << (len(self._ranks) - 1)
            pair = last[:-half] * (len(sequence) + 1) + last[half:]
            self._ranks.append(np.unique(pair, return_inverse=True)[1].astype(np.int64))

    def of(self, at: I64, width: int) -> I64:
        """Return the numbers of the ranges of a width that begin at some places; they must not exceed the sequence."""
        level = width.bit_length() - 1
        ranks = self._ranks[level]
        named: I64 = ranks[at] * (len(self._ranks[0]) + 1) + ranks[at + width - (1 << level)]
        return named

    def distinct(self, low: I64, width: I64) -> tuple[I64, I64]:
        """Return one range of each kind, grouped by width, and the number of each range's kind."""
        once, number, count = [np.zeros(0, np.int64)], np.zeros(len(low), np.int64), 0
        for size in np.unique(width).tolist():
            at_width = np.flatnonzero(width == size)
            _, first, kind = np.unique(self.of(low[at_width], size), return_index=True, return_inverse=True)
            once.append(at_width[first])
            number[at_width] = count + kind
            count += len(first)
        return np.concatenate(once), number

    def repeats(self, low: I64, width: int, period: I64) -> Mask:
        """Return whether each range of a width repeats itself after its period."""
        found = period >= width
        for after in np.unique(period[~found]).tolist():
            at_period = np.flatnonzero(period == after)
            at = low[at_period]
            found[at_period] = self.of(at, width - after) == self.of(at + after, width - after)
        return found

    def periods(self, low: I64, width: int) -> I64:
        """Return the period of each range of a width; 0 if it does not repeat at least twice."""
        found = np.zeros(len(low), np.int64)
        open_ = np.arange(len(low))
        for period in range(1, width // 2 + 1):
            at = low[open_]
            repeats = self.of(at, width - period) == self.of(at + period, width - period)
            found[open_[repeats]] = period
            open_ = open_[~repeats]
        return found


class _Rounds(NamedTuple):
    """The rows after the reduction to rounds."""

    low: I64
    """The first places: `settled` rows; then rows that begin inside a round; then as many rows that begin with the round
    instead."""
    width: I64
    settled: int
    least: I64
    """The minimum number of occurrences of each settled row."""


def _rounds(shapes: Shapes, names: Names, low: I64, width: I64) -> _Rounds:
    """Reduce ranges of calls to the rounds that they consist of."""
    since = first_in_list(shapes)
    ends = shapes.first[shapes.list_of + 1]
    settled = [tuple(np.zeros(0, np.int64) for _ in range(3))]
    middle = [tuple(np.zeros(0, np.int64) for _ in range(4))]
    for size in np.unique(width).tolist():
        at = low[width == size]
        period = names.periods(at, size)
        when = since[at[:, None] + np.arange(size)]
        # Examine only one period of a periodic range.
        when[(period > 0)[:, None] & (np.arange(size) >= np.maximum(period, 1)[:, None])] = len(since)
        first = when.min(axis=1)
        begins = when == first[:, None]
        offset = begins.argmax(axis=1)
        rounds = begins.sum(axis=1)
        most = shapes.count[shapes.inside[at + offset]] // 2
        settled.append((at + offset, period, np.where(rounds > 1, most // rounds, 0)))
        row, place = np.nonzero(begins)
        same = row[1:] == row[:-1]
        settled.append((at[row[:-1][same]] + place[:-1][same], (place[1:] - place[:-1])[same], same[same] * 0))
        # With one beginning, a round extends to the next beginning, or has the length of the range.
        alone = np.flatnonzero((period == 0) & (rounds == 1))
        at, offset, first = at[alone], offset[alone], first[alone]
        moved = np.flatnonzero((offset > 0) & (at + offset + size <= ends[at]))
        further = since[(at + offset)[moved][:, None] + np.arange(1, size)] == first[moved][:, None]
        length = np.where(further.any(axis=1), further.argmax(axis=1) + 1, size)
        moved, length = moved[length > 1], length[length > 1]
        # If the list ends before that, a range that ends as it begins is the end of one round and another complete round.
        tail = np.flatnonzero((offset > 0) & (at + offset + size > ends[at]) & names.repeats(at, size, size - offset))
        settled.append((at[tail] + offset[tail], size - offset[tail], tail * 0))
        whole = np.delete(at, np.concatenate((moved, tail)))
        settled.append((whole, np.full(len(whole), size), whole * 0))
        middle.append((at[moved], np.full(len(moved), size), (at + offset)[moved], length))
    at, size, least = (np.concatenate(column) for column in zip(*settled, strict=True))
    at, size, least = at[size > 1], size[size > 1], least[size > 1]
    original, wide, moved, length = (np.concatenate(column) for column in zip(*middle, strict=True))
    return _Rounds(np.concatenate((at, original, moved)), np.concatenate((size, wide, length)), len(at), least)


def first_in_list(shapes: Shapes) -> I64:
    """Return, per place, the first place of its list with the same shape."""
    order = np.lexsort((np.arange(len(shapes.inside)), shapes.inside, shapes.list_of))
    inside, lists = shapes.inside[order], shapes.list_of[order]
    new = np.ones(len(order), bool)
    new[1:] = (inside[1:] != inside[:-1]) | (lists[1:] != lists[:-1])
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    return first


def occurrences(shapes: Shapes, names: Names, low: I64, width: I64) -> Rows:
    """Return where the rows occur; each row is given by one occurrence, rows of one width together."""
    rows, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    count = 0
    space = shapes.first[shapes.list_of + 1] - np.arange(len(shapes.inside))
    for size in np.unique(width).tolist():
        targets = names.of(low[width == size], size)
        order = np.argsort(targets)
        at = np.flatnonzero(space >= size)
        found = names.of(at, size)
        which = np.minimum(np.searchsorted(targets, found, sorter=order), len(targets) - 1)
        is_there = targets[order[which]] == found
        row, at = order[which[is_there]], at[is_there]
        selected = _without_overlaps(row, at, size)
        rows.append(count + row[selected])
        places.append(at[selected])
        count += len(targets)
    return Rows(width, np.concatenate(rows), np.concatenate(places))


def _without_overlaps(row: I64, place: I64, width: int) -> I64:
    """Return the occurrences that remain when each row is matched from the left without overlaps; ordered by row."""
    order = np.lexsort((place, row))
    row, place = row[order], place[order]
    near = (row[1:] == row[:-1]) & (place[1:] - place[:-1] < width)
    selected = np.ones(len(order), bool)
    # Occurrences can overlap only where the previous one is near.
    for at in (np.flatnonzero(near) + 1).tolist():
        before = at - 1
        while not selected[before]:
            before -= 1
        selected[at] = row[before] != row[at] or place[at] - place[before] >= width
    return order[selected]
