"""Viewers that do not read next to viewers that do; a relay that is reached by TLS."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from clew.graph.entities.live.state import COLUMNS, Batch
from clew.records.run.directory import create_run
from clew.server.relay import wire
from clew.server.relay.journal import ViewerBatch
from clew.server.relay.launch import Address, RelayError, ensure_relay, running
from clew.server.relay.stream import MOST_RECENT, Stream
from clew.server.relay.viewers import Viewers
from clew.server.relay.watcher import Newest, watch
from tests.support.editor.relay_programs import (
    NODES,
    NODES_SPEC,
    Seen,
    assert_lost_and_doubled_nothing,
    finish,
    run_folder,
    start,
)

TOKEN = "a token of thirty-two characters"


def _until(condition) -> None:
    while not condition():
        time.sleep(0.05)


def _narrow(there: Address):
    room = socket.socket()
    room.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    room.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # the kernel buffers a few of these
    room.connect(("127.0.0.1", int(there.url.rpartition(":")[2])))
    headers = {"Authorization": f"Bearer {there.token}"}
    return connect(there.url, sock=room, additional_headers=headers, compression=None, max_queue=1, max_size=None)


def _messages(connection) -> Iterator[wire.Batch | dict]:
    """Yield every message as it is sent."""
    while True:
        data = connection.recv(timeout=60)
        if isinstance(data, bytes):
            yield wire.decode_events(data)[1]
        else:
            yield wire.decode(data)


def test_viewer_that_reads_slowly_skips_to_the_newest_state_alone(workspace):
    there = ensure_relay(workspace)
    program = start(workspace, NODES, 0, 2000, 0.01, name="nodes", spec=NODES_SPEC)
    other = Seen()
    reading = threading.Thread(target=lambda: other.watch(watch(lambda: there, max_lag=0)))
    reading.start()
    _until(lambda: other.state is not None)  # the run is listed before its first state
    # Both connections have small buffers; one never reads again.
    with _narrow(there) as slow, _narrow(there) as dead:
        for one in (slow, dead):
            one.send(wire.encode({"type": "watch", "run": other.run.run, "patience": 0.2}))
        before = other.state.moment
        _until(lambda: other.state.moment > before + 60_000)
        told, states = 0, []
        (workspace / "stop").touch()
        for news in _messages(slow):
            if isinstance(news, dict) and news["type"] == "state":
                states.append((int(news["missed"]), told))
                told = wire.state_of(news).moment
            elif isinstance(news, dict) and news["type"] == "over":
                assert news["moment"] == told
                break
            elif not isinstance(news, dict):
                assert news.begin == told
                told = news.end
        dead.socket.close()
    reading.join()
    finish(program)
    assert_lost_and_doubled_nothing(other, run_folder(workspace))
    assert [missed for missed, _ in states[:1]] == [-1]
    assert sum(missed for missed, _ in states[1:]) > 0
    assert told == other.state.moment


@pytest.fixture
def tls(tmp_path, certified):
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    return *certified, token


@pytest.fixture
def tls_relay(workspace, tls):
    """Start a relay that listens with TLS on the loopback; its output must not contain the token."""
    key, certificate, token = tls
    words = ["--host", "localhost", "--cert", certificate, "--key", key, "--token-file", token]
    relay = subprocess.Popen(
        [sys.executable, "-m", "clew", "relay", "--workspace", workspace, *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    _until(lambda: running(workspace) or relay.poll() is not None)
    there = running(workspace)
    assert there is not None
    yield there, certificate
    relay.terminate()
    said, _ = relay.communicate(timeout=60)
    assert TOKEN not in said and "Traceback" not in said


def test_viewer_with_another_protocol_is_sent_that_of_the_relay(tls_relay, workspace, tmp_path):
    there, certificate = tls_relay
    plain = there.url.replace("wss:", "ws:")
    # A relay on a busy machine may drop a connection after ten seconds; it rejects a token at once.
    for wrong, words, again_for in (
        (Address(there.url, TOKEN + "!", certificate=str(certificate)), "the relay rejected the token", 60),
        (Address(there.url, "", certificate=str(certificate)), "the relay rejected the token", 60),
        (Address(there.url, TOKEN), "its certificate is not trusted", 2),
        (Address(plain, TOKEN), "use wss:// for a relay with TLS", 2),
    ):
        with pytest.raises(RelayError, match=words) as refused:
            next(watch(lambda wrong=wrong: wrong, again_for=again_for))
        assert TOKEN not in str(refused.value)
    other = tmp_path / "other"
    other.mkdir()
    without = ensure_relay(other, grace=0.5)
    with pytest.raises(RelayError, match="it does not speak TLS"):
        next(watch(lambda: Address(without.url.replace("ws:", "wss:"), without.token), again_for=0))
    os.kill(without.pid, signal.SIGTERM)


def test_relay_with_tls_refuses_wrong_tokens_and_plain_http(tls_relay):
    there, certificate = tls_relay
    trusted = ssl.create_default_context(cafile=certificate)
    for first in ('{"type": "token", "token": "wrong"}', '{"type": "watch", "run": "any"}'):
        with connect(there.url, ssl=trusted) as connection:
            connection.send(first)
            with pytest.raises(ConnectionClosed):
                connection.recv()
    with connect(there.url, ssl=trusted) as connection:
        connection.send(wire.encode({"type": "token", "token": TOKEN}))
        assert wire.decode(connection.recv())["type"] == "hello"
    # HTTP without TLS gets no answer at all.
    host, _, port = there.url.removeprefix("wss://").rpartition(":")
    with socket.create_connection((host, int(port))) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n")
        answered = b""
        with contextlib.suppress(ConnectionError):
            while more := plain.recv(4096):
                answered += more
    assert not answered.startswith(b"HTTP/") and TOKEN.encode() not in answered


class _Source:
    """A stream of a run that sends as many events as the test asks for."""

    def __init__(self, folder):
        create_run(folder, name="run", command=[], spec="", plan="{}")
        self.stream = Stream(run_folder(folder))

    def tell(self, size):
        begin = self.stream.end
        columns = {name: np.zeros(size, kind) for name, kind in COLUMNS}
        batch = Batch(begin, columns)
        self.stream.tell(ViewerBatch(begin, begin + size, wire.encode_events(self.stream.run, batch)))


async def test_viewer_that_never_reads_costs_only_a_count_of_missed_messages(tmp_path):
    source = _Source(tmp_path)
    stream, viewers = source.stream, Viewers(TOKEN, {})
    viewers._streams[stream.run] = stream
    headers = {"Authorization": f"Bearer {TOKEN}"}
    question = wire.encode({"type": "watch", "run": stream.run, "patience": 0})
    async with serve(viewers.serve, "127.0.0.1", 0, process_request=viewers.check, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        reader, dead = [
            await connect_async(f"ws://127.0.0.1:{port}", additional_headers=headers, compression=None, max_size=None)
            for _ in range(2)
        ]
        await dead.send(question)
        await reader.send(question)
        # From here on it reads nothing, like a stopped process.
        dead.transport.pause_reading()
        while len(viewers._connections) < 2:
            await asyncio.sleep(0)
        told, states, sizes = 0, 0, []
        while told < 2_000_000:
            source.tell(10_000)
            await viewers.listed()
            while told < stream.end:
                data = await reader.recv()
                if isinstance(data, bytes):
                    _, batch = wire.decode_events(data)
                    assert batch.begin == told
                    told = batch.end
                elif (said := wire.decode(data))["type"] == "state":
                    states += 1
                    assert said["moment"] == told == 0
            sizes.append([one.transport.get_write_buffer_size() for one in viewers._connections])
        # The reader got each event once, after the state at the beginning.
        assert (told, states) == (2_000_000, 1)
        # Only the message being sent and the newest list of runs wait for the viewer that does not read.
        message = len(stream._recent[-1].batch.message)
        most = [max(size) for size in zip(*sizes, strict=True)]
        assert max(most) < 4 * message and most == [max(size) for size in zip(*sizes[: len(sizes) // 2], strict=True)]
        assert len(viewers._listing) <= 1
        assert stream._bytes <= MOST_RECENT + message
        dead.transport.abort()
        await reader.close()
    stream.close()


def test_relay_with_tls_accepts_its_certificate_and_token(tls_relay, workspace):
    there, certificate = tls_relay
    assert there.url.startswith("wss://localhost:")
    finish(start(workspace, NODES, 5, 20, 0.01, name="nodes", spec=NODES_SPEC))
    known = Address(there.url, TOKEN, certificate=str(certificate))
    assert any(isinstance(news, Newest) for news in watch(lambda: known, run_folder(workspace).name, max_lag=0))
