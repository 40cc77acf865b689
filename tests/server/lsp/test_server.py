"""The real server over stdio, as an editor talks to it: runs, specs and refused requests."""

import asyncio
import json

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient

from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run
from clew.server import handlers
from tests.support.editor.lsp import SERVER, ask, begin, change, open_file

pytestmark = pytest.mark.asyncio(loop_scope="module")


def record(workspace, name):
    folder, info = create_run(workspace, name=name, command=["python", "app.py"], spec="", plan=dump(Plan()))
    finish_run(folder, info, 0, [])
    return folder


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work space é"
    (folder / ".clew" / "runs").mkdir(parents=True)
    return folder


@pytest_lsp.fixture(config=SERVER, loop_scope="module")
async def client(lsp_client: LanguageClient, workspace):
    await begin(lsp_client, workspace)
    yield
    await lsp_client.shutdown_session()


async def test_server_offers_no_commands_to_a_client_with_the_panel(client):
    assert client.offered == []


async def test_server_lists_runs_and_announces_a_new_one(client, workspace):
    assert await ask(client, "clew/runs", {}) == {
        "workspace": str(workspace),
        "runs": [],
        "selected": "",
        "baseline": "",
        "baselineName": "",
        "elsewhere": [],
    }
    folder = record(workspace, "first")
    await asyncio.wait_for(client.runs_changed.wait(), 120)
    answer = await ask(client, "clew/runs")
    assert (answer["selected"], [run["name"] for run in answer["runs"]]) == (folder.name, ["first"])


async def test_server_announces_the_selection_of_a_run(client, workspace):
    older = record(workspace, "older")
    record(workspace, "newer")
    answer = await ask(client, "clew/selectRun", {"run": "older"})
    assert answer["selected"] == older.name
    await asyncio.wait_for(client.runs_changed.wait(), 120)


async def test_server_request_that_fails_answers_one_sentence(client, workspace):
    for method, params, text in (
        ("clew/selectRun", {"run": "gone"}, "no run named 'gone'"),
        ("clew/selectRun", {}, "params.run is missing"),
        ("clew/slice", {"target": {}}, "no run yet"),
        ("clew/diff", {"before": "a", "after": 7}, "params.after: expected str, got int"),
    ):
        with pytest.raises(JsonRpcException) as caught:
            await ask(client, method, params)
        assert caught.value.code == types.LSPErrorCodes.RequestFailed
        assert text in caught.value.message
        assert "Traceback" not in json.dumps([caught.value.message, caught.value.data])


async def test_spec_diagnostics_follow_its_text(client, workspace):
    path = workspace / "a.esl"
    path.write_text("include asynio;\n")
    uri = open_file(client, path)
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (problem,) = client.diagnostics[uri]
    assert "asyncio" in problem.message
    assert problem.source == "clew"
    assert (problem.range.start, problem.range.end) == (types.Position(0, 8), types.Position(0, 14))

    change(client, uri, "include asyncio;\n")
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert list(client.diagnostics[uri]) == []


async def test_spec_diagnostics_columns_are_utf16_units(client, workspace):
    path = workspace / "a.esl"
    path.write_text("/* 😀 */ include asynio;\n")
    uri = open_file(client, path)
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (problem,) = client.diagnostics[uri]
    # The smiley is two units of UTF-16.
    assert problem.range.start == types.Position(0, "/* 😀 */ include asynio".index("asynio") + 1)


async def test_spec_diagnostics_follow_saved_python_source(client, workspace):
    path = workspace / "a.esl"
    path.write_text("include standard;\nscope app:missing;\n")
    (workspace / "app.py").write_text("def present():\n    pass\n")
    uri = open_file(client, path)
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert client.diagnostics[uri]
    (workspace / "app.py").write_text("def missing():\n    pass\n")
    client.text_document_did_save(
        types.DidSaveTextDocumentParams(types.TextDocumentIdentifier((workspace / "app.py").as_uri()))
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert list(client.diagnostics[uri]) == []


async def test_server_files_without_a_run_have_no_lenses_and_no_messages(client, workspace):
    path = workspace / "app.py"
    path.write_text("def present():\n    pass\n")
    uri = open_file(client, path)
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    hover = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 5))
    )
    assert not lenses and hover is None and client.messages == []


async def test_server_answers_panel_requests_over_lsp(editor, session):
    asked = {"before": "before", "after": "after"}
    answer = await ask(editor, "clew/diff", asked)
    assert "shop.stock:Stock.lookup" in {row["label"] for row in answer["rows"]}
    assert answer == handlers.answer(session, "clew/diff", asked)
