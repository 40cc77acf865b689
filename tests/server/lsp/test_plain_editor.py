"""An editor without the panel: the server's own commands, answers in messages, hovers in plain text."""

import re

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities

from clew.server.protocol import COMMANDS
from clew.server.session.walk import STEPS
from tests.support.editor.lsp import SERVER, ask, begin, close, document, execute, open_file

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_lsp.fixture(config=SERVER, loop_scope="module")
async def plain_editor(lsp_client: LanguageClient, shop):
    capabilities = client_capabilities("neovim")
    capabilities.text_document.hover.content_format = [types.MarkupKind.PlainText]
    await begin(lsp_client, shop, panel=False, capabilities=capabilities)
    yield
    await lsp_client.shutdown_session()


async def test_plain_editor_commands_answer_in_messages(plain_editor, shop):
    assert set(plain_editor.offered) == {*COMMANDS, *(f"clew.walk.{step}" for step in STEPS)}
    assert await execute(plain_editor, "clew.why", {"target": {"text": "Order failed"}}) == (
        "ERROR Order failed: item 17 is sold out\n"
        "It was written while handling shop.stock.SoldOut: item 17 is sold out, raised in check, app.py:24. "
        "Stock.lookup used item 17, which Stock.mark_sold defined.\n"
        "How sure: recorded\n"
        "← Stock.lookup used item 17, which Stock.mark_sold defined\n"
        "← Sweeper.run began as a thread that app.main started\n"
        "← thread MainThread of shop.app began"
    )
    said = await execute(plain_editor, "clew.why", {"target": {"text": "nonsense"}})
    assert "No log line of run after has 'nonsense'" in said
    assert "no run named 'gone'" in await execute(plain_editor, "clew.selectRun", {"run": "gone"})
    await execute(plain_editor, "clew.selectRun", {"run": "before"})
    assert (await ask(plain_editor, "clew/runs"))["selected"].endswith("-before")


async def test_plain_editor_show_functions_lists_their_places(plain_editor, shop, line_of):
    text = "scope shop.app:check, shop.app:order;\n"
    uri = open_file(plain_editor, shop / "told.esl", text)
    at = {"line": 0, "character": 0}
    lines = [line_of("shop/app.py", f"def {name}(") for name in ("check", "order")]
    assert await execute(plain_editor, "clew.showFunctions", uri, at) == "\n".join(
        f"{shop / 'shop/app.py'}:{line}" for line in lines
    )
    assert "takes the uri of a spec" in await execute(plain_editor, "clew.showFunctions")


async def test_plain_editor_hover_without_markdown_is_plain_text(plain_editor, shop, line_of):
    uri = open_file(plain_editor, shop / "shop/app.py")
    found = await plain_editor.text_document_hover_async(
        types.HoverParams(document(uri), types.Position(line_of("shop/app.py", "def check") - 1, 5))
    )
    assert found.contents.kind is types.MarkupKind.PlainText
    assert found.contents.value.startswith("app.check in run ")
    assert "callers   app.order 20×" in found.contents.value
    assert not re.search("[`|]|command:", found.contents.value)


async def test_plain_editor_comparison_answers_in_a_message(plain_editor, shop):
    try:
        await execute(plain_editor, "clew.chooseBaseline", {"run": "before"})
        runs = await ask(plain_editor, "clew/runs")
        assert runs["baseline"].endswith("-before")
        text = await execute(plain_editor, "clew.openCompare", {"before": [runs["baseline"]], "after": ["after"]})
        assert text.startswith("order: ") and "20 and 20 requests" in text and "A category is slower when" in text
        assert "no run named 'gone'" in await execute(plain_editor, "clew.chooseBaseline", {"run": "gone"})
    finally:
        await execute(plain_editor, "clew.chooseBaseline", {"run": ""})
    assert (await ask(plain_editor, "clew/runs"))["baseline"] == ""


async def test_plain_editor_walk_answers_each_step_and_shows_its_place(plain_editor, shop, line_of):
    async def do(command, *arguments):
        return await execute(plain_editor, f"clew.walk.{command}", *arguments)

    assert await do("cause") == "no walk is open; start one at a log line or a function"
    said = await do("start", {"target": {"text": "Order failed"}, "run": "before"})
    assert "ERROR Order failed: item 17 is sold out\nlevel = ERROR\nlogger = shop" in said
    assert re.search(r"next steps: cause(?: \(\d+\))?, .*out", said)
    said = await do("cause")
    assert said.startswith("cause: through the state item 17: set by Stock.mark_sold, ")
    shown = plain_editor.shown_documents[-1]
    assert shown.uri == (shop / "shop/stock.py").as_uri() and shown.take_focus
    assert shown.selection.start.line + 1 == line_of("shop/stock.py", "def mark_sold")
    assert "at /" not in said
    assert "app.main started a thread" in await do("cause")
    assert "Stock.mark_sold defined item 17" in await do("back")
    assert "app.main started a thread" in await do("forward")
    assert await do("forward") == "forward: this is the last visited event"
    assert "none of the 20 calls" not in await do("start", {"target": {"function": "shop.app:check"}, "pick": "failed"})
    assert "No log line of run" in await do("start", {"target": {"text": "nonsense"}})
    # A start that fails leaves the previous walk open.
    assert (await do("in")).startswith("in: ")


@pytest_lsp.fixture(config=SERVER, loop_scope="module")
async def old_editor(lsp_client: LanguageClient, shop):
    """Open an editor that lacks `window/showDocument`."""
    await begin(lsp_client, shop, panel=False, capabilities=client_capabilities("neovim@v0.7.0"))
    yield
    await lsp_client.shutdown_session()


async def test_plain_editor_without_show_document_gets_places_in_messages(old_editor, shop, line_of):
    path = shop / "shop/stock.py"
    failed = {"target": {"text": "Order failed"}, "run": "before"}
    said = await execute(old_editor, "clew.walk.start", failed)
    assert said.endswith(f"\nat {shop / 'shop/app.py'}:{line_of('shop/app.py', 'log.error')}")
    place = f"\nat {path}:{line_of('shop/stock.py', 'def mark_sold')}"
    assert (await execute(old_editor, "clew.walk.cause")).endswith(place)
    await execute(old_editor, "clew.walk.back")
    # The place is that of the edited text.
    uri = open_file(old_editor, path, "# one\n# two\n" + path.read_text())
    assert (await execute(old_editor, "clew.walk.forward")).endswith(
        f"\nat {path}:{line_of('shop/stock.py', 'def mark_sold') + 2}"
    )
    close(old_editor, uri)
    assert old_editor.shown_documents == []
