"""A followed live run is pushed to its session by a relay that starts on demand and ends afterwards."""

import logging
import os
import queue
import shutil
import signal
import time

import pytest

from clew.records.run.directory import RunInfo, list_runs
from clew.server.protocol.views.entities import EntitiesParams
from clew.server.relay.discovery import elsewhere
from clew.server.relay.launch import running
from clew.server.session.live_runs import Following
from clew.server.session.relay_client import Pushes
from clew.server.session.session import Session, Task
from clew.server.views.entities.view import entities_view
from tests.support.editor.relay_programs import start

TURNS = """\
import pathlib, time
class Node:
    def __init__(self, name): self.name = name
    def send(self, other): pass
def wait(name):
    while not pathlib.Path(name).exists(): time.sleep(0.005)
def main():
    one, other = Node("one"), Node("other")
    for turn in range(3):
        wait(f"go-{turn}")
        one.send(other)
    wait("stop")
main()
"""
SPEC = """\
entity Node is nodes:Node unique by this.name {
    when finish __init__(name) -> position(this);
    when start send(other) -> communication(this, other);
}
"""
SELDOM = 0.5
PATIENCE = 60


@pytest.fixture
def program(tmp_path):
    """Record a program; yields its folder and its process."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    process = start(folder, TURNS, name="nodes", spec=SPEC)
    yield folder, process
    (folder / "stop").touch()
    for turn in range(3):
        (folder / f"go-{turn}").touch()
    process.communicate(timeout=PATIENCE)
    if there := running(folder):
        os.kill(there.pid, signal.SIGTERM)


@pytest.fixture
def followed():
    """Return a function that follows the runs of a session and puts their growth into a queue."""
    begun = []

    def follow(session, **options):
        told = queue.Queue()
        begun.append(Following(session, told.put, SELDOM, **options))
        begun[-1].start()
        return told

    yield follow
    for one in begun:
        one.stop()


def run_of(folder):
    deadline = time.monotonic() + PATIENCE
    # A run's folder is there a moment before its description.
    while not (found := [one for one in list_runs(folder) if isinstance(one[1], RunInfo)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found[0][0]


def moments(session, which):
    return entities_view(session, EntitiesParams(run=which), Task()).moments


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def until(told, matches):
    while not matches(growth := told.get(timeout=PATIENCE)):
        pass
    return growth


@pytest.mark.parametrize("where", ["in the workspace", "elsewhere on the machine"])
def test_following_live_run_gets_pushes_and_its_relay_ends(program, followed, tmp_path, where):
    folder, process = program
    session = Session(folder if where == "in the workspace" else tmp_path)
    run = run_of(folder)
    which = run.name if where == "in the workspace" else str(run)
    wait_for(lambda: moments(session, which) == 2)
    there = {one.id: one.name for one in elsewhere(session.workspace)}
    assert there.get(str(run)) == (None if which == run.name else f"nodes in {folder}")
    told = followed(session, relayed=lambda: True, grace=0.2)
    until(told, lambda growth: growth.pushed)
    for turn in range(3):
        (folder / f"go-{turn}").touch()
        # Ask again only after a push.
        while moments(session, which) < 3 + turn:
            growth = until(told, lambda growth: growth.pushed)
            assert (growth.run, growth.finished) == (run.name, False)
    (folder / "stop").touch()
    assert until(told, lambda growth: growth.finished).run == run.name
    process.wait(PATIENCE)
    wait_for(lambda: running(folder) is None)
    assert all(not growth.pushed for growth in list(told.queue))


def test_following_starts_no_relay_if_unwatched_or_disabled(program, followed):
    folder, _ = program
    run = run_of(folder)
    unwatched = followed(Session(folder), relayed=lambda: True)
    unwanted_session = Session(folder)
    wait_for(lambda: moments(unwanted_session, run.name) == 2)
    unwanted = followed(unwanted_session, relayed=lambda: False)
    for told, unheard in ((unwatched, ""), (unwanted, "relays are disabled")):
        growth = told.get(timeout=PATIENCE)
        assert (growth.pushed, growth.unheard) == (False, unheard)
    for turn in range(3):
        (folder / f"go-{turn}").touch()
    (folder / "stop").touch()
    for told in (unwatched, unwanted):
        growth = told.get(timeout=PATIENCE)
        while not growth.finished:
            assert not growth.pushed
            growth = told.get(timeout=PATIENCE)
    assert running(folder) is None and not (folder / ".clew" / "relay.lock").exists()


def test_following_without_relay_polls_and_logs_once(program, followed, caplog, monkeypatch):
    monkeypatch.setattr("clew.server.relay.launch.START_SECONDS", 1.0)
    folder, _ = program
    run, session = run_of(folder), Session(folder)
    (folder / ".clew" / "relay.lock").mkdir()  # so that the lock file cannot be written
    wait_for(lambda: moments(session, run.name) == 2)
    with caplog.at_level(logging.WARNING, "clew"):
        told = followed(session, relayed=lambda: True)
        wait_for(lambda: caplog.messages)
        (folder / "go-0").touch()
        late = until(told, lambda growth: moments(session, run.name) == 3)
        assert str(folder) in late.unheard and not late.pushed
        (folder / "stop").touch()
        for turn in range(3):
            (folder / f"go-{turn}").touch()
        until(told, lambda growth: growth.finished)
    (said,) = caplog.messages
    assert "is about 1 s late (no relay)" in said and str(folder) in said


def test_pushes_continue_after_the_relay_restarts_and_log_once(program, caplog, monkeypatch):
    monkeypatch.setattr("clew.server.session.relay_client.PAUSE", 0.1)
    folder, _ = program
    run, told = run_of(folder), queue.Queue()
    pushes = Pushes(told.put, grace=0.2)
    lock = folder / ".clew" / "relay.lock"
    with caplog.at_level(logging.WARNING, "clew"):
        pushes.watch({run.name: run})
        for turn in range(2):
            assert told.get(timeout=PATIENCE) == run.name
            assert pushes.missing_relay(run) == ""
            relay = running(folder)
            lock.rename(folder / f"lock-{turn}")
            lock.mkdir()  # so that no other relay can start
            os.kill(relay.pid, signal.SIGKILL)
            wait_for(lambda: pushes.missing_relay(run))
            assert str(folder) in pushes.missing_relay(run)
            told.queue.clear()
            lock.rmdir()
            wait_for(lambda: not pushes.missing_relay(run))
        assert told.get(timeout=PATIENCE) == run.name
        wait_for(told.empty)
        (folder / "go-0").touch()
        assert told.get(timeout=PATIENCE) == run.name
        pushes.stop()
    (said,) = caplog.messages
    assert "is about 1 s late (no relay)" in said and str(folder) in said


def test_elsewhere_leaves_out_programs_whose_folder_was_removed(program, tmp_path):
    folder, process = program
    run = run_of(folder)
    wait_for(lambda: [one.id for one in elsewhere(tmp_path)].count(str(run)) == 1)
    shutil.rmtree(folder)
    assert process.poll() is None
    assert str(run) not in [one.id for one in elsewhere(tmp_path)]
    process.terminate()
    folder.mkdir()
