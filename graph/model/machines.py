"""The machines of a run, and the offsets between their clocks as numbers and as text.

Invariant: machine 0 has the reference clock, so its correction is zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ROUNDING_NS = 2


@dataclass(frozen=True)
class Machine:
    """One machine of the run, and the correction of its clock to the first machine's."""

    index: int
    name: str
    boot_id: str
    offset_ns: int = 0
    """The correction that was added to its times in the middle of the run."""
    rate: float = 0.0
    """The additional correction per nanosecond."""
    below_ns: float = 0.0
    """How far the true offset can be below `offset_ns`; infinite when no message bounds it."""
    above_ns: float = 0.0
    """How far the true offset can be above `offset_ns`; infinite when no message bounds it."""
    messages: int = 0
    """The number of messages that the correction was computed from."""

    @property
    def clock(self) -> str:
        """The offset of its clock from the first machine's, as text."""
        if not self.index:
            return "reference clock"
        bounds = f"can be off by {_bound(self.below_ns, 'below')}, {_bound(self.above_ns, 'above')}"
        if not self.messages:
            return "not corrected: no message bounds its offset"
        drift = f" and {_sign(self.rate)}{abs(self.rate) * 1e6:.1f} µs a second" if self.rate else ""
        shift = f"{_sign(self.offset_ns)}{in_words(abs(self.offset_ns))}"
        return f"{shift}{drift} ({bounds}; {self.messages} messages)"

    @property
    def is_bounded(self) -> bool:
        """Whether messages bound the offset of its clock. It is false for the first machine, which needs no correction."""
        return bool(self.index and self.messages)

    @property
    def correction(self) -> str:
        """The correction of its clock and the uncertainty, as text. It is shown with messages from or to the machine."""
        by = (
            f"corrected by {_sign(self.offset_ns)}{in_words(abs(self.offset_ns))}"
            if self.offset_ns
            else "not corrected"
        )
        below, above = in_words(self.below_ns), in_words(self.above_ns)
        if math.isinf(self.below_ns) or math.isinf(self.above_ns):
            uncertainty = f"can be off by {_bound(self.below_ns, 'below')}, {_bound(self.above_ns, 'above')}"
        else:
            uncertainty = f"certain to ±{above}" if below == above else f"certain to −{below} and +{above}"
        return f"clock of {self.name} {by}, {uncertainty}"


@dataclass(frozen=True)
class Crossing:
    """The clock uncertainty between two machines, of which at least one has a clock that messages bound."""

    machines: tuple[Machine, ...]
    """The machines with such a clock."""

    @property
    def within_ns(self) -> float:
        """The largest possible error of a time between the two machines, in nanoseconds."""
        return sum(max(machine.below_ns, machine.above_ns) for machine in self.machines)

    def hides(self, ns: float) -> bool:
        """Return whether the possible clock error exceeds this time between the two machines."""
        # The fastest message took as long as the bound that was computed from it, except for rounding.
        return self.within_ns > abs(ns) + _ROUNDING_NS

    def __str__(self) -> str:
        return "; ".join(machine.correction for machine in self.machines)


def crossing(machines: Sequence[Machine], one: int, other: int) -> Crossing | None:
    """Return the crossing between two machines; None if they share a clock or no message bounds either clock."""
    if one == other:
        return None
    found = tuple(machines[index] for index in (one, other) if machines[index].is_bounded)
    return Crossing(found) if found else None


def _sign(number: float) -> str:
    return "+" if number >= 0 else "−"


def _bound(ns: float, side: str) -> str:
    return f"any amount {side}" if math.isinf(ns) else f"{in_words(ns)} {side}"


def in_words(ns: float) -> str:
    """Return a duration with its unit, e.g. `1.5 ms`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
