"""From a line of a log file to the logging call that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.features import log_lines
from clew.server.panel.log_file import find, is_log
from clew.server.positions import location_of, path_of
from clew.server.session import Cancelled

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
            written = await server.work("clew: definition", lambda task: find(server.session, line, task))
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.tell_once(str(error))
            return None
        place = written.run.graph.location(written.event) if written else None
        return location_of(*place) if place else None
