"""Reference implementation of activations and shapes in Python: the columns of `compare/patterns/_sequitur.pyi`, as lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.records.format.event import Kind

Numbers = list[int]
CALLED, RESUMED = 0, 4
RETURNED, RAISED, SUSPENDED, UNFINISHED = 0, 1, 2, 3
"""How an activation began and how it ended; `way` is the sum of the two."""
_ENDS = {Kind.EXIT: RETURNED, Kind.UNWIND: RAISED, Kind.SUSPEND: SUSPENDED}


class _Strand:
    """Find one strand's activations with a stack."""

    def __init__(self) -> None:
        self.parent: Numbers = []
        self.size: Numbers = []
        self.way: Numbers = []
        self.first: Numbers = []
        self.last: Numbers = []
        self.own: Numbers = []
        self._call: Numbers = []
        self._child: Numbers = []
        """The last child of each activation."""
        self._left: Numbers = []
        """How often the strand had been left when the activation ended."""
        self._stack: Numbers = []
        self._open: set[int] = set()
        """Calls on the stack."""
        self._latest = -1
        """The activation that ended last; -1 if another began since."""

    def run(
        self, rows: range, kind: Sequence[int], call: Sequence[int], ts: Sequence[int], idle: Sequence[bool]
    ) -> None:
        left, before = 0, -1
        for at, row in enumerate(rows):
            if self._stack and not idle[at - 1]:
                self.own[self._stack[-1]] += ts[at] - before
            before = ts[at]
            what = kind[at]
            if what == Kind.STEP_END:
                left += 1
            elif what == Kind.ENTER:
                self._begin(row, call[at], CALLED)
            elif what == Kind.RESUME:
                self._wake(row, call[at], left)
            elif what in _ENDS and call[at] >= 0:
                if call[at] not in self._open:
                    self._wake(row, call[at], left)
                while self._call[self._stack[-1]] != call[at]:
                    self._end(row, UNFINISHED, left)
                self._end(row, _ENDS[Kind(what)], left)
        while self._stack:
            self._end(rows[-1], UNFINISHED, left)

    def _wake(self, row: int, call: int, left: int) -> None:
        """Resume a call, in the same activation if the strand was only left in between."""
        at = self._latest
        if at < 0 or self._call[at] != call or self.way[at] % 4 != SUSPENDED or self._left[at] == left:
            self._begin(row, call, RESUMED)
            return
        self._stack.append(at)
        self._open.add(call)
        self._latest = self._child[at]

    def _begin(self, row: int, call: int, how: int) -> None:
        number, above = len(self.parent), self._stack[-1] if self._stack else -1
        for column, value in (
            (self.parent, above), (self.size, 1), (self.way, how + UNFINISHED), (self.first, row), (self.last, row),
            (self.own, 0), (self._call, call), (self._child, -1), (self._left, 0),
        ):  # fmt: skip
            column.append(value)
        self._stack.append(number)
        self._open.add(call)
        self._latest = -1

    def _end(self, row: int, how: int, left: int) -> None:
        at = self._stack.pop()
        self._open.discard(self._call[at])
        self.way[at] += how - self.way[at] % 4
        self.last[at], self._left[at] = row, left
        self.size[at] = len(self.parent) - at
        if self.parent[at] >= 0:
            self._child[self.parent[at]] = at
        self._latest = at


def activations(
    start: int, kind: Sequence[int], call: Sequence[int], ts: Sequence[int], idle: Sequence[bool]
) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Return the columns `parent`, `size`, `way`, `first`, `last`, `own`."""
    walk = _Strand()
    walk.run(range(start, start + len(kind)), kind, call, ts, idle)
    return walk.parent, walk.size, walk.way, walk.first, walk.last, walk.own


def shapes(what: Sequence[int], size: Sequence[int]) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Return the columns `shape` and `place` of activations, and `symbol`, `first` and `child` of shapes."""
    known: dict[tuple[int, ...], int] = {}
    shape, place = [0] * len(what), [-1] * len(what)
    symbol: Numbers = []
    child: Numbers = []
    first = [0]
    for at in range(len(what) - 1, -1, -1):
        inside = list(_inside(at, size))
        key = (what[at], *(shape[one] for one in inside))
        number = known.setdefault(key, len(known))
        if number == len(symbol):
            symbol.append(what[at])
            child += key[1:]
            first.append(len(child))
        shape[at] = number
        for count, one in enumerate(inside):
            place[one] = first[number] + count
    return shape, place, symbol, first, child


def _inside(at: int, size: Sequence[int]) -> Iterator[int]:
    """Yield the direct children of an activation in order."""
    inside, end = at + 1, at + size[at]
    while inside < end:
        yield inside
        inside += size[inside]
