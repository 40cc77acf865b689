"""Go to definition in logs: from a line to the logging call that wrote it, or to a location that it names, such as a
line of a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.locations.line_mapping import places
from clew.server.locations.log_line import find_in
from clew.server.lsp.features import log_lines
from clew.server.lsp.features.document_links import NamedPlaces
from clew.server.lsp.features.esl import navigation
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.positions import location_of
from clew.server.session.session import Cancelled, Task

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> types.Location | list[types.Location] | None:
        uri, at = params.text_document.uri, params.position
        document = server.open_document(uri)
        if is_spec(uri) and document is not None:
            spec = SpecText.of(document)
            return await server.work(
                "clew: definition", lambda _: navigation.definition(server.specs, spec, spec.offset(at))
            )
        if not log_lines.may_be_log(server, uri):
            return None
        try:
            place, doubt = await server.work("clew: definition", lambda task: _definition(server, uri, at, task))
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.show_once(str(error))
            return None
        if doubt:
            server.show_once(doubt)
        return location_of(*place) if place else None


def _definition(server: ClewServer, uri: str, at: types.Position, task: Task) -> tuple[tuple[str, int] | None, str]:
    """Return the location that a log names at a position, else the present location of the logging call. The text is a
    remark if the location is only near it."""
    lines = log_lines.log_of(server, uri, task)
    if lines is None:
        return None, ""
    named = NamedPlaces(server.session, uri, task).at(lines.line(at.line), at.character)
    if named is not None:
        return named, ""
    written = find_in(server.session, lines, at.line, task)
    place = written.run.graph.location(written.event) if written else None
    if written is None or place is None:
        return None, ""
    there = places(server.session, written.run.folder, place[0])
    now = there.line(place[1])
    doubt = there.sentence(now.state) if there.recorded is not None else ""
    return (place[0], now.line), f"{Path(place[0]).name}:{place[1]}: {doubt}" if doubt else ""
