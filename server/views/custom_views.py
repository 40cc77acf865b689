"""A workspace's custom views: the modules, and their SQL statements.

Invariant: a module is code, so modules are listed and served only for a trusted workspace.
"""

from __future__ import annotations

from pathlib import Path

from clew.records.run.directory import FOLDER
from clew.server.protocol.views.custom_views import SqlParams, SqlResult, ViewFile, ViewsParams, ViewsResult
from clew.server.session.session import Session, Task

MOST_VIEWS = 40
MOST_ROWS = 10_000
SUFFIX = ".js"


def views_folder(workspace: Path) -> Path:
    return workspace / FOLDER / "views"


def own_views(session: Session, _params: ViewsParams, _task: Task) -> ViewsResult:
    folder = views_folder(session.workspace)
    found = sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file()) if folder.is_dir() else []
    if not found:
        return ViewsResult([], "")
    if not session.trusted:
        named = ", ".join(path.name for path in found[:5]) + (", …" if len(found) > 5 else "")
        return ViewsResult(
            [],
            f"This workspace has custom views ({named}). They run code; if you trust them, start `clew view --trust`.",
        )
    hidden = len(found) - MOST_VIEWS
    message = f"{hidden} more views are not loaded; the limit is {MOST_VIEWS}." if hidden > 0 else ""
    return ViewsResult([ViewFile(path.name, _version(path)) for path in found[:MOST_VIEWS]], message)


def sql(session: Session, params: SqlParams, task: Task) -> SqlResult:
    run = session.snapshot(params.run, task)
    found = run.sql(params.statement, params.parameters)
    task.phase("reading the answer")
    shown = max(0, min(params.maxRows, MOST_ROWS))
    table = found.to_arrow()
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.slice(0, shown).columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return SqlResult(session.ref(run), found.columns, rows, max(0, table.num_rows - shown))


def _plain(value: object) -> str | float | bool | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _version(path: Path) -> str:
    status = path.stat()
    return f"{status.st_mtime_ns:x}-{status.st_size:x}"
