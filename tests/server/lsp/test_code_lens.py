"""Code lenses above recorded functions, over the protocol: their texts and places."""

import asyncio
import re

import pytest

from clew.graph.store import profile_cache
from clew.server.lsp.features.code_lens import function_lenses
from clew.server.session.session import Task
from tests.support.editor.lsp import ask, change, figures_of, lenses_of, open_file

# One server serves all tests of this file.
pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = 60
FIGURES = re.compile(
    r"(\d+) calls? · p50 [\d.]+ (?:ns|µs|ms)(?: · p95 [\d.]+ (?:ns|µs|ms))? · self <?[\d.]+ %"
    r"(?: · <?[\d.]+ % of the critical path)?(?: · 10 % faster: p95 of order -<?[\d.]+ %)?(?: · 1 error)?"
)


async def test_code_lens_is_at_the_def_of_each_recorded_function(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/stock.py")
    lenses = await figures_of(editor, uri)
    calls = {line: int(FIGURES.fullmatch(title)[1]) for line, title, _, _ in lenses}
    assert calls == {
        line_of("shop/stock.py", "def __init__(self) -> None"): 1,
        line_of("shop/stock.py", "def mark_sold"): 1,
        line_of("shop/stock.py", "def lookup"): 20,
        line_of("shop/stock.py", "def __init__(self, stock"): 1,
        line_of("shop/stock.py", "def run"): 1,
    }
    lookup = next(lens for lens in lenses if lens[0] == line_of("shop/stock.py", "def lookup"))
    assert lookup[2] == "clew.openSlice"
    assert lookup[3]["target"]["function"] == "shop.stock:Stock.lookup" and lookup[3]["run"].endswith("-after")


async def test_code_lens_counts_exceptions(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/app.py")
    titles = {line: title for line, title, _, _ in await figures_of(editor, uri)}
    assert titles[line_of("shop/app.py", "def check")].endswith(" · 1 error")


async def test_code_lenses_move_with_functions_and_are_stale_once_removed(editor, shop, line_of):
    path = shop / "shop/stock.py"
    uri = open_file(editor, path)
    before = await figures_of(editor, uri)
    change(editor, uri, "# new\n" * 7 + path.read_text())
    assert [(line - 7, title) for line, title, _, _ in await figures_of(editor, uri)] == [lens[:2] for lens in before]
    change(editor, uri, path.read_text().replace("def lookup", "def find"), 3)
    stale = [(line, title) for line, title, _, _ in await figures_of(editor, uri) if title.startswith("stale")]
    assert [line for line, _ in stale] == [line_of("shop/stock.py", "def lookup")]
    assert stale[0][1].startswith("stale: Stock.lookup · 20 calls · ")


async def test_code_lenses_stay_while_the_text_does_not_parse(editor, shop):
    path = shop / "shop/stock.py"
    uri = open_file(editor, path)
    before = await figures_of(editor, uri)
    change(editor, uri, "# new\n" + path.read_text() + "\ndef (:\n")
    after = await figures_of(editor, uri)
    assert [(line + 1, title) for line, title, _, _ in before] == [(line, title) for line, title, _, _ in after]
    assert len(after) == 5
    change(editor, uri, path.read_text(), 3)


async def test_code_lenses_of_unrecorded_file_are_empty(editor, shop, tmp_path):
    (tmp_path / "other.py").write_text("def lookup():\n    pass\n")
    assert await figures_of(editor, open_file(editor, tmp_path / "other.py")) == []


async def test_code_lenses_are_of_the_selected_run(editor, shop):
    uri = open_file(editor, shop / "shop/stock.py")
    refreshed = editor.refreshed
    editor.runs_changed.clear()
    await ask(editor, "clew/selectRun", {"run": "before"})
    await asyncio.wait_for(editor.runs_changed.wait(), PATIENCE)
    async with asyncio.timeout(PATIENCE):
        while editor.refreshed == refreshed:
            await asyncio.sleep(0.02)
    assert all(argument["run"].endswith("-before") for *_, argument in await figures_of(editor, uri))
    await ask(editor, "clew/selectRun", {"run": ""})
    assert all(argument["run"].endswith("-after") for *_, argument in await figures_of(editor, uri))


async def test_code_lens_of_an_earlier_list_gets_no_text(editor, shop):
    path = shop / "shop/stock.py"
    uri = open_file(editor, path)
    old = (await lenses_of(editor, uri))[0]
    same = (await lenses_of(editor, uri))[0]
    assert (await editor.code_lens_resolve_async(old)).command.title
    assert same.data == old.data  # as for two editors that show the file
    change(editor, uri, "# new\n" + path.read_text())
    new = (await lenses_of(editor, uri))[0]
    assert (await editor.code_lens_resolve_async(old)).command is None
    assert (await editor.code_lens_resolve_async(new)).command.title
    change(editor, uri, path.read_text(), 3)


async def test_code_lenses_of_client_without_refresh_wait_for_the_statistics(session, shop, monkeypatch):
    monkeypatch.setattr(profile_cache, "SMALL", 0)  # so that no run is small
    path = shop / "shop/stock.py"
    arguments = (session, str(path), path.read_text(), Task())
    assert function_lenses(*arguments, wait=False) == []
    assert len(function_lenses(*arguments, wait=True)) > 1
