"""Measure the cost of a function's actions, charge it to the budget, and skip payloads and entities that exceed it.

Invariant: actions that carry an edge (a send, receive, use, …) are always recorded, because the graph would be wrong
without them. A GAP mark in the trace shows skipped records. Calls are still recorded or counted, so the number of
skipped evaluations is known: one for each call after the mark.
"""

from __future__ import annotations

import time

from clew.instrument.recorder.core import core
from clew.records.format.event import Kind

_EVERY = 64
"""Maximum number of evaluations per timed evaluation; the first evaluations are timed more often.

A timed evaluation represents the evaluations since the previous timed one, so the budget is charged only for
completed evaluations. The charge is the median of the last three times, so that a garbage collection during one of
them does not count 64 times."""
_QUARTER = 4
"""A site is at fault if it causes a quarter of the cost of all actions."""

now = time.thread_time_ns

_meters: dict[int, Meter] = {}


class Meter:
    """The cost of the actions at one site."""

    __slots__ = ("_costs", "_skipping", "_times", "droppable", "left", "site", "spent")

    def __init__(self, site: int) -> None:
        self.site = site
        self.droppable = False
        """True if some of the actions may be skipped."""
        self.left = 0
        """Evaluations until the next timed one; the evaluating code decrements it."""
        self.spent = 0.0
        """Ns since the last check of a site."""
        self._costs: list[int] = []
        self._times = 1
        """Evaluations that the next timed one represents."""
        self._skipping = 0

    def skips(self) -> bool:
        """Return whether payloads and entities are skipped in the current recording."""
        return bool(self._skipping) and self._skipping == core.uid()

    def book(self, ns: int, emitted: int) -> None:
        """Charge an evaluation that took `ns` and made `emitted` records, and those since the last timed one."""
        times, self._times = self._times, min(2 * self._times, _EVERY)
        self.left = self._times - 1
        self._costs = [*self._costs[-2:], ns]
        cost = float(sorted(self._costs)[(len(self._costs) - 1) // 2] * times)
        self.spent += cost
        if core.book(cost, emitted * times):
            _judge()

    def skip(self) -> None:
        """Skip payloads and entities from now on, and mark that in the trace."""
        self._skipping = core.uid()
        self._costs, self._times, self.left = [], 1, 0
        text = b"recording payloads and entities here would exceed the budget: they are left out from now on, one for each call"
        core.emit(Kind.GAP, self.site, 0, 0, text)
        core.define(Kind.NOTE, self.site, text)


def meter_of(site: int) -> Meter:
    return _meters.setdefault(site, Meter(site))


class _Notified:
    recording = 0
    """The recording that was notified of edges beyond the budget."""


def _judge() -> None:
    """Handle actions that exceed the budget: switch off the optional ones at the most expensive site."""
    meters = list(_meters.values())
    total = sum(meter.spent for meter in meters)
    candidates = [
        meter for meter in meters if meter.droppable and not meter.skips() and meter.spent * _QUARTER >= total
    ]
    most_expensive = max(candidates, key=lambda meter: meter.spent, default=None)
    for meter in meters:
        meter.spent = 0.0
    if most_expensive is not None:
        most_expensive.skip()
    elif _Notified.recording != core.uid():
        _Notified.recording = core.uid()
        text = b"the actions of the spec exceed the budget; they are still recorded, because edges depend on them"
        core.define(Kind.NOTE, 0, text)
