"""At the quota the oldest events are dropped for new ones, with a collector, without one, and with a stopped one.

Invariant: remaining records are unchanged, every gap is marked, and remaining and dropped records add up to all records.
"""

import os
import random
import signal
import threading
import time

import pytest

from clew.graph.build.builder import build
from clew.instrument.recorder import _core
from clew.records.collector import process_file
from clew.records.collector.launch import start_collector
from clew.records.collector.main import Collector, collect_now
from clew.records.format.event import Kind
from clew.records.format.header import CHUNK_SIZE, HEADER_SIZE, State
from clew.records.plan.plan import Plan, dump
from clew.records.read import reader, trace_chunks
from clew.records.read.reader import read_process
from clew.records.run.directory import PLAN_FILE, RunInfo, compressed_files, save_run

QUOTA = 2 << 20
CHUNKS = QUOTA // CHUNK_SIZE
SITE = b'{"id": 5, "module": "m", "qualname": "f", "file": "m.py", "line": 1, "end_line": 2, "kind": "function"}'


@pytest.fixture(autouse=True)
def stopped():
    yield
    _core.stop()


@pytest.fixture(params=["c"])
def core(request):
    return _core


class Recording:
    """Records numbered marks whose text follows from the number, about 19 to a chunk."""

    def __init__(self, core, folder, quota=QUOTA):
        (folder / PLAN_FILE).write_text(dump(Plan(quota=quota, keep="newest")))
        self.core, self.folder, self.quota = core, folder, quota
        self.path = folder / f"{os.getpid()}-{core.uid():016x}.clew"
        core.start(str(self.path), b"{}", 0, quota, 0.0, keep_newest=True)
        core.define(Kind.SITE, 5, SITE)
        core.define(Kind.STRING, 3, b"three")
        self.marks = 0
        self.random = random.Random(7)

    def text(self, number):
        return f"{number}:{random.Random(number).randbytes(1700).hex()}"

    def chunk(self, count=1):
        """Fill about `count` chunks."""
        for _ in range(19 * count):
            self.core.emit(Kind.MARK, 5, self.marks, 0, self.text(self.marks).encode())
            self.marks += 1

    def used(self):
        return self.path.stat().st_blocks * 512 + sum(path.stat().st_size for path in compressed_files(self.path))

    def remaining(self, found=None):
        """Return the numbers of the remaining marks, after checking that each is complete and every gap is marked."""
        found = read_process(self.path) if found is None else found
        numbers, gap = [], True
        for event in found.events():
            if event.kind is Kind.GAP:
                gap = True
                continue
            number = event.extension.key
            assert event.extension.text == self.text(number)
            if not gap:
                assert number == numbers[-1] + 1
            elif numbers:
                assert number > numbers[-1] + 1
            numbers.append(number)
            gap = False
        return numbers

    def lost(self, found):
        (problem,) = found.problems
        assert "were dropped to stay within the quota; the recording is complete from" in problem.what
        return int(problem.lost.split()[0])


def definitions(found):
    return {site: info.qualname for site, info in found.sites.items()}, found.strings


def test_keep_newest_without_collector_drops_oldest_chunks(core, tmp_path, capfd):
    recording = Recording(core, tmp_path)
    recording.chunk(4 * CHUNKS)
    assert core.active()
    assert recording.used() <= QUOTA
    found = read_process(recording.path)
    remaining = recording.remaining(found)
    assert remaining == list(range(remaining[0], recording.marks))
    assert len(remaining) > 19 * (CHUNKS - 4)
    assert recording.lost(found) == remaining[0]
    core.stop()
    collect_now(tmp_path)
    found = read_process(recording.path)
    assert recording.remaining(found) == remaining[-len(recording.remaining(found)) :]
    assert len(recording.remaining(found)) + recording.lost(found) == recording.marks
    assert (found.header.state, definitions(found)) == (State.CLOSED, ({5: "f"}, {3: "three"}))
    assert capfd.readouterr().err == ""


def test_keep_newest_never_drops_definitions(core, tmp_path):
    recording = Recording(core, tmp_path)
    for number in range(100, 1000):
        core.define(Kind.STRING, number, b"name %d" % number + b"." * 200)
        if number % 9 == 0:
            recording.chunk()
    found = read_process(recording.path)
    assert found.strings == {3: "three"} | {n: f"name {n}" + "." * 200 for n in range(100, 1000)}
    assert len(recording.remaining(found)) + recording.lost(found) == recording.marks


def test_keep_newest_stops_if_definitions_fill_the_quota(core, tmp_path, capfd):
    recording = Recording(core, tmp_path)
    number = 100
    while core.active():
        core.define(Kind.STRING, number, bytes(4000))
        number += 1
    assert "its quota of 1.9 MB is used up" in capfd.readouterr().err
    assert recording.used() <= QUOTA
    assert len(read_process(recording.path).strings) >= 15 * (CHUNKS - 1)


def test_keep_newest_retains_newest_records_of_each_thread(core, tmp_path):
    recording = Recording(core, tmp_path, 3 * QUOTA)
    counts = dict.fromkeys(range(4), 0)

    def work(name):
        for number in range(3 * 19 * CHUNKS):
            core.emit(Kind.MARK, 5, name << 32 | number, 0, bytes(3400))
            counts[name] += 1

    threads = [threading.Thread(target=work, args=(name,)) for name in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read_process(recording.path)
    numbers = {name: [] for name in counts}
    for event in found.events():
        assert event.kind is Kind.MARK
        numbers[event.extension.key >> 32].append(event.extension.key & 0xFFFF_FFFF)
    for name, remaining in numbers.items():
        assert remaining == list(range(counts[name] - len(remaining), counts[name]))
    assert sum(map(len, numbers.values())) + recording.lost(found) == sum(counts.values())
    assert recording.used() <= 3 * QUOTA


@pytest.mark.parametrize("at", [0, 1, 3])
def test_keep_newest_does_not_reuse_chunk_being_compressed(core, tmp_path, monkeypatch, at):
    recording = Recording(core, tmp_path)
    recording.chunk(CHUNKS // 2)
    collector = Collector(tmp_path)
    compress, left = process_file.TraceFile._compress, [at]

    def slow(self, slot, key):
        left[0] -= 1
        if left[0] == -1:
            recording.chunk(3 * CHUNKS)
        compress(self, slot, key)

    monkeypatch.setattr(process_file.TraceFile, "_compress", slow)
    collector.poll()
    assert recording.used() <= QUOTA
    found = read_process(recording.path)
    remaining = recording.remaining(found)
    assert len(remaining) + recording.lost(found) == recording.marks
    # Chunks compressed before are in front of the gap, and so is the chunk being compressed, if it fits.
    assert remaining[0] == 0
    assert 17 * max(at, 1) <= next(n for n in range(recording.marks) if n not in set(remaining)) <= 21 * (at + 1)
    recording.chunk(3)
    collector.poll()
    recording.chunk(3)
    assert recording.used() <= QUOTA
    collector.close()
    core.stop()
    collect_now(tmp_path)
    found = read_process(recording.path)
    assert len(recording.remaining(found)) + recording.lost(found) == recording.marks


def wait_for(condition):
    while not condition():
        time.sleep(0.005)


def collecting(recording):
    collector = start_collector(recording.folder)
    recording.chunk(3)
    wait_for(lambda: compressed_files(recording.path))
    return collector


def test_keep_newest_with_stopped_collector_continues_recording(core, tmp_path, capfd):
    recording = Recording(core, tmp_path)
    collector = collecting(recording)
    collector.process.send_signal(signal.SIGSTOP)
    recording.chunk(4 * CHUNKS)
    assert core.active()
    assert recording.used() <= QUOTA
    found = read_process(recording.path)
    remaining = recording.remaining(found)
    assert (remaining[0], remaining[-1]) == (0, recording.marks - 1)
    assert len(remaining) + recording.lost(found) == recording.marks
    collector.process.send_signal(signal.SIGCONT)
    recording.chunk(CHUNKS)
    core.stop()
    collector.process.stdin.close()
    collector.process.wait()
    found = read_process(recording.path)
    assert len(recording.remaining(found)) + recording.lost(found) == recording.marks
    assert definitions(found) == ({5: "f"}, {3: "three"})
    assert recording.path.stat().st_size == HEADER_SIZE
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("seed", range(3))
def test_keep_newest_with_interrupted_collector_counts_dropped_records(core, tmp_path, seed):
    recording = Recording(core, tmp_path)
    collector = collecting(recording)
    chance = random.Random(seed)
    for _ in range(12):
        collector.process.send_signal(chance.choice([signal.SIGSTOP, signal.SIGCONT]))
        recording.chunk(chance.randrange(1, CHUNKS))
        assert core.active()
        recording.remaining()
    collector.process.send_signal(signal.SIGCONT)
    core.stop()
    collector.process.stdin.close()
    collector.process.wait()
    found = read_process(recording.path)
    remaining = recording.remaining(found)
    assert len(remaining) + recording.lost(found) == recording.marks
    assert remaining[-1] == recording.marks - 1


@pytest.mark.parametrize("part", [3, 6, 40, 60])
def test_keep_newest_chunk_dropped_while_read_is_a_gap(core, tmp_path, monkeypatch, part):
    monkeypatch.setattr(reader, "_CACHE_BYTES", 0)
    recording = Recording(core, tmp_path)
    recording.chunk(CHUNKS + 3)
    left, read = [part], trace_chunks.OnDisk.part

    def slow(self, offset, length):
        left[0] -= 1
        if left[0] == 0:
            recording.chunk(CHUNKS // 2)
        return read(self, offset, length)

    monkeypatch.setattr(trace_chunks.OnDisk, "part", slow)
    found = read_process(recording.path)
    assert left[0] < 0
    before = recording.remaining(found)
    recording.chunk(CHUNKS // 3)
    assert set(recording.remaining(found)) < set(before)


def test_keep_newest_gap_ends_calls_from_before_it(core, tmp_path):
    """`f` is called before the gap and ends in it; after the gap, `f` is called again."""
    save_run(tmp_path, RunInfo("r", "r", ["x"], "", "", "", 0))
    recording = Recording(core, tmp_path)
    enter, leave = core.Probe(5, Kind.ENTER), core.Probe(5, Kind.EXIT)
    ~enter
    recording.chunk(3)
    collect_now(tmp_path)
    ~leave
    recording.chunk(3 * CHUNKS)
    ~enter
    recording.chunk(2)
    ~leave
    core.stop()
    graph, _ = build(tmp_path)
    gaps = [event for event in range(len(graph.ts)) if graph.kind[event] == Kind.GAP]
    assert len(gaps) == 1
    calls = graph.calls
    assert len(calls.enter) == 2
    assert (calls.exit[0], calls.caller[1]) == (-1, -1)
    assert calls.exit[1] > calls.enter[1] > gaps[0]
    marks = [event for event in range(len(graph.ts)) if graph.kind[event] == Kind.MARK]
    inside = [event for event in marks if graph.ts[calls.enter[1]] < graph.ts[event] < graph.ts[calls.exit[1]]]
    assert len(inside) == 38
    after = [event for event in marks if graph.ts[gaps[0]] < graph.ts[event] < graph.ts[calls.enter[1]]]
    assert after
    assert all(graph.call[event] == -1 for event in after)
