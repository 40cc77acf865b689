"""The machines of a run, and how their clocks stand to each other, in numbers and in words.

Invariant: machine 0 has the clock that the others were put to, so that its own correction is nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """One machine of the run, and what its clock was found to be off by against the first one's."""

    index: int
    name: str
    boot_id: str
    offset_ns: int = 0
    """What was added to its times in the middle of the run."""
    rate: float = 0.0
    """What was added to each nanosecond besides."""
    below_ns: float = 0.0
    """The true offset is at least this much below the one given; infinite when no message bounds it."""
    above_ns: float = 0.0
    messages: int = 0
    """How many the correction was found from."""

    @property
    def clock(self) -> str:
        """How its clock stands to the first one's, in words."""
        if not self.index:
            return "the clock that the others are put to"
        bounds = f"can be off by {_bound(self.below_ns, 'below')}, {_bound(self.above_ns, 'above')}"
        if not self.messages:
            return "no message shows that it was off: its own clock is believed"
        drift = f" and {_sign(self.rate)}{abs(self.rate) * 1e6:.1f} µs a second" if self.rate else ""
        shift = f"{_sign(self.offset_ns)}{in_words(abs(self.offset_ns))}"
        return f"{shift}{drift} ({bounds}; {self.messages} messages)"


def _sign(number: float) -> str:
    return "+" if number >= 0 else "−"


def _bound(ns: float, side: str) -> str:
    return f"any amount {side}" if math.isinf(ns) else f"{in_words(ns)} {side}"


def in_words(ns: float) -> str:
    """A length of time with its unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
