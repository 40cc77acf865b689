"""The history of the state under the cursor: code actions, hovers, and the commands of editors without the panel."""

import asyncio

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import LanguageClient

from tests.support.editor.lsp import SERVER, ask, begin, close, document, execute, hover, open_file
from tests.support.programs.failing_shop import line_of
from tests.support.programs.recorded_program import record

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATIENCE = 60
COMMANDS = {"clew.lastValues", "clew.whoWrote", "clew.openHistory"}
SOURCE = """
import threading
class Cart:
    def __init__(self):
        self.label = "a|b*"
        self.discount = 0
    def apply_coupon(self, percent):
        self.discount = percent
    def total(self, price):
        return price * (100 - self.discount) / 100, self.label
def marketing(cart):
    cart.apply_coupon(110)
cart = Cart()
thread = threading.Thread(target=marketing, args=(cart,), name="campaign")
thread.start()
thread.join()
cart.total(10)
"""


@pytest.fixture(scope="module")
def carts(tmp_path_factory):
    """Return a folder with a run that has writes, which is selected, and one that has none."""
    folder = record(tmp_path_factory.mktemp("carts"), SOURCE, options=["--name", "plain"])
    return record(folder, SOURCE, options=["--writes", "--name", "written"])


@pytest_lsp.fixture(config=SERVER, scope="module", loop_scope="module")
async def editor(lsp_client: LanguageClient, carts):
    await begin(lsp_client, carts)
    yield
    await lsp_client.shutdown_session()


@pytest_lsp.fixture(config=SERVER, scope="module", loop_scope="module")
async def plain_editor(lsp_client: LanguageClient, carts):
    await begin(lsp_client, carts, panel=False)
    yield
    await lsp_client.shutdown_session()


def place(words, name):
    line = line_of(SOURCE, words)
    return line, SOURCE.splitlines()[line - 1].index(name)


async def questions(client, uri, words, name):
    """Return the offered questions about a state by their command."""
    line, column = place(words, name)
    at = types.Position(line - 1, column)
    found = await client.text_document_code_action_async(
        types.CodeActionParams(document(uri), types.Range(at, at), types.CodeActionContext([]))
    )
    return {one.command: one for one in found or [] if isinstance(one, types.Command) and one.command in COMMANDS}


async def once_read(client, uri, words, name):
    async with asyncio.timeout(PATIENCE):
        while not (found := await questions(client, uri, words, name)):
            await asyncio.sleep(0.1)
    return found


async def test_code_actions_ask_about_the_state_under_the_cursor(editor, carts):
    uri = open_file(editor, carts / "app.py")
    found = await once_read(editor, uri, "return price", "discount")
    assert {command: one.title for command, one in found.items()} == {
        "clew.lastValues": "clew: Last values of self.discount",
        "clew.whoWrote": "clew: Who wrote self.discount?",
        "clew.openHistory": "clew: History of self.discount",
    }
    (params,) = found["clew.whoWrote"].arguments
    answer = await ask(editor, "clew/history", params)
    assert answer["state"] == "Cart.discount"
    assert answer["last"]["sentence"].startswith("Cart.discount = 110, by Cart.apply_coupon(110), called by marketing")
    # A call is not a state, nor is a line outside of functions.
    assert await questions(editor, uri, "cart.apply_coupon(110)", "apply_coupon") == {}
    assert await questions(editor, uri, "cart = Cart()", "cart") == {}
    close(editor, uri)


async def test_hover_on_a_state_has_its_last_values_and_links(editor, carts):
    uri = open_file(editor, carts / "app.py")
    await once_read(editor, uri, "return price", "discount")
    text = await hover(editor, uri, *place("return price", "discount"))
    head, _, table = text.partition("|---|---|---|---|\n")
    assert head.startswith("Last values of `Cart.discount` in run written\n")
    newest, first = table.splitlines()[:2]
    assert newest.startswith("| `Cart.discount = 110` | Cart.apply\\_coupon(110), called by marketing, in campaign | +")
    assert newest.endswith("app.py:8 |")
    assert first.startswith("| `Cart.discount = 0` | Cart.\\_\\_init\\_\\_, in MainThread | +")
    assert "[Who wrote it?](command:clew.whoWrote?" in text and "[History](command:clew.openHistory?" in text
    assert "| `Cart.label = 'a\\|b*'` |" in await hover(editor, uri, *place("return price", "label"))
    assert await hover(editor, uri, *place("return price", "price")) == ""
    close(editor, uri)


async def test_plain_editor_commands_tell_the_history_in_messages(plain_editor, carts):
    uri = open_file(plain_editor, carts / "app.py")
    found = await once_read(plain_editor, uri, "return price", "discount")
    last = await execute(plain_editor, "clew.lastValues", *found["clew.lastValues"].arguments)
    title, newest, first = last.splitlines()
    assert title == "Last values of Cart.discount, the newest first:"
    assert newest.endswith(
        "Cart.discount = 110, by Cart.apply_coupon(110), called by marketing, in campaign (app.py:8)"
    )
    assert first.endswith("Cart.discount = 0, by Cart.__init__, in MainThread (app.py:6)")
    assert await execute(plain_editor, "clew.openHistory", *found["clew.openHistory"].arguments) == last
    said = await execute(plain_editor, "clew.whoWrote", *found["clew.whoWrote"].arguments)
    assert "by Cart.apply_coupon(110), called by marketing, in campaign" in said
    close(plain_editor, uri)


async def test_run_without_writes_offers_only_how_to_record_them(plain_editor, carts):
    uri = open_file(plain_editor, carts / "app.py")
    await once_read(plain_editor, uri, "return price", "discount")
    try:
        await ask(plain_editor, "clew/selectRun", {"run": "plain"})
        async with asyncio.timeout(PATIENCE):
            while len(found := await questions(plain_editor, uri, "return price", "discount")) != 1:
                await asyncio.sleep(0.1)
        (asked,) = found.values()
        assert asked.title == "clew: Who wrote self.discount? (this run recorded no writes)"
        said = await execute(plain_editor, asked.command, *asked.arguments)
        assert said.startswith("Run plain recorded no writes.\nThis records them: clew run --writes -- ")
        assert await hover(plain_editor, uri, *place("return price", "discount")) == ""
    finally:
        await ask(plain_editor, "clew/selectRun", {"run": "written"})
    close(plain_editor, uri)


async def test_edited_line_offers_no_question(editor, carts):
    uri = open_file(editor, carts / "app.py")
    await once_read(editor, uri, "return price", "discount")
    close(editor, uri)
    uri = open_file(editor, carts / "app.py", SOURCE.replace("return price *", "return 2 * price *"))
    line = line_of(SOURCE, "return price")
    at = types.Position(line - 1, SOURCE.splitlines()[line - 1].index("discount") + 4)
    found = await editor.text_document_code_action_async(
        types.CodeActionParams(document(uri), types.Range(at, at), types.CodeActionContext([]))
    )
    assert [one for one in found or [] if isinstance(one, types.Command) and one.command in COMMANDS] == []
    close(editor, uri)
