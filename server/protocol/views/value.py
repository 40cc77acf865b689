"""Why a value is what it is: the answer of a second look."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.shared import Location


@dataclass(frozen=True)
class ValueStepText:
    """One step of the chain: a line of the program, and what it made of which values."""

    text: str
    depth: int
    """Its distance from the value that was asked about. A step explains the nearest one above with a lower depth."""
    isControl: bool
    """Whether it tells why the line above ran, not where a value came from."""
    location: Location | None = None
    function: str = ""
    source: str = ""
    """The text of the line at `location`, without its indentation."""


@dataclass(frozen=True)
class Omitted:
    """What did not run or change a value, and could have made the difference."""

    text: str
    location: Location | None = None
    steps: list[ValueStepText] = field(default_factory=list)
    """The branch that decided so, and how its value came about; empty if that is not known."""


@dataclass(frozen=True)
class ValueAnswer:
    title: str
    """What is explained: the failure, or the value."""
    steps: list[ValueStepText]
    moreSteps: int
    """How many further causes were left out, at least."""
    omitted: list[Omitted]
    notes: list[str]
    """What limits the answer: another path than in the run, a limit that was reached."""
    instructions: int
    """How many instructions were followed."""
    seconds: float
    """How long the second look took."""
    functions: list[str] = field(default_factory=list)
    """Labels of the functions of the steps, nearest first."""
