"""Long work outside the event loop: cancellation, progress and internal errors."""

import asyncio
import json
import threading
import time

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

from clew.records.errors import ClewError
from clew.server.functions import regressions
from clew.server.lsp import server as server_module
from clew.server.lsp.features.findings import comparison
from clew.server.lsp.server import RequestFailed, make_server
from clew.server.session.baseline import Baseline


class Wire:
    """A fake of the client's end of the connection."""

    def __init__(self, server):
        self.server = server
        self.sent = []

    def write(self, data):
        for part in data.decode().split("Content-Length")[1:]:
            message = json.loads(part[part.index("{") :])
            self.sent.append(message)
            if message.get("method") == "window/workDoneProgress/create":
                asyncio.get_running_loop().call_soon(self._agree, message["id"])

    def _agree(self, number):
        protocol = self.server.protocol
        protocol.handle_message(protocol.structure_message({"jsonrpc": "2.0", "id": number, "result": None}))

    def progress(self):
        return [message["params"]["value"] for message in self.sent if message.get("method") == "$/progress"]


@pytest.fixture
def server():
    made = make_server()
    made.protocol.client_capabilities = types.ClientCapabilities(
        window=types.WindowClientCapabilities(work_done_progress=True)
    )
    made.wire = Wire(made)
    made.protocol.set_writer(made.wire)
    yield made
    made.shutdown()


def until_cancelled(started, seen):
    def work(task):
        started.set()
        try:
            while True:
                time.sleep(0.01)
                task.phase("still at it")
        except BaseException as error:
            seen.append(error)
            raise

    return work


async def wait_for(condition):
    for _ in range(12_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("did not happen")


async def test_server_work_cancelled_request_stops_at_the_next_phase(server):
    started, seen = threading.Event(), []
    request = asyncio.create_task(server.work("work", until_cancelled(started, seen)))
    await asyncio.to_thread(started.wait)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    await wait_for(lambda: seen)
    assert str(seen[0]) == "cancelled"


async def test_server_work_that_is_slow_shows_progress_with_phases(server, monkeypatch):
    monkeypatch.setattr(server_module, "PROGRESS_DELAY", 0.02)
    go_on = threading.Event()

    def work(task):
        task.phase("first")
        go_on.wait(120)
        task.phase("second")
        return 7

    request = asyncio.create_task(server.work("counting", work))
    await wait_for(lambda: server.wire.progress())
    go_on.set()
    assert await request == 7
    values = server.wire.progress()
    assert (values[0]["kind"], values[0]["title"], values[0]["message"]) == ("begin", "counting", "first")
    assert [value.get("message") for value in values[1:-1]] == ["second"]
    assert values[-1]["kind"] == "end"


async def test_server_work_that_is_quick_shows_no_progress(server, monkeypatch):
    monkeypatch.setattr(server_module, "PROGRESS_DELAY", 60)  # quick also on a busy machine
    assert await server.work("counting", lambda task: 7) == 7
    assert server.wire.sent == []


async def test_server_work_for_client_without_progress_shows_no_progress(server, monkeypatch):
    monkeypatch.setattr(server_module, "PROGRESS_DELAY", 0.01)
    server.protocol.client_capabilities = types.ClientCapabilities()
    await server.work("counting", lambda task: time.sleep(0.1))
    assert server.wire.sent == []


async def test_progress_cancel_button_cancels_the_request(server, monkeypatch):
    monkeypatch.setattr(server_module, "PROGRESS_DELAY", 0.01)
    started, seen = threading.Event(), []
    monkeypatch.setattr(
        "clew.server.session.requests.runs", lambda _session, _params, task: until_cancelled(started, seen)(task)
    )
    request = asyncio.create_task(server_module._request(server, "clew/runs")({}))
    await wait_for(lambda: server.wire.progress())
    (token,) = server.work_done_progress.tokens
    server.protocol.handle_message(
        server.protocol.structure_message(
            {"jsonrpc": "2.0", "method": "window/workDoneProgress/cancel", "params": {"token": token}}
        )
    )
    with pytest.raises(JsonRpcRequestCancelled):
        await request


async def test_server_request_clew_error_is_the_answer(server, monkeypatch):
    def fails(*_):
        raise ClewError("the run is gone; record it again")

    monkeypatch.setattr("clew.server.session.requests.runs", fails)
    with pytest.raises(RequestFailed) as caught:
        await server_module._request(server, "clew/runs")({})
    assert caught.value.message == "the run is gone; record it again"


async def test_server_request_internal_error_is_a_message_and_logged(server, monkeypatch, caplog):
    monkeypatch.setattr("clew.server.session.requests.runs", lambda *_: 1 / 0)
    with pytest.raises(RequestFailed) as caught:
        await server_module._request(server, "clew/runs")({})
    assert "ZeroDivisionError" in caught.value.message and "Traceback" not in caught.value.message
    assert "clew/runs failed" in caplog.text


# The comparison with the baseline, in the background


@pytest.fixture
def compared(server, monkeypatch):
    """Return a server that compares the pairs named by the test; `seen` has the errors that ended each comparison."""
    seen = {}

    def find(_session, before, _after, task):
        seen[before.name] = []
        until_cancelled(threading.Event(), seen[before.name])(task)

    def wanted(_session):
        name = server.wants
        return comparison._Pair(Baseline(name, (name,), name), "after", ()) if name else None

    monkeypatch.setattr(regressions, "find", find)
    monkeypatch.setattr(comparison, "wanted_pair", wanted)
    monkeypatch.setattr(server.protocol, "client_capabilities", types.ClientCapabilities())
    server.wants, server.seen = "", seen
    return server


async def choose(server, name):
    server.wants = name
    server.comparison.refresh()


async def test_comparison_new_baseline_cancels_the_previous_comparison(compared):
    await choose(compared, "first")
    await wait_for(lambda: "first" in compared.seen)
    await choose(compared, "second")
    await wait_for(lambda: "second" in compared.seen)
    await wait_for(lambda: compared.seen["first"])
    assert str(compared.seen["first"][0]) == "cancelled"
    assert compared.seen["second"] == []
    await choose(compared, "")
    await wait_for(lambda: compared.seen["second"])


async def test_comparison_of_the_same_pair_is_not_repeated(compared, monkeypatch):
    found, times = regressions.Findings(()), []
    monkeypatch.setattr(regressions, "find", lambda *_: times.append(1) or found)
    await choose(compared, "first")
    await wait_for(lambda: compared.comparison.findings is found)
    await choose(compared, "first")
    await choose(compared, "first")
    await asyncio.sleep(0.05)
    assert len(times) == 1


async def test_comparison_that_fails_is_reported_once(compared, monkeypatch):
    def fails(*_):
        raise ClewError("the run is damaged")

    monkeypatch.setattr(regressions, "find", fails)
    told = []
    monkeypatch.setattr(compared, "tell", lambda message, _kind: told.append(message))
    await choose(compared, "first")
    await wait_for(lambda: told)
    assert told == ["run after was not compared with the baseline: the run is damaged"]
    assert compared.comparison.findings is None
