"""Records at most so many of something in so many seconds, and marks what is left out as a gap.

A rule's functions share one rate; the seconds begin with the first record in them. Invariant: each function of which something
was left out has one mark where that began, and one with the number where it was over, at the latest where the recording ends.
Threads that race at the turn of the seconds may record a few more.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.select import core
from clew.records.event import FLAG_OVER, Kind

now = time.monotonic_ns

_DROPPED_FLOW = 2
_rates: dict[object, Rate] = {}
_UNITS = {1: "s", 60: "min", 3600: "h"}


class Rate:
    """At most `most` records in `per` seconds."""

    __slots__ = ("_dropped", "_left", "_name", "_ns", "_text", "_uid", "_until", "most")

    def __init__(self, most: int, per: int, name: int, what: str) -> None:
        """`name` is the string's id by which the gaps of one function are told apart, `what` says what is left out."""
        self.most = most
        self._ns = per * 1_000_000_000
        self._name = name
        self._text = f"{what}: at most {most}/{_UNITS.get(per, f'{per} s')} are recorded, more are left out"
        self._uid = 0
        self._until = 0
        self._left: Iterator[int] = itertools.count()
        self._dropped: dict[int, Iterator[int]] = {}

    def admits(self, site: int) -> bool:
        """Is one more record to be made at `site` now?"""
        if core.flow() == _DROPPED_FLOW:
            return True  # the flow is left out as a whole, nothing of this is recorded
        time = now()
        if time >= self._until or self._uid != core.uid():
            if self._uid != core.uid():
                self._dropped = {}  # those of another recording, the forking process's perhaps
            self._uid, self._until, self._left = core.uid(), time + self._ns, itertools.count()
        if next(self._left) < self.most:
            if self._dropped:
                self.tell()
            return True
        known = self._dropped.get(site)
        if known is None:
            known = self._dropped[site] = itertools.count()
            core.emit(Kind.GAP, site, 0, self._name, self._text.encode())
        next(known)
        return False

    def tell(self) -> None:
        """Marks that the gaps are over, each with how many records were left out."""
        for site in list(self._dropped):
            number = self._dropped.pop(site, None)
            if number is not None and self._uid == core.uid():
                core.emit(Kind.GAP, site, next(number), self._name, self._text.encode(), FLAG_OVER)


def rate_of(rule: object, most: int, per: int, name: int, what: str) -> Rate:
    """The one rate of a rule's action, which all its functions share."""
    key = rule, most, per, name
    rate = _rates.get(key)
    if rate is None:
        rate = _rates[key] = Rate(most, per, name, what)
    return rate


def _tell_all() -> None:
    for rate in list(_rates.values()):
        rate.tell()


lifecycle.at_end(_tell_all)
