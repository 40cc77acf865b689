"""What a diagnosis returns: claims in plain words, each with the events that prove it, and how sure they are."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

Certainty = Literal["recorded", "inferred"]


class Reason(enum.IntEnum):
    """The kinds of reasons. A lower one is told before a higher one."""

    DATA = 1  # who sent the bytes, put the item, raised the exception, wrote the state
    RESOURCE = 2  # who held what was waited for, who should have given it back
    CONTROL = 3  # who cancelled, which exception or branch led here
    CALL = 4
    SCHEDULING = 5  # who started or woke; context, seldom a cause


@dataclass(frozen=True)
class Claim:
    """One sentence, and the events that it follows from."""

    text: str
    events: tuple[int, ...]


@dataclass(frozen=True)
class Victim:
    """A strand that suffers from the cause, in a range of its rows."""

    strand: int
    first: int
    last: int
    """The last row, -1 for the end of the strand."""


@dataclass(frozen=True)
class Finding:
    """One cause that a diagnosis found. `claims` are one to three sentences: the verdict."""

    kind: str
    """The diagnosis, such as `wait-circle`."""
    reason: Reason
    claims: tuple[Claim, ...]
    victims: tuple[Victim, ...]
    certainty: Certainty = "recorded"
    inferred_from: str = ""
    """What an inferred claim follows from."""

    @property
    def events(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(event for claim in self.claims for event in claim.events))

    @property
    def text(self) -> str:
        return " ".join(claim.text for claim in self.claims)
