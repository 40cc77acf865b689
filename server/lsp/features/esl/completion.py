"""Completion in specs: converts the entries of `clew.esl.assist.completion` to the protocol's form."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.session.session import Cancelled
from clew.server.session.specs import IDLE_SECONDS

if TYPE_CHECKING:
    from clew.esl.assist.completion import Completion, Completions
    from clew.server.lsp.server import ClewServer
    from clew.server.session.session import Task
    from clew.server.session.specs import Specs

PAUSE = 0.01
"""Seconds for other work between two chunks of the preparation."""
TRIGGERS = [".", ":", "(", "$"]
KINDS = {
    "keyword": types.CompletionItemKind.Keyword,
    "snippet": types.CompletionItemKind.Keyword,
    "pack": types.CompletionItemKind.Module,
    "module": types.CompletionItemKind.Module,
    "class": types.CompletionItemKind.Class,
    "function": types.CompletionItemKind.Function,
    "method": types.CompletionItemKind.Method,
    "decorator": types.CompletionItemKind.Function,
    "attribute": types.CompletionItemKind.Field,
    "parameter": types.CompletionItemKind.Variable,
    "value": types.CompletionItemKind.Constant,
    "name": types.CompletionItemKind.Reference,
    "event": types.CompletionItemKind.Event,
    "unit": types.CompletionItemKind.EnumMember,
}


def register(server: ClewServer) -> None:
    preparing: list[asyncio.Task[None]] = []

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=TRIGGERS))
    async def completion(params: types.CompletionParams) -> types.CompletionList | None:
        uri = params.text_document.uri
        document = server.open_document(uri)
        if not is_spec(uri) or document is None:
            return None
        spec = SpecText.of(document)
        offset = spec.offset(params.position)
        asked = server.client_capabilities.text_document
        item = asked.completion.completion_item if asked and asked.completion else None
        snippets = bool(item and item.snippet_support)
        try:
            found = await server.work("clew: completion", lambda _: server.specs.complete(spec.path, spec.text, offset))
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.show_once(str(error))
            return None
        if found.postponed and all(task.done() for task in preparing):
            preparing[:] = [asyncio.create_task(_prepare(server, spec, offset))]
        items = [_item(spec, offset, number, one, snippets) for number, one in enumerate(found.items)]
        return types.CompletionList(is_incomplete=not found.whole, items=items)


async def _prepare(server: ClewServer, spec: SpecText, offset: int) -> None:
    """Compute the postponed entries in chunks, so that they are available when the editor asks again."""
    with contextlib.suppress(ClewError):
        await server.work("reading the workspace's source", server.specs.prepare)
        # The time increases each time, so that it ends however large the workspace is.
        for times in itertools.count():
            time_limit = IDLE_SECONDS * 2**times
            attempt = functools.partial(_attempt, server.specs, spec, offset, time_limit)
            if not (await server.work("clew", attempt)).postponed:
                return
            await asyncio.sleep(PAUSE)


def _attempt(specs: Specs, spec: SpecText, offset: int, time_limit: float, _: Task) -> Completions:
    return specs.complete(spec.path, spec.text, offset, time_limit)


def _item(spec: SpecText, offset: int, number: int, one: Completion, snippets: bool) -> types.CompletionItem:
    as_snippet = bool(one.text) and snippets
    return types.CompletionItem(
        label=one.label,
        kind=KINDS[one.kind],
        detail=one.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, one.help) if one.help else None,
        sort_text=f"{number:04d}",
        # The replaced range begins before the last dot, because the editor compares all of it.
        filter_text=one.label,
        insert_text_format=types.InsertTextFormat.Snippet if as_snippet else types.InsertTextFormat.PlainText,
        text_edit=types.TextEdit(spec.range(one.start, offset), one.text if as_snippet else one.label),
    )
