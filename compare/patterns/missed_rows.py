"""Find rows of calls that repeat although no rule of the grammar shows them.

Sequitur replaces pairs as it reads, so what came first decides about the rules, and a row may be cut in the middle of its
calls. Here every place is compared with its most similar other place: the neighbour in the order of all suffixes of the
lists. Invariant: a row of 2 or more calls that is there twice without overlap is inside a returned row, or consists of rounds
that are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.patterns.activation_shapes import Shapes
from clew.compare.patterns.call_sequences import Names, Rows, first_in_list, occurrences
from clew.compare.patterns.sequitur import I64

Mask = npt.NDArray[np.bool_]
_PART = 1 << 22
"""The maximum number of calls of candidates that are examined at a time."""


def with_missed_rows(shapes: Shapes, rows: Rows, widest: int, known: Callable[[Rows], I64]) -> Rows:
    """Return the rows, and those of up to `widest` calls that repeat outside the occurrences of known patterns.

    `known` returns the patterns among some rows and all calls: the shape of a call, or `~row`. A missed row is reduced to its
    rounds if these are patterns.
    """
    low, width = _candidates(shapes, widest)
    for part in (_rounds, lambda _shapes, low, width: (low, width)):
        missed = ~_is_explained(shapes, rows, known(rows), low, width)
        low, width = low[missed], width[missed]
        if not len(low):
            break
        rows = _joined(shapes, rows, *part(shapes, low, width))
    return rows


def _joined(shapes: Shapes, rows: Rows, low: I64, width: I64) -> Rows:
    first = np.full(len(rows), len(shapes.inside), np.int64)
    np.minimum.at(first, rows.row, rows.place)
    low, width = np.concatenate((first, low)), np.concatenate((rows.width, width))
    names = Names(shapes.inside, int(width.max(initial=1)))
    once, _ = names.distinct(low, width)
    return occurrences(shapes, names, low[once], width[once])


def _rounds(shapes: Shapes, low: I64, width: I64) -> tuple[I64, I64]:
    """Return the rounds in ranges: from each call of the kind that comes first in the list to the next, or to the end."""
    since = first_in_list(shapes)
    found = [(low[:0], width[:0])]
    for at, when, part in _in_parts(since, low, width):
        begins = when == when.min(axis=1)[:, None]
        row, place = np.nonzero(begins)
        end = np.append(place[1:], 0)
        last = np.append(row[1:] != row[:-1], True) if len(row) else np.zeros(0, bool)
        end[last] = at.shape[1]
        found.append((low[part][row] + place, end - place))
    low, width = (np.concatenate(column) for column in zip(*found, strict=True))
    return low[width > 1], width[width > 1]


def _in_parts(since: I64, low: I64, width: I64) -> Iterator[tuple[I64, I64, I64]]:
    """Yield ranges of one width, as matrices of places and of the first places of the same calls, and the ranges' numbers."""
    for size in np.unique(width).tolist():
        which = np.flatnonzero(width == size)
        for part in np.array_split(which, max(1, len(which) * size // _PART)):
            at = low[part][:, None] + np.arange(size)
            yield at, since[at], part


class _Repeats(NamedTuple):
    """For each place of the lists, the longest row from there that is also elsewhere, and the distance to that place."""

    length: I64
    distance: I64


def _candidates(shapes: Shapes, widest: int) -> tuple[I64, I64]:
    """Return the longest rows that repeat, by their first places and widths.

    A row that ends where the row of the place before ends is a part of that. Of rows that overlap their own repetition, one
    round is returned.
    """
    length, distance = _repeats(shapes, widest)
    place = np.arange(len(length))
    longer = np.ones(len(length), bool)
    longer[1:] = (length[1:] >= length[:-1]) | (shapes.list_of[1:] != shapes.list_of[:-1])
    low = place[(length > 1) & longer]
    length, distance = length[low], distance[low]
    own = np.abs(distance) >= length
    period, since = np.abs(distance[~own]), np.minimum(low, low + distance)[~own]
    # The round begins where it cuts the fewest runs of equal calls (inside, before and after both repetitions), and there with
    # the call that comes first in the list.
    inside, most, earliest = shapes.inside, len(shapes.inside), first_in_list(shapes)
    best, fewest = since.copy(), np.full(len(since), 4 * (most + 1))
    for offset in range(int(np.minimum(period, length[~own] - period + 1).max(initial=0))):
        at = since + offset
        fits = (offset < period) & (offset <= length[~own] - period) & (at + 2 * period <= most)
        ends = np.minimum(at + 2 * period, most - 1)
        cuts = (inside[np.minimum(at, most - 1)] == inside[np.minimum(at + period - 1, most - 1)]).astype(np.int64)
        cuts += (at > 0) & (inside[np.minimum(at, most - 1)] == inside[np.maximum(np.minimum(at, most) - 1, 0)])
        cuts += inside[ends] == inside[ends - 1]
        cuts = cuts * (most + 1) + earliest[np.minimum(at, most - 1)]
        better = fits & (cuts < fewest)
        best[better], fewest[better] = at[better], cuts[better]
    low, width = np.concatenate((low[own], best)), np.concatenate((length[own], np.maximum(period, 2)))
    # A run of one call is that call twice, however long it is.
    steps = np.concatenate(([0], np.cumsum(inside[1:] != inside[:-1])))
    is_run = steps[low + width - 1] == steps[low]
    return low, np.where(is_run, 2, width)


def _repeats(shapes: Shapes, widest: int) -> _Repeats:
    """Compare each place with its neighbours in the order of the suffixes, up to `widest` calls of its list."""
    count, lists = len(shapes.inside), len(shapes.first) - 1
    # Each list ends with a symbol of its own, so that no row extends beyond it.
    at = np.arange(count) + shapes.list_of
    sequence = np.zeros(count + lists, np.int64)
    ends = np.ones(len(sequence), bool)
    ends[at] = False
    sequence[at] = lists + shapes.inside
    sequence[ends] = np.arange(lists)
    ranks = [np.unique(sequence, return_inverse=True)[1].astype(np.int64)]
    while 1 << len(ranks) <= widest and ranks[-1].max(initial=0) + 1 < len(sequence):
        last, half = ranks[-1], 1 << (len(ranks) - 1)
        following = np.zeros(len(last), np.int64)
        following[:-half] = last[half:] + 1
        ranks.append(np.unique(last * (len(last) + 1) + following, return_inverse=True)[1].astype(np.int64))
    order = np.argsort(ranks[-1], kind="stable")
    one, other = order[:-1], order[1:]
    common = np.zeros(len(one), np.int64)
    for level in range(len(ranks) - 1, -1, -1):
        inside = np.maximum(one, other) + common < len(sequence)
        sides = [np.minimum(side + common, len(sequence) - 1) for side in (one, other)]
        common += np.where(inside & (ranks[level][sides[0]] == ranks[level][sides[1]]), 1 << level, 0)
    common = np.minimum(common, widest)
    length, distance = np.zeros(len(sequence), np.int64), np.zeros(len(sequence), np.int64)
    for here, apart in ((one, other - one), (other, one - other)):
        better = (common > length[here]) | ((common == length[here]) & (np.abs(apart) > np.abs(distance[here])))
        length[here[better]], distance[here[better]] = common[better], apart[better]
    # Distances between lists are larger than any row.
    return _Repeats(length[at], distance[at])


def _is_explained(shapes: Shapes, rows: Rows, known: I64, low: I64, width: I64) -> Mask:
    """Return which ranges consist of occurrences of known patterns, one after the other, as the rounds of a loop do."""
    count = len(shapes.inside)
    is_row, is_call = np.zeros(len(rows), bool), np.zeros(len(shapes), bool)
    is_row[~known[known < 0]] = is_call[known[known >= 0]] = True
    there = is_row[rows.row]
    begin, end = rows.place[there], (rows.place + rows.width[rows.row])[there]
    depth = np.cumsum(np.bincount(begin, minlength=count + 1) - np.bincount(end, minlength=count + 1))
    is_run = np.zeros(count, bool)
    is_run[:-1] = shapes.inside[1:] == shapes.inside[:-1]
    is_run &= is_call[shapes.inside]
    is_inside = depth > 0
    joined = np.cumsum(np.bincount(begin, minlength=count + 1) - np.bincount(end - 1, minlength=count + 1)) > 0
    found = np.zeros(len(low), bool)
    for at, when, part in _in_parts(first_in_list(shapes), low, width):
        begins = when == when.min(axis=1)[:, None]
        found[part] = is_inside[at].all(axis=1) & (joined[at[:, :-1]] | begins[:, 1:]).all(axis=1)
        found[part] |= is_run[at[:, :-1]].all(axis=1)
    return found
