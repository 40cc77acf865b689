"""Limit the number of records per time, and mark skipped ones as a gap.

The functions of a rule share one rate; a period begins with the first record in it. Invariant: each function with
skipped records has one mark at the start of the gap, and one with the number at its end, at the latest when the
recording ends. Threads that race at the end of a period may record a few more.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.core import core
from clew.records.format.event import FLAG_OVER, Kind

now = time.monotonic_ns

_DROPPED_FLOW = 2
_rates: dict[object, Rate] = {}
_UNITS = {1: "s", 60: "min", 3600: "h"}


class Rate:
    """A limit of `most` records in `per` seconds."""

    __slots__ = ("_dropped", "_left", "_name", "_ns", "_text", "_uid", "_until", "most")

    def __init__(self, most: int, per: int, name: int, what: str) -> None:
        """`name` is the string id that distinguishes the gaps of one function; `what` describes the skipped records."""
        self.most = most
        self._ns = per * 1_000_000_000
        self._name = name
        self._text = f"{what}: at most {most}/{_UNITS.get(per, f'{per} s')} are recorded; the rest is skipped"
        self._uid = 0
        self._until = 0
        self._left: Iterator[int] = itertools.count()
        self._dropped: dict[int, Iterator[int]] = {}

    def admits(self, site: int) -> bool:
        """Return whether one more record is allowed at `site` now."""
        if core.flow() == _DROPPED_FLOW:
            return True  # the whole flow is skipped, so this record does not count
        time = now()
        if time >= self._until or self._uid != core.uid():
            if self._uid != core.uid():
                self._dropped = {}  # the counts belong to another recording, perhaps of the forking process
            self._uid, self._until, self._left = core.uid(), time + self._ns, itertools.count()
        if next(self._left) < self.most:
            if self._dropped:
                self.mark_ends()
            return True
        known = self._dropped.get(site)
        if known is None:
            known = self._dropped[site] = itertools.count()
            core.emit(Kind.GAP, site, 0, self._name, self._text.encode())
        next(known)
        return False

    def mark_ends(self) -> None:
        """Mark the ends of the gaps, each with its number of skipped records."""
        for site in list(self._dropped):
            number = self._dropped.pop(site, None)
            if number is not None and self._uid == core.uid():
                core.emit(Kind.GAP, site, next(number), self._name, self._text.encode(), FLAG_OVER)


def rate_of(rule: object, most: int, per: int, name: int, what: str) -> Rate:
    """Return the rate of a rule's action, which all its functions share."""
    key = rule, most, per, name
    rate = _rates.get(key)
    if rate is None:
        rate = _rates[key] = Rate(most, per, name, what)
    return rate


def _mark_all_ends() -> None:
    for rate in list(_rates.values()):
        rate.mark_ends()


lifecycle.at_end(_mark_all_ends)
