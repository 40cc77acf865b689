"""Lines of source for the browser, which has no editor beside it.

Invariant: only files that the run recorded, and source and log files of the workspace, are ever shown.
"""

from __future__ import annotations

from pathlib import Path

from clew.records.errors import ClewError
from clew.server.files import same_file_key
from clew.server.protocol import SourceParams, SourceResult
from clew.server.session import Session, Task

SUFFIXES = {".py", ".pyi", ".esl", ".log"}
MAX_CONTEXT = 500
MAX_WIDTH = 500
"""Characters of a line."""


def source(session: Session, params: SourceParams, task: Task) -> SourceResult:
    path = params.location.path
    if not (_is_recorded(session, path, params.run, task) or _is_of_workspace(session, path)):
        raise ClewError(
            f"{path}: not shown, as the run did not record it and it is no source file of {session.workspace}"
        )
    text = session.text(path)
    if text is None:
        return SourceResult(path, 1, [], f"{path} cannot be read; was it moved since it was recorded?")
    lines = text.splitlines()
    context = max(0, min(params.context, MAX_CONTEXT))
    line = max(1, min(params.location.line, len(lines)))
    last = max(line, min(params.location.endLine, line + MAX_CONTEXT))
    first = max(1, line - context)
    shown = [row[:MAX_WIDTH] for row in lines[first - 1 : last + context]]
    moved = params.location.line > len(lines)
    return SourceResult(path, first, shown, "The file is shorter than it was when it was recorded." if moved else "")


def _is_recorded(session: Session, path: str, run: str, task: Task) -> bool:
    try:
        sites = session.open(run, task).graph.sites
    except ClewError:
        return False  # without a run nothing was recorded
    key = same_file_key(path)
    return any(site.file and same_file_key(site.file) == key for site in sites)


def _is_of_workspace(session: Session, path: str) -> bool:
    real = Path(same_file_key(path))
    return real.suffix in SUFFIXES and real.is_relative_to(same_file_key(str(session.workspace)))
