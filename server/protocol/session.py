"""The runs and the selected one; the functions at lines of source, and lines of source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class RunsParams:
    elsewhere: bool = False
    """Also return live runs of other workspaces of this machine; this scans all of the user's processes."""


@dataclass(frozen=True)
class RunsResult:
    workspace: str
    runs: list[RunRef]
    selected: str = ""
    baseline: str = ""
    """The id of the run that the editor compares with, the newest of several; "" for none."""
    baselineName: str = ""
    """The text that selected it: a run's name, or a revision."""
    elsewhere: list[RunRef] = field(default_factory=list)
    """The runs of other workspaces: their ids are their folders, and their names include the workspace."""


@dataclass(frozen=True)
class SelectRunParams:
    run: str


@dataclass(frozen=True)
class ChooseBaselineParams:
    """Compare with this run, or this revision's test sessions, from now on; "" restores the baseline of the settings,
    if any."""

    run: str


@dataclass(frozen=True)
class LocateParams:
    """Requests the function of a slice at the cursor."""

    location: Location
    run: str = ""


@dataclass(frozen=True)
class LocateResult:
    function: str
    """`module:qualname`, empty if the line belongs to no recorded function."""
    location: Location | None = None


@dataclass(frozen=True)
class PresentParams:
    """Requests the present location of a recorded one, in the text that the user sees."""

    location: Location
    run: str = ""


@dataclass(frozen=True)
class PresentResult:
    location: Location
    """The present location; for a stale one, the location where it was or would be."""
    state: Literal["exact", "moved", "stale"]
    message: str = ""
    """The reason why the location is stale."""


@dataclass(frozen=True)
class SourceParams:
    """Requests lines around a location, for the browser, which has no editor. Only files that the run recorded, and
    source and log files of the workspace, are shown."""

    location: Location
    context: int = 12
    run: str = ""


@dataclass(frozen=True)
class SourceResult:
    path: str
    firstLine: int
    lines: list[str]
    message: str = ""


METHODS = {
    "clew/runs": Method(RunsParams, RunsResult, "session.requests:runs"),
    "clew/selectRun": Method(SelectRunParams, RunsResult, "session.requests:select_run"),
    "clew/chooseBaseline": Method(ChooseBaselineParams, RunsResult, "session.requests:choose_baseline"),
    "clew/locate": Method(LocateParams, LocateResult, "locations.function_at_line:locate"),
    "clew/present": Method(PresentParams, PresentResult, "locations.function_at_line:present"),
    "clew/source": Method(SourceParams, SourceResult, "locations.source_lines:source"),
}
