"""Walk commands for editors without the panel: a message describes each step, and the editor shows its location in the
code.

They are registered only for clients that do not handle them (`ClientOptions.panel`). There is one walk at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.protocol.codec import decode
from clew.server.protocol.views.walk import WalkParams, WalkResult
from clew.server.session.session import Cancelled
from clew.server.session.walk import STEPS, Walker
from clew.server.text import units

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer

PREFIX = "clew.walk."


def register(server: ClewServer) -> None:
    walker = Walker(server.session)

    @server.command(f"{PREFIX}start")
    async def start(*arguments: Any) -> None:
        given = arguments[0] if arguments else {"target": {}}
        await _make(server, lambda task: walker.start(decode(WalkParams, given), task))

    for name in STEPS:
        _register_step(server, walker, name)


def _register_step(server: ClewServer, walker: Walker, name: str) -> None:
    async def step(*arguments: Any) -> None:
        """The optional argument selects one of several events, from 1."""
        choice = arguments[0] - 1 if arguments and isinstance(arguments[0], int) else 0
        await _make(server, lambda task: walker.step(name, task, choice))

    server.command(f"{PREFIX}{name}")(step)


async def _make(server: ClewServer, step: Any) -> None:
    try:
        result: WalkResult = await server.work("clew: walking", step)
    except ClewError as error:
        if not isinstance(error, Cancelled):
            server.tell(str(error), types.MessageType.Warning)
        return
    place = result.card.location if result.card and result.moved else None
    await server.show_location(step_text(result), place, result.run.id)


def step_text(result: WalkResult) -> str:
    """Return the step, the event with its values, and the possible next steps as text."""
    if result.card is None:
        return result.message
    lines = [f"{result.step}: {result.sentence}"] if result.sentence else []
    lines += [f"here {gap.text}" for gap in result.gaps]
    if not result.moved:
        return "\n".join(lines)
    card = result.card
    lines.append(f"{units.offset(card.timeNs)} {card.title}")
    lines += [f"{fact.name} = {fact.value}" for fact in card.facts]
    lines += [result.message] if result.message else []
    ways = [f"{way.step} ({way.count:,})" if way.count > 1 else way.step for way in result.ways if way.ends]
    return "\n".join([*lines, f"next steps: {', '.join(ways)}" if ways else "no next step"])
