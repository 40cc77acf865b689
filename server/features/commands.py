"""The commands of code lenses, for editors without the panel: the answer is a message and a place in the code.

Registered only for clients that do not carry them out themselves (`ClientOptions.panel`), as a command can have one owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.codec import decode
from clew.server.handlers import HANDLERS
from clew.server.positions import line_range, uri_of
from clew.server.protocol import SelectRunParams, SliceParams, SliceResult
from clew.server.session import Cancelled

if TYPE_CHECKING:
    from clew.server.server import ClewServer

MAX_CHOICES = 12


def register(server: ClewServer) -> None:
    @server.command("clew.why")
    async def why(*arguments: Any) -> None:
        await _explain(server, arguments)

    @server.command("clew.openSlice")
    async def open_slice(*arguments: Any) -> None:
        await _explain(server, arguments)

    @server.command("clew.selectRun")
    async def select_run(*arguments: Any) -> None:
        await _select(server, arguments)


async def _explain(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    """Tells the chain from its end to its root, and shows where the root is in the code."""
    try:
        params = decode(SliceParams, arguments[0] if arguments else {"target": {}})
        result = await server.work("clew: why", lambda task: HANDLERS["clew/slice"](server.session, params, task))
    except ClewError as error:
        _tell(server, error)
        return
    assert isinstance(result, SliceResult)
    if not result.chain:
        server.tell(result.message or f"{result.title}: no cause was recorded")
        return
    server.tell("\n← ".join(step.title for step in result.chain))
    root = next((step.location for step in reversed(result.chain) if step.location), None)
    window = server.client_capabilities.window
    if root is not None and window and window.show_document and window.show_document.support:
        await server.window_show_document_async(
            types.ShowDocumentParams(uri=uri_of(root.path), take_focus=True, selection=line_range(root.line, 0, 0))
        )


async def _select(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    try:
        if arguments and arguments[0]:
            which = decode(SelectRunParams, arguments[0]).run
        else:
            chosen = await _ask(server)
            if chosen is None:
                return
            which = chosen
        server.session.select(which)
    except ClewError as error:
        _tell(server, error)
    else:
        server.runs_changed()


async def _ask(server: ClewServer) -> str | None:
    runs = server.session.runs().runs[:MAX_CHOICES]
    if not runs:
        server.tell("no run yet; record one with `clew run -- python your_program.py`")
        return None
    titles = {f"{run.name} ({run.id})": run.id for run in runs}
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message="The run to look at",
            actions=[types.MessageActionItem(title=title) for title in titles],
        )
    )
    return titles.get(answer.title) if answer else None


def _tell(server: ClewServer, error: ClewError) -> None:
    if not isinstance(error, Cancelled):
        server.tell(str(error), types.MessageType.Warning)
