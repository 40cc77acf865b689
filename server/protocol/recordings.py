"""What can be recorded in a workspace, by which command, and how far a recording is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.server.protocol.shared import RunRef


@dataclass(frozen=True)
class RecordableParams:
    """What could be recorded, the likeliest first."""

    path: str = ""
    """The file that the user looks at, for its tests and for itself as a program."""
    line: int = 0
    """Where its cursor stands, from 1; 0 for nowhere."""
    command: str = ""
    """A command that the user typed, in a shell's words; then it alone is the answer."""
    kind: str = ""
    """Only what is of this kind: "test" for the one at the cursor, "file" for the file as a program …"""
    spec: str = ""
    """What to record by, instead of what is configured."""


@dataclass(frozen=True)
class Recordable:
    name: str
    detail: str
    """What is run, in the user's words; not clew's own."""
    kind: Literal["configured", "test", "file", "script", "package", "tests", "typed"]
    command: list[str]
    """The whole command, clew's words included, to be run as it stands, by no shell."""
    cwd: str
    environment: list[str]
    """`NAME=VALUE`, on top of the user's own."""


@dataclass(frozen=True)
class RecordableResult:
    recordables: list[Recordable]
    message: str = ""
    """What is wrong with what was asked, or with the settings."""


@dataclass(frozen=True)
class ProgressParams:
    """How far is the recording that this process began?"""

    launcher: int = 0
    """A pid, of `clew run` or of pytest; 0 for the newest recording that goes on."""
    look: bool = False
    """Also read what is recorded so far. What is read is kept for ten times as long as reading took."""


@dataclass(frozen=True)
class ProgressResult:
    run: RunRef | None
    """None before it has begun."""
    elapsedNs: int = 0
    bytes: int = 0
    """Of its records on disk."""
    processes: int = 0
    looked: bool = False
    """The fields below say what was recorded when the run was last looked at."""
    events: int = 0
    errors: int = 0
    """Log lines of level ERROR and above."""
    warnings: int = 0
    slowest: str = ""
    """The function with the most time of its own."""
    slowestNs: int = 0
