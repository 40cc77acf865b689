"""The budget of the recorder written in Python: what recording costs, and when it is too much.

The twin of `csrc/budget.h`, which says how it works. Invariant: both judge alike by the same counts and clock.
"""

from __future__ import annotations

import time

AROUND_NS = 10.0
_EMITTED_NS = 700.0
_CREDIT_NS = 1e9
_FIRST_CREDIT_NS = 1e8


class Budget:
    def __init__(self) -> None:
        self.share = 0.0
        """Of CPU time that recording may cost; 0 for no bound."""
        self.cost = 0.0
        """Ns of one plain record."""
        self.spent = 0.0
        """Ns in this period, which began at the process CPU time `period`."""
        self.period = 0
        self._credit = 0.0
        self._clock = 0
        self._records = 0.0
        self._actions = 0.0
        self._pretended: int | None = None

    def start(self, share: float, cost: float) -> None:
        self.share, self.cost, self._pretended = share, cost, None
        self._begin()

    def pretend(self, clock: int, cost: float) -> None:
        """Has tests say what the process CPU time is, and what a plain record costs."""
        first = self._pretended is None
        self.cost, self._pretended = cost, clock
        if first:
            self._begin()

    def _begin(self) -> None:
        self._clock = self.clock()
        self._judged()
        self.new_period()

    def clock(self) -> int:
        return time.process_time_ns() if self._pretended is None else self._pretended

    def new_period(self) -> None:
        self.period, self.spent = self.clock(), 0.0

    def filled(self, units: int, emitted: int) -> bool:
        """Books what a full chunk cost. True when the budget is overdrawn by records."""
        if not self.share:
            return False
        cost = units * self.cost + emitted * _EMITTED_NS
        self._spend(cost)
        self._records += cost
        if self._credit >= 0 or self._actions > self._records:
            return False
        self._judged()
        return True

    def book(self, ns: float, emitted: float) -> bool:
        """Books actions, and not twice the records that they made. True when the budget is overdrawn by actions."""
        if not self.share:
            return False
        self._spend(ns - emitted * _EMITTED_NS)
        self._actions += ns
        self._records -= emitted * _EMITTED_NS
        if self._credit >= 0 or self._actions <= self._records:
            return False
        self._judged()
        return True

    def _spend(self, ns: float) -> None:
        clock = self.clock()
        earned = self._credit + self.share * (clock - self._clock)
        self._credit = min(earned, self.share * _CREDIT_NS) - ns
        self._clock = clock
        self.spent += ns

    def _judged(self) -> None:
        self._credit = self.share * _FIRST_CREDIT_NS
        self._records = self._actions = 0.0
