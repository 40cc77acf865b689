"""How many examples a property is tested with: all of them in the profile `full`, a share of them in `quick`."""

from __future__ import annotations

from hypothesis import settings

FULL = 100
FEWEST = 5


def examples(number: int) -> int:
    """`number` in the profile `full`; in another one the share that its own number has of the 100 of `full`."""
    return max(min(number, FEWEST), number * (settings.default or settings()).max_examples // FULL)
