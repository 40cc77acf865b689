"""Links in logs: locations in source (`app.py:42`, lines of tracebacks), and the ids of events.

Invariant: a link leads to an existing file: one of the workspace, one next to the log, or the only recorded file of its
name.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.lsp.features import log_lines
from clew.server.lsp.positions import path_of, uri_of, utf16_length
from clew.server.protocol.codec import encode
from clew.server.protocol.shared import Target
from clew.server.protocol.views.slice import SliceParams
from clew.server.session.session import Cancelled, Session, Task

if TYPE_CHECKING:
    from clew.graph.logs.lines import Lines
    from clew.server.lsp.server import ClewServer

MAX_LINKS, MAX_LINES = 2000, 20_000
"""Maximum numbers for one text; the last ones are used."""
_PLACE = re.compile(r'File "(?P<quoted>[^"\n]+)", line (?P<in>\d+)|(?P<file>[\w./\\~-]*\w\.pyi?):(?P<line>\d+)')
_SEVERAL = 200
"""Lines between two checks for cancellation."""


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def document_links(params: types.DocumentLinkParams) -> list[types.DocumentLink]:
        uri = params.text_document.uri
        if not log_lines.may_be_log(server, uri) or not server.settings.log_links:
            return []
        try:
            return await server.work("clew: links", lambda task: _links(server, uri, task))
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.show_once(str(error))
            return []


def _links(server: ClewServer, uri: str, task: Task) -> list[types.DocumentLink]:
    lines = log_lines.log_of(server, uri, task)
    return links(server.session, uri, lines, task, commands=server.options.panel) if lines is not None else []


def links(session: Session, uri: str, lines: Lines, task: Task, *, commands: bool) -> list[types.DocumentLink]:
    """Return the links of the last lines, the newest first; ids of events only for a client with the `commands`."""
    from clew.graph.logs.match_line import ID

    places = NamedPlaces(session, uri, task)
    made: list[types.DocumentLink] = []
    for row in range(len(lines) - 1, max(-1, len(lines) - 1 - MAX_LINES), -1):
        if row % _SEVERAL == 0:
            task.phase("looking for links")
        text = lines.line(row)
        for begin, end, path, line in places.of(text):
            made.append(types.DocumentLink(_range(text, row, begin, end), f"{uri_of(path)}#L{line}"))
        for found in ID.finditer(text) if commands else ():
            params = encode(SliceParams(Target(line=text)))
            command = f"command:clew.why?{urllib.parse.quote(json.dumps([params]))}"
            made.append(types.DocumentLink(_range(text, row, *found.span()), command, "Why did this happen?"))
        if len(made) >= MAX_LINKS:
            break
    return made


class NamedPlaces:
    """The source locations in lines of logs; each file is searched once."""

    def __init__(self, session: Session, uri: str, task: Task) -> None:
        folder = path_of(uri)
        self._folders = [session.workspace, *([Path(folder).parent] if folder else [])]
        self._session = session
        self._task = task
        self._known: dict[str, str] = {}

    def of(self, text: str) -> Iterator[tuple[int, int, str, int]]:
        """Yield the columns of each location in a line, its path and its line."""
        for found in _PLACE.finditer(text):
            path = self._path(found["quoted"] or found["file"])
            if path:
                yield found.start(), found.end(), path, int(found["in"] or found["line"])

    def at(self, text: str, character: int) -> tuple[str, int] | None:
        """Return the location at a column, counted in UTF-16 units."""
        for begin, end, path, line in self.of(text):
            if utf16_length(text[:begin]) <= character <= utf16_length(text[:end]):
                return path, line
        return None

    def _path(self, named: str) -> str:
        if named not in self._known:
            self._known[named] = self._found(named)
        return self._known[named]

    def _found(self, named: str) -> str:
        for folder in self._folders:
            try:
                path = folder / Path(named).expanduser()
                if path.is_file():
                    return str(path)
            except (OSError, RuntimeError, ValueError):
                return ""  # not a valid file name
        from clew.graph.ops.find_events import same_file

        if not self._session.has_runs():
            return ""
        recorded = {site.file for site in self._session.open("", self._task).graph.sites if same_file(site.file, named)}
        only = recorded.pop() if len(recorded) == 1 else ""
        return only if only and Path(only).is_file() else ""


def _range(text: str, row: int, begin: int, end: int) -> types.Range:
    columns = (utf16_length(text[:begin]), utf16_length(text[:end]))
    return types.Range(*(types.Position(row, column) for column in columns))
