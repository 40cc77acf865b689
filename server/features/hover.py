"""Hovers: what a recorded function did in the run, and which event wrote a line of a log file."""

from __future__ import annotations

import json
import urllib.parse
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server import wording
from clew.server.codec import encode
from clew.server.features import log_lines
from clew.server.panel.locate import function_at
from clew.server.positions import path_of
from clew.server.present import places
from clew.server.protocol import SliceParams, Target
from clew.server.session import Cancelled, Session, Task

if TYPE_CHECKING:
    from clew.server.functions import Function, FunctionTable
    from clew.server.server import ClewServer

NEIGHBOURS = 4
"""Callers and callees that are named; the rest is counted."""


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri, line, link = params.text_document.uri, params.position.line, server.options.panel
        path = path_of(uri)
        try:
            if log_lines.may_be_log(server, uri):
                content = await server.work("clew", lambda task: _log_hover(server, uri, line, task))
            elif path.endswith(".py"):
                text = server.workspace.get_text_document(uri).source
                content = await server.work(
                    "clew", lambda task: function_hover(server.session, path, line + 1, text, task, link=link)
                )
            else:
                return None
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.tell_once(str(error))
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, content)) if content else None


def _log_hover(server: ClewServer, uri: str, row: int, task: Task) -> str:
    lines = log_lines.log_of(server, uri, task)
    return log_lines.hover(server.session, lines, row, task, link=server.options.panel) if lines is not None else ""


def function_hover(session: Session, path: str, line: int, text: str, task: Task, *, link: bool) -> str:
    """Markdown about the function whose `def` stands in `line` (from 1); "" when no recorded one does. With `link`, it
    ends in one that a client with the panel carries out."""
    if not session.has_runs():
        return ""
    table = session.functions("", task)
    there = places(session, table.folder, path, text)
    function = function_at(table, there, line)
    if function is None:
        return ""
    if line != there.function(function.qualname, function.line).line:
        return ""  # in a body the hovers of other servers matter more
    text = describe(table, function)
    params = SliceParams(Target(function=function.label), run=table.run)
    return f"{text}\n{command_link('What led to these calls?', 'clew.openSlice', params)}" if link else text


def describe(table: FunctionTable, function: Function) -> str:
    calls = f"{function.calls:,}" + (f" and {function.counted:,} only counted" if function.counted else "")
    self_time = f"{wording.duration(function.self_ns)} ({wording.percent(function.share)} of the run)"
    rows = [
        ("calls", calls),
        ("total", f"{wording.duration(function.total_ns)}, self {self_time}"),
        ("per call", f"p50 {wording.duration(function.p50_ns)}, p95 {wording.duration(function.p95_ns)}"),
        ("waiting", wording.duration(function.waiting_ns)),
    ]
    if function.errors:
        rows.append(("errors", f"{wording.count(function.errors, 'call')} ended by an exception"))
    for title, neighbours in (("callers", table.callers(function)), ("callees", table.callees(function))):
        if neighbours:
            named = [f"`{wording.short_label(label)}` {number:,}×" for label, number in neighbours[:NEIGHBOURS]]
            more = len(neighbours) - NEIGHBOURS
            rows.append((title, ", ".join(named) + (f" and {more} more" if more > 0 else "")))
    body = "".join(f"| {name} | {value} |\n" for name, value in rows)
    return f"`{wording.short_label(function.label)}` in run {table.name}\n\n| | |\n|---|---|\n{body}"


def command_link(text: str, command: str, params: SliceParams) -> str:
    argument = urllib.parse.quote(json.dumps([encode(params)]))
    return f"[{text}](command:{command}?{argument})"
