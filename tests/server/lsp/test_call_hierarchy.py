"""The call hierarchy of recorded calls, over the protocol, equals what the shop's source implies."""

import asyncio
import re
import subprocess
import sys

import pytest
from lsprotocol import types

from clew.server.lsp.features import call_hierarchy
from clew.server.session.cancellation import Task
from clew.server.session.session import Session
from tests.support.editor.lsp import close, document, open_file

# One server serves all tests of this file.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def opened(editor):
    """Return a function that opens files, with another text if given; they are closed at the end."""
    uris = []

    def opening(path, text=None):
        uris.append(open_file(editor, path, text))
        return uris[-1]

    yield opening
    for uri in uris:
        close(editor, uri)


async def prepare(editor, uri, line, column=5):
    found = await editor.text_document_prepare_call_hierarchy_async(
        types.CallHierarchyPrepareParams(document(uri), types.Position(line - 1, column))
    )
    return found or []


async def incoming(editor, item):
    found = await editor.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item))
    return found if found is None else list(found)


async def outgoing(editor, item):
    return await editor.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(item))


def summary_of(item):
    """Return the item's name, its number of calls and their mechanisms, without the times."""
    calls, *more = item.detail.split(" · ")
    # An item taken in the middle of a call has no time.
    how = [one for one in more if not one[0].isdigit()]
    return item.name, int(re.match(r"[\d,]+", calls)[0].replace(",", "")), *how


def words(path, ranges, text=None):
    lines = (path.read_text() if text is None else text).splitlines()
    return [
        (found.start.line + 1, lines[found.start.line][found.start.character : found.end.character]) for found in ranges
    ]


async def test_incoming_calls_lead_through_tasks_and_threads(editor, shop, opened, line_of):
    app = shop / "shop/app.py"
    uri = opened(app)
    (item,) = await prepare(editor, uri, line_of("shop/app.py", "def check"))
    assert (item.name, item.kind) == ("app.check", types.SymbolKind.Function)
    assert re.fullmatch(r"20 calls · [\d.]+ (ms|s)", item.detail)
    assert words(app, [item.selection_range]) == [(line_of("shop/app.py", "def check"), "check")]
    (order,) = await incoming(editor, item)
    assert summary_of(order.from_) == ("app.order", 20)
    assert words(app, order.from_ranges) == [(line_of("shop/app.py", "return check"), "check")]
    (sell,) = await incoming(editor, order.from_)
    assert summary_of(sell.from_) == ("app.sell", 20, "by task")
    assert words(app, sell.from_ranges) == [(line_of("shop/app.py", "orders = "), "order")]
    (main,) = await incoming(editor, sell.from_)
    assert main.from_.name == "app.main"
    assert words(app, main.from_ranges) == [(line_of("shop/app.py", "sold = "), "sell")]
    assert await incoming(editor, main.from_) == []


async def test_outgoing_calls_include_the_started_thread(editor, shop, opened, line_of):
    app = shop / "shop/app.py"
    (item,) = await prepare(editor, opened(app), line_of("shop/app.py", "def main"))
    assert item.detail.endswith(" · no recorded caller")
    called = {summary_of(one.to): words(app, one.from_ranges) for one in await outgoing(editor, item)}
    start = line_of("shop/app.py", "sweeper.start()")
    assert called["Sweeper.run", 1, "by thread"] == [(start, "start")]
    assert called["Stock.__init__", 1] == [(line_of("shop/app.py", "stock = Stock()"), "Stock")]
    assert ("app.sell", 1) in {key[:2] for key in called}


async def test_prepare_call_hierarchy_on_called_name_is_the_callee(editor, shop, opened, line_of):
    app = shop / "shop/app.py"
    uri = opened(app)
    line = line_of("shop/app.py", "return check")
    column = app.read_text().splitlines()[line - 1].index("check") + 2
    assert [item.name for item in await prepare(editor, uri, line, column)] == ["app.check"]
    # Elsewhere in the body the item is the function itself.
    assert [item.name for item in await prepare(editor, uri, line, 9)] == ["app.order"]
    assert [item.detail.split(" · ")[0] for item in await prepare(editor, uri, line, 9)] == ["coroutine"]


async def test_incoming_calls_in_edited_text_have_current_ranges(editor, shop, opened, line_of):
    app = shop / "shop/app.py"
    text = "# é\n" + app.read_text().replace("        return check(stock", "        x = '𝕏'; return check(stock")
    uri = opened(app, text)
    (item,) = await prepare(editor, uri, line_of("shop/app.py", "def check") + 1)
    (order,) = await incoming(editor, item)
    (found,) = order.from_ranges
    assert (found.start.line, found.end.character - found.start.character) == (
        line_of("shop/app.py", "return check"),
        5,
    )
    row = text.splitlines()[found.start.line].encode("utf-16-le")
    assert row[2 * found.start.character : 2 * found.end.character].decode("utf-16-le") == "check"


async def test_incoming_calls_removed_caller_is_stale(editor, shop, opened, line_of):
    app = shop / "shop/app.py"
    text = (
        app.read_text()
        .replace("async def order", "async def changed")
        .replace("order(stock, item)", "changed(stock, item)")
    )
    uri = opened(app, text)
    (item,) = await prepare(editor, uri, line_of("shop/app.py", "def check"))
    (order,) = await incoming(editor, item)
    assert order.from_.name == "app.order" and order.from_.detail.startswith("stale: 20 calls · ")


async def test_prepare_call_hierarchy_on_log_line_or_pattern_is_its_function(editor, shop, opened):
    log = shop / "shop.log"
    number = next(n for n, line in enumerate(log.read_text().splitlines(), 1) if "Order failed" in line)
    (item,) = await prepare(editor, opened(log), number)
    assert item.name == "app.order"
    spec = shop / "shop.esl"
    lines = spec.read_text().splitlines()
    row, line = next((row, line) for row, line in enumerate(lines, 1) if "shop.stock:Stock.lookup" in line)
    uri = opened(spec)
    (item,) = await prepare(editor, uri, row, line.index("Stock.lookup"))
    assert item.name == "Stock.lookup"
    assert await prepare(editor, uri, row, 0) == []


async def test_prepare_call_hierarchy_on_unrecorded_function_is_empty(editor, shop, opened, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("def f():\n    pass\n")
    assert await prepare(editor, opened(other), 1) == []
    assert await prepare(editor, opened(shop / "shop/app.py"), 1, 0) == []


async def test_incoming_calls_of_removed_run_show_a_message(editor, shop, opened, line_of):
    (item,) = await prepare(editor, opened(shop / "shop/app.py"), line_of("shop/app.py", "def check"))
    item.data = {"run": "gone", "site": 1}
    assert await incoming(editor, item) is None
    for _ in range(1200):
        if any("no run named 'gone'" in message.message for message in editor.messages):
            break
        await asyncio.sleep(0.05)
    else:
        raise AssertionError(editor.messages)
    item.data = None
    assert await incoming(editor, item) == []


HANDED_ON = """\
import multiprocessing, queue, threading

jobs = queue.Queue()

def begin():
    pass

def take():
    begin()
    while (job := jobs.get()) is not None:
        work(job)

def work(job):
    return job

def submit(job):
    jobs.put(job)

def child():
    work(0)

def main():
    worker = threading.Thread(target=take)
    worker.start()
    for number in range(3):
        submit(number)
    submit(None)
    worker.join()
    process = multiprocessing.Process(target=child)
    process.start()
    process.join()

if __name__ == "__main__":
    main()
"""


async def test_call_hierarchy_leads_through_queues_and_processes_both_ways(tmp_path):
    (tmp_path / "app.py").write_text(HANDED_ON)
    command = [sys.executable, "-m", "clew", "run", "-q", "--budget", "none", "--", sys.executable, "app.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    session = Session(tmp_path)

    def line_of(text):
        return next(number for number, row in enumerate(HANDED_ON.splitlines(), 1) if text in row)

    def around(name, way):
        """Return the places of the calls by (name, number of calls, mechanism)."""
        (line,) = [number for number, text in enumerate(HANDED_ON.splitlines()) if text.startswith(f"def {name}(")]
        (item,) = call_hierarchy._of_source(
            session, str(tmp_path / "app.py"), HANDED_ON, types.Position(line, 5), Task()
        )
        found = way(session, item.data, Task())
        other = [one.from_ if isinstance(one, types.CallHierarchyIncomingCall) else one.to for one in found]
        return {
            summary_of(there): words(tmp_path / "app.py", one.from_ranges)
            for there, one in zip(other, found, strict=True)
        }

    puts, starts = [(line_of("put"), "put")], [(line_of("target=take"), "take")]
    assert around("take", call_hierarchy.incoming_calls) == {
        ("app.submit", 4, "by queue"): puts,
        ("app.main", 1, "by thread"): starts,
    }
    assert around("submit", call_hierarchy.outgoing_calls) == {("app.take", 4, "by queue"): puts}
    child = [(line_of("target=child"), "child")]
    assert around("child", call_hierarchy.incoming_calls) == {("app.main", 1, "by process"): child}
    assert around("main", call_hierarchy.outgoing_calls) == {
        ("app.submit", 4): [(line_of("submit(number)"), "submit"), (line_of("submit(None)"), "submit")],
        ("app.take", 1, "by thread"): starts,
        ("app.child", 1, "by process"): child,
    }
