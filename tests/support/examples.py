"""The number of examples that a property is tested with: all in the profile `full`, a share in `quick`."""

from __future__ import annotations

from hypothesis import settings

FULL = 100
FEWEST = 5


def examples(number: int) -> int:
    """Return `number` in the profile `full`, and a proportional share in other profiles."""
    return max(min(number, FEWEST), number * (settings.default or settings()).max_examples // FULL)
