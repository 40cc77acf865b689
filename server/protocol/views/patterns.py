"""Execution patterns: repeated calls of threads and tasks, their times and their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class PatternsParams:
    run: str = ""
    strand: str = ""
    """Only threads and tasks whose name, `process / strand`, contains this; "" for all."""
    level: str = "function"
    """function, class, module, component, or one of the spec's."""
    calls: int = 3
    """The minimum number of calls of a pattern."""
    times: int = 2
    """The minimum number of occurrences."""
    widest: int = 64
    """The maximum number of calls side by side."""
    maxPatterns: int = 50
    pattern: str = ""
    """The selected pattern, a `PatternRow.id`; "" for the first row's."""
    fromNs: float = 0.0
    """The start of the time range of the segments, since the run's start."""
    toNs: float = 0.0
    """The end of the time range; 0 for the end of the run."""
    maxStretches: int = 200
    """Maximum number per pattern; nearer stretches are merged."""


@dataclass(frozen=True)
class PatternStrand:
    process: str
    strand: str
    events: int
    fromNs: float
    toNs: float


@dataclass(frozen=True)
class PatternLine:
    """Equal calls in a row; their callees are in the lines below, one level deeper."""

    depth: int
    label: str
    repeats: int
    calls: int
    """Calls in one of them, itself included."""
    resumed: bool
    """It continued after a suspension, and was not called."""
    end: Literal["returned", "raised", "suspended", "unfinished"]
    meanNs: float
    """Mean over all equal calls, in patterns or not."""
    event: int
    """The begin of one of them."""
    location: Location | None = None


@dataclass(frozen=True)
class PatternStretch:
    """Occurrences near each other."""

    fromNs: float
    toNs: float
    count: int
    strand: int
    """Index into the answer's `strands`."""


@dataclass(frozen=True)
class PatternRow:
    id: str
    """The id of the pattern, which is the same in every run."""
    title: str
    calls: int
    """Calls in one occurrence, including callees."""
    width: int
    """Number of calls side by side."""
    count: int
    """Occurrences, at any depth."""
    totalNs: float
    """Total time of its calls, without the time between calls side by side."""
    selfNs: float
    """The part of it spent in recorded code, not waiting."""
    meanNs: float
    share: float
    """Share of the time of all strands. Patterns are nested, so that shares add up to more than 1."""
    strands: int
    """Number of strands in which it occurs."""
    firstNs: float
    lastNs: float
    firstEvent: int
    raised: int
    """Calls in it that end by an exception."""
    outline: list[PatternLine]
    hiddenLines: bool
    """The outline is incomplete."""
    stretches: list[PatternStretch]
    location: Location | None = None


@dataclass(frozen=True)
class PatternSuccession:
    """One pattern followed another within a call, or within a strand, without a pattern between them."""

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
    """The definition of a pattern, in plain words."""
    strands: list[PatternStrand]
    """The searched strands, the longest first."""
    hiddenStrands: int
    events: int
    spanNs: float
    """The time of all strands together."""
    patterns: list[PatternRow]
    """The pattern with the most time first."""
    hiddenPatterns: int
    successions: list[PatternSuccession]
    """The successions, the most frequent first."""
    pattern: str
    """The requested pattern, or the first; "" for none."""
    fromNs: float
    toNs: float
    message: str = ""
    """A sentence if there is nothing to show, with a remedy."""


METHODS = {
    "clew/patterns": Method(PatternsParams, PatternsResult, "views.patterns.view:patterns_view"),
}
