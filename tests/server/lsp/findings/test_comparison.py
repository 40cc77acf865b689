"""Changes since the baseline in the editor: lenses and diagnostics, through the real server."""

import asyncio
import shutil

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import LanguageClient

from clew.records.run.directory import load_run, save_run
from clew.server.session import baseline
from clew.server.session.session import Session
from tests.support.editor.lsp import SERVER, begin, close, lenses_of, open_file

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATIENCE = 60


@pytest_lsp.fixture(config=SERVER, scope="module", loop_scope="module")
async def editor(lsp_client: LanguageClient, shop):
    baseline.remember(shop, "")
    await begin(lsp_client, shop)
    yield
    await lsp_client.shutdown_session()
    baseline.remember(shop, "")


async def lenses(client, uri):
    """Return (line from 1, title, argument) of the comparison lenses."""
    found = await lenses_of(client, uri)
    return [
        (lens.range.start.line + 1, lens.command.title, lens.command.arguments[0])
        for lens in found
        if lens.command is not None and lens.command.command == "clew.openCompare"
    ]


async def choose(client, run):
    await client.protocol.send_request_async("clew/chooseBaseline", {"run": run})


async def settle(client, settings):
    client.set_configuration({"clew": settings})
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))


async def until(condition, client):
    """Wait until the server's background work fulfils the condition."""
    async with asyncio.timeout(PATIENCE):
        while not (result := await condition()):
            client.changed.clear()
            try:
                await asyncio.wait_for(client.changed.wait(), 0.2)
            except TimeoutError:
                continue
    return result


def lines_of(client, path):
    return [one.range.start.line + 1 for one in client.diagnostics.get(path.as_uri(), [])]


async def test_comparison_without_baseline_is_empty(editor, shop):
    uri = open_file(editor, shop / "shop/stock.py")
    assert await lenses(editor, uri) == []
    assert editor.diagnostics.get(uri, []) == []
    close(editor, uri)


async def test_comparison_with_chosen_baseline_has_lens_and_diagnostic(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/stock.py")
    await choose(editor, "before")
    ((line, title, params),) = await until(lambda: lenses(editor, uri), editor)
    assert line == line_of("shop/stock.py", "def lookup")
    assert title.startswith("+") and title.endswith(" since before, 20 requests, p < 0.001 — why?")
    assert params["before"][0].endswith("-before") and params["after"][0].endswith("-after")
    answer = await editor.protocol.send_request_async("clew/compare", params)
    assert answer.graph.category == params["category"]
    (found,) = editor.diagnostics[uri]
    assert (found.severity, found.source, found.code) == (types.DiagnosticSeverity.Information, "clew", "slower")
    assert found.range.start == types.Position(line - 1, len("    def "))
    assert found.range.end.character == len("    def lookup")
    assert found.message.startswith("Stock.lookup itself, waiting included, takes ")
    assert "since before: in requests order, 20 before and 20 after, p < 0.001" in found.message
    (related,) = found.related_information
    assert related.location.uri == (shop / "shop/app.py").as_uri()
    assert related.location.range.start.line + 1 == line_of("shop/app.py", "async def order")
    assert "requests order: " in related.message
    close(editor, uri)


async def test_comparison_diagnostics_cover_closed_files(editor, shop, line_of):
    assert lines_of(editor, shop / "shop/stock.py") == [line_of("shop/stock.py", "def lookup")]


async def test_comparison_lines_follow_edits_of_the_file(editor, shop, line_of):
    path = shop / "shop/stock.py"
    was = line_of("shop/stock.py", "def lookup")
    text = path.read_text()
    uri = open_file(editor, path)
    for version, (new, there) in enumerate(
        (
            ("# new\n" * 7 + text, [was + 7]),
            (text.replace("def lookup", "def find"), []),
            # While the text does not parse, the other lines decide where it is.
            (text + "\ndef (:\n", [was]),
            # A second function of the name: the text decides which one was recorded.
            (text.replace("    def lookup", "    def lookup(self):\n        pass\n\n    def lookup"), [was + 3]),
            ("\n" + text.replace("    def lookup", "    def lookup(self):\n        pass\n\n    def lookup"), [was + 4]),
            (text, [was]),
        ),
        2,
    ):
        editor.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=version, uri=uri),
                [types.TextDocumentContentChangeWholeDocument(new)],
            )
        )
        assert [line for line, *_ in await lenses(editor, uri)] == there

        async def placed(there=there):
            return lines_of(editor, path) == there

        await until(placed, editor)
    close(editor, uri)


async def test_comparison_settings_switch_lenses_and_diagnostics(editor, shop):
    uri = open_file(editor, shop / "shop/stock.py")
    for settings, lens, diagnostic in (
        ({"compare": {"codeLens": False}}, 0, 1),
        ({"compare": {"diagnostics": False}}, 1, 0),
        ({"compare": {"codeLens": False, "diagnostics": False}}, 0, 0),
        ({}, 1, 1),
    ):
        await settle(editor, settings)

        async def there(lens=lens, diagnostic=diagnostic):
            return (len(await lenses(editor, uri)), len(editor.diagnostics.get(uri, []))) == (lens, diagnostic)

        await until(there, editor)
    close(editor, uri)


async def test_code_lens_setting_leaves_comparison_lenses(editor, shop):
    uri = open_file(editor, shop / "shop/stock.py")
    await settle(editor, {"codeLens": {"enabled": False}})

    async def only_compared():
        found = await editor.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
        return len(found) == 1

    await until(only_compared, editor)
    await settle(editor, {})
    close(editor, uri)


async def test_baseline_is_saved_with_the_workspace_and_can_be_removed(editor, shop):
    assert Session(shop).runs().baseline.endswith("-before")
    uri = open_file(editor, shop / "shop/stock.py")
    await choose(editor, "")

    async def gone():
        return not await lenses(editor, uri) and not editor.diagnostics.get(uri)

    await until(gone, editor)
    assert Session(shop).runs().baseline == ""
    close(editor, uri)


async def test_baseline_setting_applies_unless_one_was_chosen(editor, shop):
    uri = open_file(editor, shop / "shop/stock.py")
    await settle(editor, {"baseline": "before"})
    await until(lambda: lenses(editor, uri), editor)
    # The baseline compared with itself has no changes.
    await choose(editor, "after")

    async def gone():
        return not await lenses(editor, uri)

    await until(gone, editor)
    await choose(editor, "")
    await until(lambda: lenses(editor, uri), editor)
    await settle(editor, {})
    await until(gone, editor)
    close(editor, uri)


async def test_invalid_settings_are_reported_by_name(editor):
    await settle(editor, {"baseline": 7, "compare": {"codeLens": "no"}})

    async def said():
        return len(editor.messages) >= 2

    await until(said, editor)
    texts = [message.message for message in editor.messages]
    assert "the setting clew.baseline is 7, expected a text; its default is used" in texts
    assert "the setting clew.compare.codeLens is 'no', expected true or false; its default is used" in texts
    await settle(editor, {"baseline": "gone"})

    async def named():
        return any("no run named 'gone'" in message.message for message in editor.messages)

    await until(named, editor)
    await settle(editor, {})


async def test_comparison_follows_new_and_removed_runs(editor, shop):
    uri = open_file(editor, shop / "shop/stock.py")
    await choose(editor, "before")
    await until(lambda: lenses(editor, uri), editor)
    recorded = shop / ".clew/runs"
    (after,) = recorded.glob("*-after")
    newer = recorded / "29991231-000000-newer"
    shutil.copytree(after, newer)
    try:
        info = load_run(newer)
        save_run(newer, info._replace(id=newer.name, name="newer", started=info.started + 10**9))

        def of(run):
            async def compared():
                return [title for _, title, params in await lenses(editor, uri) if params["after"] == [run.name]]

            return compared

        await until(of(newer), editor)
    finally:
        shutil.rmtree(newer)
    await until(of(after), editor)
    await choose(editor, "")
    close(editor, uri)


# An editor that sends only what the protocol requires


@pytest_lsp.fixture(config=SERVER, loop_scope="module")
async def plain_editor(lsp_client: LanguageClient, shop):
    baseline.remember(shop, "")
    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=shop.as_uri())
    )
    yield
    await lsp_client.shutdown_session()


async def test_settings_sent_by_notification_are_used(plain_editor, shop, line_of):
    uri = open_file(plain_editor, shop / "shop/stock.py")
    plain_editor.workspace_did_change_configuration(
        types.DidChangeConfigurationParams(settings={"clew": {"baseline": "before", "compare": {"codeLens": False}}})
    )

    async def marked():
        return lines_of(plain_editor, shop / "shop/stock.py") == [line_of("shop/stock.py", "def lookup")]

    await until(marked, plain_editor)
    assert await lenses(plain_editor, uri) == []
    plain_editor.workspace_did_change_configuration(
        types.DidChangeConfigurationParams(settings={"clew": {"baseline": "before"}})
    )
    await until(lambda: lenses(plain_editor, uri), plain_editor)
