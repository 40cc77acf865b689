"""Hovers over recorded functions, over the protocol."""

import re

import pytest

from tests.support.editor.lsp import hover, open_file

# One server serves all tests of this file.
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_hover_on_function_has_its_statistics_and_callers(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/app.py")
    text = await hover(editor, uri, line_of("shop/app.py", "def check"))
    assert "`app.check` in run after" in text
    assert "| calls | 20 |" in text
    assert "| errors | 1 call ended by an exception |" in text
    assert "| callers | `app.order` 20× |" in text
    assert re.search(r"```text\n( *[\d.]+ (ns|µs|ms) +\d+.*\n)+```", text) and " p95" in text and " max" in text
    assert "| callees | `Stock.lookup` 20× |" in text
    assert "command:clew.openSlice?" in text
    assert await hover(editor, uri, line_of("shop/app.py", "return item")) == ""


async def test_hover_on_call_is_about_the_callee(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/app.py")
    line = line_of("shop/app.py", "return check(stock, item)")
    at_call = await hover(
        editor, uri, line, (shop / "shop/app.py").read_text().splitlines()[line - 1].index("check") + 2
    )
    assert at_call.startswith("`app.check` in run after")
    # clew does not know `stock`; other servers do.
    assert await hover(editor, uri, line, 26) == ""


async def test_hover_on_function_has_thread_starts_and_waits(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/stock.py")
    assert "| callers | `app.main` 1× by thread.start |" in await hover(
        editor, uri, line_of("shop/stock.py", "def run")
    )
    uri = open_file(editor, shop / "shop/app.py")
    text = await hover(editor, uri, line_of("shop/app.py", "def main"))
    assert re.search(r"\| waiting \| .* for thread\.join until `Sweeper\.run`", text)
