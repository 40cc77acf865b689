"""Reduce log messages and labels of calls to kinds, so that the same event at another place, or with other values, is the same.

A kind is the fixed text: data, names of services and instances, values and numbers are wildcards. Lists of objects that a
program writes into a message are data, whatever words they have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from clew.compare.stats.tests import I64
from clew.graph.model.text_templates import SLOT

_WORD = re.compile(
    r"(?<![\w\0])(?<!\0-)(?<![=:])(?<![=:][\s\"'\[({<])(?<![=:]\s[\"'\[({<])[^\W\d_]{2,}(?![\w\0])(?!-\0)"
)
"""A sequence of letters that is not next to a parameter, not joined to one by a hyphen, and not the value after `key=` or
`key: `."""
_DATES = frozenset((
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
))  # fmt: skip
_TOKEN = re.compile(r"\w[\w.-]*\w")
"""A word or a name of several words, like that of a service."""
_OBJECTS = re.compile(r"\[\s*[\w.$]*[({]")
"""The beginning of a list of objects: `[Order(id=`, `[{`, `[Order{`."""
_OPEN, _CLOSE = "[({", "])}"
SHORTEST_NAME = 4
"""Shorter names of services may be ordinary words."""


@lru_cache(maxsize=1 << 14)
def without_data(message: str) -> str:
    """Replace each list of objects in a message by a parameter; a list that the message cuts off ends with the message."""
    parts, at = [], 0
    for found in _OBJECTS.finditer(message):
        if found.start() < at:
            continue
        parts += [message[at : found.start()], SLOT]
        at, depth = found.start(), 0
        while at < len(message):
            depth += (message[at] in _OPEN) - (message[at] in _CLOSE)
            at += 1
            if not depth:
                break
    return "".join((*parts, message[at:]))


@lru_cache(maxsize=1 << 14)
def words_of(template: str) -> tuple[str, ...]:
    """Return the words of a template that are probably fixed text, without dates, data and values after their names."""
    return tuple(word for word in _WORD.findall(without_data(template)) if word not in _DATES)


class Kinds:
    """Numbers the kinds of messages and labels."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name for name in names if len(name) >= SHORTEST_NAME)
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def of_messages(self, templates: Iterable[str]) -> I64:
        """Return the kind of each template."""
        return self._coded(" ".join(words_of(self._anonymous(without_data(template)))) for template in templates)

    def of_labels(self, labels: Iterable[str]) -> I64:
        """Return the kind of each label of a call: its name without the service or module that it begins with."""
        return self._coded(f"call {self._anonymous(label.partition(':')[2] or label)}" for label in labels)

    def _anonymous(self, text: str) -> str:
        return _TOKEN.sub(lambda found: SLOT if found[0] in self._names else found[0], text)

    def _coded(self, texts: Iterable[str]) -> I64:
        return np.array([self._numbers.setdefault(text, len(self._numbers)) for text in texts], np.int64)
