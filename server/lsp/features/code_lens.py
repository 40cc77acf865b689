"""Code lenses: the costs of each recorded function of an open file, "why" on the error lines of a log, the results of a
spec's rules.

There are two stages: the first only places lenses, the second computes the text of the visible ones. Invariants: a lens
is at the present location of its function, or is marked as stale; a lens of an earlier list of its file gets no text, for
VS Code would give the text to the lens that has its place in the newer list.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.functions.hover_text import path_share, what_if
from clew.server.locations.line_mapping import places
from clew.server.lsp.features import live, log_lines, record
from clew.server.lsp.features.esl import lens as spec_lens
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.positions import line_range, path_of
from clew.server.protocol.codec import encode
from clew.server.protocol.shared import Target
from clew.server.protocol.views.slice import SliceParams
from clew.server.session.session import Cancelled, Session, Task
from clew.server.text import units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.graph.ops.timing.function_savings import Savings
    from clew.server.functions.table import Function
    from clew.server.lsp.server import ClewServer


def register(server: ClewServer) -> None:
    newest: dict[str, tuple[int, list[Any]]] = {}  # the number of each file's newest list, and what is where in it

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=True))
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        found = await lenses_of(uri)
        number, before = newest.get(uri, (0, None))
        there = [(lens.range, lens.data, lens.command is None) for lens in found]
        if there != before:  # two editors of one file ask for equal lists
            number += 1
            newest[uri] = number, there
        for lens in found:
            if isinstance(lens.data, dict):
                lens.data = {**lens.data, "file": uri, "list": number}
        return found

    async def lenses_of(uri: str) -> list[types.CodeLens]:
        path = path_of(uri)
        try:
            if log_lines.may_be_log(server, uri):
                return await server.work("clew: log", lambda task: _log_lenses(server, uri, task))
            if is_spec(uri) and server.settings.esl_code_lens:
                spec = SpecText.of(server.document(uri))
                recorded = server.settings.record_code_lens
                return await server.work(
                    "clew: spec", lambda task: spec_lens.lenses(server.specs, spec, task, record=recorded)
                )
            if path.endswith(".py"):
                text = server.document(uri).source
                settings = server.settings
                found = []
                counted = server.live.counted() if settings.code_lens else None
                if counted is not None:
                    found = await asyncio.to_thread(live.lenses, server.session, counted, path, text)
                elif settings.code_lens and settings.lens_parts:
                    wait = not server.asks_again_for_lenses
                    found = await server.work(
                        "clew: code lenses", lambda task: function_lenses(server.session, path, text, task, wait=wait)
                    )
                if "change" in settings.lens_parts:
                    changes = await asyncio.to_thread(server.comparison.lenses, path, text)
                    found = changes + found if settings.lens_parts[0] == "change" else found + changes
                return found + record.lenses(path, text) if settings.record_code_lens else found
        except ClewError as error:
            _tell(server, error)
        return []

    @server.feature(types.CODE_LENS_RESOLVE)
    async def resolve(lens: types.CodeLens) -> types.CodeLens:
        data: Any = lens.data
        try:
            if isinstance(data, dict) and "text" in data:
                lens.command = await server.work(
                    "clew: why", lambda task: log_lines.command(server.session, data, task)
                )
                if data.get("walk"):
                    return lens  # a lens without a command is not shown
            elif isinstance(data, dict):
                lens.command = await server.work("clew", lambda task: _function_command(server, data, task))
        except ClewError as error:
            _tell(server, error)
        number = data.get("list") if isinstance(data, dict) else None
        if number is not None and newest.get(data["file"], (number, []))[0] != number:
            lens.command = None
        elif lens.command is None:
            lens.command = types.Command(title="the run has changed", command="")
        return lens


def _log_lenses(server: ClewServer, uri: str, task: Task) -> list[types.CodeLens]:
    if not server.settings.log_code_lens or not server.session.has_runs():
        return []
    lines = log_lines.log_of(server, uri, task)
    walks = server.options.panel and server.settings.walk_links
    return log_lines.lenses(lines, walks=walks) if lines is not None else []


def _tell(server: ClewServer, error: ClewError) -> None:
    if not isinstance(error, Cancelled):
        server.show_once(str(error))


def function_lenses(session: Session, path: str, text: str, task: Task, *, wait: bool) -> list[types.CodeLens]:
    """Return a lens without text for each function of the file with calls in the selected run. A large run that was not
    read yet gives lenses only with `wait`."""
    if not session.has_runs():
        return []
    table = session.cached_functions(task, wait=wait)
    found = table.in_file(path) if table is not None else []
    if table is None or not found:
        return []
    there = places(session, table.folder, path, text)
    made = []
    for function in found:
        place = there.function(function.qualname, function.line)
        data = {"run": table.run, "site": function.site, "function": function.label, "stale": place.state == "stale"}
        made.append(types.CodeLens(range=line_range(place.line), data=data))
    return made


def _function_command(server: ClewServer, data: dict[str, Any], task: Task) -> types.Command | None:
    run = str(data.get("run", ""))
    function = server.session.functions(run, task).find(int(data.get("site", -1)), str(data.get("function", "")))
    if function is None:
        return None
    savings = server.session.cached_savings(run, server.settings.what_if_percent)
    text = title(function, server.settings.lens_parts, savings)
    if data.get("stale"):
        text = f"stale: {units.short_label(function.label)} · {text}"
    params = SliceParams(Target(function=function.label), run=run)
    return types.Command(title=text, command="clew.openSlice", arguments=[encode(params)])


def title(function: Function, parts: Iterable[str], savings: Savings | None = None) -> str:
    """Return the title: `812 calls · p50 1.2 ms · p95 4 ms · self 12 % · 31 % of the critical path · 10 % faster: p95
    -4 %`."""
    texts = {
        "calls": _calls(function),
        "p50": f"p50 {units.duration(function.p50_ns)}" if function.calls else "",
        # For a single call the values are equal.
        "p95": f"p95 {units.duration(function.p95_ns)}" if function.calls > 1 else "",
        "self": f"self {units.percent(function.share)}" if function.calls else "",
        "path": path_share(function, savings),
        "whatIf": what_if(function, savings),
        "errors": units.count(function.errors, "error") if function.errors else "",
    }
    return " · ".join(texts[part] for part in parts if texts.get(part)) or units.short_label(function.label)


def _calls(function: Function) -> str:
    if not function.counted:
        return units.count(function.calls, "call")
    if not function.calls:
        return f"{function.counted:,} calls, only counted"
    return f"{units.count(function.calls, 'call')} and {function.counted:,} only counted"
