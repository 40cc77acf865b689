"""Execution patterns: what threads and tasks do again and again, when, and what follows what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class PatternsParams:
    run: str = ""
    strand: str = ""
    """Only threads and tasks whose name, `process / strand`, has this in it; "" for all."""
    level: str = "function"
    """function, class, module, component, or the spec's."""
    calls: int = 3
    """A pattern has at least so many calls,"""
    times: int = 2
    """occurs at least so often,"""
    widest: int = 64
    """and has at most so many calls side by side."""
    maxPatterns: int = 50
    pattern: str = ""
    """Which one is looked at closer, by `PatternRow.id`; "" for the first row's."""
    fromNs: float = 0.0
    """Stretches from here on; since the run's start,"""
    toNs: float = 0.0
    """up to here; 0 for the end."""
    maxStretches: int = 200
    """Of each pattern. What is nearer to each other than that allows becomes one."""


@dataclass(frozen=True)
class PatternStrand:
    process: str
    strand: str
    events: int
    fromNs: float
    toNs: float


@dataclass(frozen=True)
class PatternLine:
    """Equal calls in a row; what they call stands below, one deeper."""

    depth: int
    label: str
    repeats: int
    calls: int
    """In one of them, itself included."""
    resumed: bool
    """It went on after it was suspended, rather than being called."""
    end: Literal["returned", "raised", "suspended", "unfinished"]
    meanNs: float
    """Of all calls that are like it, in patterns or not."""
    event: int
    """Where one of them begins."""
    location: Location | None = None


@dataclass(frozen=True)
class PatternStretch:
    """Occurrences near each other."""

    fromNs: float
    toNs: float
    count: int
    strand: int
    """Place in the answer's `strands`."""


@dataclass(frozen=True)
class PatternRow:
    id: str
    """The same for the same pattern in every run."""
    title: str
    calls: int
    """In one occurrence, with those that are called."""
    width: int
    """How many side by side."""
    count: int
    """Occurrences, at any depth."""
    totalNs: float
    """What its calls took in all, without what is between those that are side by side."""
    selfNs: float
    """Of that what was spent in recorded code, not waiting."""
    meanNs: float
    share: float
    """Of the time of all strands. Patterns lie within others, so shares add up to more than 1."""
    strands: int
    """In how many it occurs."""
    firstNs: float
    lastNs: float
    firstEvent: int
    raised: int
    """Calls in it that end by an exception."""
    outline: list[PatternLine]
    hiddenLines: bool
    """There is more than the outline shows."""
    stretches: list[PatternStretch]
    location: Location | None = None


@dataclass(frozen=True)
class PatternSuccession:
    """One pattern followed another in what one call calls, or a strand does; nothing that is a pattern was between."""

    before: str
    after: str
    count: int


@dataclass(frozen=True)
class PatternsResult:
    run: RunRef
    level: str
    levels: list[str]
    sentence: str
    explanation: str
    """In plain words, what counts as a pattern."""
    strands: list[PatternStrand]
    """Those that were looked at, the longest first."""
    hiddenStrands: int
    events: int
    spanNs: float
    """The time of all strands together."""
    patterns: list[PatternRow]
    """What takes the most time first."""
    hiddenPatterns: int
    successions: list[PatternSuccession]
    """The most frequent first."""
    pattern: str
    """The one that was asked for, or the first; "" for none."""
    fromNs: float
    toNs: float
    message: str = ""
    """A sentence when there is nothing to show, with what to do."""
