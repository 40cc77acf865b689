"""Clients that make errors or many requests: the server answers as the protocol says, and ends only when it is asked to."""

import asyncio
import io
import sys

import pytest
from pygls.io_ import StdoutWriter

from clew.server.lsp.server import make_server
from clew.server.session.session import Cancelled
from tests.support.editor.lsp_wire import Wire

pytestmark = pytest.mark.slow

METHOD_NOT_FOUND, CANCELLED, FAILED = -32601, -32800, -32803


def serving(shop):
    made = Wire(shop)
    made.start(shop)
    yield made
    made.process.kill()
    made.process.wait()


@pytest.fixture
def wire(shop):
    """Start a server that the test may end."""
    yield from serving(shop)


@pytest.fixture(scope="module")
def shared_wire(shop):
    """Start one server for many requests that must not change anything."""
    yield from serving(shop)


def hover(wire, uri, line, character=0):
    return wire.ask(
        "textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    )


def lens_lines(wire, uri):
    answer = wire.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return sorted({lens["range"]["start"]["line"] + 1 for lens in answer["result"] if "data" in lens})


def alive(wire):
    return "result" in wire.ask("clew/runs", {})


def test_lsp_unknown_request_is_refused_and_notification_ignored(wire):
    assert wire.ask("textDocument/doAsILike", {})["error"]["code"] == METHOD_NOT_FOUND
    wire.tell("clew/doAsILike", {"a": 1})
    wire.tell("$/whatever", None)
    assert alive(wire)


@pytest.mark.parametrize("kind", ["codeLens", "inlayHint", "hover", "prepareCallHierarchy", "definition"])
@pytest.mark.parametrize("name", ["gone.py", "gone.esl", "gone.log", "latin.py", "latin.esl", "latin.log"])
def test_lsp_request_about_missing_or_latin_1_file_is_no_error(shared_wire, shop, kind, name):
    """The file is missing, or is not UTF-8."""
    if name.startswith("latin"):
        (shop / name).write_bytes(b"# -*- coding: latin-1 -*-\n# caf\xe9\ndef brew():\n    pass\n")
    place, end = {"line": 2, "character": 5}, {"line": 9, "character": 0}
    params = {"textDocument": {"uri": (shop / name).as_uri()}, "position": place, "range": {"start": place, "end": end}}
    answer = shared_wire.ask(f"textDocument/{kind}", params)
    assert "error" not in answer, answer
    assert shared_wire.errors == []


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"target": 3}, "params.target: expected an object, got int"),
        ({}, "params.target is missing"),
        ([1, 2], "expected an object"),
        ({"target": {"event": "x"}}, "params.target.event"),
        ({"target": {"event": 10**12}}, "event"),
        ({"target": {}, "run": "no such run"}, "no run named 'no such run'"),
    ],
)
def test_lsp_malformed_request_error_says_what_is_wrong(wire, params, words):
    answer = wire.ask("clew/slice", params)
    told = answer.get("error", {}).get("message") or answer["result"]["message"]
    assert words in told and "Traceback" not in told
    assert alive(wire)


def test_lsp_invalid_json_does_not_end_the_server(wire):
    wire.raw(b"{nonsense")
    wire.raw(b"\xff\xfe\x00")
    wire.raw(b"[]")
    wire.raw(b'"text"')
    assert alive(wire)


def test_lsp_changes_of_closed_or_old_documents_are_harmless(wire, shop):
    path = shop / "shop/stock.py"
    uri, text = path.as_uri(), path.read_text()
    change = {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": "x = 1\n" + text}]}
    wire.tell("textDocument/didChange", change)
    wire.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    wire.open(uri, "python", text)
    before = lens_lines(wire, uri)
    wire.tell("textDocument/didChange", change)
    assert lens_lines(wire, uri) == [line + 1 for line in before]
    old = {"textDocument": {"uri": uri, "version": 1}, "contentChanges": [{"text": text}]}
    wire.tell("textDocument/didChange", old)
    wire.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    wire.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert alive(wire)


@pytest.mark.parametrize(
    "uri", ["untitled:Untitled-1", "git:/shop/stock.py?x", "vscode-notebook-cell:/a.ipynb#1", "file:///"]
)
def test_lsp_documents_without_a_file_have_no_lenses(wire, uri):
    wire.open(uri, "python", "def lookup(): ...\n")
    answer = wire.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert not [lens for lens in answer["result"] if "data" in lens]
    assert "error" not in hover(wire, uri, 0, 5)
    assert alive(wire)


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_lsp_code_lenses_work_with_any_line_end(wire, shop, end):
    path = shop / "shop/stock.py"
    text = path.read_text()
    uri = wire.open(path.as_uri(), "python", text)
    before = lens_lines(wire, uri)
    moved = end.join(["# one", "", *text.split("\n")])
    wire.tell(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": moved}]}
    )
    assert lens_lines(wire, uri) == [line + 2 for line in before]


def test_lsp_columns_are_utf16_units(wire, shop, line_of):
    """A character outside of the first plane counts as two."""
    path = shop / "shop/stock.py"
    number = line_of("shop/stock.py", "def lookup")
    lines = path.read_text().split("\n")
    lines[number - 1] = lines[number - 1].replace("def lookup", 'x = "\U0001f9f6\U0001f9f6"; \n    def lookup')
    uri = wire.open(path.as_uri(), "python", "\n".join(lines))
    answer = hover(wire, uri, number, 9)
    assert "error" not in answer
    assert "error" not in hover(wire, uri, number - 1, 500)
    assert alive(wire)


def test_lsp_binary_files_have_no_lenses(wire, shop, tmp_path):
    for name, body in (("a.py", b"\x00\xff\xfe" * 1000), ("b.log", bytes(range(256)) * 40)):
        path = tmp_path / name
        path.write_bytes(body)
        uri = wire.open(path.as_uri(), "python" if name == "a.py" else "log", body.decode("latin-1"))
        assert wire.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})["result"] == []
        assert "error" not in hover(wire, uri, 3, 3)
    assert alive(wire)


@pytest.mark.slow
def test_lsp_ten_thousand_requests_leak_no_memory(wire, shop, line_of):
    path = shop / "shop/stock.py"
    uri = wire.open(path.as_uri(), "python", path.read_text())
    log = wire.open((shop / "shop.log").as_uri(), "log", (shop / "shop.log").read_text())
    line = line_of("shop/stock.py", "def lookup") - 1
    questions = [
        ("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 9}}),
        ("textDocument/codeLens", {"textDocument": {"uri": uri}}),
        ("textDocument/definition", {"textDocument": {"uri": log}, "position": {"line": 0, "character": 3}}),
        ("clew/runs", {}),
    ]

    def rush(count):
        """Send many requests at once and cancel every seventh."""
        codes = set()
        for first in range(0, count, 500):
            numbers = [wire.begin(*questions[number % 4]) for number in range(first, first + 500)]
            for number in numbers[::7]:
                wire.tell("$/cancelRequest", {"id": number})
            for number in numbers:
                answer = wire.end(number, 120)
                codes.add(answer.get("error", {}).get("code", 0))
                del wire.answers[number]
        return codes

    rush(2_000)
    before = wire.resident_mb()
    assert rush(8_000) <= {0, CANCELLED}
    assert wire.resident_mb() - before < 30
    assert alive(wire)
    assert "Traceback" not in "".join(wire.errors)


def test_lsp_shutdown_during_work_ends_the_server(wire):
    for _ in range(6):
        wire.begin("clew/patterns", {})
    assert "result" in wire.ask("shutdown", None)
    wire.tell("exit", None)
    assert wire.process.wait(120) == 0


def test_lsp_exit_without_shutdown_returns_1(wire):
    wire.tell("exit", None)
    assert wire.process.wait(120) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently there")
def test_lsp_client_that_closes_its_pipe_ends_the_server(wire):
    wire.begin("clew/patterns", {})
    wire.process.stdin.close()
    wire.process.wait(120)


def test_lsp_client_that_stops_reading_is_logged_once(caplog):
    """When the output is closed, a message and the report of its failure fail, and the second failure is not reported."""
    server = make_server()
    out = io.BytesIO()
    server.protocol.set_writer(StdoutWriter(out))
    server.tell("read")
    assert out.getvalue()
    out.close()
    server.tell("not read")
    failed = [record for record in caplog.records if record.message == "Error sending data"]
    assert len(failed) == 2


def test_server_work_after_give_up_is_cancelled():
    server = make_server()
    server.give_up()
    with pytest.raises(Cancelled):
        asyncio.run(server.work("clew", lambda task: task))


def test_lsp_initialize_with_several_folders_takes_the_one_with_runs(shop, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    made = Wire(shop)
    try:
        made.start(empty, shop)
        assert made.ask("clew/runs", {})["result"]["workspace"] == str(shop)
    finally:
        made.process.kill()
        made.process.wait()
