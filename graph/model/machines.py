"""The machines of a run, and how their clocks stand to each other, in numbers and in words.

Invariant: machine 0 has the clock that the others were put to, so that its own correction is nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ROUNDING_NS = 2


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

    @property
    def is_bounded(self) -> bool:
        """Do messages say what its clock was off by? The first machine's needs none."""
        return bool(self.index and self.messages)

    @property
    def correction(self) -> str:
        """What an event that came from it, or went there, is told with: by what its clock was moved, and how sure that is."""
        by = (
            f"corrected by {_sign(self.offset_ns)}{in_words(abs(self.offset_ns))}"
            if self.offset_ns
            else "not corrected"
        )
        below, above = in_words(self.below_ns), in_words(self.above_ns)
        if math.isinf(self.below_ns) or math.isinf(self.above_ns):
            sure = f"can be off by {_bound(self.below_ns, 'below')}, {_bound(self.above_ns, 'above')}"
        else:
            sure = f"certain to ±{above}" if below == above else f"certain to −{below} and +{above}"
        return f"clock of {self.name} {by}, {sure}"


@dataclass(frozen=True)
class Crossing:
    """The way between two machines, of which at least one has a clock that was put to another's."""

    machines: tuple[Machine, ...]
    """Those with such a clock."""

    @property
    def within_ns(self) -> float:
        """By how much a time between the two can be wrong."""
        return sum(max(machine.below_ns, machine.above_ns) for machine in self.machines)

    def hides(self, ns: float) -> bool:
        """Can the clocks be off by more than this time between the two?"""
        # The fastest message took as long as the bound that was found from it, but for what is rounded.
        return self.within_ns > abs(ns) + _ROUNDING_NS

    def __str__(self) -> str:
        return "; ".join(machine.correction for machine in self.machines)


def crossing(machines: Sequence[Machine], one: int, other: int) -> Crossing | None:
    """None where there is one clock, or nothing is known of how two differ."""
    if one == other:
        return None
    found = tuple(machines[index] for index in (one, other) if machines[index].is_bounded)
    return Crossing(found) if found else None


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
