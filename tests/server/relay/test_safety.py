"""What a relay refuses, and how it handles damaged files."""

import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

from clew.records.read.tail import ProcessTail
from clew.records.run.directory import create_run
from clew.server.relay.journal import FOLDER, Journal, Taken
from clew.server.relay.listen_config import ListenError, Listening, token_of
from clew.server.relay.stream import Stream
from tests.support.editor.relay_programs import NODES, NODES_SPEC, finish, run_folder, start


def _drain(stream):
    told = []
    while True:
        batch, is_over = stream.step()
        if batch is not None:
            stream.tell(batch)
            told.append(batch)
        if is_over:
            return told
        time.sleep(0.01)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    finish(start(folder, NODES, 20, 50, 0, name="nodes", spec=NODES_SPEC))
    return run_folder(folder)


@pytest.fixture
def run(recording, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(recording, folder)
    return folder


def test_listening_beyond_loopback_needs_tls_and_a_token(tmp_path):
    for host in ("0.0.0.0", "::", "192.168.1.1", "example.com"):
        with pytest.raises(ListenError, match="not the loopback"):
            Listening(host, token="a" * 40, given=True)
    with pytest.raises(ListenError, match="at least 16"):
        Listening(token="short", given=True)
    with pytest.raises(ListenError, match="both"):
        Listening(certificate=tmp_path / "c.pem")
    (tmp_path / "c.pem").write_text("nonsense")
    with pytest.raises(ListenError, match="are not a certificate and its key"):
        Listening(certificate=tmp_path / "c.pem", key=tmp_path / "c.pem")
    assert "a" * 40 not in repr(Listening(token="a" * 40, given=True))


def test_token_file_readable_by_others_is_refused(tmp_path):
    file = tmp_path / "token"
    file.write_text("a-token-of-some-length\nmore")
    file.chmod(0o644)
    with pytest.raises(ListenError, match="chmod 600"):
        token_of(file)
    file.chmod(0o600)
    assert token_of(file) == "a-token-of-some-length"


def test_relay_command_port_in_use_prints_one_message(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "clew", "relay", "--workspace", tmp_path, "--port", str(port)],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert done.returncode == 2
    assert f"port {port} of 127.0.0.1 cannot be used" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / ".clew" / "relay.json").exists()


def test_process_tail_restarted_anywhere_gets_every_record_once(run):
    (trace,) = run.glob("*.clew")
    whole = ProcessTail(trace)
    records = b"".join(one.records for one in whole.poll(1 << 30))
    for most in (1, 5000, 100_000):
        places, parts = {}, []
        while True:
            tail = ProcessTail(trace, places)
            found = tail.poll(most)
            parts += [one.records for one in found]
            places = dict(tail.places)
            tail.close()
            if not found:
                break
        assert b"".join(parts) == records


def test_stream_of_removed_run_raises_oserror(run):
    stream = Stream(run)
    stream.step()
    shutil.rmtree(run)
    with pytest.raises(OSError):
        for _ in range(100):
            stream.step()
    stream.close()


def test_stream_skips_files_of_garbage(run):
    expected = sum(one.end - one.begin for one in _drain(Stream(run)))
    assert expected > 1000
    shutil.rmtree(run / FOLDER)
    for number, content in enumerate(
        (b"", b"CLEWREC\0", os.urandom(5000), b"CLEWREC\0" + bytes(70_000), bytes(200_000))
    ):
        (run / f"{number + 1}-{number:016x}.clew").write_bytes(content)
        (run / f"{number + 1}-{number:016x}.clewz").write_bytes(content)
    (packed,) = run.glob(f"{next(one for one in run.glob('*.clew') if one.stat().st_size == 4096).stem}.clewz")
    packed.write_bytes(packed.read_bytes() + os.urandom(3000))
    stream = Stream(run)
    assert sum(one.end - one.begin for one in _drain(stream)) == expected
    stream.close()


def test_journal_continues_after_truncation_and_restarts_after_damage(run):
    stream = Stream(run)
    told = _drain(stream)
    name, end = stream.journal, stream.end
    stream.close()
    (file,) = (run / FOLDER).glob("*.journal")
    whole = file.read_bytes()
    last = len(told[-1].message)
    for cut in (1, last // 2, last):
        file.write_bytes(whole[:-cut])
        again = Stream(run)
        assert again.journal == name and again.end <= end
        _drain(again)
        assert again.end == end
        again.close()
    file.write_bytes(whole[:200] + b"x" + whole[201:])
    again = Stream(run)
    assert (again.journal != name, again.end) == (True, 0)
    _drain(again)
    assert again.end == end
    again.close()


def test_journal_of_run_opened_twice_is_refused(tmp_path):
    folder, _ = create_run(tmp_path, name="one", command=[], spec="", plan="{}")
    first = Journal(folder)
    with pytest.raises(Taken):
        Journal(folder)
    first.close()
    Journal(folder).close(remove=True)
    assert not (folder / FOLDER).exists()
