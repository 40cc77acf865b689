"""Which runs there are and which is looked at; where a line of source belongs, and lines of source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class RunsParams:
    elsewhere: bool = False
    """Also what is recorded now in other workspaces of this machine: that takes a look at all of the user's processes."""


@dataclass(frozen=True)
class RunsResult:
    workspace: str
    runs: list[RunRef]
    selected: str = ""
    baseline: str = ""
    """The id of the run that the editor compares with, the newest of several; "" for none."""
    baselineName: str = ""
    """What it was chosen by: a run's name, or a revision."""
    elsewhere: list[RunRef] = field(default_factory=list)
    """Their ids are their folders, and their names have the workspace."""


@dataclass(frozen=True)
class SelectRunParams:
    run: str


@dataclass(frozen=True)
class ChooseBaselineParams:
    """Compares with this run, or this revision's test sessions, from now on; "" with what the settings name, if they do."""

    run: str


@dataclass(frozen=True)
class LocateParams:
    """Which of a slice's functions is the cursor in?"""

    location: Location
    run: str = ""


@dataclass(frozen=True)
class LocateResult:
    function: str
    """`module:qualname`, empty when the line belongs to no recorded function."""
    location: Location | None = None


@dataclass(frozen=True)
class PresentParams:
    """Where does a recorded place stand in the text that the user sees now?"""

    location: Location
    run: str = ""


@dataclass(frozen=True)
class PresentResult:
    location: Location
    """Of what is stale, where it was, or would be."""
    state: Literal["exact", "moved", "stale"]
    message: str = ""
    """Why it is stale."""


@dataclass(frozen=True)
class SourceParams:
    """Lines around a place, for the browser, which has no editor beside it. Only files that the run recorded, and source
    and log files of the workspace, are shown."""

    location: Location
    context: int = 12
    run: str = ""


@dataclass(frozen=True)
class SourceResult:
    path: str
    firstLine: int
    lines: list[str]
    message: str = ""
