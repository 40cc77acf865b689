"""The commands of code lenses, for editors without the panel: the answer is a message and a location in the code.

They are registered only for clients that do not handle them (`ClientOptions.panel`), because a command can have one
owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.handlers import handler
from clew.server.lsp.features.esl import navigation
from clew.server.lsp.features.esl.spec_text import SpecText
from clew.server.lsp.positions import path_of
from clew.server.protocol.codec import decode
from clew.server.protocol.history import HistoryResult
from clew.server.protocol.registry import METHODS
from clew.server.protocol.session import ChooseBaselineParams, SelectRunParams
from clew.server.protocol.views.compare import CompareParams, CompareResult
from clew.server.protocol.views.localize import LocalizeResult
from clew.server.protocol.views.slice import SliceResult
from clew.server.session.session import Cancelled

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer

MAX_CHOICES = 12
NO_BASELINE = "None: no comparison"


def register(server: ClewServer) -> None:
    @server.command("clew.why")
    async def why(*arguments: Any) -> None:
        await _explain(server, arguments)

    @server.command("clew.openSlice")
    async def open_slice(*arguments: Any) -> None:
        await _explain(server, arguments)

    @server.command("clew.openCompare")
    async def open_compare(*arguments: Any) -> None:
        await _compare(server, arguments)

    @server.command("clew.findSuspects")
    async def find_suspects(*arguments: Any) -> None:
        await _localize(server, arguments)

    @server.command("clew.lastValues")
    async def last_values(*arguments: Any) -> None:
        await _history(server, arguments, goes=False)

    @server.command("clew.openHistory")
    async def history(*arguments: Any) -> None:
        await _history(server, arguments, goes=False)

    @server.command("clew.whoWrote")
    async def who_wrote(*arguments: Any) -> None:
        await _history(server, arguments, goes=True)

    @server.command("clew.selectRun")
    async def select_run(*arguments: Any) -> None:
        await _select(server, arguments)

    @server.command("clew.showFunctions")
    async def show_functions(*arguments: Any) -> None:
        await _show_functions(server, arguments)

    @server.command("clew.chooseBaseline")
    async def choose_baseline(*arguments: Any) -> None:
        await _choose_baseline(server, arguments)


async def _answer(server: ClewServer, title: str, method: str, given: Any) -> Any:
    """Return the result of a panel request, with progress under the title; None after reporting an error."""
    try:
        params: Any = decode(METHODS[method].params, given)
        return await server.work(title, lambda task: handler(method)(server.session, params, task))
    except ClewError as error:
        _tell(server, error)
        return None


async def _explain(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    """Show the verdict, the chain from its end to its root, and the location of the root in the code."""
    params = arguments[0] if arguments else {"target": {}}
    from clew.server.text.answer import told
    from clew.server.text.failed_test import headline, report_lines

    result = await _answer(server, "clew: why", "clew/slice", params)
    if result is None:
        return
    assert isinstance(result, SliceResult)
    if not result.chain:
        server.tell(result.message or f"{result.title}: no cause was recorded")
        return
    root = next((step.location for step in reversed(result.chain) if step.location), None)
    first, *further = [step.title for step in result.chain]
    verdict = told(result.verdict) if result.verdict is not None else []
    failed = result.verdict.failedTest if result.verdict is not None else None
    if failed is not None:
        base = str(server.session.workspace)
        first, further = headline(failed, base), []
        verdict = [*failed.limits, *report_lines(failed, base)[:-1], f"How sure: {failed.sure}", *verdict]
        root = next((suspect.location for suspect in failed.suspects), root)
    await server.show_location("\n".join([first, *verdict, *(f"← {title}" for title in further)]), root, result.run.id)


async def _compare(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    """Show what changed in the category of a lens, and when a difference counts."""
    params = arguments[0] if arguments else {}
    result = await _answer(server, "clew: comparing", "clew/compare", params)
    if result is None:
        return
    assert isinstance(result, CompareResult)
    category = decode(CompareParams, params).category
    rows = [row for row in result.rows if row.category == category] or result.rows[:1]
    lines = [row.sentence for row in rows] or [result.message or result.sentence]
    server.tell("\n".join([*lines, result.explanation]))


async def _history(server: ClewServer, arguments: tuple[Any, ...], *, goes: bool) -> None:
    """Show the last values of a state; or, if `goes`, who wrote it last, and move the editor there."""
    from clew.server.text.state_history import lines

    params = arguments[0] if arguments else {}
    result = await _answer(server, "clew: history", "clew/history", params)
    if result is None:
        return
    assert isinstance(result, HistoryResult)
    if goes and result.last is not None:
        message = "\n".join([result.last.sentence, *result.notes])
        await server.show_location(message, result.last.location, result.run.id)
        return
    server.tell("\n".join(lines(result, str(server.session.workspace))))


async def _localize(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    """Show the first suspects, and how they are ranked."""
    params = arguments[0] if arguments else {}
    result = await _answer(server, "clew: looking for suspects", "clew/localize", params)
    if result is None:
        return
    assert isinstance(result, LocalizeResult)
    lines = [f"{suspect.rank}. {suspect.sentence}" for suspect in result.suspects[:MAX_CHOICES]]
    server.tell("\n".join([*(lines or [result.message or result.sentence]), result.explanation]))


async def _select(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    try:
        if arguments and arguments[0]:
            which = decode(SelectRunParams, arguments[0]).run
        else:
            chosen = await _ask(server, "Select a run")
            if chosen is None:
                return
            which = chosen
        server.session.select(which)
    except ClewError as error:
        _tell(server, error)
    else:
        server.runs_changed()


async def _show_functions(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    """Show the only function that a spec's rule matches, or list the locations of several."""
    if len(arguments) != 2 or not isinstance(arguments[0], str) or not isinstance(arguments[1], dict):
        return server.tell("clew.showFunctions takes the uri of a spec and a position in it", types.MessageType.Warning)
    document = server.open_document(arguments[0])
    if document is None:
        return None
    spec = SpecText.of(document)
    at = types.Position(int(arguments[1].get("line", 0)), int(arguments[1].get("character", 0)))
    found = await server.work("clew: functions", lambda _: navigation.definition(server.specs, spec, spec.offset(at)))
    if len(found) == 1:
        await server.show(found[0])
        return None
    rows = [f"{path_of(one.uri)}:{one.range.start.line + 1}" for one in found[:MAX_CHOICES]]
    rows += [f"… and {len(found) - MAX_CHOICES:,} more"] if len(found) > MAX_CHOICES else []
    return server.tell("\n".join(rows))


async def _choose_baseline(server: ClewServer, arguments: tuple[Any, ...]) -> None:
    try:
        if arguments and arguments[0]:
            which = decode(ChooseBaselineParams, arguments[0]).run
        else:
            chosen = await _ask(server, "Select a baseline", {NO_BASELINE: ""})
            if chosen is None:
                return
            which = chosen
        server.session.choose_baseline(which)
    except ClewError as error:
        _tell(server, error)
    else:
        server.runs_changed()


async def _ask(server: ClewServer, what: str, more: dict[str, str] | None = None) -> str | None:
    """Return the id of a run; None if the user cancels. `more` maps titles of additional choices to their values."""
    runs = server.session.runs().runs[:MAX_CHOICES]
    if not runs:
        server.tell("no run yet; record one with `clew run -- python your_program.py`")
        return None
    titles = {f"{run.name} ({run.id})": run.id for run in runs} | (more or {})
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=what,
            actions=[types.MessageActionItem(title=title) for title in titles],
        )
    )
    return titles.get(answer.title) if answer else None


def _tell(server: ClewServer, error: ClewError) -> None:
    if not isinstance(error, Cancelled):
        server.tell(str(error), types.MessageType.Warning)
