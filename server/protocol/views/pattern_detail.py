"""Details of one pattern: its times, one occurrence, and the diagram of consecutive states.

The requests extend those of `clew/patterns`, so that they use its cached result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef
from clew.server.protocol.views.patterns import PatternsParams


@dataclass(frozen=True)
class PatternTimesParams(PatternsParams):
    """`fromNs` and `toNs` are the window."""

    maxParts: int = 600
    """Number of equal parts of the window, and of the whole run: as many as there are pixels."""


@dataclass(frozen=True)
class PatternLane:
    """One thread or task in the window, part by part."""

    strand: int
    """The number of the strand in the run."""
    process: str
    name: str
    count: int
    """Occurrences that are completely or partly in the window."""
    begun: list[int]
    """The number of occurrences that begin in each part."""
    ns: list[float]
    """The total time of the occurrences in each part."""


@dataclass(frozen=True)
class PatternInside:
    """A pattern in the window."""

    id: str
    count: int
    """The number of occurrences that are completely or partly in the window."""
    ns: float
    """The time of the occurrences in the window."""
    share: float
    """The share of that time in the time of all threads and tasks."""


@dataclass(frozen=True)
class PatternTimesResult:
    run: RunRef
    pattern: str
    fromNs: float
    toNs: float
    endNs: float
    """End of the whole run, which begins at 0."""
    whole: list[float]
    """The pattern's time in equal parts of the whole run, in all threads and tasks together."""
    lanes: list[PatternLane]
    """The lanes with most of its time in the window first."""
    hiddenLanes: int
    """Number of omitted threads and tasks in which it occurs in the window."""
    inside: list[PatternInside]
    """The requested patterns that occur in the window, in the same order."""


@dataclass(frozen=True)
class PatternOccurrenceParams(PatternsParams):
    """Selects an occurrence by its number, or the one nearest to a time in one thread or task."""

    number: int = -1
    """The number of the occurrence in time order, from 0."""
    strandNumber: int = -1
    """The number of the thread or task in the run, if the nearest occurrence is requested."""
    atNs: float = 0.0


@dataclass(frozen=True)
class PatternOccurrence:
    number: int
    """The number in time order, from 0."""
    strand: int
    process: str
    name: str
    fromNs: float
    toNs: float
    event: int
    """The first event."""
    location: Location | None = None


@dataclass(frozen=True)
class PatternOccurrenceResult:
    run: RunRef
    pattern: str
    count: int
    occurrence: PatternOccurrence | None = None
    """The occurrence; null if the thread or task has none."""


@dataclass(frozen=True)
class PatternState:
    """A node of the diagram: a function's beginning or end."""

    label: str
    what: Literal["entered", "resumed", "returned", "raised", "suspended", "unfinished"]
    count: int
    inside: int
    """Number of times within occurrences of the pattern."""
    ns: float
    """Total time until the next state."""
    share: float
    """Share of the time of all strands."""
    location: Location | None = None


@dataclass(frozen=True)
class PatternMove:
    """An edge of the diagram: one state right after another."""

    source: int
    """Index into `states`."""
    target: int
    count: int
    inside: int
    """Number of these within occurrences of the pattern."""


@dataclass(frozen=True)
class PatternDiagram:
    run: RunRef
    pattern: str
    states: list[PatternState]
    """The states of the pattern, and the other states with the most time."""
    hiddenStates: int
    moves: list[PatternMove]
    hiddenMoves: int
    """Number of omitted, rarer moves."""


METHODS = {
    "clew/patternTimes": Method(PatternTimesParams, PatternTimesResult, "views.patterns.detail:pattern_times"),
    "clew/patternOccurrence": Method(
        PatternOccurrenceParams, PatternOccurrenceResult, "views.patterns.detail:pattern_occurrence"
    ),
    "clew/patternDiagram": Method(PatternsParams, PatternDiagram, "views.patterns.detail:pattern_diagram"),
}
