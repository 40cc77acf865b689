"""Measures what a function's actions cost, books it, and leaves payloads and entities out where the budget is overdrawn by it.

Invariant: what carries an edge (a send, receive, use, …) is recorded whatever it costs, for without it the graph would be
wrong. Where something is left out a GAP mark in the trace says so; calls are recorded or counted as ever, so it is known how
many evaluations were left out: one for each call from there on.
"""

from __future__ import annotations

import time

from clew.instrument.recorder.select import core
from clew.records.event import Kind

_EVERY = 64
"""Of so many evaluations one is timed in the end, of the first ones more: it stands for those since the one before, so that
nothing is booked that was not evaluated. The median of the last three is booked, so that a garbage collection in the middle of
one does not count 64 times."""
_QUARTER = 4
"""A site is to blame if a quarter of what all actions cost is its own."""

now = time.thread_time_ns

_meters: dict[int, Meter] = {}


class Meter:
    """What the actions at one site cost."""

    __slots__ = ("_costs", "_skipping", "_times", "droppable", "left", "site", "spent")

    def __init__(self, site: int) -> None:
        self.site = site
        self.droppable = False
        """Is there anything among them that may be left out?"""
        self.left = 0
        """Evaluations until one is timed; who evaluates counts it down."""
        self.spent = 0.0
        """Ns since a site was last judged."""
        self._costs: list[int] = []
        self._times = 1
        """Evaluations that the next one which is timed stands for."""
        self._skipping = 0

    def skips(self) -> bool:
        """Are payloads and entities left out in the recording under way?"""
        return bool(self._skipping) and self._skipping == core.uid()

    def book(self, ns: int, emitted: int) -> None:
        """One evaluation took `ns` and made so many records. Books it, and the ones since the last that was timed."""
        times, self._times = self._times, min(2 * self._times, _EVERY)
        self.left = self._times - 1
        self._costs = [*self._costs[-2:], ns]
        cost = float(sorted(self._costs)[(len(self._costs) - 1) // 2] * times)
        self.spent += cost
        if core.book(cost, emitted * times):
            _judge()

    def skip(self) -> None:
        """Leaves payloads and entities out from here on, and says so."""
        self._skipping = core.uid()
        self._costs, self._times, self.left = [], 1, 0
        text = (
            b"recording payloads and entities here would have cost more than the budget: from here on they are left out, one "
            b"for each call"
        )
        core.emit(Kind.GAP, self.site, 0, 0, text)
        core.define(Kind.NOTE, self.site, text)


def meter_of(site: int) -> Meter:
    return _meters.setdefault(site, Meter(site))


class _Told:
    recording = 0
    """The one that was told of edges beyond the budget."""


def _judge() -> None:
    """Actions overdraw the budget: switches off what may be left out at the dearest site."""
    meters = list(_meters.values())
    total = sum(meter.spent for meter in meters)
    able = [meter for meter in meters if meter.droppable and not meter.skips() and meter.spent * _QUARTER >= total]
    dearest = max(able, key=lambda meter: meter.spent, default=None)
    for meter in meters:
        meter.spent = 0.0
    if dearest is not None:
        dearest.skip()
    elif _Told.recording != core.uid():
        _Told.recording = core.uid()
        text = b"recording what the spec asks for costs more than the budget; edges depend on it, it is recorded all the same"
        core.define(Kind.NOTE, 0, text)
