"""A workspace's own views, and what only they ask: a statement of SQL over a run's tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.shared import RunRef


@dataclass(frozen=True)
class ViewsParams:
    pass


@dataclass(frozen=True)
class ViewFile:
    """A module in `.clew/views`."""

    name: str
    """Its file's name, `calls.js`."""
    version: str
    """Another one whenever the file is another one."""


@dataclass(frozen=True)
class ViewsResult:
    views: list[ViewFile]
    """Those that may be loaded."""
    message: str
    """Why some are not, "" when all are."""


@dataclass(frozen=True)
class SqlParams:
    statement: str
    """A SELECT over the tables of `docs/store.md`."""
    run: str = ""
    parameters: list[str] = field(default_factory=list)
    """What each ? in the statement stands for."""
    maxRows: int = 1000


@dataclass(frozen=True)
class SqlResult:
    run: RunRef
    columns: list[str]
    rows: list[list[str | float | bool | None]]
    """Values that JSON does not have are texts."""
    hiddenRows: int
