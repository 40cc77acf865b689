"""The lines of an open log, over the protocol: lens, definition and hover."""

import asyncio
import re

import pytest
from lsprotocol import types

from tests.support.editor.lsp import ask, document, figures_of, hover, is_walk, lenses_of, open_file

# One server serves all tests of this file.
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_log_lens_of_error_line_opens_its_slice(editor, shop):
    uri = open_file(editor, shop / "shop.log")
    lenses = await figures_of(editor, uri)
    lines = (shop / "shop.log").read_text().splitlines()
    assert [number for number, *_ in lenses] == [
        number for number, line in enumerate(lines, 1) if "ERROR" in line or "WARNING" in line
    ]
    for (_, title, command, argument), run in zip(lenses, ["before", "before", "after", "after"], strict=True):
        assert re.fullmatch(r"why · [\d,]+ events · \d+ process(es)?", title)
        assert command == "clew.why"
        # Each line belongs to the run that wrote it.
        assert argument["run"].endswith(f"-{run}")
        answer = await ask(editor, "clew/slice", argument)
        assert answer["chain"][0]["title"] in {
            "ERROR Order failed: item 17 is sold out", "WARNING audit: only 19 of 20 orders were served"
        }  # fmt: skip
        assert title.startswith(f"why · {answer['numbers']['events']} events · {answer['numbers']['processes']} ")


async def test_log_lens_of_unrecorded_line_says_not_recorded(editor, shop, tmp_path):
    (tmp_path / "other.log").write_text("2001-01-01 00:00:00,000 ERROR shop Order failed: item 17 is sold out\n")
    uri = open_file(editor, tmp_path / "other.log")
    assert [lens[1:] for lens in await figures_of(editor, uri)] == [("not written by a recorded run", "", None)]
    assert await hover(editor, uri, 1) == ""


async def walks_of(editor, uri):
    """Return the command and argument of each resolved walk lens, or None for a lens without a command."""
    found = [await editor.code_lens_resolve_async(lens) for lens in await lenses_of(editor, uri) if is_walk(lens)]
    return [lens.command and (lens.command.command, lens.command.arguments[0]) for lens in found]


async def test_log_lens_of_error_line_starts_a_walk(editor, shop, tmp_path):
    uri = open_file(editor, shop / "shop.log")
    walks = await walks_of(editor, uri)
    assert len(walks) == 4
    for (command, argument), run in zip(walks, ["before", "before", "after", "after"], strict=True):
        assert command == "clew.walk.start" and argument["run"].endswith(f"-{run}")
        card = (await ask(editor, "clew/walk", argument))["card"]
        assert card["title"].startswith(("ERROR Order failed", "WARNING audit: only 19"))
    (tmp_path / "foreign.log").write_text("2001-01-01 00:00:00,000 ERROR shop Order failed: item 17 is sold out\n")
    assert await walks_of(editor, open_file(editor, tmp_path / "foreign.log")) == [None]


async def test_log_line_definition_is_its_logging_call(editor, shop, line_of):
    uri = open_file(editor, shop / "shop.log")
    for words, file, call in (
        ("Order failed", "shop/app.py", "log.error"),
        ("is sold out", "shop/stock.py", "log.info"),
        ("audit: only", "shop/audit.py", "log.warning"),
    ):
        row = line_of("shop.log", words) - 1
        place = await editor.text_document_definition_async(
            types.DefinitionParams(document(uri), types.Position(row, 30))
        )
        assert (place.uri, place.range.start.line + 1) == ((shop / file).as_uri(), line_of(file, call))


async def test_log_line_hover_shows_the_start_of_the_chain(editor, shop, line_of):
    uri = open_file(editor, shop / "shop.log")
    text = await hover(editor, uri, line_of("shop.log", "Order failed"))
    assert "**shop.app / order 17**" in text and "in run before, app.py:" in text
    assert (
        "item 17 is sold out, raised in check, app.py:24. "
        "Stock.lookup used item 17, which Stock.mark\\_sold defined.\n\nHow sure: recorded\n\n"
    ) in text
    assert "1. Stock.lookup used item 17, which Stock.mark\\_sold defined" in text
    assert "[Walk from here](command:clew.walk.start?" in text


async def test_log_line_code_action_asks_why_only_for_lines_of_a_run(editor, shop, line_of):
    uri = open_file(editor, shop / "shop.log")

    async def actions(line):
        place = types.Range(types.Position(line - 1, 0), types.Position(line - 1, 5))
        params = types.CodeActionParams(document(uri), place, types.CodeActionContext([]))
        return await editor.text_document_code_action_async(params) or []

    (action,) = await actions(line_of("shop.log", "Order failed"))
    assert (action.title, action.command) == ("Why did this happen?", "clew.why")
    result = await ask(editor, "clew/slice", action.arguments[0])
    assert result["verdict"]["sentences"][1]["text"] == "Stock.lookup used item 17, which Stock.mark_sold defined."
    assert await actions(10_000) == []


async def test_walk_setting_removes_walk_lenses_and_links(editor, shop, line_of):
    uri = open_file(editor, shop / "shop.log")
    app = open_file(editor, shop / "shop/app.py")
    try:
        editor.set_configuration({"clew": {"walk": {"enabled": False}}})
        editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        async with asyncio.timeout(120):
            while await walks_of(editor, uri):
                await asyncio.sleep(0.02)
        assert "clew.walk" not in await hover(editor, uri, line_of("shop.log", "Order failed"))
        assert "clew.walk" not in await hover(editor, app, line_of("shop/app.py", "def check"))
    finally:
        editor.set_configuration({"clew": {}})
        editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))


async def test_log_position_after_the_end_has_no_answer(editor, shop):
    uri = open_file(editor, shop / "shop.log")
    assert await hover(editor, uri, 10_000) == ""
