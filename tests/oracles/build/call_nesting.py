"""Reference implementation of call nesting in numpy: by sorting, and with a stack for strands with missing records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import I64, Nesting
from clew.graph.model.array_utils import lengths
from clew.records.format.event import Kind

Mask = npt.NDArray[np.bool_]


def by_columns(kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], strand_start: I64) -> Nesting:
    """Return the result of `call_nesting.nest`."""
    events = len(kind)
    pushes = (kind == Kind.ENTER) | (kind == Kind.RESUME)
    pops = (kind == Kind.EXIT) | (kind == Kind.UNWIND) | (kind == Kind.SUSPEND)
    is_call = pushes | pops
    rows = np.flatnonzero(is_call)
    if not len(rows):
        none, nothing = np.full(events, -1, np.int64), np.zeros(0, np.int64)
        return Nesting(none, none.copy(), nothing, nothing, nothing, nothing.reshape(0, 2), 0)
    # From here on, positions are indices of call records; `first[s]` is the first of strand s.
    first = np.searchsorted(rows, strand_start)
    call, inner = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
    matched = _match(pushes[rows], kind[rows], site[rows], first)
    enter, exits, caller, suspended = matched.calls(rows, call, inner)
    parts = [(enter, exits, caller)]
    pauses = [suspended]
    unmatched = 0
    for strand in np.flatnonzero(matched.irregular).tolist():
        low, high = int(first[strand]), int(first[strand + 1])
        walk = _Walk()
        walk.run(kind[rows[low:high]].tolist(), site[rows[low:high]].tolist(), rows[low:high].tolist())
        call[low:high], inner[low:high] = walk.call, walk.inner
        parts.append(walk.columns())
        pauses.append(np.array(walk.pauses, np.int64).reshape(-1, 2))
        unmatched += walk.unmatched
    enter, exits, caller = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(enter, kind="stable")
    # Other events belong to the call that runs after the strand's previous call record.
    latest = np.cumsum(is_call) - 1
    begun = latest >= np.repeat(first[:-1], lengths(strand_start))
    all_inner = np.where(begun, inner[latest], -1)
    all_call = all_inner.copy()
    all_call[rows] = call
    return Nesting(all_call, all_inner, enter[order], exits[order], caller[order], np.concatenate(pauses), unmatched)


def _ranks(step: npt.NDArray[np.int32], group_first: I64) -> npt.NDArray[np.int32]:
    """Return running sums of `step` that restart at each of the ascending positions `group_first`."""
    depth = np.cumsum(step, dtype=np.int32)
    base = np.concatenate(([0], depth))[group_first]
    return depth - np.repeat(base, lengths(np.append(group_first, len(step)))).astype(np.int32)


def _by_level(level: npt.NDArray[np.int32]) -> I64:
    """Return positions sorted by level, in stable order."""
    small = level.astype(np.uint16) if len(level) and level.max() < 1 << 16 else level
    return np.argsort(small, kind="stable")


@dataclass(frozen=True)
class _Matched:
    """The calls of regular strands, as positions of call records."""

    push: Mask
    opened: I64
    """For each popping record, its pushing record; for each pushing record, itself; -1 in irregular strands."""
    parent: I64
    """For each pushing record, the enclosing one; -1 at the outermost level."""
    root: I64
    """For each pushing record, the record that opened its call."""
    regular: Mask
    irregular: Mask
    kind: npt.NDArray[np.uint8]
    resumed: I64
    """Pairs of positions (SUSPEND, RESUME), shape (n, 2)."""

    def calls(self, rows: I64, call: I64, inner: I64) -> tuple[I64, I64, I64, I64]:
        """Fill `call` and `inner` for the regular records; return enter, exit and caller of the calls, and the pauses."""
        regular = np.flatnonzero(self.regular)
        opened = self.opened[regular]
        row_of = np.append(rows, -1)
        call[regular] = rows[self.root[opened]]
        after = np.where(self.push[regular], regular, self.parent[opened])
        inner[regular] = np.where(after >= 0, row_of[self.root[after]], -1)
        starts = regular[self.kind[regular] == Kind.ENTER]
        parent = self.parent[starts]
        caller = np.where(parent >= 0, row_of[self.root[parent]], -1)
        ends = regular[(self.kind[regular] == Kind.EXIT) | (self.kind[regular] == Kind.UNWIND)]
        exit_at = np.full(len(rows), -1, np.int64)
        exit_at[self.root[self.opened[ends]]] = rows[ends]
        return rows[starts], exit_at[starts], caller, rows[self.resumed].reshape(-1, 2)


def _match(push: Mask, kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], first: I64) -> _Matched:
    """Match parentheses by sorting: at one depth of one strand, every pop directly follows its push."""
    count, strands = len(push), len(first) - 1
    filled = first[:-1][lengths(first) > 0]
    strand = np.repeat(np.arange(strands), lengths(first))
    depth = _ranks(np.where(push, 1, -1).astype(np.int32), filled)
    level = np.where(push, depth, depth + 1)
    irregular = np.zeros(strands, bool)
    irregular[strand[level < 1]] = True
    order = _by_level(np.maximum(level, 0))
    opened = np.where(push, np.arange(count), -1)
    same = (strand[order[1:]] == strand[order[:-1]]) & (level[order[1:]] == level[order[:-1]])
    pair = same & push[order[:-1]] & ~push[order[1:]]
    before, after = order[:-1][pair], order[1:][pair]
    opened[after] = before
    irregular[strand[after[site[after] != site[before]]]] = True

    # The record around a push is the previous record if that is a push, else the record around its elder sibling.
    ordered = order[push[order]]
    strand_begins = np.zeros(count, bool)
    strand_begins[filled] = True
    own = strand_begins[ordered] | push[np.maximum(ordered - 1, 0)]
    around = np.where(strand_begins[ordered], -1, ordered - 1)
    source = np.maximum.accumulate(np.where(own, np.arange(len(ordered)), 0))
    parent = np.full(count, -1, np.int64)
    parent[ordered] = around[source]

    root, resumed = _resume(push, kind, site, strand, opened=opened, irregular=irregular)
    regular = ~irregular[strand]
    return _Matched(push, opened, parent, root, regular, irregular, kind, resumed)


def _resume(
    push: Mask,
    kind: npt.NDArray[np.uint8],
    site: npt.NDArray[np.uint32],
    strand: I64,
    *,
    opened: I64,
    irregular: Mask,
) -> tuple[I64, I64]:
    """Join each RESUME to the SUSPEND that it ends: the latest suspension of that site in the strand."""
    root = np.where(push, np.arange(len(push)), -1)
    paused = np.flatnonzero((kind == Kind.SUSPEND) | (kind == Kind.RESUME))
    paused = paused[~irregular[strand[paused]]]
    if not len(paused):
        return root, np.zeros((0, 2), np.int64)
    group = strand[paused] * (np.int64(site.max()) + 1) + site[paused]
    order = np.argsort(group, kind="stable")
    paused, group = paused[order], group[order]
    resumes = kind[paused] == Kind.RESUME
    begins = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    depth = _ranks(np.where(resumes, -1, 1).astype(np.int32), begins)
    level = np.where(resumes, depth + 1, depth)
    irregular[strand[paused[level < 1]]] = True
    order = _by_level(np.maximum(level, 0))
    pair = (
        (group[order[1:]] == group[order[:-1]])
        & (level[order[1:]] == level[order[:-1]])
        & ~resumes[order[:-1]]
        & resumes[order[1:]]
    )
    suspend, resume = paused[order[:-1][pair]], paused[order[1:][pair]]
    good = ~irregular[strand[suspend]]
    suspend, resume = suspend[good], resume[good]
    # A chain of activations leads back to the ENTER; each step halves its length.
    root[resume] = opened[suspend]
    while True:
        farther = np.where(root >= 0, root[root], -1)
        if np.array_equal(farther, root):
            return root, np.stack((suspend, resume), axis=1)
        root = farther


class _Walk:
    """Pass one strand through a stack, for records that do not nest."""

    def __init__(self) -> None:
        self.call: list[int] = []
        self.inner: list[int] = []
        self.pauses: list[tuple[int, int]] = []
        self.unmatched = 0
        self._enter: list[int] = []
        self._exit: dict[int, int] = {}
        self._caller: list[int] = []
        self._aside: list[tuple[int, int, int]] = []
        """(site, call, the call that set it aside)"""

    def columns(self) -> tuple[I64, I64, I64]:
        ends = [self._exit.get(enter, -1) for enter in self._enter]
        return np.array(self._enter, np.int64), np.array(ends, np.int64), np.array(self._caller, np.int64)

    def run(self, kinds: list[int], sites: list[int], rows: list[int]) -> None:
        stack: list[tuple[int, int]] = []  # (site, call)
        suspended: dict[int, list[tuple[int, int]]] = {}  # site -> (call, row of its SUSPEND)
        for kind, site, row in zip(kinds, sites, rows, strict=True):
            if kind in (Kind.ENTER, Kind.RESUME):
                waiting = suspended.get(site) if kind == Kind.RESUME else None
                if waiting:
                    call, since = waiting.pop()
                    self.pauses.append((since, row))
                else:
                    call = row
                    self._enter.append(row)
                    self._caller.append(stack[-1][1] if stack else -1)
                stack.append((site, call))
                if kind == Kind.RESUME:
                    stack += [(above, paused) for above, paused, owner in self._aside if owner == call]
                    self._aside = [aside for aside in self._aside if aside[2] != call]
            else:
                if kind == Kind.SUSPEND:
                    self._pause_above(stack, suspended, site)
                call = self._pop(stack, suspended, site, row)
                if call < 0:
                    self.unmatched += 1
                elif kind == Kind.SUSPEND:
                    suspended.setdefault(site, []).append((call, row))
                else:
                    self._exit[call] = row
                    self._aside = [aside for aside in self._aside if aside[2] != call]
            self.call.append(call)
            self.inner.append(stack[-1][1] if stack else -1)

    def _pause_above(
        self, stack: list[tuple[int, int]], suspended: dict[int, list[tuple[int, int]]], site: int
    ) -> None:
        """Set the calls aside that are above the innermost call of `site`: they run in a greenlet.

        If an exception was thrown into a suspended call of `site`, these are all calls that began meanwhile.
        """
        places = [place for place, frame in enumerate(stack) if frame[0] == site]
        if places:
            owner, first = stack[places[-1]][1], places[-1] + 1
        elif stack and suspended.get(site) and stack[0][1] > suspended[site][-1][1]:
            owner, first = suspended[site][-1][0], 0
        else:
            return
        self._aside += [(above, call, owner) for above, call in stack[first:]]
        del stack[first:]

    def _pop(
        self, stack: list[tuple[int, int]], suspended: dict[int, list[tuple[int, int]]], site: int, row: int
    ) -> int:
        """Return the call of `site` that ends or pauses here; -1 if there is no such call.

        It is the innermost running call, else a suspended call that an exception ended without a RESUME.
        """
        for place in range(len(stack) - 1, -1, -1):
            if stack[place][0] == site:
                call = stack[place][1]
                # Calls above it stopped recording before their end.
                del stack[place:]
                return call
        if suspended.get(site):
            call, since = suspended[site].pop()
            self.pauses.append((since, row))
            return call
        for place in range(len(self._aside) - 1, -1, -1):
            if self._aside[place][0] == site:
                _, call, owner = self._aside[place]
                above = [aside for aside in self._aside[place + 1 :] if aside[2] != owner]
                self._aside[place:] = above
                return call
        return -1
