"""Code lenses: what each recorded function of an open file cost, "why" on the error lines of a log, what a spec's rules gave.

Two stages: the first only places lenses, the second computes the text of those that come into view. Invariant: a lens
stands where its function stands now, or says that it is stale.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server import wording
from clew.server.about_function import path_share, what_if
from clew.server.codec import encode
from clew.server.features import live, log_lines, record
from clew.server.features.esl import lens as spec_lens
from clew.server.features.esl.spec_text import SpecText, is_spec
from clew.server.positions import line_range, path_of
from clew.server.present import places
from clew.server.protocol import SliceParams, Target
from clew.server.session import Cancelled, Session, Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.graph.ops.savings import Savings
    from clew.server.functions import Function
    from clew.server.server import ClewServer


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=True))
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
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
                    return lens  # without a command it is not shown
            elif isinstance(data, dict):
                lens.command = await server.work("clew", lambda task: _function_command(server, data, task))
        except ClewError as error:
            _tell(server, error)
        if lens.command is None:
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
        server.tell_once(str(error))


def function_lenses(session: Session, path: str, text: str, task: Task, *, wait: bool) -> list[types.CodeLens]:
    """A lens without text for each function of the file that the selected run has calls of; of a large run that was not looked
    at yet only with `wait`."""
    if not session.has_runs():
        return []
    table = session.functions_at_hand(task, wait=wait)
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
    savings = server.session.savings_at_hand(run, server.settings.what_if_percent)
    text = title(function, server.settings.lens_parts, savings)
    if data.get("stale"):
        text = f"stale: {wording.short_label(function.label)} · {text}"
    params = SliceParams(Target(function=function.label), run=run)
    return types.Command(title=text, command="clew.openSlice", arguments=[encode(params)])


def title(function: Function, parts: Iterable[str], savings: Savings | None = None) -> str:
    """`812 calls · p50 1.2 ms · p95 4 ms · self 12 % · 31 % of the critical path · 10 % faster: p95 -4 %`"""
    said = {
        "calls": _calls(function),
        "p50": f"p50 {wording.duration(function.p50_ns)}" if function.calls else "",
        # Of one call it is the same.
        "p95": f"p95 {wording.duration(function.p95_ns)}" if function.calls > 1 else "",
        "self": f"self {wording.percent(function.share)}" if function.calls else "",
        "path": path_share(function, savings),
        "whatIf": what_if(function, savings),
        "errors": wording.count(function.errors, "error") if function.errors else "",
    }
    return " · ".join(said[part] for part in parts if said.get(part)) or wording.short_label(function.label)


def _calls(function: Function) -> str:
    if not function.counted:
        return wording.count(function.calls, "call")
    if not function.calls:
        return f"{function.counted:,} calls, only counted"
    return f"{wording.count(function.calls, 'call')} and {function.counted:,} only counted"
