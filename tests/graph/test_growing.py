"""Runs that are opened while they grow: each graph is the one that is built from nothing."""

import shutil
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph import reading
from clew.graph.build import build
from clew.graph.growing import GROWING_FOLDER
from clew.graph.store import load, open_graph
from clew.records import header as h
from clew.records import pack, reader
from clew.records.definitions import define
from clew.records.event import Kind, pack_extension, pack_word
from clew.records.packed import PackedFiles
from clew.records.run import STORE_FOLDER, finish_run, packed_files

START = 1_000_000_000
ROOM = h.CHUNK_SIZE - h.CHUNK_HEADER_SIZE


@dataclass
class Slot:
    """A chunk's place in a trace file."""

    head: bytes = b""
    data: bytes = b""
    state: h.ChunkState = h.ChunkState.FREE


@dataclass
class Live:
    """A process that records while a collector packs, both by the format's definition."""

    folder: object
    process: object
    droppable: bool = False
    slots: list = field(default_factory=list)
    of: dict = field(default_factory=dict)
    """By kind and serial: the chunk it writes to, how many it had, and how many of its records are written."""
    claimed: int = 0
    over: bool = False

    def __post_init__(self):
        self.path = self.folder / f"{self.process.pid}-{self.process.pid * 7919:016x}.clew"
        self.packed = PackedFiles(self.path, 150, droppable=self.droppable)

    def definitions(self):
        for kind, key, text in self.process.definitions:
            extension = pack_extension(key, 0, text.encode())
            yield (
                START.to_bytes(8, "little") + pack_word(kind, 0, len(extension) // 16).to_bytes(8, "little") + extension
            )

    def record(self):
        """What was recorded since comes into chunks."""
        self._into(h.ChunkKind.DEFINITIONS, 0, list(self.definitions()))
        for thread in self.process.threads.values():
            self._into(h.ChunkKind.EVENTS, thread.serial, thread.records)

    def _into(self, kind, serial, records):
        slot, number, written = self.of.get((kind, serial), (None, 0, 0))
        for record in records[written:]:
            if slot is None or len(slot.data) + len(record) > ROOM:
                if slot is not None:
                    slot.state = h.ChunkState.FINISHED
                slot = next((one for one in self.slots if one.state == h.ChunkState.FREE), None)
                if slot is None:
                    slot = Slot()
                    self.slots.append(slot)
                self.claimed += 1
                head = h.CHUNK_HEADER.pack(
                    h.CHUNK_MAGIC, kind, 0, 100 + serial, serial, number, START + self.claimed, START + self.claimed
                )
                slot.head, slot.data, slot.state = head, b"", h.ChunkState.IN_USE
                number += 1
            slot.data += record
        self.of[kind, serial] = slot, number, len(records)

    def chunk(self, slot):
        head = slot.head.ljust(h.CHUNK_STATE_OFFSET, b"\0") + int(slot.state).to_bytes(4, "little")
        return (head.ljust(h.CHUNK_HEADER_SIZE, b"\0") + slot.data).ljust(h.CHUNK_SIZE, b"\0")

    def pack(self, *states):
        """The finished chunks, oldest first; their places are free then."""
        finished = [slot for slot in self.slots if slot.state in (states or (h.ChunkState.FINISHED,))]
        for slot in sorted(finished, key=lambda slot: h.CHUNK_HEADER.unpack(slot.head)[6]):
            self.packed.append(self.chunk(slot))
            slot.data, slot.state = b"", h.ChunkState.FREE

    def drop(self):
        self.packed.drop_oldest()

    def end(self):
        self.pack(h.ChunkState.IN_USE, h.ChunkState.FINISHED)
        self.over, self.slots = True, []

    def write(self, wall):
        page = bytearray(self.process.to_bytes(wall)[: h.HEADER_SIZE])
        page[h.STATE_OFFSET] = h.State.CLOSED if self.over else h.State.RECORDING
        page[h.FLAGS_OFFSET] = h.FLAG_PACKED if self.over else 0
        chunks = self.packed.chunks if self.over else len(self.slots)
        page[h.CHUNKS_OFFSET : h.CHUNKS_OFFSET + 8] = chunks.to_bytes(8, "little")
        part = self.path.with_suffix(".part")
        part.write_bytes(bytes(page) + b"".join(map(self.chunk, self.slots)))
        part.replace(self.path)


class Growing:
    """A run of such processes."""

    def __init__(self, run, keep_newest=False):
        self.run, self.keep_newest, self.lives = run, keep_newest, []

    @property
    def folder(self):
        return self.run.folder

    def start(self):
        self.lives.append(Live(self.folder, self.run.process(), self.keep_newest))
        return self.lives[-1]

    def write(self):
        for live in self.lives:
            if not live.over:
                live.record()
            live.write(self.run.info.started)

    def finish(self):
        for live in self.lives:
            live.record()
            live.end()
            live.write(self.run.info.started)
        finish_run(self.folder, self.run.info, 0, [])


COLUMNS = ("ts", "kind", "site", "strand", "region", "call", "inner", "idle", "edge_src", "edge_dst", "edge_kind",
           "edge_channel")  # fmt: skip


def same(found, wanted):
    (graph, problems), (other, others) = found, wanted
    for name in COLUMNS:
        assert np.array_equal(getattr(graph, name), getattr(other, name)), name
    rows = np.flatnonzero(other.ext >= 0)
    assert np.array_equal(np.flatnonzero(graph.ext >= 0), rows)
    for name in ("key", "channel", "flags"):  # a stored graph numbers them anew
        values, expected = getattr(graph.extensions, name), getattr(other.extensions, name)
        assert np.array_equal(values[graph.ext[rows]], expected[other.ext[rows]]), name
    assert [graph.text(row) for row in range(len(graph))] == [other.text(row) for row in range(len(other))]
    for name in ("strings", "sites", "strands", "processes", "machines", "counted", "lost"):
        assert getattr(graph, name) == getattr(other, name), name
    assert [problem.what for problem in problems] == [problem.what for problem in others]


def opened(folder):
    """The graph, after it was found equal to the one that is built from nothing."""
    found = open_graph(folder)
    same(found, build(folder))
    return found[0]


@pytest.fixture
def read(monkeypatch):
    """How many bytes of records are decoded."""
    found = []
    decode = reading.decode
    monkeypatch.setattr(reading, "decode", lambda extents: (found.append(extents.bytes), decode(extents))[1])
    return found


def kept(folder):
    place = folder / GROWING_FOLDER
    return {path.name: path.read_bytes() for path in place.iterdir()} if place.exists() else {}


def work(thread, number, size=10):
    for _ in range(number):
        thread.enter("f").log("x" * size).exit("f")


steps = st.lists(
    st.tuples(
        st.sampled_from(["work", "task", "message", "gap", "thread", "process", "pack", "drop", "open", "end"]),
        st.integers(0, 5),
        st.integers(1, 12),
    ),
    min_size=3,
    max_size=25,
)


@given(steps, st.booleans())
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_grows_between_two_looks_the_graph_is_the_one_built_from_nothing(new_run, script, keep_newest):
    growing = Growing(new_run(), keep_newest)
    threads = [growing.start().process.thread()]
    for what, which, count in script:
        live = growing.lives[which % len(growing.lives)]
        mine = [thread for thread in threads if thread.process is live.process]
        thread = mine[which % len(mine)]
        if live.over:
            continue
        if what == "work":
            work(thread, 3 * count, 3900)
        elif what == "task":
            for number in range(count):
                thread.step(f"task {number % 3}").enter(
                    "g",
                ).log("y" * 500).exit("g").stop(f"task {(number + which) % 3}")
        elif what == "message":
            thread.send(count)
            threads[count % len(threads)].receive(which)
        elif what == "gap":
            thread.put(Kind.GAP, 0, key=count, text="lost")
        elif what == "thread":
            threads.append(live.process.thread(f"worker-{len(threads)}"))
        elif what == "process":
            threads.append(growing.start().process.thread())
        elif what == "pack":
            growing.write()
            live.pack()
        elif what == "drop" and keep_newest:
            live.drop()
        elif what == "open":
            growing.write()
            opened(growing.folder)
        elif what == "end" and len(growing.lives) > 1:
            growing.write()
            live.end()
    growing.write()
    opened(growing.folder)
    growing.finish()
    opened(growing.folder)
    assert not (growing.folder / GROWING_FOLDER).exists()
    same(load(growing.folder), build(growing.folder))


def test_only_what_was_added_is_read(run, read):
    growing = Growing(run)
    live = growing.start()
    thread, other = live.process.thread(), live.process.thread("other")
    work(thread, 100, 2000)
    work(other, 5)
    growing.write()
    opened(growing.folder)
    whole = read[0]
    for packs in (False, True, True, False):
        if packs:
            live.pack()
        read.clear()
        work(thread, 1)
        growing.write()
        open_graph(growing.folder)
        assert 0 < sum(read) < whole / 50
        opened(growing.folder)
    read.clear()
    opened(growing.folder)
    assert sum(read[:2]) == 0
    growing.finish()
    read.clear()
    open_graph(growing.folder)
    assert sum(read) == 0


def test_definitions_that_were_read_are_not_read_again(run, monkeypatch):
    growing = Growing(run)
    live = growing.start()
    thread = live.process.thread()
    for number in range(1000):
        thread.step(f"task {number} {'x' * 200}").enter(f"f{number % 7}").stop(f"task {number} {'x' * 200}")
    growing.write()
    live.pack()
    growing.write()
    opened(growing.folder)
    found = []
    monkeypatch.setattr(reader, "define", lambda *what: (found.append(what), define(*what))[1])
    thread.step("one more").enter("one more").stop("one more")
    live.process.thread("later")
    growing.write()
    open_graph(growing.folder)
    assert 0 < len(found) < 400  # those of the chunk that was not packed, and the new ones
    opened(growing.folder)
    live.pack(h.ChunkState.IN_USE)
    growing.write()
    opened(growing.folder)


def test_what_is_dropped_for_the_quota_goes_from_the_graph_too(run, read):
    growing = Growing(run, keep_newest=True)
    live = growing.start()
    thread = live.process.thread()
    sizes = []
    for _ in range(6):
        work(thread, 60, 3900)
        growing.write()
        live.pack()
        if len(sizes) > 2:
            live.drop()
        growing.write()
        sizes.append(len(opened(growing.folder)))
    assert sizes[:3] == sorted(sizes[:3])
    assert sizes[3] < sizes[2] + 180
    # Where nothing more is dropped, nothing is read again.
    work(thread, 1)
    growing.write()
    read.clear()
    open_graph(growing.folder)
    assert 0 < sum(read) < 10_000


def test_a_run_that_is_over_is_read_without_leaving_anything_but_its_store(run):
    growing = Growing(run)
    work(growing.start().process.thread(), 20)
    growing.finish()
    opened(growing.folder)
    assert not (growing.folder / GROWING_FOLDER).exists()
    assert (growing.folder / STORE_FOLDER).exists()


def test_there_are_few_files_however_often_a_run_is_opened(run):
    growing = Growing(run)
    thread = growing.start().process.thread()
    for number in range(40):
        work(thread, 1 + number % 3)
        growing.write()
        open_graph(growing.folder)
        assert len(kept(growing.folder)) <= 6
    opened(growing.folder)


def grown(run):
    """A run that was opened twice, and has grown since."""
    growing = Growing(run)
    live = growing.start()
    thread, other = live.process.thread(), live.process.thread("other")
    for _ in range(2):
        work(thread, 30, 3000)
        thread.step("task").send("a").stop("task")
        other.receive("a")
        growing.write()
        live.pack()
        growing.write()
        opened(growing.folder)
    work(thread, 1)
    growing.write()
    return growing


def test_whatever_of_it_is_damaged_the_graph_is_right(run):
    growing = grown(run)
    place = growing.folder / GROWING_FOLDER
    files = kept(growing.folder)
    for name, data in files.items():
        for at in (0, len(data) // 3, len(data) // 2, len(data) - 1):
            for damaged in (data[:at], data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :], data + b"\0"):
                (place / name).write_bytes(damaged)
                opened(growing.folder)
                shutil.rmtree(place)
                place.mkdir()
                for other, content in files.items():
                    (place / other).write_bytes(content)
        (place / name).unlink()
        opened(growing.folder)
        for other, content in files.items():
            (place / other).write_bytes(content)


def test_records_that_were_read_and_are_others_now_are_read_anew(run, read):
    growing = grown(run)
    live = growing.lives[0]
    opened(growing.folder)
    # The same chunk with another number in one of its records, as a recorder never makes it.
    slot = next(slot for slot in live.slots if slot.data and h.CHUNK_HEADER.unpack(slot.head)[1] == h.ChunkKind.EVENTS)
    for at in (4, len(slot.data) // 2 // 16 * 16 + 4):
        slot.data = slot.data[:at] + bytes([slot.data[at] ^ 1]) + slot.data[at + 1 :]
        live.write(run.info.started)
        opened(growing.folder)
        for thread in live.process.threads.values():
            work(thread, 1)
        growing.write()
        opened(growing.folder)
    # Packed ones, in frames that are whole: fewer records, then more and other numbers.
    chunks = [frame.unpack() for path in packed_files(live.path) for _, frame in pack.frames(path.read_bytes())]
    for change in (
        lambda chunk: chunk[:80].ljust(len(chunk), b"\0"),
        lambda chunk: chunk[:68] + bytes([chunk[68] ^ 1]) + chunk[69:],
    ):
        for path in packed_files(live.path):
            path.unlink()
        live.packed = PackedFiles(live.path)
        for chunk in chunks:
            live.packed.append(change(chunk) if chunk[4] == h.ChunkKind.EVENTS else chunk)
        opened(growing.folder)
        for thread in live.process.threads.values():
            work(thread, 1)
        growing.write()
        opened(growing.folder)


def test_what_a_killed_writer_leaves_is_removed(run):
    growing = grown(run)
    place = growing.folder / GROWING_FOLDER
    for name in ("7.columns", "state.part"):
        (place / name).write_bytes(b"half")
    opened(growing.folder)
    assert {"7.columns", "state.part"}.isdisjoint(kept(growing.folder)) or (place / "7.columns").read_bytes() != b"half"


def test_two_at_once_get_the_same_graph(run):
    growing = grown(run)
    expected = build(growing.folder)
    found = []
    for _ in range(3):
        openers = [threading.Thread(target=lambda: found.append(open_graph(growing.folder))) for _ in range(3)]
        for opener in openers:
            opener.start()
        for opener in openers:
            opener.join()
    assert len(found) == 9
    for one in found:
        same(one, expected)


def test_where_nothing_can_be_kept_the_run_is_opened_all_the_same(run):
    growing = Growing(run)
    (growing.folder / GROWING_FOLDER).write_text("in the way")
    work(growing.start().process.thread(), 20)
    for _ in range(2):
        growing.write()
        opened(growing.folder)


def test_who_is_stopped_while_it_reads_leaves_what_was_there(run):
    growing = grown(run)
    before = kept(growing.folder)

    def stop(name, _done, _size):
        if name == "what was recorded":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        open_graph(growing.folder, stop)
    assert kept(growing.folder) == before
    opened(growing.folder)


def test_a_run_that_was_left_behind_goes_with_the_next_look_at_the_store(run):
    growing = grown(run)
    files = kept(growing.folder)
    growing.finish()
    open_graph(growing.folder)
    (growing.folder / GROWING_FOLDER).mkdir()
    for name, data in files.items():
        (growing.folder / GROWING_FOLDER / name).write_bytes(data)
    opened(growing.folder)
    assert not (growing.folder / GROWING_FOLDER).exists()
