"""The collector moves chunks to compressed files and recycles them; at every instant each record can be read once."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.instrument.recorder import _core
from clew.records.collector import process_file
from clew.records.collector.launch import start_collector
from clew.records.collector.main import Collector, Totals, collect_now, locked
from clew.records.compress import block
from clew.records.format import header
from clew.records.format.event import Kind
from clew.records.format.header import CHUNK_SIZE, HEADER_SIZE, State
from clew.records.plan.plan import Plan, dump
from clew.records.read.reader import MAX_PROBLEMS, parse_process, read_process
from clew.records.run.directory import PLAN_FILE, compressed_files, trace_files
from tests.support.examples import examples

TEXT = b"text" * 1000
CHUNK_MARKS = (CHUNK_SIZE - header.CHUNK_HEADER_SIZE) // (32 + len(TEXT))
"""Marks per chunk: few, because of the long text, so that the tests are quick."""
PROGRAM = """
import os, sys, threading
from clew.instrument.recorder.core import core
from clew.records.format.event import Kind
def begin():
    core.start(f"{sys.argv[1]}/{os.getpid()}-{core.uid():016x}.clew", b"{}", 0, 1 << 30, 0.0)
def work(count, site=5):
    probe = core.Probe(site, Kind.ENTER)
    for number in range(count):
        ~probe
        if number % 997 == 0:
            core.emit(Kind.MARK, site, number, 1, b"text" * (number % 13))
            core.define(Kind.STRING, number + 2, b"name")
begin()
"""


@pytest.fixture(autouse=True)
def stopped():
    yield
    _core.stop()


@pytest.fixture(params=["c"])
def core(request):
    return _core


class Recording:
    def __init__(self, core, folder, quota=1 << 30, *, keep_newest=False):
        self.core = core
        self.path = folder / f"{os.getpid()}-{core.uid():016x}.clew"
        core.start(str(self.path), b"{}", 0, quota, 0.0, keep_newest)
        self.marks = 0

    def chunks(self, count, text=lambda: TEXT):
        """Fill `count` chunks with numbered marks."""
        for number in range(self.marks, self.marks + count * CHUNK_MARKS):
            self.core.emit(Kind.MARK, 5, number, 0, text())
        self.marks += count * CHUNK_MARKS

    def check(self, problems=0):
        found = read_process(self.path)
        assert len(found.problems) == problems, found.problems
        assert [event.extension.key for event in found.events()] == list(range(self.marks))
        return found


def test_collector_compresses_finished_chunks_and_reader_finds_them(tmp_path):
    recording = Recording(_core, tmp_path)
    for _ in range(6):
        recording.chunks(10)
        assert collect_now(tmp_path).live == 1
        recording.check()
    assert recording.check().header.chunks < 30
    assert sum(path.stat().st_size for path in compressed_files(recording.path)) < 60 * CHUNK_SIZE / 8
    _core.stop()
    recording.check()


def test_collector_compresses_ended_recording_completely(core, tmp_path):
    recording = Recording(core, tmp_path)
    core.define(Kind.STRING, 3, b"three")
    recording.chunks(3)
    core.stop()
    before = read_process(recording.path)
    totals = collect_now(tmp_path)
    assert (totals.processes, totals.live) == (1, 0)
    assert recording.path.stat().st_size == HEADER_SIZE
    after = recording.check()
    assert (after.strings, after.header.state) == ({3: "three"}, State.CLOSED)
    assert [bytes(extent) for extent in after.threads[1].extents] == [
        bytes(extent) for extent in before.threads[1].extents
    ]
    assert collect_now(tmp_path) == Totals()


def test_recorder_marks_full_chunks_finished_except_the_last(core, tmp_path):
    recording = Recording(core, tmp_path)
    recording.chunks(4)
    data = recording.path.read_bytes()
    states = []
    for offset in range(HEADER_SIZE, len(data), CHUNK_SIZE):
        head = data[offset : offset + header.CHUNK_HEADER_SIZE]
        if head[4] == header.ChunkKind.EVENTS:
            states.append(int.from_bytes(head[40:44], "little"))
    assert states == [header.ChunkState.FINISHED] * 3 + [header.ChunkState.IN_USE]


class Killed(BaseException):
    """Simulates a kill: code of clew must not catch it."""


def killed_at(monkeypatch, instant):
    """Let the given system call and all later ones fail. Return a list that stays empty if the call is not reached."""
    left = [instant]
    reached = []

    def dying(call):
        def replaced(*arguments):
            left[0] -= 1
            if left[0] < 0:
                reached.append(call)
                raise Killed
            return call(*arguments)

        return replaced

    for name in ("pwrite", "write", "ftruncate", "truncate", "replace", "unlink"):
        monkeypatch.setattr(os, name, dying(getattr(os, name)))
    monkeypatch.setattr(process_file, "_punch_hole", dying(process_file._punch_hole))
    return reached


@pytest.mark.slow
@pytest.mark.parametrize("spare", [2, 256])
def test_collector_killed_at_any_system_call_loses_no_record(tmp_path, monkeypatch, spare):
    monkeypatch.setattr(process_file, "SPARE_CHUNKS", spare)
    recording = Recording(_core, tmp_path)
    instant, reached = 0, [None]
    while reached:
        recording.chunks(4)
        with monkeypatch.context() as dying:
            reached = killed_at(dying, instant)
            with contextlib.suppress(Killed):
                collect_now(tmp_path)
        recording.check()
        instant += 1
    assert instant > 10
    recording.chunks(4)
    collect_now(tmp_path)
    recording.check()
    _core.stop()
    instant, reached = 0, [None]
    while reached:
        with monkeypatch.context() as dying:
            reached = killed_at(dying, instant)
            with contextlib.suppress(Killed):
                collect_now(tmp_path)
        recording.check()
        instant += 1
    assert recording.path.stat().st_size == HEADER_SIZE


def test_collector_frees_surplus_chunks_as_holes(tmp_path, monkeypatch):
    monkeypatch.setattr(process_file, "SPARE_CHUNKS", 2)
    recording = Recording(_core, tmp_path)
    recording.chunks(40)
    collect_now(tmp_path)
    status = recording.path.stat()
    assert status.st_size > 40 * CHUNK_SIZE
    assert int.from_bytes(recording.path.read_bytes()[header.RETIRED_OFFSET :][:8], "little") > 30
    assert status.st_blocks * 512 < recording.path.stat().st_size - 30 * CHUNK_SIZE
    recording.chunks(40)
    collect_now(tmp_path)
    recording.check()


def test_damaged_ring_header_loses_no_record(tmp_path):
    recording = Recording(_core, tmp_path)
    recording.chunks(8)
    collect_now(tmp_path)
    with recording.path.open("r+b") as file:
        file.seek(header.RING_OFFSET)
        file.write(b"\xff" * 4 + b"\0" * 8)  # a chunk beyond the file, and a chunk in use
    recording.chunks(20)
    recording.check()


def test_second_collector_of_a_run_collects_nothing(tmp_path):
    recording = Recording(_core, tmp_path)
    recording.chunks(3)
    with locked(tmp_path) as first, locked(tmp_path) as second:
        assert (first, second) == (True, False)
        assert collect_now(tmp_path) == Totals()
    assert collect_now(tmp_path).chunks == 2


def start(tmp_path, source):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM + source, str(tmp_path)],
        env=dict(os.environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(condition):
    while not condition():
        time.sleep(0.005)


def events_of(path):
    found = read_process(path)
    assert found.problems == []
    return list(found.events())


def expected(count):
    return count + -(-count // 997)


def packed_bytes(folder):
    return sum(path.stat().st_size for trace in trace_files(folder) for path in compressed_files(trace))


@pytest.mark.slow
def test_collector_compresses_running_program_that_stays_readable(tmp_path):
    collector = start_collector(tmp_path)
    program = start(tmp_path, "work(300_000)\nprint('done', flush=True)\ninput()\ncore.stop()")
    wait_for(lambda: packed_bytes(tmp_path))
    (path,) = trace_files(tmp_path)
    seen = 0
    for _ in range(3):
        events = events_of(path)
        marks = [event.extension.key for event in events if event.kind is Kind.MARK]
        assert marks == list(range(0, 997 * len(marks), 997))
        assert seen <= len(events) <= expected(300_000)
        seen = len(events)
    program.communicate("\n")
    collector.finish()
    assert len(events_of(path)) == expected(300_000)
    assert path.stat().st_size == HEADER_SIZE


def test_collector_compresses_killed_program_completely(tmp_path):
    collector = start_collector(tmp_path)
    program = start(tmp_path, "work(300_000)\nprint('done', flush=True)\nwork(10**9)")
    assert program.stdout.readline() == "done\n"
    program.kill()
    program.communicate()
    collector.finish()
    (path,) = trace_files(tmp_path)
    found = read_process(path)
    assert (found.problems, found.header.state) == ([], State.RECORDING)
    assert len(list(found.events())) >= expected(300_000)
    assert path.stat().st_size == HEADER_SIZE


def test_collector_killed_repeatedly_is_replaced_and_loses_no_record(tmp_path):
    program = start(tmp_path, "work(600_000)\ncore.stop()")
    for _ in range(4):
        collector = start_collector(tmp_path)
        before = packed_bytes(tmp_path)
        wait_for(lambda before=before: packed_bytes(tmp_path) > before or program.poll() is not None)
        collector.process.kill()
        collector.process.communicate()
    program.communicate()
    assert program.returncode == 0
    collect_now(tmp_path)
    (path,) = trace_files(tmp_path)
    assert len(events_of(path)) == expected(600_000)
    assert path.stat().st_size == HEADER_SIZE


def test_collector_compresses_each_forked_process_separately(tmp_path):
    collector = start_collector(tmp_path)
    program = start(
        tmp_path,
        """
children = []
for _ in range(3):
    work(60_000)
    child = os.fork()
    if not child:
        begin()
        threads = [threading.Thread(target=work, args=(20_000, 7)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
core.stop()
""",
    )
    program.communicate()
    assert program.returncode == 0
    collector.finish()
    counts = sorted(len(events_of(path)) for path in trace_files(tmp_path))
    assert counts == [4 * expected(20_000)] * 3 + [3 * expected(60_000)]
    assert {path.stat().st_size for path in trace_files(tmp_path)} == {HEADER_SIZE}


def test_collector_compresses_program_that_outlives_its_launcher(tmp_path):
    program = start(tmp_path, "work(100_000)\nprint('done', flush=True)\ninput()\nwork(100_000)\ncore.stop()")
    assert program.stdout.readline() == "done\n"
    collector = start_collector(tmp_path)
    collector.finish()  # returns, although the program still runs
    (path,) = trace_files(tmp_path)
    assert path.stat().st_size > HEADER_SIZE
    program.communicate("\n")
    wait_for(lambda: path.stat().st_size == HEADER_SIZE)  # another collector continues
    assert len(events_of(path)) == 2 * expected(100_000)


def test_collector_of_removed_folder_exits_silently(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    program = start(folder, "work(10)\nprint('done', flush=True)\ninput()")
    program.stdout.readline()
    collector = start_collector(folder)
    shutil.rmtree(folder)
    assert collector.process.wait() == 0
    program.communicate("\n")
    assert program.returncode == 0


def test_collector_ignores_signals_of_terminal_keys(tmp_path):
    program = start(tmp_path, "work(200_000)\nprint('done', flush=True)\ninput()\ncore.stop()")
    program.stdout.readline()
    collector = start_collector(tmp_path)
    wait_for(lambda: packed_bytes(tmp_path))
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        collector.process.send_signal(number)
    program.communicate("\n")
    collector.process.stdin.close()
    assert collector.process.wait() == 0
    (path,) = trace_files(tmp_path)
    assert path.stat().st_size == HEADER_SIZE


def test_collector_skips_files_of_another_machine_or_version(tmp_path):
    recording = Recording(_core, tmp_path)
    recording.chunks(3)
    _core.stop()
    data = bytearray(recording.path.read_bytes())
    foreign = tmp_path / "1-1.clew"
    length = data[256:260]
    data[256 : 260 + length[0]] = (22).to_bytes(4, "little") + b'{"boot_id": "another"}'
    foreign.write_bytes(data)
    older = tmp_path / "2-2.clew"
    data[8] = 1
    older.write_bytes(data)
    collect_now(tmp_path)
    assert [path.stat().st_size > HEADER_SIZE for path in (recording.path, foreign, older)] == [False, True, True]


def test_collector_on_full_disk_leaves_trace_unchanged(tmp_path, monkeypatch):
    recording = Recording(_core, tmp_path)
    recording.chunks(3)
    _core.stop()
    before = recording.path.read_bytes()

    def refused(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", refused)
        assert collect_now(tmp_path) == Totals()
    assert recording.path.read_bytes() == before
    recording.check()
    assert collect_now(tmp_path).processes == 1
    recording.check()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Make a half-compressed trace file, and its compressed file."""
    folder = tmp_path_factory.mktemp("small")
    recording = Recording(_core, folder)
    recording.chunks(2)
    _core.define(Kind.STRING, 1, b"name")
    collect_now(folder)
    recording.chunks(1)
    _core.stop()
    data = recording.path.read_bytes()
    assert len(data) > 3 * CHUNK_SIZE
    return data, compressed_files(recording.path)[0].read_bytes(), recording.marks


def parse(data, packed):
    found = parse_process(data, "t.clew", [("t.clewz", packed)])
    assert len(found.problems) <= MAX_PROBLEMS + 1
    return [event.extension.key for event in found.events() if event.extension and event.kind is Kind.MARK]


@given(st.data())
@settings(max_examples=examples(150))
def test_damaged_trace_or_compressed_file_duplicates_no_record(small, data):
    raw, packed, marks = small
    assert parse(raw, packed) == list(range(marks))
    damaged = bytearray(packed)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    found = parse(raw, bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
    assert sorted(set(found)) == found
    assert set(found) <= set(range(marks))
    assert len(found) >= marks - 2 * CHUNK_MARKS
    torn = bytearray(raw)
    torn[data.draw(st.integers(0, len(torn) - 1))] ^= data.draw(st.integers(1, 255))
    parse(bytes(torn), packed)


QUOTA = 4 << 20


def run_with(folder, **fields):
    (folder / PLAN_FILE).write_text(dump(Plan(**fields)))


def test_collector_with_keep_newest_stays_within_quota(tmp_path):
    run_with(tmp_path, quota=QUOTA, keep="newest")
    recording = Recording(_core, tmp_path, QUOTA, keep_newest=True)
    for _ in range(30):
        recording.chunks(12, lambda: os.urandom(len(TEXT)))  # random bytes do not compress
        collect_now(tmp_path)
        size = recording.path.stat().st_blocks * 512 + packed_bytes(tmp_path)
        assert size <= QUOTA + HEADER_SIZE
    assert _core.active()
    found = read_process(recording.path)
    (problem,) = found.problems
    marks = [event.extension.key for event in found.events()]
    assert marks == list(range(marks[0], recording.marks))
    assert marks[0] > 0
    assert problem.lost == f"{marks[0]} records"
    assert problem.what.startswith(
        f"the oldest {marks[0]} records were dropped to stay within the quota; the recording is complete"
    )
    _core.stop()
    collect_now(tmp_path)
    again = read_process(recording.path)
    assert len(list(again.events())) == len(list(found.events()))
    assert [problem.what for problem in again.problems] == [problem.what]


def test_quota_counts_compressed_files(core, tmp_path, capfd):
    run_with(tmp_path, quota=QUOTA)
    recording = Recording(core, tmp_path, QUOTA)
    packed = raw = 0
    while core.active():
        for _ in range(15):
            core.emit(Kind.MARK, 5, 0, 0, os.urandom(4000))
        if core.active():
            collect_now(tmp_path)
            packed = packed_bytes(tmp_path)
            raw = recording.path.stat().st_blocks * 512
    assert "its quota of 3.9 MB is used up" in capfd.readouterr().err
    assert QUOTA * 0.7 < packed + raw < QUOTA * 1.3
    assert len(read_process(recording.path).problems) == 1


def test_collector_poll_of_empty_folder_does_nothing(tmp_path):
    collector = Collector(tmp_path)
    assert not collector.poll(ask=True)
    assert collector.live == 0


def test_reader_of_block_of_newer_format_reports_it_and_reads_the_rest(small):
    raw, packed, marks = small
    _, found = next(block.blocks(packed))
    head = block.HEAD.pack(block.MAGIC, block.VERSION + 1, found.kind, found.length, len(found.body), 0)[:-4]
    newer = head + struct.pack("<I", zlib.crc32(found.body, zlib.crc32(head))) + bytes(found.body)
    found = parse_process(raw, "t.clew", [("t.clewz", newer + packed)])
    says = f"compressed in format {block.VERSION + 1}, but this clew reads up to {block.VERSION}; upgrade clew"
    assert [(problem.what, problem.where) for problem in found.problems] == [(says, "t.clewz@0")]
    assert sum(event.kind is Kind.MARK for event in found.events()) == marks
