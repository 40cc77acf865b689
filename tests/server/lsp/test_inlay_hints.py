"""Inlay hints with the time of calls and waits, over the protocol."""

import re

import pytest
from lsprotocol import types

from tests.support.editor.lsp import change, document, open_file

# One server serves all tests of this file.
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def hints_of(editor, uri, first=1, last=10_000):
    """Return (line from 1, label) of every inlay hint of some lines."""
    wanted = types.Range(types.Position(first - 1, 0), types.Position(last - 1, 0))
    found = await editor.text_document_inlay_hint_async(types.InlayHintParams(document(uri), wanted))
    return [(hint.position.line + 1, hint.label) for hint in found]


async def test_inlay_hints_show_time_of_calls_and_waits_at_their_lines(editor, shop, line_of):
    path = shop / "shop/app.py"
    uri = open_file(editor, path)
    hints = dict(await hints_of(editor, uri))
    spent = {words: line_of("shop/app.py", words) for words in (
        "return check(stock, item)", "stock.lookup(item)", "stock = Stock()", "Sweeper(stock, 17)", "asyncio.run(sell(stock))",
        "create_task(order(stock, item)",
    )}  # fmt: skip
    waited = {words: line_of("shop/app.py", words) for words in ("sweeper.join()", "await asyncio.gather")}
    assert hints.keys() == {*spent.values(), *waited.values()}
    assert re.fullmatch(r"[\d.]+ m?s in 20 calls", hints[spent["stock.lookup(item)"]])
    assert re.fullmatch(r"in parallel: [\d.]+ m?s in 1 call", hints[spent["asyncio.run(sell(stock))"]])
    assert re.fullmatch(r"in parallel: [\d.]+ m?s in 20 calls", hints[spent["create_task(order(stock, item)"]])
    assert all(re.fullmatch(r"waited [\d.]+ [µm]?s", hints[line]) for line in waited.values())
    line = spent["stock.lookup(item)"]
    assert await hints_of(editor, uri, line, line) == [(line, hints[line])]

    # Hints move with their lines; an edited line has no hint.
    change(editor, uri, "# new\n" * 3 + path.read_text().replace("stock.lookup(item)", "stock.lookup( item)"))
    moved = dict(await hints_of(editor, uri))
    assert moved == {number + 3: label for number, label in hints.items() if number != line}
    change(editor, uri, path.read_text(), 3)
