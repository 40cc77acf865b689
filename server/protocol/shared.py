"""Types that the answers of all views use: locations, runs, missing events, machines, and targets."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Location:
    """A location in source. `line` counts from 1, as in tracebacks; the language server converts it."""

    path: str
    """The absolute path in the file system of the server."""
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
    """The abbreviated revision of the source of a test session."""


@dataclass(frozen=True)
class MissingEvents:
    """A time range of a thread or task with missing events. Its activity there is unknown; it was not idle."""

    process: str
    strand: str
    fromNs: float
    """The beginning since the run's start, like `toNs`."""
    toNs: float
    lost: int | None
    """The number of events, or of calls of `function`; null if unknown."""
    function: str
    """`module:qualname` if only its calls are missing; "" if all events of the strand are."""
    why: str
    text: str
    """All fields as a sentence."""


@dataclass(frozen=True)
class MachineRef:
    """A machine of the run, and the correction of its clock."""

    name: str
    clock: str
    """All fields in words."""
    offsetNs: float
    rate: float
    """The additional correction per nanosecond."""
    belowNs: float | None
    """The maximum distance of the true offset below; null if no message bounds it."""
    aboveNs: float | None
    messages: int
    """Number of messages from which the correction was computed."""


@dataclass(frozen=True)
class ProcessRef:
    name: str
    machine: str
    """The machine; "" if the run has only one."""


@dataclass(frozen=True)
class Target:
    """The start of a slice: exactly one of the six is given; else it is the last error of a failed test, or the newest
    error line."""

    event: int | None = None
    text: str | None = None
    """A part of a log message."""
    location: Location | None = None
    """A line of source (the last call of its function) or of a log file (the event that wrote it)."""
    function: str | None = None
    """`module:qualname`, for all its calls."""
    line: str | None = None
    """A whole log line, as an output channel or a terminal shows it; its time selects the run."""
    test: str | None = None
    """The id of a failed test, or its unique end."""


@dataclass(frozen=True)
class ErrorResult:
    """Replaces the result of a failed request: a sentence for the user, never a traceback."""

    message: str
