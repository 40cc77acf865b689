"""The recordable targets of a workspace with their commands, and the progress of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import RunRef


@dataclass(frozen=True)
class RecordableParams:
    """Requests the recordable targets, the likeliest first."""

    path: str = ""
    """The user's current file, for its tests and for itself as a program."""
    line: int = 0
    """The line of its cursor, from 1; 0 for no cursor."""
    command: str = ""
    """A command that the user typed, in a shell's words; if given, it is the only target."""
    kind: str = ""
    """Only targets of this kind: "test" for the test at the cursor, "file" for the file as a program …"""
    spec: str = ""
    """The spec to record with, instead of the configured one."""


@dataclass(frozen=True)
class Recordable:
    name: str
    detail: str
    """The command in the user's words, without clew's own words."""
    kind: Literal["configured", "test", "file", "script", "package", "tests", "typed"]
    command: list[str]
    """The whole command, including clew's words, to be run unchanged and without a shell."""
    cwd: str
    environment: list[str]
    """Entries `NAME=VALUE`, in addition to the user's environment."""


@dataclass(frozen=True)
class RecordableResult:
    recordables: list[Recordable]
    message: str = ""
    """The error in the request or in the settings."""


@dataclass(frozen=True)
class ProgressParams:
    """Requests the progress of the recording that this process began."""

    launcher: int = 0
    """The pid of `clew run` or of pytest; 0 for the newest live recording."""
    look: bool = False
    """Also read the recording so far. The result is cached for ten times as long as reading took."""


@dataclass(frozen=True)
class ProgressResult:
    run: RunRef | None
    """None before the run has begun."""
    elapsedNs: int = 0
    bytes: int = 0
    """Bytes of its records on disk."""
    processes: int = 0
    looked: bool = False
    """Whether the fields below are filled, with the state at the last read."""
    events: int = 0
    errors: int = 0
    """Log lines of level ERROR and above."""
    warnings: int = 0
    slowest: str = ""
    """The function with the most self time."""
    slowestNs: int = 0


METHODS = {
    "clew/recordables": Method(RecordableParams, RecordableResult, "recording.targets:recordables"),
    "clew/progress": Method(ProgressParams, ProgressResult, "recording.progress:progress"),
}
