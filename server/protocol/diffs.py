"""Two runs by their functions: what each cost before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class DiffParams:
    before: str
    """A run's id, name or folder."""
    after: str
    level: str = "function"
    maxRows: int = 200


@dataclass(frozen=True)
class DiffRow:
    label: str
    status: Literal["both", "before", "after"]
    callsBefore: int
    callsAfter: int
    selfBeforeNs: float
    selfAfterNs: float
    deltaNs: float
    """Change of the total self time; the rows are ranked by the part of it that is beyond the scatter of the calls."""
    perCallBeforeNs: float
    """Of the calls that were timed, as `perCallAfterNs`."""
    perCallAfterNs: float
    location: Location | None = None
    countedBefore: int = 0
    """The part of `callsBefore` that was only counted, not timed."""
    countedAfter: int = 0
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
