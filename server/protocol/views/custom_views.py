"""A workspace's custom views, and their requests: a statement of SQL over a run's tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.method import Method
from clew.server.protocol.shared import RunRef


@dataclass(frozen=True)
class ViewsParams:
    pass


@dataclass(frozen=True)
class ViewFile:
    """A module in `.clew/views`."""

    name: str
    """The name of its file, `calls.js`."""
    version: str
    """Changes whenever the file changes."""


@dataclass(frozen=True)
class ViewsResult:
    views: list[ViewFile]
    """The views that may be loaded."""
    message: str
    """Why some are missing, "" if all are listed."""


@dataclass(frozen=True)
class SqlParams:
    statement: str
    """A SELECT over the tables of `docs/store.md`."""
    run: str = ""
    parameters: list[str] = field(default_factory=list)
    """The value of each ? in the statement."""
    maxRows: int = 1000


@dataclass(frozen=True)
class SqlResult:
    run: RunRef
    columns: list[str]
    rows: list[list[str | float | bool | None]]
    """Values without a JSON form are texts."""
    hiddenRows: int


METHODS = {
    "clew/views": Method(ViewsParams, ViewsResult, "views.custom_views:own_views"),
    "clew/sql": Method(SqlParams, SqlResult, "views.custom_views:sql"),
}
