"""Viewers that do not read, and others beside them; a relay that is reached by TLS."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from websockets.sync.client import connect

from clew.server.relay import wire
from clew.server.relay.lifetime import Address, RelayError, ensure_relay, running
from clew.server.relay.watcher import Newest, watch
from tests.server.relay.programs import (
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
    room.connect(("127.0.0.1", int(there.url.rpartition(":")[2])))
    headers = {"Authorization": f"Bearer {there.token}"}
    return connect(there.url, sock=room, additional_headers=headers, compression=None, max_queue=1, max_size=None)


def _told(connection) -> Iterator[wire.Batch | dict]:
    """Everything of the first run, as it is sent."""
    while True:
        data = connection.recv(timeout=60)
        if isinstance(data, bytes):
            yield wire.decode_events(data)[1]
        else:
            yield wire.decode(data)


def test_a_viewer_that_does_not_read_skips_to_the_newest_state_and_costs_the_others_nothing(workspace):
    there = ensure_relay(workspace)
    program = start(workspace, NODES, 0, 2000, 0.01, name="nodes", spec=NODES_SPEC)
    other = Seen()
    reading = threading.Thread(target=lambda: other.watch(watch(lambda: there, patience=0)))
    reading.start()
    _until(lambda: other.run)
    # Neither of the two has room for much on its way; one never comes back.
    with _narrow(there) as slow, _narrow(there) as dead:
        for one in (slow, dead):
            one.send(wire.encode({"type": "watch", "run": other.run.run, "patience": 0.2}))
        before = other.state.moment
        _until(lambda: other.state.moment > before + 150_000)
        told, states = 0, []
        (workspace / "stop").touch()
        for news in _told(slow):
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
def tls(tmp_path):
    key, certificate, token = tmp_path / "key.pem", tmp_path / "certificate.pem", tmp_path / "token"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    token.write_text(TOKEN)
    token.chmod(0o600)
    return key, certificate, token


def test_a_relay_is_reached_by_tls_and_by_who_knows_its_certificate_and_token(workspace, tls):
    key, certificate, token = tls
    relay = subprocess.Popen(
        [sys.executable, "-m", "clew", "relay", "--workspace", workspace, "--host", "localhost", "--cert", certificate,
         "--key", key, "--token-file", token],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    _until(lambda: running(workspace) or relay.poll() is not None)
    there = running(workspace)
    assert there is not None and there.url.startswith("wss://localhost:")
    program = start(workspace, NODES, 5, 20, 0.01, name="nodes", spec=NODES_SPEC)
    finish(program)
    known = Address(there.url, TOKEN, certificate=str(certificate))
    assert any(isinstance(news, Newest) for news in watch(lambda: known, run_folder(workspace).name, patience=0))
    for wrong in (Address(there.url, TOKEN + "!", certificate=str(certificate)), Address(there.url, TOKEN)):
        with pytest.raises(RelayError):
            next(watch(lambda wrong=wrong: wrong, again_for=0))
    os.kill(relay.pid, signal.SIGTERM)
    said, _ = relay.communicate(timeout=60)
    assert TOKEN not in said
