"""Recognizes a line of text, as a terminal shows it, that a recorded run wrote."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Target


@dataclass(frozen=True)
class RecogniseParams:
    text: str
    """A line without escape sequences."""


@dataclass(frozen=True)
class RecognisedLine:
    begin: int
    """The position of the link in the line, in UTF-16 units."""
    end: int
    target: Target
    run: str
    title: str
    """The title of the event."""


@dataclass(frozen=True)
class RecogniseResult:
    lines: list[RecognisedLine] = field(default_factory=list)
    """One entry, or none if no run wrote the line."""


METHODS = {
    "clew/recognise": Method(RecogniseParams, RecogniseResult, "locations.terminal_line:recognise"),
}
