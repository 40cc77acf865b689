"""Lines of source for the browser, which has no editor.

Locations are those of the run: if a file has changed since, the text that ran is shown. Invariant: the only files ever
shown are those that the run recorded, and source and log files of the workspace.
"""

from __future__ import annotations

from pathlib import Path

from clew.records.errors import ClewError
from clew.server.locations.line_mapping import Places, places
from clew.server.locations.paths import same_file_key
from clew.server.locations.text_diff import lines_of
from clew.server.protocol.session import SourceParams, SourceResult
from clew.server.session.session import Session, Task

SUFFIXES = {".py", ".pyi", ".esl", ".log"}
MAX_CONTEXT = 500
MAX_WIDTH = 500
"""Maximum characters of a line."""


def source(session: Session, params: SourceParams, task: Task) -> SourceResult:
    path = params.location.path
    if not (_is_recorded(session, path, params.run, task) or _is_of_workspace(session, path)):
        raise ClewError(
            f"{path}: not shown: the run did not record it, and it is not a source file of {session.workspace}"
        )
    text, message = _places(session, path, params.run).as_recorded()
    if text is None:
        return SourceResult(path, 1, [], message)
    lines = lines_of(text)
    context = max(0, min(params.context, MAX_CONTEXT))
    line = max(1, min(params.location.line, len(lines)))
    last = max(line, min(params.location.endLine, line + MAX_CONTEXT))
    first = max(1, line - context)
    shown = [row[:MAX_WIDTH] for row in lines[first - 1 : last + context]]
    moved = params.location.line > len(lines)
    shorter = "The file is shorter now than when it was recorded." if moved else ""
    return SourceResult(path, first, shown, message or shorter)


def _places(session: Session, path: str, run: str) -> Places:
    try:
        return places(session, session.folder(run), path)
    except ClewError:
        return Places(path, None, session.text(path))  # without a run nothing was recorded


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
