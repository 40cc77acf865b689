"""Two runs by their functions: what each cost before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class DiffParams:
    before: str
    """A run's id, name or folder."""
    after: str
    level: str = "function"
    maxRows: int = 200
    alsoBefore: list[str] = field(default_factory=list)
    """More runs of that side, as `alsoAfter`; figures are then those of a run on average."""
    alsoAfter: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DiffRow:
    label: str
    status: Literal["both", "before", "after"]
    callsBefore: float
    """Whole, but for the mean of several runs."""
    callsAfter: float
    selfBeforeNs: float
    selfAfterNs: float
    deltaNs: float
    """Change of the total self time; the rows are ranked by the part of it that is beyond the scatter of the calls."""
    perCallBeforeNs: float
    """Of the calls that were timed, as `perCallAfterNs`."""
    perCallAfterNs: float
    location: Location | None = None
    countedBefore: float = 0
    """The part of `callsBefore` that was only counted, not timed."""
    countedAfter: float = 0
    finding: bool = False
    """It changed by more than noise."""


@dataclass(frozen=True)
class DiffNode:
    id: str
    label: str
    status: Literal["both", "before", "after"]
    deltaNs: float
    callsBefore: int
    callsAfter: int
    location: Location | None = None


@dataclass(frozen=True)
class DiffEdge:
    source: str
    target: str
    status: Literal["both", "before", "after"]
    countBefore: int
    countAfter: int


@dataclass(frozen=True)
class DiffResult:
    before: RunRef
    """The first run of its side, as `after`."""
    after: RunRef
    level: str
    levels: list[str]
    sentence: str
    """The finding in plain words: which function, by how much, per call and in all."""
    rows: list[DiffRow]
    nodes: list[DiffNode]
    edges: list[DiffEdge]
    totalBeforeNs: float
    totalAfterNs: float
    hiddenRows: int
    message: str = ""
    order: str = ""
    """What the rows are ordered by, in words."""
    counted: str = ""
    """Which calls were only counted, so that their times are missing; "" for none."""
    alsoBefore: list[RunRef] = field(default_factory=list)
    alsoAfter: list[RunRef] = field(default_factory=list)
