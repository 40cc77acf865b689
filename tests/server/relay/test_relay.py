"""A relay sends every event of real recorded programs exactly once to each viewer with the token."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from clew.server.relay import wire
from clew.server.relay.launch import Address, RelayError, ensure_relay, running
from clew.server.relay.watcher import watch
from tests.support.editor.relay_programs import (
    NODES,
    NODES_SPEC,
    PROCESSES,
    TASKS,
    Seen,
    assert_lost_and_doubled_nothing,
    finish,
    run_folder,
    start,
)


def _watched(workspace):
    return Seen().watch(watch(lambda: ensure_relay(workspace), max_lag=0))


@pytest.mark.parametrize(
    ("text", "arguments", "spec"),
    [(TASKS, (50,), ""), (PROCESSES, (), ""), (NODES, (30, 20, 0.01), NODES_SPEC)],
    ids=["tasks", "processes", "spec"],
)
def test_relay_viewers_get_every_recorded_event_once(workspace, text, arguments, spec):
    ensure_relay(workspace)
    program = start(workspace, text, *arguments, name="nodes", spec=spec)
    seen = _watched(workspace)
    finish(program)
    assert_lost_and_doubled_nothing(seen, run_folder(workspace))


def kill_at_random(workspace, times, chance):
    """Kill each relay some time after its start, then stop the program."""
    killed = []
    while len(killed) < times:
        there = running(workspace)
        if there is None or there.pid in killed:
            time.sleep(0.005)
            continue
        time.sleep(chance.uniform(0, 0.7))
        os.kill(there.pid, signal.SIGKILL)
        killed.append(there.pid)
    (workspace / "stop").touch()


@pytest.mark.slow
def test_relay_killed_at_random_loses_and_doubles_nothing(workspace):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    ensure_relay(workspace)
    program = start(workspace, NODES, 0, 40, 0.002, name="nodes", spec=NODES_SPEC)
    killer = threading.Thread(target=kill_at_random, args=(workspace, 8, random.Random(seed)), daemon=True)
    killer.start()
    seen = Seen()
    for news in watch(lambda: ensure_relay(workspace), max_lag=0, again_for=60):
        seen.take(news)
        if seen.over:
            break
    killer.join()
    finish(program)
    assert_lost_and_doubled_nothing(seen, run_folder(workspace))


def test_relay_without_token_answers_nothing(workspace):
    there = ensure_relay(workspace)
    with pytest.raises(RelayError, match="rejected the token"):
        next(watch(lambda: Address(there.url, "wrong")))
    with pytest.raises(InvalidStatus) as refused:
        connect(there.url, additional_headers={"Authorization": f"Bearer {there.token}x"})
    assert refused.value.response.status_code == 401
    for first in ('{"type": "token", "token": "wrong"}', '{"type": "watch"}', "[]", "nonsense", b"\xff\xfe"):
        with connect(there.url) as connection:
            connection.send(first)
            with pytest.raises(ConnectionClosed):
                connection.recv()
    with connect(there.url) as connection:
        connection.send(wire.encode({"type": "token", "token": there.token}))
        assert wire.decode(connection.recv()) == {"type": "hello", "version": wire.VERSION}
    assert there.token not in repr(there)


def test_relay_viewer_with_invalid_position_gets_the_newest_state(workspace):
    there = ensure_relay(workspace)
    program = start(workspace, NODES, 0, 20, 0.02, name="nodes", spec=NODES_SPEC)
    with connect(there.url, additional_headers={"Authorization": f"Bearer {there.token}"}) as connection:
        runs = []
        while not runs:
            runs = wire.decode(connection.recv()).get("runs", [])
        run = runs[0]["run"]
        connection.send(wire.encode({"type": "watch", "run": run}))
        journal = _state(connection)["journal"]
        for since in (10**12, -1, "12", None, True, 1.5, {"a": 1}):
            connection.send(wire.encode({"type": "watch", "run": run, "journal": journal, "since": since}))
            assert _state(connection)["missed"] == -1
        connection.send(wire.encode({"type": "watch", "run": run, "journal": "another", "since": 0}))
        assert _state(connection)["missed"] == -1
        for wrong in ({"type": "watch", "run": "none"}, {"type": "watch"}):
            connection.send(wire.encode(wrong))
        connection.send(wire.encode({"type": "nonsense"}))
        with pytest.raises(ConnectionClosed):
            while True:
                connection.recv()
    (workspace / "stop").touch()
    finish(program)


def _state(connection):
    while True:
        data = connection.recv()
        if isinstance(data, str) and (message := wire.decode(data))["type"] == "state":
            return message


def test_relay_without_viewers_ends_and_removes_its_address(workspace):
    there = ensure_relay(workspace, grace=0.2)
    assert running(workspace) == there
    deadline = time.monotonic() + 60
    while running(workspace) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (workspace / ".clew" / "relay.json").exists()


def test_second_relay_of_a_workspace_is_refused(workspace):
    there = ensure_relay(workspace)
    assert ensure_relay(workspace) == there
    second = subprocess.run(
        [sys.executable, "-m", "clew", "relay", "--workspace", workspace], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 2
    assert "a relay is already running" in second.stderr
    assert "Traceback" not in second.stderr


def _refused(workspace):
    with pytest.raises(RelayError) as refused:
        ensure_relay(workspace)
    return str(refused.value)


def test_ensure_relay_that_cannot_start_raises_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert "is not writable (not a folder)" in _refused(tmp_path / "file")
    assert "is not writable (not a folder)" in _refused(tmp_path / "none")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / ".clew").touch()
    assert "is not writable (File exists); make the folder writable" in _refused(tmp_path / "taken")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert f"{tmp_path / 'python'}: No such file or directory" in _refused(tmp_path)


def test_ensure_relay_failure_is_raised_and_logged_in_relay_log(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_RELAY_TOKEN", "short")
    assert "cannot start a relay: the token needs at least 16 characters" in _refused(tmp_path)
    log = tmp_path / ".clew" / "relay.log"
    assert log.stat().st_mode & 0o777 == 0o600 and "at least 16" in log.read_text()
    monkeypatch.delenv("CLEW_RELAY_TOKEN")
    # An interpreter without the package: the error has its last line and the path of the full output.
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    said = _refused(tmp_path)
    assert "cannot start a relay: " in said and f"(full output in {log})" in said and "Traceback" not in said
