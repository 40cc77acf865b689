"""Reference implementation of the timeline's kernel in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.records.format.event import Kind

Array = npt.NDArray[Any]
DEEPEST = 1000
"""Deeper calls have no bar."""
ASLEEP = 1 << 31
MOST_COLOURS = 0x7FFE
CELL_ASLEEP = 0x8000
_WHOLE = (1 << 32) - 1
_Bar = tuple[int, int, int, int]
"""Begin, end, key, and the row (exact bars) or the filled share (coarser bars)."""


class _Walk:
    """Pass one strand's records through a stack."""

    def __init__(self, put: Callable[[int, _Bar], None]) -> None:
        self.put = put
        self.stack: list[tuple[int, int, int]] = []
        """(key, row, since) of the running calls."""
        self.asleep: dict[int, tuple[int, int, int]] = {}
        """(key, row, since) of the suspended calls, by depth."""

    def run(self, kinds: list[int], sites: list[int], times: list[int], first: int) -> list[int]:
        """Return the depth after each record."""
        depths = []
        now = times[0] if times else 0
        for place, (kind, site) in enumerate(zip(kinds, sites, strict=True)):
            now = max(now, times[place])  # a corrected clock may go back
            if kind in (Kind.ENTER, Kind.RESUME):
                self._rouse(len(self.stack), now)
                self.stack.append((site, first + place, now))
            elif kind in (Kind.EXIT, Kind.UNWIND, Kind.SUSPEND):
                self._pop(kind, site, first + place, now)
            depths.append(min(max(len(self.stack), 1), DEEPEST) - 1)
        while self.stack:
            self._end(now)
        self._rouse(0, now)
        return depths

    def _end(self, now: int) -> int:
        key, row, since = self.stack.pop()
        self._put(len(self.stack), (since, now, key, row))
        return key

    def _put(self, depth: int, bar: _Bar) -> None:
        if depth < DEEPEST:
            self.put(depth, bar)

    def _pop(self, kind: int, site: int, row: int, now: int) -> None:
        if all(key != site for key, _, _ in self.stack):
            return
        while self._end(now) != site:
            pass
        if kind == Kind.SUSPEND:
            self.asleep[len(self.stack)] = (site | ASLEEP, row, now)
        else:
            self._rouse(len(self.stack), now)

    def _rouse(self, depth: int, now: int) -> None:
        for at in sorted(self.asleep):
            if at >= depth:
                key, row, since = self.asleep.pop(at)
                if now > since:
                    self._put(at, (since, now, key, row))


def _rows(kind: Array, site: Array, ts: Array, strand_start: Array) -> Iterator[tuple[list[list[_Bar]], list[int]]]:
    """Yield for each strand its rows of bars and the depths of its events."""
    for start, stop in zip(strand_start[:-1].tolist(), strand_start[1:].tolist(), strict=True):
        rows: list[list[_Bar]] = []

        def put(depth: int, bar: _Bar, rows: list[list[_Bar]] = rows) -> None:
            while len(rows) <= depth:
                rows.append([])
            rows[depth].append(bar)

        columns = (kind[start:stop].tolist(), site[start:stop].tolist(), ts[start:stop].tolist())
        depths = _Walk(put).run(*columns, start)
        yield rows, depths


def count(kind: Array, site: Array, ts: Array, strand_start: Array, depths: Array) -> bytes:
    counts: list[int] = []
    for strand, (rows, _) in enumerate(_rows(kind, site, ts, strand_start)):
        depths[strand] = len(rows)
        counts.extend(len(row) for row in rows)
    return np.array(counts, np.int64).tobytes()


def fill(  # noqa: PLR0917  # as the C
    kind: Array, site: Array, ts: Array, strand_start: Array, depths: Array, row_start: Array, bars: Array, depth: Array
) -> None:
    row = 0
    for strand, (rows, found) in enumerate(_rows(kind, site, ts, strand_start)):
        if len(rows) != depths[strand]:
            raise ValueError("rows that are not those of the strands")
        depth[strand_start[strand] : strand_start[strand + 1]] = found
        for one in rows:
            bars[row_start[row] : row_start[row + 1]] = one
            row += 1


class _Mix:
    """The times of several calls; the longest wins, among equals the first."""

    def __init__(self) -> None:
        self.ns: dict[int, int] = {}

    def add(self, key: int, ns: int) -> None:
        if ns > 0:
            self.ns[key] = self.ns.get(key, 0) + ns

    def take(self) -> tuple[int, int]:
        key, total = max(self.ns, key=lambda key: self.ns[key], default=0), sum(self.ns.values())
        self.ns.clear()
        return key, total


def coarser(  # noqa: PLR0917  # as the C
    bars: Array, row_start: Array, shift: int, sites: int, to: Array, to_start: Array
) -> int:
    made: list[_Bar] = []
    for row in range(len(row_start) - 1):
        to_start[row] = len(made)
        group: list[_Bar] = []
        for bar in bars[row_start[row] : row_start[row + 1]].tolist():
            begin, end, key, _ = bar
            _check(begin, end, key, sites)
            is_long = (end - begin) >> shift > 0
            if group and (is_long or begin >> shift != group[0][0] >> shift):
                made.append(_joined(group))
                group = []
            if is_long:
                made.append((begin, end, key, _WHOLE))
            else:
                group.append(bar)
        if group:
            made.append(_joined(group))
    to_start[len(row_start) - 1] = len(made)
    to[: len(made)] = made
    return len(made)


def _joined(group: list[_Bar]) -> _Bar:
    mix = _Mix()
    for begin, end, key, _ in group:
        mix.add(key, end - begin)
    begin, end = group[0][0], group[-1][1]
    key, total = mix.take()
    what = int(float(total) / float(end - begin) * _WHOLE) if end > begin else _WHOLE
    return begin, end, key if total else group[0][2], what


def _check(begin: int, end: int, key: int, sites: int) -> None:
    if not (key & ~ASLEEP < sites and -(1 << 60) < begin <= end < 1 << 60):
        raise ValueError("bars that are damaged")


def paint(  # noqa: PLR0917  # as the C
    bars: Array,
    row_start: Array,
    exact: bool,
    sites: int,
    rows: Array,
    start: int,
    shift: int,
    least: int,
    cells: Array,
    covers: Array,
) -> tuple[bytes, bytes]:
    buckets, width = cells.size // max(len(rows), 1), 1 << shift
    stop = start + (buckets << shift)
    palette: dict[int, int] = {}
    named: list[tuple[int, int, int, int]] = []

    def cell_of(key: int) -> int:
        site = key & ~ASLEEP
        number = palette.setdefault(site, len(palette) + 1) if len(palette) < MOST_COLOURS else palette.get(site)
        return (number or MOST_COLOURS) | (CELL_ASLEEP if key & ASLEEP else 0)

    cells[...], covers[...] = 0, 0
    flat_cells, flat_covers = cells.reshape(-1), covers.reshape(-1)

    def finish(at: int, mix: _Mix) -> None:
        if mix.ns:
            key, total = mix.take()
            flat_cells[at] = cell_of(key)
            flat_covers[at] = min(255, max(1, int(total / width * 255.0)))

    for place, row in enumerate(rows.tolist()):
        if row < 0:
            continue
        if row >= len(row_start) - 1:
            raise ValueError("a row that is not there")
        mixes: dict[int, _Mix] = {}
        for begin, end, key, what in bars[row_start[row] : row_start[row + 1]].tolist():
            _check(begin, end, key, sites)
            low, high = max(begin, start), min(end, stop)
            if low >= high:
                continue
            if end - begin >= least:
                named.append((begin, end, place, cell_of(key)))
            for bucket in range((low - start) >> shift, ((high - 1 - start) >> shift) + 1):
                left = start + (bucket << shift)
                ns = min(left + width, high) - max(left, low)
                if not exact:
                    ns = int(float(ns) * (float(what) / _WHOLE)) or (1 if what else 0)
                # As in C, a bucket gets its colour when the next bucket begins.
                for before in [one for one in mixes if one < bucket]:
                    finish(place * buckets + before, mixes.pop(before))
                mixes.setdefault(bucket, _Mix()).add(key, ns)
        for before in list(mixes):
            finish(place * buckets + before, mixes.pop(before))
    from clew.graph.ops.timeline.bars import NAMED

    return np.array(list(palette), np.uint32).tobytes(), np.array(named, NAMED).tobytes()
