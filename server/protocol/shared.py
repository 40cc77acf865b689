"""What answers of all views name: places, runs, what is missing, machines, and where a question starts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Location:
    """A place in source. `line` counts from 1, as people and tracebacks do; the language server converts."""

    path: str
    """Absolute, in the file system of the server."""
    line: int
    endLine: int = 0


@dataclass(frozen=True)
class RunRef:
    id: str
    name: str
    started: float
    """Wall-clock milliseconds since 1970."""
    finished: bool
    exitCode: int | None = None
    command: str = ""
    problems: list[str] = field(default_factory=list)
    commit: str = ""
    """The revision of the source that a test session is of, in short."""


@dataclass(frozen=True)
class MissingEvents:
    """A stretch of a thread or task of which events are missing, so that nothing is known of it: it is not idle."""

    process: str
    strand: str
    fromNs: float
    """Since the run's start, as `toNs`."""
    toNs: float
    lost: int | None
    """How many events, or calls of `function`; null when that is not known."""
    function: str
    """`module:qualname`, when only its calls are missing; "" when all that the strand did is."""
    why: str
    text: str
    """All of it as a sentence."""


@dataclass(frozen=True)
class MachineRef:
    """A machine of the run, and what its clock was corrected by."""

    name: str
    clock: str
    """All of it in words."""
    offsetNs: float
    rate: float
    """What was added to each nanosecond besides."""
    belowNs: float | None
    """How far below the true offset can be; null when no message bounds it."""
    aboveNs: float | None
    messages: int
    """How many the correction was found from."""


@dataclass(frozen=True)
class ProcessRef:
    name: str
    machine: str
    """"" when the run has only one."""


@dataclass(frozen=True)
class Target:
    """Where a slice starts: exactly one of the five is given, else the last error of a test that failed, or the newest error
    line."""

    event: int | None = None
    text: str | None = None
    """Part of a log message."""
    location: Location | None = None
    """A line of source (the last call of its function) or of a log file (the event that wrote it)."""
    function: str | None = None
    """`module:qualname`, all its calls."""
    line: str | None = None
    """A whole line of a log, as an output channel or a terminal shows it; its time tells the run."""


@dataclass(frozen=True)
class ErrorResult:
    """What stands instead of a result when a request cannot be answered: a sentence for the user, never a traceback."""

    message: str
