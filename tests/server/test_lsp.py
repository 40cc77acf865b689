"""The real server over stdio, as an editor talks to it."""

import asyncio
import json
import re
import sys

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from clew.records.plan import Plan, dump
from clew.records.run import create_run, finish_run
from clew.server.protocol import COMMANDS
from clew.server.walker import STEPS

# One server serves all tests about the recorded program.
pytestmark = pytest.mark.asyncio(loop_scope="module")


def record(workspace, name):
    folder, info = create_run(workspace, name=name, command=["python", "app.py"], spec="", plan=dump(Plan()))
    finish_run(folder, info, 0, [])
    return folder


def make_client():
    client = make_test_lsp_client()
    client.runs_changed = asyncio.Event()
    client.refreshed = 0

    @client.feature("clew/runsChanged")
    def _(_params):
        client.runs_changed.set()

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def _(params):
        client.registered = [one.method for one in params.registrations]

    @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
    def _(_params):
        client.hints_refreshed = True

    @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def _(_params):
        client.refreshed += 1

    return client


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work space é"
    (folder / ".clew" / "runs").mkdir(parents=True)
    return folder


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "clew", "lsp"], client_factory=make_client),
    loop_scope="module",
)
async def client(lsp_client: LanguageClient, workspace):
    result = await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"),
            workspace_folders=[types.WorkspaceFolder(uri=workspace.as_uri(), name="w")],
            initialization_options={"panel": True},
        )
    )
    lsp_client.offered = result.capabilities.execute_command_provider.commands
    yield
    await lsp_client.shutdown_session()


def open_file(client, path, language):
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(path.as_uri(), language, 1, path.read_text()))
    )
    return path.as_uri()


async def ask(client, method, params=None):
    """The result as plain data."""
    answer = await client.protocol.send_request_async(method, params)
    return plain(answer)


def plain(value):
    if hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


async def test_a_client_with_the_panel_keeps_its_commands(client):
    assert list(client.offered) == []


async def test_runs_are_listed_and_a_new_one_is_announced(client, workspace):
    assert await ask(client, "clew/runs", {}) == {
        "workspace": str(workspace),
        "runs": [],
        "selected": "",
        "baseline": "",
        "baselineName": "",
    }
    folder = record(workspace, "first")
    await asyncio.wait_for(client.runs_changed.wait(), 20)
    answer = await ask(client, "clew/runs")
    assert (answer["selected"], [run["name"] for run in answer["runs"]]) == (folder.name, ["first"])


async def test_selecting_a_run_is_announced(client, workspace):
    older = record(workspace, "older")
    record(workspace, "newer")
    answer = await ask(client, "clew/selectRun", {"run": "older"})
    assert answer["selected"] == older.name
    await asyncio.wait_for(client.runs_changed.wait(), 20)


async def test_what_cannot_be_answered_is_one_sentence(client, workspace):
    for method, params, text in (
        ("clew/selectRun", {"run": "gone"}, "no run is called 'gone'"),
        ("clew/selectRun", {}, "params.run is missing"),
        ("clew/slice", {"target": {}}, "no run yet"),
        ("clew/diff", {"before": "a", "after": 7}, "params.after: str is needed, not int"),
    ):
        with pytest.raises(JsonRpcException) as caught:
            await ask(client, method, params)
        assert caught.value.code == types.LSPErrorCodes.RequestFailed
        assert text in caught.value.message
        assert "Traceback" not in json.dumps([caught.value.message, caught.value.data])


async def test_problems_of_a_spec_follow_its_text(client, workspace):
    path = workspace / "a.esl"
    path.write_text("include asynio;\n")
    uri = open_file(client, path, "esl")
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (problem,) = client.diagnostics[uri]
    assert "asyncio" in problem.message
    assert problem.source == "clew"
    assert (problem.range.start, problem.range.end) == (types.Position(0, 8), types.Position(0, 14))

    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version=2, uri=uri),
            [types.TextDocumentContentChangeWholeDocument("include asyncio;\n")],
        )
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert list(client.diagnostics[uri]) == []


async def test_a_problems_place_counts_as_the_editor_counts(client, workspace):
    path = workspace / "a.esl"
    path.write_text("/* 😀 */ include asynio;\n")
    uri = open_file(client, path, "esl")
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (problem,) = client.diagnostics[uri]
    # The smiley is two units of UTF-16.
    assert problem.range.start == types.Position(0, "/* 😀 */ include asynio".index("asynio") + 1)


async def test_saving_source_makes_a_rules_warning_go(client, workspace):
    path = workspace / "a.esl"
    path.write_text("include standard;\nscope app:missing;\n")
    (workspace / "app.py").write_text("def present():\n    pass\n")
    uri = open_file(client, path, "esl")
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert client.diagnostics[uri]
    (workspace / "app.py").write_text("def missing():\n    pass\n")
    client.text_document_did_save(
        types.DidSaveTextDocumentParams(types.TextDocumentIdentifier((workspace / "app.py").as_uri()))
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert list(client.diagnostics[uri]) == []


async def test_files_without_a_run_have_no_lenses_and_no_messages(client, workspace):
    path = workspace / "app.py"
    path.write_text("def present():\n    pass\n")
    uri = open_file(client, path, "python")
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    hover = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 5))
    )
    assert not lenses and hover is None and client.messages == []


# A recorded program


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "clew", "lsp"], client_factory=make_client),
    scope="module",
    loop_scope="module",
)
async def editor(lsp_client: LanguageClient, shop):
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"),
            workspace_folders=[types.WorkspaceFolder(uri=shop.as_uri(), name="w")],
            initialization_options={"panel": True},
        )
    )
    yield
    await lsp_client.shutdown_session()


async def lenses_of(editor, uri):
    """(line from 1, title, command, argument) of every lens with figures, resolved."""
    found = await editor.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    found = [lens for lens in found if lens.command is None or lens.command.command != "clew.record"]
    assert all(lens.command is None for lens in found)
    resolved = [await editor.code_lens_resolve_async(lens) for lens in found]
    return [
        (lens.range.start.line + 1, lens.command.title, lens.command.command, (lens.command.arguments or [None])[0])
        for lens in resolved
    ]


def change(editor, uri, text, version=2):
    editor.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version=version, uri=uri),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
    )


FIGURES = re.compile(
    r"(\d+) calls? · p50 [\d.]+ (?:ns|µs|ms)(?: · p95 [\d.]+ (?:ns|µs|ms))? · self <?[\d.]+ %"
    r"(?: · <?[\d.]+ % of the critical path)?(?: · 10 % faster: p95 of order -<?[\d.]+ %)?(?: · 1 error)?"
)


async def test_each_recorded_function_has_a_lens_at_its_def(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/stock.py", "python")
    lenses = await lenses_of(editor, uri)
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


async def test_an_exception_shows_in_the_lens(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/app.py", "python")
    titles = {line: title for line, title, _, _ in await lenses_of(editor, uri)}
    assert titles[line_of("shop/app.py", "def check")].endswith(" · 1 error")


async def test_lenses_move_with_their_functions_and_a_removed_one_is_stale(editor, shop, line_of):
    path = shop / "shop/stock.py"
    uri = open_file(editor, path, "python")
    before = await lenses_of(editor, uri)
    change(editor, uri, "# new\n" * 7 + path.read_text())
    assert [(line - 7, title) for line, title, _, _ in await lenses_of(editor, uri)] == [lens[:2] for lens in before]
    change(editor, uri, path.read_text().replace("def lookup", "def find"), 3)
    stale = [(line, title) for line, title, _, _ in await lenses_of(editor, uri) if title.startswith("stale")]
    assert [line for line, _ in stale] == [line_of("shop/stock.py", "def lookup")]
    assert stale[0][1].startswith("stale: Stock.lookup · 20 calls · ")


async def test_lenses_stay_while_the_text_does_not_parse(editor, shop):
    path = shop / "shop/stock.py"
    uri = open_file(editor, path, "python")
    before = await lenses_of(editor, uri)
    change(editor, uri, "# new\n" + path.read_text() + "\ndef (:\n")
    after = await lenses_of(editor, uri)
    assert [(line + 1, title) for line, title, _, _ in before] == [(line, title) for line, title, _, _ in after]
    assert len(after) == 5
    change(editor, uri, path.read_text(), 3)


async def test_a_file_that_was_not_recorded_has_no_lens(editor, shop, tmp_path):
    (tmp_path / "other.py").write_text("def lookup():\n    pass\n")
    assert await lenses_of(editor, open_file(editor, tmp_path / "other.py", "python")) == []


async def hover(editor, uri, line, character=5):
    found = await editor.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line - 1, character))
    )
    return found.contents.value if found else ""


async def test_a_hover_tells_what_a_function_did_and_who_called_it(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/app.py", "python")
    text = await hover(editor, uri, line_of("shop/app.py", "def check"))
    assert "`app.check` in run after" in text
    assert "| calls | 20 |" in text
    assert "| errors | 1 call ended by an exception |" in text
    assert "| callers | `app.order` 20× |" in text
    assert re.search(r"```text\n( *[\d.]+ (ns|µs|ms) +\d+.*\n)+```", text) and " p95" in text and " max" in text
    assert "| callees | `Stock.lookup` 20× |" in text
    assert "command:clew.openSlice?" in text
    assert await hover(editor, uri, line_of("shop/app.py", "return item")) == ""


async def test_a_hover_on_a_call_is_about_the_function_that_is_called(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/app.py", "python")
    line = line_of("shop/app.py", "return check(stock, item)")
    at_call = await hover(
        editor, uri, line, (shop / "shop/app.py").read_text().splitlines()[line - 1].index("check") + 2
    )
    assert at_call.startswith("`app.check` in run after")
    # What `stock` is, other servers know.
    assert await hover(editor, uri, line, 26) == ""


async def test_a_hover_tells_who_started_what_and_what_was_waited_for(editor, shop, line_of):
    uri = open_file(editor, shop / "shop/stock.py", "python")
    assert "| callers | `app.main` 1× by thread.start |" in await hover(
        editor, uri, line_of("shop/stock.py", "def run")
    )
    uri = open_file(editor, shop / "shop/app.py", "python")
    text = await hover(editor, uri, line_of("shop/app.py", "def main"))
    assert re.search(r"\| waiting \| .* for thread\.join until `Sweeper\.run`", text)


async def hints_of(editor, uri, first=1, last=10_000):
    """(line from 1, label) of every inlay hint of some lines."""
    wanted = types.Range(types.Position(first - 1, 0), types.Position(last - 1, 0))
    found = await editor.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(uri), wanted)
    )
    return [(hint.position.line + 1, hint.label) for hint in found]


async def test_hints_tell_the_time_of_calls_and_waits_at_their_lines(editor, shop, line_of):
    path = shop / "shop/app.py"
    uri = open_file(editor, path, "python")
    hints = dict(await hints_of(editor, uri))
    spent = {words: line_of("shop/app.py", words) for words in (
        "return check(stock, item)", "stock.lookup(item)", "stock = Stock()", "Sweeper(stock, 17)", "asyncio.run(sell(stock))",
        "create_task(order(stock, item)",
    )}  # fmt: skip
    waited = {words: line_of("shop/app.py", words) for words in ("sweeper.join()", "await asyncio.gather")}
    assert hints.keys() == {*spent.values(), *waited.values()}
    assert re.fullmatch(r"[\d.]+ m?s in 20 calls", hints[spent["stock.lookup(item)"]])
    assert re.fullmatch(r"beside [\d.]+ m?s in 1 call", hints[spent["asyncio.run(sell(stock))"]])
    assert re.fullmatch(r"beside [\d.]+ m?s in 20 calls", hints[spent["create_task(order(stock, item)"]])
    assert all(re.fullmatch(r"waited [\d.]+ [µm]?s", hints[line]) for line in waited.values())
    line = spent["stock.lookup(item)"]
    assert await hints_of(editor, uri, line, line) == [(line, hints[line])]

    # They move with their lines; a line that was edited has none.
    change(editor, uri, "# new\n" * 3 + path.read_text().replace("stock.lookup(item)", "stock.lookup( item)"))
    moved = dict(await hints_of(editor, uri))
    assert moved == {number + 3: label for number, label in hints.items() if number != line}
    change(editor, uri, path.read_text(), 3)


async def test_error_lines_of_a_log_say_why(editor, shop):
    uri = open_file(editor, shop / "shop.log", "log")
    lenses = await lenses_of(editor, uri)
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


async def test_a_line_that_no_run_wrote_says_so(editor, shop, tmp_path):
    (tmp_path / "other.log").write_text("2001-01-01 00:00:00,000 ERROR shop Order failed: item 17 is sold out\n")
    uri = open_file(editor, tmp_path / "other.log", "log")
    assert [lens[1:] for lens in await lenses_of(editor, uri)] == [("not written by a recorded run", "", None)]
    assert await hover(editor, uri, 1) == ""


async def test_any_line_of_a_log_leads_to_its_logging_call(editor, shop, line_of):
    uri = open_file(editor, shop / "shop.log", "log")
    for words, file, call in (
        ("Order failed", "shop/app.py", "log.error"),
        ("is sold out", "shop/stock.py", "log.info"),
        ("audit: only", "shop/audit.py", "log.warning"),
    ):
        row = line_of("shop.log", words) - 1
        place = await editor.text_document_definition_async(
            types.DefinitionParams(types.TextDocumentIdentifier(uri), types.Position(row, 30))
        )
        assert (place.uri, place.range.start.line + 1) == ((shop / file).as_uri(), line_of(file, call))


async def test_a_hover_on_a_log_line_shows_the_head_of_the_chain(editor, shop, line_of):
    uri = open_file(editor, shop / "shop.log", "log")
    text = await hover(editor, uri, line_of("shop.log", "Order failed"))
    assert "**shop.app / order 17**" in text and "in run before, app.py:" in text
    assert "1. Stock.lookup (item 17) used what Stock.mark\\_sold defined" in text


async def test_behind_the_end_of_a_log_there_is_nothing(editor, shop):
    uri = open_file(editor, shop / "shop.log", "log")
    assert await hover(editor, uri, 10_000) == ""


async def test_lenses_are_of_the_selected_run(editor, shop):
    uri = open_file(editor, shop / "shop/stock.py", "python")
    refreshed = editor.refreshed
    await ask(editor, "clew/selectRun", {"run": "before"})
    await asyncio.wait_for(editor.runs_changed.wait(), 20)
    assert editor.refreshed > refreshed
    assert all(argument["run"].endswith("-before") for *_, argument in await lenses_of(editor, uri))
    await ask(editor, "clew/selectRun", {"run": ""})
    assert all(argument["run"].endswith("-after") for *_, argument in await lenses_of(editor, uri))


async def test_a_panel_request_is_answered_over_the_editors_connection(editor):
    answer = await ask(editor, "clew/diff", {"before": "before", "after": "after"})
    assert answer["rows"][0]["label"] == "shop.stock:Stock.lookup"


# An editor without the panel


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "clew", "lsp"], client_factory=make_client),
    loop_scope="module",
)
async def plain_editor(lsp_client: LanguageClient, shop):
    capabilities = client_capabilities("neovim")
    capabilities.text_document.hover.content_format = [types.MarkupKind.PlainText]
    result = await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            workspace_folders=[types.WorkspaceFolder(uri=shop.as_uri(), name="w")],
        )
    )
    lsp_client.offered = result.capabilities.execute_command_provider.commands
    yield
    await lsp_client.shutdown_session()


async def test_without_the_panel_the_servers_commands_answer_by_a_message(plain_editor, shop):
    assert set(plain_editor.offered) == {*COMMANDS, *(f"clew.walk.{step}" for step in STEPS)}
    await plain_editor.workspace_execute_command_async(
        types.ExecuteCommandParams("clew.why", [{"target": {"text": "Order failed"}}])
    )
    assert plain_editor.messages[-1].message == (
        "ERROR Order failed: item 17 is sold out\n"
        "← Stock.lookup (item 17) used what Stock.mark_sold defined\n"
        "← Sweeper.run began as a thread that app.main started\n"
        "← thread MainThread of shop.app began"
    )
    await plain_editor.workspace_execute_command_async(
        types.ExecuteCommandParams("clew.why", [{"target": {"text": "nonsense"}}])
    )
    assert "No log line of run after has 'nonsense'" in plain_editor.messages[-1].message
    await plain_editor.workspace_execute_command_async(types.ExecuteCommandParams("clew.selectRun", [{"run": "gone"}]))
    assert "no run is called 'gone'" in plain_editor.messages[-1].message
    await plain_editor.workspace_execute_command_async(
        types.ExecuteCommandParams("clew.selectRun", [{"run": "before"}])
    )
    assert (await ask(plain_editor, "clew/runs"))["selected"].endswith("-before")


async def test_without_markdown_a_hover_is_plain_text(plain_editor, shop, line_of):
    uri = open_file(plain_editor, shop / "shop/app.py", "python")
    found = await plain_editor.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line_of("shop/app.py", "def check") - 1, 5))
    )
    assert found.contents.kind is types.MarkupKind.PlainText
    assert found.contents.value.startswith("app.check in run ")
    assert "callers   app.order 20×" in found.contents.value
    assert not re.search("[`|]|command:", found.contents.value)


async def test_without_the_panel_a_comparison_is_told_by_a_message(plain_editor, shop):
    try:
        await plain_editor.workspace_execute_command_async(
            types.ExecuteCommandParams("clew.chooseBaseline", [{"run": "before"}])
        )
        runs = await ask(plain_editor, "clew/runs")
        assert runs["baseline"].endswith("-before")
        await plain_editor.workspace_execute_command_async(
            types.ExecuteCommandParams("clew.openCompare", [{"before": [runs["baseline"]], "after": ["after"]}])
        )
        text = plain_editor.messages[-1].message
        assert text.startswith("order: ") and "20 and 20 requests" in text and "A category is slower when" in text
        await plain_editor.workspace_execute_command_async(
            types.ExecuteCommandParams("clew.chooseBaseline", [{"run": "gone"}])
        )
        assert "no run is called 'gone'" in plain_editor.messages[-1].message
    finally:
        await plain_editor.workspace_execute_command_async(
            types.ExecuteCommandParams("clew.chooseBaseline", [{"run": ""}])
        )
    assert (await ask(plain_editor, "clew/runs"))["baseline"] == ""


async def test_without_the_panel_a_walk_tells_each_step_and_shows_its_place(plain_editor, line_of):
    async def do(command, *arguments):
        await plain_editor.workspace_execute_command_async(
            types.ExecuteCommandParams(f"clew.walk.{command}", list(arguments))
        )
        return plain_editor.messages[-1].message

    assert await do("cause") == "no walk has begun; begin one at a log line or a function"
    said = await do("start", {"target": {"text": "Order failed"}, "run": "before"})
    assert "ERROR Order failed: item 17 is sold out\nlevel = ERROR\nlogger = shop" in said
    assert re.search(r"on from here: cause(?: \(\d+\))?, .*out", said)
    said = await do("cause")
    assert said.startswith("cause: through the state item 17: set by Stock.mark_sold, ")
    shown = plain_editor.shown_documents[-1] if hasattr(plain_editor, "shown_documents") else None
    if shown is not None:
        assert shown.selection.start.line + 1 == line_of("shop/stock.py", "def mark_sold")
    assert "app.main started a thread" in await do("cause")
    assert "Stock.mark_sold defined item 17" in await do("back")
    assert "app.main started a thread" in await do("forward")
    assert await do("forward") == "forward: nothing was visited after this"
    assert "none of the 20 calls" not in await do("start", {"target": {"function": "shop.app:check"}, "pick": "failed"})
    assert "No log line of run" in await do("start", {"target": {"text": "nonsense"}})
    # What has no beginning leaves the walk where it was.
    assert (await do("in")).startswith("in: ")
