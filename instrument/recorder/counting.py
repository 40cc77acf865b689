"""Functions whose calls are counted instead of recorded, in the recorder written in Python.

The twin of `csrc/counting.h`, which says how it works. Invariant: every call is either recorded, from its beginning to its
end, or counted.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from clew.instrument.recorder.budget import Budget
from clew.instrument.recorder.chunks import Chunk
from clew.instrument.recorder.turns import Turn
from clew.records.event import CALLS, Kind
from clew.records.header import CHUNK_HEADER_SIZE

_PERIOD_NS = 1e9
_QUIET_NS = 3e9
_MOST_QUIET_NS = 96e9
_RETURNING = 0.5
_BEGINS = frozenset({Kind.ENTER, Kind.RESUME})
PAUSES = frozenset({Kind.SUSPEND, Kind.RESUME})


class Counted:
    """A function that is counted, or was in this recording; `place` is its number's in a COUNTERS chunk."""

    def __init__(self, site: int, chunk: Chunk, place: int) -> None:
        self.site = site
        self.chunk, self.place = chunk, place
        self.before = 0
        self.begun = 0
        self.quiet = 0.0
        self.needed = _QUIET_NS / 2
        self.counting = False

    @property
    def calls(self) -> int:
        return self.chunk.words[self.place]


class _Here(threading.local):
    def __init__(self) -> None:
        self.depth: Counter[Counted] = Counter()


class Counting:
    """What is counted in this process's recording."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.pausing: set[int] = set()
        """Sites of generators and coroutines."""
        self._here = _Here()
        self._chunk: Chunk | None = None
        self.sites: dict[int, Counted] = {}

    def forget(self) -> None:
        self._chunk, self.sites = None, {}

    @property
    def full(self) -> Chunk | None:
        """The chunk after which another one is needed for the next function; None when none is needed, or there was none."""
        return self._chunk if self.needs_chunk else None

    @property
    def needs_chunk(self) -> bool:
        return self._chunk is None or self._chunk.place == self._chunk.end

    def has_chunk(self, chunk: Chunk) -> None:
        self._chunk = chunk

    def is_counting(self, site: int) -> bool:
        return site in self.sites and self.sites[site].counting

    def switch_off(self, site: int) -> None:
        """Call it with a chunk that has room."""
        counted = self.sites.get(site)
        if counted is None and self._chunk is not None:
            chunk = self._chunk
            chunk.words[chunk.place] = site
            counted = Counted(site, chunk, chunk.place + 1)
            chunk.place += 2
            self.sites = {**self.sites, site: counted}
        if counted is None:
            return
        counted.counting = True
        counted.before, counted.quiet = counted.calls, 0.0
        counted.needed = min(2 * counted.needed, _MOST_QUIET_NS)
        for each in self.sites.values():
            each.begun = 0
        self.budget.new_period()

    def recovered(self) -> Iterable[Counted]:
        """Once in a period: the functions that have been quiet for long enough. They are recorded again when asked for the
        next one."""
        elapsed = self.budget.clock() - self.budget.period
        if elapsed < _PERIOD_NS:
            return
        room = self.budget.share * elapsed * _RETURNING - self.budget.spent
        self.budget.new_period()
        for each in list(self.sites.values()):
            cost = 2 * each.begun * self.budget.cost
            each.begun = 0
            if not each.counting:
                continue
            each.quiet = each.quiet + elapsed if cost <= room else 0.0
            if each.quiet >= each.needed:
                room -= cost
                yield each
                each.counting = False

    def is_recorded(self, counted: Counted, kind: int) -> bool:
        """Is a call's record to be stored?"""
        inside = self._here.depth[counted] > 0
        if not counted.counting:
            return not inside
        # What began before it was counted is recorded to its end.
        return kind not in _BEGINS and not inside and counted.site not in self.pausing

    def count(self, turn: Turn, counted: Counted, kind: int, left_out: bool) -> None:
        depth = self._here.depth
        chunk, place = counted.chunk, counted.place
        calls, now = chunk.words[place] + (kind == Kind.ENTER and not left_out), depth[counted]
        counted.begun += kind in _BEGINS and not left_out
        now += 1 if kind in _BEGINS else -(now > 0)
        depth[counted] = now
        chunk.words[place] = calls
        turn.over = True


def hottest_site(chunk: Chunk) -> int:
    """The site with the most plain call records in the chunk, or 0."""
    seen: Counter[int] = Counter()
    place = CHUNK_HEADER_SIZE // 8
    while place < chunk.place:
        word = chunk.words[place + 1]
        if word & 0xFF in CALLS and word >> 32:
            seen[word >> 32] += 1
        place += 2 + 2 * (word >> 8 & 0xFF)
    return seen.most_common(1)[0][0] if seen else 0
