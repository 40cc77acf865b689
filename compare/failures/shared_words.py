"""Compare the words of a function's name with those of a failed test: its name, and the message of its exception."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_EMPTY = frozenset({"test", "tests", "py", "self", "init", "locals"})
"""Words that are in most names."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case; names are split at underscores and at capitals."""
    return frozenset(word.lower() for word in _WORD.findall(text)) - _EMPTY


def share(name: frozenset[str], told: frozenset[str]) -> float:
    """Return the share of a name's words that are among `told`, from 0 to 1; 0 for a name without words."""
    return len(name & told) / len(name) if name else 0.0
