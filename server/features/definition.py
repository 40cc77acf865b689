"""From a line of a log file to the logging call that wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.features import log_lines
from clew.server.panel.log_file import find, is_log
from clew.server.positions import location_of, path_of
from clew.server.present import places
from clew.server.session import Cancelled, Session, Task

if TYPE_CHECKING:
    from clew.server.server import ClewServer


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> types.Location | None:
        path = path_of(params.text_document.uri)
        if not is_log(path):
            return None
        line = log_lines.line_of(server.workspace.get_text_document(params.text_document.uri), params.position.line)
        try:
            place, doubt = await server.work("clew: definition", lambda task: _written_by(server.session, line, task))
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.tell_once(str(error))
            return None
        if doubt:
            server.tell_once(doubt)
        return location_of(*place) if place else None


def _written_by(session: Session, line: str, task: Task) -> tuple[tuple[str, int] | None, str]:
    """Where the call stands now that wrote a line of a log, and what is to be said where that is only near it."""
    written = find(session, line, task)
    place = written.run.graph.location(written.event) if written else None
    if written is None or place is None:
        return None, ""
    there = places(session, written.run.folder, place[0])
    now = there.line(place[1])
    doubt = there.sentence(now.state) if there.recorded is not None else ""
    return (place[0], now.line), f"{Path(place[0]).name}:{place[1]}: {doubt}" if doubt else ""
