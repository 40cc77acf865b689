"""Closer looks at one pattern: when it occurs, one occurrence, and the diagram of what happens right after what.

Their questions are those of `clew/patterns` and more, so that what was found for that is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.server.protocol.patterns import PatternsParams
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class PatternTimesParams(PatternsParams):
    """`fromNs` and `toNs` are the window that is looked at."""

    maxParts: int = 600
    """Into so many equal parts the window, and the whole run, are cut: as many as there are pixels."""


@dataclass(frozen=True)
class PatternLane:
    """One thread or task in the window, part by part."""

    strand: int
    """Its number in the run."""
    process: str
    name: str
    count: int
    """Occurrences that are in the window in part or whole."""
    begun: list[int]
    """How many begin in each part,"""
    ns: list[float]
    """and how long they are under way in it."""


@dataclass(frozen=True)
class PatternInside:
    """A pattern in the window."""

    id: str
    count: int
    """Occurrences that are in it in part or whole,"""
    ns: float
    """what they take there,"""
    share: float
    """and how much that is of all threads' and tasks' time there."""


@dataclass(frozen=True)
class PatternTimesResult:
    run: RunRef
    pattern: str
    fromNs: float
    toNs: float
    endNs: float
    """Of the whole run, which begins at 0."""
    whole: list[float]
    """Of equal parts of the whole run, how long the pattern is under way, in all threads and tasks together."""
    lanes: list[PatternLane]
    """Those with most of its time in the window first."""
    hiddenLanes: int
    """More threads and tasks in which it occurs in the window."""
    inside: list[PatternInside]
    """Of all patterns that were asked for, in their order, those that occur in the window."""


@dataclass(frozen=True)
class PatternOccurrenceParams(PatternsParams):
    """Which one: by its number, or the one nearest to a time in one thread or task."""

    number: int = -1
    """In the order of time, from 0;"""
    strandNumber: int = -1
    """or the number of the thread or task in the run,"""
    atNs: float = 0.0


@dataclass(frozen=True)
class PatternOccurrence:
    number: int
    """In the order of time, from 0."""
    strand: int
    process: str
    name: str
    fromNs: float
    toNs: float
    event: int
    """With which it begins."""
    location: Location | None = None


@dataclass(frozen=True)
class PatternOccurrenceResult:
    run: RunRef
    pattern: str
    count: int
    occurrence: PatternOccurrence | None = None
    """None where the thread or task has none."""


@dataclass(frozen=True)
class PatternState:
    """A node of the diagram: a function's beginning or end."""

    label: str
    what: Literal["entered", "resumed", "returned", "raised", "suspended", "unfinished"]
    count: int
    inside: int
    """How often within occurrences of the pattern."""
    ns: float
    """Until the next state, summed."""
    share: float
    """Of the time of all strands."""
    location: Location | None = None


@dataclass(frozen=True)
class PatternMove:
    """An edge of the diagram: one state came right after another."""

    source: int
    """Place in `states`."""
    target: int
    count: int
    inside: int
    """How many of these within occurrences of the pattern."""


@dataclass(frozen=True)
class PatternDiagram:
    run: RunRef
    pattern: str
    states: list[PatternState]
    """Those of the pattern, and of the others those with the most time."""
    hiddenStates: int
    moves: list[PatternMove]
    hiddenMoves: int
    """Rarer ones that were left out."""
