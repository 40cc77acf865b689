"""Hovers: data of a recorded function, the event that wrote a line of a log file, and help on specs."""

from __future__ import annotations

import json
import urllib.parse
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.functions.hover_text import describe
from clew.server.locations.ast_call_lines import call_lines
from clew.server.locations.function_at_line import function_at
from clew.server.locations.line_mapping import places
from clew.server.lsp.features import log_lines
from clew.server.lsp.features.esl import hover as spec_hover
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.features.findings import states
from clew.server.lsp.positions import path_of
from clew.server.protocol.codec import encode
from clew.server.protocol.history import HistoryParams
from clew.server.protocol.shared import Target
from clew.server.protocol.views.slice import SliceParams
from clew.server.protocol.views.walk import WalkParams
from clew.server.session.session import Cancelled, Session, Task

if TYPE_CHECKING:
    from clew.server.functions.table import Function, FunctionTable
    from clew.server.lsp.server import ClewServer


class Spot(NamedTuple):
    path: str
    line: int
    """The line, from 1."""
    column: int
    """The column, from 0, in characters."""
    name: str
    """The word under the cursor."""
    text: str
    """The text of the file."""


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri, line = params.text_document.uri, params.position.line
        path = path_of(uri)
        asked = server.client_capabilities.text_document
        formats = asked.hover.content_format if asked and asked.hover else None
        # A client that declares no format gets Markdown.
        kind = (
            types.MarkupKind.Markdown
            if not formats or types.MarkupKind.Markdown in formats
            else types.MarkupKind.PlainText
        )
        try:
            if log_lines.may_be_log(server, uri):
                kind = types.MarkupKind.Markdown
                content = await server.work("clew", lambda task: _log_hover(server, uri, line, task))
            elif path.endswith(".py"):
                document = server.document(uri)
                name, text = document.word_at_position(params.position), document.source
                offset = document.offset_at_position(params.position)
                column = offset - (text.rfind("\n", 0, offset) + 1)
                content = await server.work(
                    "clew", lambda task: _function_hover(server, Spot(path, line + 1, column, name, text), kind, task)
                )
            elif is_spec(uri):
                spec = SpecText.of(server.document(uri))
                offset = spec.offset(params.position)
                kind = types.MarkupKind.Markdown
                content, place = await server.work(
                    "clew", lambda task: spec_hover.hover(server.specs, spec, offset, task)
                )
                return types.Hover(types.MarkupContent(kind, content), spec.range(*place)) if content else None
            else:
                return None
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.show_once(str(error))
            return None
        return types.Hover(types.MarkupContent(kind, content)) if content else None


def _log_hover(server: ClewServer, uri: str, row: int, task: Task) -> str:
    lines = log_lines.log_of(server, uri, task)
    if lines is None:
        return ""
    walks = server.options.panel and server.settings.walk_links
    return log_lines.hover(server.session, lines, row, task, link=server.options.panel, walks=walks)


def _function_hover(server: ClewServer, spot: Spot, kind: types.MarkupKind, task: Task) -> str:
    """Return the hover about the test that failed at a position, else about the function that is defined or called there, else
    about the state there; "" for none of them."""
    session = server.session
    if not session.has_runs():
        return ""
    failed = server.failed_tests.hover(spot.path, spot.text, spot.line)
    if failed:
        return failed
    table = session.cached_functions(task)
    function = function_named(session, table, spot) if table is not None else None
    if table is None or function is None:
        plain = kind is types.MarkupKind.PlainText
        return states.hover(server, spot.path, spot.text, line=spot.line, column=spot.column, plain=plain, task=task)
    savings = session.cached_savings(table.run, server.settings.what_if_percent)
    about = describe(table, function, savings)
    if kind is types.MarkupKind.PlainText:
        return about.plain()
    text = about.markdown()
    if server.options.panel:
        params = SliceParams(Target(function=function.label), run=table.run)
        walk = WalkParams(Target(function=function.label), run=table.run, pick="last")
        links = [command_link("What led to these calls?", "clew.openSlice", params)]
        if server.settings.walk_links:
            links.append(command_link("Walk from the last call", "clew.walk.start", walk))
        text += f"\n{' · '.join(links)}"
    return text


def function_named(session: Session, table: FunctionTable, spot: Spot) -> Function | None:
    """Return the function whose `def` is in the line, or that is called there by the name under the cursor."""
    there = places(session, table.folder, spot.path, spot.text)
    function = function_at(table, there, spot.line)
    if function is None:
        return None
    place = there.function(function.qualname, function.line)
    if spot.line == place.line:
        return function
    # Elsewhere in a body the hovers of other servers matter more.
    at = call_lines(spot.text)
    if at is None or place.definition is None:
        return None
    module = table.graph.sites[function.site].module
    called = {
        link.callee
        for link in table.callees(function)
        if at.calls(place.definition, module, table.callee(link.callee), spot.name, spot.line)
    }
    return table.by_site.get(called.pop()) if len(called) == 1 else None


def command_link(text: str, command: str, params: HistoryParams | SliceParams | WalkParams) -> str:
    argument = urllib.parse.quote(json.dumps([encode(params)]))
    return f"[{text}](command:{command}?{argument})"
