"""A relay forwards runs to another relay, which has them like its own, through kills and several hops."""

import asyncio
import base64
import hashlib
import json
import os
import socket
import time
import zlib

import pytest

from clew.records.read.reader import read_run
from clew.records.run import source_snapshots
from clew.records.run.directory import ORIGIN_FILE, load_run
from clew.records.run.liveness import STAYS_AWAY
from clew.server.relay import forward, relay
from clew.server.relay.forward import Forward, ForwardError
from clew.server.relay.journal import FOLDER
from clew.server.relay.launch import Address, ensure_relay
from clew.server.relay.listen_config import Listening
from clew.server.relay.mirror import Mirror, MirrorError
from clew.server.relay.watcher import Events, Over, watch
from clew.server.session.session import run_ref
from tests.support.editor.relay_programs import (
    NODES,
    NODES_SPEC,
    TASKS,
    Seen,
    assert_lost_and_doubled_nothing,
    finish,
    recorded,
    run_folder,
    start,
)

pytestmark = pytest.mark.slow


def _same_records(one, other):
    def records(folder):
        read = read_run(folder)
        assert not read.problems
        return {
            os.path.basename(process.path): (list(process.events()), process.sites, process.strings, process.strands)
            for process in read.processes
        }

    assert records(one) == records(other)


def test_forward_over_two_relays_keeps_the_run_identical(chain):
    relays = chain(3)
    first, _, last = relays.workspaces
    program = start(first, TASKS, 300)
    seen = Seen().watch(watch(lambda: ensure_relay(last), max_lag=0))
    finish(program)
    assert_lost_and_doubled_nothing(seen, run_folder(first))
    assert recorded(run_folder(last)) == recorded(run_folder(first))
    _same_records(run_folder(first), run_folder(last))
    described = json.loads((run_folder(last) / "run.json").read_text())
    assert described["workspace"] == str(last) and described["exit_code"] == 0


def test_forward_with_both_relays_killed_loses_and_doubles_nothing(chain):
    relays = chain(2)
    first, last = relays.workspaces
    program = start(first, NODES, 0, 60, 0.005, name="nodes", spec=NODES_SPEC)
    seen, kills = Seen(), 0
    for news in watch(lambda: ensure_relay(last), max_lag=0, again_for=60):
        seen.take(news)
        if len(seen.batches) > 8 * (kills + 1) and kills < 4:
            relays.kill(kills % 2)
            kills += 1
        if kills == 4:
            (first / "stop").touch()
        if seen.over:
            break
    finish(program)
    assert_lost_and_doubled_nothing(seen, run_folder(first))
    _same_records(run_folder(first), run_folder(last))


def test_forward_address_with_token_or_without_tls_is_refused():
    for url in (
        "ws://example.com:1",
        "http://127.0.0.1:1",
        "wss://host:1/?token=secret",
        "wss://me:secret@host:1",
        "wss://",
    ):
        with pytest.raises(ForwardError) as refused:
            Forward(Address(url, "token"))
        assert "secret" not in str(refused.value)
    Forward(Address("ws://127.0.0.1:1", "token"))
    Forward(Address("wss://example.com:1", "token"))


def test_mirror_refuses_names_outside_the_workspace(tmp_path):
    for run in ("../x", "a/b", "", ".hidden", "x" * 300):
        with pytest.raises(MirrorError):
            Mirror(tmp_path, run, "host:/there")
    mirror = Mirror(tmp_path, "run", "host:/there")
    for name in ("../1-0123456789abcdef.clew", "run.json", "1-0123456789abcdef.clewz", "/etc/passwd"):
        with pytest.raises(MirrorError):
            mirror.piece(name, bytes(64), 0, b"", is_whole=False)
    for head, offset, data in ((b"", 0, b""), (b"CHNK" + bytes(60), 0, b""), (bytes(64), 1 << 20, bytes(16))):
        with pytest.raises(MirrorError):
            mirror.piece("1-0123456789abcdef.clew", head, offset, data, is_whole=False)
    with pytest.raises(MirrorError, match="another relay"):
        Mirror(tmp_path, "run", "host:/there")
    mirror.close()
    other = Mirror(tmp_path, "run", "elsewhere:/there")
    assert other.folder.name == "run-2"
    other.close()


def test_forward_sends_the_source_texts_that_ran_once(chain):
    relays = chain(3)
    first, middle, last = relays.workspaces
    finish(start(first, TASKS, 50, name="one"))
    ran = (first / "one.py").read_text()
    (first / "one.py").write_text("changed = True")
    Seen().watch(watch(lambda: ensure_relay(last), max_lag=0, again_for=60))
    for workspace in (middle, last):
        (source,) = source_snapshots.index(run_folder(workspace)).values()
        assert source == source_snapshots.index(run_folder(first))[str(first / "one.py")]
        assert source.certain and source_snapshots.text(run_folder(workspace), source) == ran
        kept = list((workspace / ".clew" / "sources").glob("??/*.z"))
        assert len(kept) == 1


def test_mirror_saves_only_requested_source_texts_with_their_digest(tmp_path):
    mirror = Mirror(tmp_path, "run", "host:/there")
    text = b"print()"
    digest = hashlib.sha256(text).hexdigest()
    packed = base64.b64encode(zlib.compress(text)).decode()
    with pytest.raises(MirrorError, match="was not requested"):
        mirror.text(digest, packed)
    for wrong in ("nonsense", {"a.py": [digest]}, {"a.py": ["../../x", True, ""]}, {"a.py": 1}, None):
        with pytest.raises(MirrorError):
            mirror.sources(wrong)
    other = hashlib.sha256(b"other").hexdigest()
    assert mirror.sources({"/a.py": [digest, True, ""], "/b.py": [other, False, "changed"]}) == [digest, other]
    for data in (
        packed,
        base64.b64encode(b"nonsense").decode(),
        base64.b64encode(zlib.compress(bytes(1 << 27))).decode(),
    ):
        with pytest.raises(MirrorError):
            mirror.text(other, data)
        mirror.sources({"/a.py": [digest, True, ""], "/b.py": [other, False, "changed"]})
    mirror.text(digest, packed)
    assert mirror.sources({"/a.py": [digest, True, ""]}) == []
    assert source_snapshots.text(mirror.folder, source_snapshots.index(mirror.folder)["/a.py"]) == "print()"
    mirror.close()


def test_mirror_of_silent_machine_is_finished_until_it_comes_back(chain):
    relays = chain(2)
    first, last = relays.workspaces
    program = start(first, NODES, 0, 20, 0.02, name="nodes", spec=NODES_SPEC)
    for news in watch(lambda: ensure_relay(last), max_lag=0, again_for=60):
        if isinstance(news, Events):
            break
    mirrored = run_folder(last)
    relays.processes[0].kill()
    relays.processes[0].wait()
    # As if a minute had passed: no other process touches this file.
    silent = time.time() - STAYS_AWAY - 1
    os.utime(mirrored / ORIGIN_FILE, (silent, silent))
    told = run_ref(mirrored, load_run(mirrored))
    assert told.finished and told.problems[0].startswith(f"stopped: no word from {load_run(mirrored).host} since ")
    assert any(isinstance(news, Over) for news in watch(lambda: ensure_relay(last), mirrored.name, max_lag=0))
    relays.start(0)
    while run_ref(mirrored, load_run(mirrored)).finished:
        time.sleep(0.05)
    (first / "stop").touch()
    finish(program)
    while load_run(mirrored).finished is None:
        time.sleep(0.05)
    assert run_ref(mirrored, load_run(mirrored)).problems == []
    assert recorded(mirrored) == recorded(run_folder(first))
    _same_records(run_folder(first), mirrored)


def test_forward_without_receiver_is_done_by_the_next_relay(chain, monkeypatch):
    monkeypatch.setattr(forward, "GIVE_UP", 0.5)
    monkeypatch.setattr(relay, "LINGER", 0.0)
    relays = chain(2)
    first, last = relays.workspaces
    relays.stop(0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = Address(f"ws://127.0.0.1:{taken.getsockname()[1]}", "a-token-of-some-length")
    finish(start(first, TASKS, 20))
    asyncio.run(relay.Relay([first], Listening(), grace=0.5, to=[nobody]).run())
    assert (run_folder(first) / FOLDER).is_dir()
    relays.start(0)
    seen = Seen().watch(watch(lambda: ensure_relay(last), max_lag=0, again_for=60))
    assert_lost_and_doubled_nothing(seen, run_folder(first))
    _same_records(run_folder(first), run_folder(last))
