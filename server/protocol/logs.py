"""Whether a line of text, as a terminal shows it, was written by a recorded run."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.shared import Target


@dataclass(frozen=True)
class RecogniseParams:
    text: str
    """A line, without escape sequences."""


@dataclass(frozen=True)
class RecognisedLine:
    begin: int
    """Where in the line the link stands, in UTF-16 units."""
    end: int
    target: Target
    run: str
    title: str
    """The event, in words."""


@dataclass(frozen=True)
class RecogniseResult:
    lines: list[RecognisedLine] = field(default_factory=list)
    """One, or none when no run wrote it."""
