"""What a comparison must not show if a build is to pass: `slower:5%,structure`, as `clew diff` and pytest's plugin take it.

Invariant: what is not understood is refused with the words that are; nothing is ignored.
"""

from __future__ import annotations

import re

from clew.records.errors import ClewError
from clew.records.tuples import NamedTuple

HELP = "slower, slower:20%, structure, or several: slower:20%,structure"


class LimitError(ClewError):
    """The words mean nothing."""


class Limits(NamedTuple):
    slower: float | None = None
    """What is slower by at least this share is too slow; None: nothing is."""
    structure: bool = False
    """No flow may have changed."""


def parse_limits(text: str) -> Limits:
    """Raises `LimitError`. `slower` alone is whatever the comparison itself calls slower."""
    slower: float | None = None
    structure = False
    for word in text.split(","):
        name, _, value = word.strip().partition(":")
        percent = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value.strip())
        if name == "structure" and not value:
            structure = True
        elif name == "slower" and (percent or ":" not in word):
            slower = float(percent[1]) / 100 if percent else 0.0
        else:
            raise LimitError(f"{word.strip()!r} is nothing to fail on; known: {HELP}")
    return Limits(slower, structure)
