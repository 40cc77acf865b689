"""Parse the conditions that fail a build: `slower:5%,structure`, as `clew diff` and the pytest plugin accept them.

Invariant: an unknown condition is an error that lists the known ones; no condition is ignored.
"""

from __future__ import annotations

import re

from clew.records.errors import ClewError
from clew.records.fast_namedtuple import NamedTuple

HELP = "slower, slower:20%, structure, or several: slower:20%,structure"


class LimitError(ClewError):
    """A condition is invalid."""


class Limits(NamedTuple):
    slower: float | None = None
    """Minimum slowdown that fails the build; None to ignore slowdowns."""
    structure: bool = False
    """True to fail when any flow has changed."""


def parse_limits(text: str) -> Limits:
    """Parse conditions. Raises `LimitError`. `slower` without a share uses the threshold of the comparison."""
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
            raise LimitError(f"unknown --fail-on condition {word.strip()!r}; expected {HELP}")
    return Limits(slower, structure)
