"""Calls in a row that a grammar found again and again: rules, cut where they leave or enter a call, and counted everywhere.

A rule of the grammar may begin in the middle of a call and end in another one. Between the ends of calls that it did not see
begin, and the beginnings of those that it did not see end, lie stretches of whole calls, one after the other with one caller.
Of one that goes over several rounds of a loop the rounds are what matters: what lies between two beginnings, and a period
that may go over several rounds itself if half of them are in it. A round begins with what was there first in the list.
Invariant: a row's occurrences are those in the lists of shapes, from the left, none over another, whatever the grammar made.
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
    """Rows of calls, and where each is: occurrence k, of row `row[k]`, begins at `place[k]` of the lists of shapes."""

    width: I64
    """Per row, how many calls side by side it is."""
    row: I64
    place: I64

    def __len__(self) -> int:
        return len(self.width)


def rows_of(shapes: Shapes, grammar: Grammar, widest: int) -> Rows:
    """The rows of 2 to `widest` calls that the grammar of `shapes.of.sequence()` leads to."""
    low, high = _stretches(shapes, *_ranges(grammar))
    width = np.minimum(high - low + 1, widest)
    low, width = low[width > 1], width[width > 1]
    names = _Names(shapes.inside, int(width.max(initial=1)))
    once, _ = names.distinct(low, width)
    rounds = _rounds(shapes, names, low[once], width[once])
    low, width = rounds.low, rounds.width
    once, number = names.distinct(low, width)
    found = _occurrences(shapes, names, low[once], width[once])
    # Of what was taken as it is and what begins with a round instead, the more frequent one stays.
    count = np.bincount(found.row, shapes.times[shapes.list_of[found.place]], len(found))
    kept = np.zeros(len(found), bool)
    settled = number[: rounds.settled]
    kept[settled[count[settled] >= rounds.least]] = True
    given, moved = number[rounds.settled :].reshape(2, -1)
    kept[np.where(count[moved] >= count[given], moved, given)] = True
    there = kept[found.row]
    return Rows(found.width[kept], (np.cumsum(kept) - 1)[found.row[there]], found.place[there])


def _ranges(grammar: Grammar) -> tuple[I64, I64]:
    """Parts of the sequence, from where up to where: what each rule stands for, and two of each that is repeated at once, since
    the whole calls may be where the one goes over into the other."""
    size = np.where(grammar.symbol < 0, grammar.length[~np.minimum(grammar.symbol, -1)], 1)
    passed = np.concatenate(([0], np.cumsum(size * grammar.exponent)))
    rule = np.repeat(np.arange(len(grammar)), np.diff(grammar.first))
    begin = grammar.start[rule] + passed[:-1] - passed[grammar.first[rule]]
    twice = np.flatnonzero((grammar.symbol < 0) & (grammar.exponent > 1))
    return (
        np.concatenate((grammar.start[1:], begin[twice])),
        np.concatenate((grammar.start[1:] + grammar.length[1:], begin[twice] + 2 * size[twice])),
    )


def _stretches(shapes: Shapes, begin: I64, end: I64) -> tuple[I64, I64]:
    """The rows in parts of the sequence: the places of the first and of the last call of each."""
    of = shapes.of
    node = np.full(int(of.closes.max(initial=-1)) + 2, -1, np.int32)
    numbers = np.arange(len(of), dtype=np.int32)
    node[of.opens] = numbers
    node[of.closes] = numbers
    opens = np.zeros(len(node), bool)
    opens[of.opens] = True
    lasts = shapes.first[1:] - 1
    found: list[tuple[I64, I64]] = []
    # From the left: over ends of what began before, to the callers' ends, as long as these are inside.
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
    # From the right the same way back.
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


class _Names:
    """Numbers for stretches of a sequence: equal stretches of one width, and they alone, have one number. By doubling."""

    def __init__(self, sequence: I32, widest: int) -> None:
        self._ranks = [np.unique(sequence, return_inverse=True)[1].astype(np.int64)]
        while 1 << len(self._ranks) <= widest:
            last, half = self._ranks[-1], 1 << (len(self._ranks) - 1)
            pair = last[:-half] * (len(sequence) + 1) + last[half:]
            self._ranks.append(np.unique(pair, return_inverse=True)[1].astype(np.int64))

    def of(self, at: I64, width: int) -> I64:
        """Of the stretches that begin there; they must end before the sequence does."""
        level = width.bit_length() - 1
        ranks = self._ranks[level]
        named: I64 = ranks[at] * (len(self._ranks[0]) + 1) + ranks[at + width - (1 << level)]
        return named

    def distinct(self, low: I64, width: I64) -> tuple[I64, I64]:
        """Of stretches one of each kind, those of one width together; and per stretch the number of its kind."""
        once, number, count = [np.zeros(0, np.int64)], np.zeros(len(low), np.int64), 0
        for size in np.unique(width).tolist():
            those = np.flatnonzero(width == size)
            _, first, kind = np.unique(self.of(low[those], size), return_index=True, return_inverse=True)
            once.append(those[first])
            number[those] = count + kind
            count += len(first)
        return np.concatenate(once), number

    def repeats(self, low: I64, width: int, period: I64) -> Mask:
        """Does each of some stretches of one width go on as it began after so many places?"""
        found = period >= width
        for after in np.unique(period[~found]).tolist():
            those = np.flatnonzero(period == after)
            at = low[those]
            found[those] = self.of(at, width - after) == self.of(at + after, width - after)
        return found

    def periods(self, low: I64, width: int) -> I64:
        """After how many places each of some stretches of one width repeats; 0 where it does not do so twice."""
        found = np.zeros(len(low), np.int64)
        open_ = np.arange(len(low))
        for period in range(1, width // 2 + 1):
            at = low[open_]
            repeats = self.of(at, width - period) == self.of(at + period, width - period)
            found[open_[repeats]] = period
            open_ = open_[~repeats]
        return found


class _Rounds(NamedTuple):
    low: I64
    """First `settled` rows; then some that begin in the middle of a round, then as many that begin with it instead."""
    width: I64
    settled: int
    least: I64
    """Of the settled ones, how often each has to be there."""


def _rounds(shapes: Shapes, names: _Names, low: I64, width: I64) -> _Rounds:
    """What stretches of calls consist of."""
    since = _first_in_list(shapes)
    ends = shapes.first[shapes.list_of + 1]
    settled = [tuple(np.zeros(0, np.int64) for _ in range(3))]
    middle = [tuple(np.zeros(0, np.int64) for _ in range(4))]
    for size in np.unique(width).tolist():
        at = low[width == size]
        period = names.periods(at, size)
        when = since[at[:, None] + np.arange(size)]
        # Only one period of what has one is looked at.
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
        # With one beginning a round goes from there to the next one, or is as long as what was found.
        alone = np.flatnonzero((period == 0) & (rounds == 1))
        at, offset, first = at[alone], offset[alone], first[alone]
        moved = np.flatnonzero((offset > 0) & (at + offset + size <= ends[at]))
        further = since[(at + offset)[moved][:, None] + np.arange(1, size)] == first[moved][:, None]
        length = np.where(further.any(axis=1), further.argmax(axis=1) + 1, size)
        moved, length = moved[length > 1], length[length > 1]
        # Where the list ends too early for that, one that ends as it begins is a round and the end of the one before.
        tail = np.flatnonzero((offset > 0) & (at + offset + size > ends[at]) & names.repeats(at, size, size - offset))
        settled.append((at[tail] + offset[tail], size - offset[tail], tail * 0))
        whole = np.delete(at, np.concatenate((moved, tail)))
        settled.append((whole, np.full(len(whole), size), whole * 0))
        middle.append((at[moved], np.full(len(moved), size), (at + offset)[moved], length))
    at, size, least = (np.concatenate(column) for column in zip(*settled, strict=True))
    at, size, least = at[size > 1], size[size > 1], least[size > 1]
    given, wide, moved, length = (np.concatenate(column) for column in zip(*middle, strict=True))
    return _Rounds(np.concatenate((at, given, moved)), np.concatenate((size, wide, length)), len(at), least)


def _first_in_list(shapes: Shapes) -> I64:
    """Per place the first one of its list where the same shape is."""
    order = np.lexsort((np.arange(len(shapes.inside)), shapes.inside, shapes.list_of))
    inside, lists = shapes.inside[order], shapes.list_of[order]
    new = np.ones(len(order), bool)
    new[1:] = (inside[1:] != inside[:-1]) | (lists[1:] != lists[:-1])
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    return first


def _occurrences(shapes: Shapes, names: _Names, low: I64, width: I64) -> Rows:
    """Where rows of which one each is given, those of one width together, are."""
    rows, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    count = 0
    room = shapes.first[shapes.list_of + 1] - np.arange(len(shapes.inside))
    for size in np.unique(width).tolist():
        wanted = names.of(low[width == size], size)
        order = np.argsort(wanted)
        at = np.flatnonzero(room >= size)
        found = names.of(at, size)
        which = np.minimum(np.searchsorted(wanted, found, sorter=order), len(wanted) - 1)
        is_there = wanted[order[which]] == found
        row, at = order[which[is_there]], at[is_there]
        kept = _apart(row, at, size)
        rows.append(count + row[kept])
        places.append(at[kept])
        count += len(wanted)
    return Rows(width, np.concatenate(rows), np.concatenate(places))


def _apart(row: I64, place: I64, width: int) -> I64:
    """Of occurrences those that are there when each row is taken from the left, and none over another; ordered by row."""
    order = np.lexsort((place, row))
    row, place = row[order], place[order]
    near = (row[1:] == row[:-1]) & (place[1:] - place[:-1] < width)
    kept = np.ones(len(order), bool)
    # Only where one is near the one before does any have to be left out.
    for at in (np.flatnonzero(near) + 1).tolist():
        before = at - 1
        while not kept[before]:
            before -= 1
        kept[at] = row[before] != row[at] or place[at] - place[before] >= width
    return order[kept]
