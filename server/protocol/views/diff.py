"""Two runs by their functions: the costs before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class DiffParams:
    before: str
    """A run's id, name or folder."""
    after: str
    level: str = "function"
    maxRows: int = 200
    alsoBefore: list[str] = field(default_factory=list)
    """More runs of that side, like `alsoAfter`; values are then means per run."""
    alsoAfter: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DiffRow:
    label: str
    status: Literal["both", "before", "after"]
    callsBefore: float
    """A whole number, except for the mean of several runs."""
    callsAfter: float
    selfBeforeNs: float
    selfAfterNs: float
    deltaNs: float
    """Change of the total self time; the rows are ranked by the part of it that is beyond the scatter of the calls."""
    perCallBeforeNs: float
    """The mean time of the timed calls, like `perCallAfterNs`."""
    perCallAfterNs: float
    location: Location | None = None
    countedBefore: float = 0
    """The part of `callsBefore` that was only counted, not timed."""
    countedAfter: float = 0
    finding: bool = False
    """Whether its self time changed by more than noise."""
    waitsBeforeNs: float = 0
    """Its waits before that no recorded work of others explains, such as those for a lock; like `waitsAfterNs`."""
    waitsAfterNs: float = 0
    waitsFinding: bool = False
    """Whether these waits changed by more than noise."""


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
    """The first run of its side, like `after`."""
    after: RunRef
    level: str
    levels: list[str]
    sentence: str
    """The finding as a sentence: the function, and its change per call and in total."""
    rows: list[DiffRow]
    nodes: list[DiffNode]
    edges: list[DiffEdge]
    totalBeforeNs: float
    totalAfterNs: float
    hiddenRows: int
    message: str = ""
    order: str = ""
    """The order of the rows, in words."""
    counted: str = ""
    """The calls that were only counted, so that their times are missing; "" for none."""
    alsoBefore: list[RunRef] = field(default_factory=list)
    alsoAfter: list[RunRef] = field(default_factory=list)


METHODS = {
    "clew/diff": Method(DiffParams, DiffResult, "views.diff:diff"),
}
