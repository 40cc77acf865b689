"""Live runs that are opened while they grow give the graph of a full build each time."""

import shutil
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.build import read_columns
from clew.graph.build.builder import build
from clew.graph.store.incremental_cache import GROWING_FOLDER
from clew.graph.store.store import load, open_graph
from clew.records.compress import block
from clew.records.compress.compressed_files import CompressedFiles
from clew.records.format import header as h
from clew.records.format.definition_records import define
from clew.records.format.event import Kind
from clew.records.read import reader
from clew.records.run.directory import STORE_FOLDER, compressed_files
from tests.support.examples import examples
from tests.support.runs.growing_runs import Growing, work

COLUMNS = ("ts", "kind", "site", "strand", "region", "call", "inner", "idle", "edge_src", "edge_dst", "edge_kind",
           "edge_channel")  # fmt: skip


def same(found, wanted):
    (graph, problems), (other, others) = found, wanted
    for name in COLUMNS:
        assert np.array_equal(getattr(graph, name), getattr(other, name)), name
    rows = np.flatnonzero(other.ext >= 0)
    assert np.array_equal(np.flatnonzero(graph.ext >= 0), rows)
    for name in ("key", "channel", "flags"):  # a stored graph renumbers them
        values, expected = getattr(graph.extensions, name), getattr(other.extensions, name)
        assert np.array_equal(values[graph.ext[rows]], expected[other.ext[rows]]), name
    assert [graph.text(row) for row in range(len(graph))] == [other.text(row) for row in range(len(other))]
    for name in ("strings", "sites", "strands", "processes", "machines", "counted", "lost"):
        assert getattr(graph, name) == getattr(other, name), name
    assert [problem.what for problem in problems] == [problem.what for problem in others]


def opened(folder):
    """Open the graph and check that it equals a full build."""
    found = open_graph(folder)
    same(found, build(folder))
    return found[0]


@pytest.fixture
def read(monkeypatch):
    """Return the list of numbers of bytes that are decoded."""
    found = []
    decode = read_columns.decode
    monkeypatch.setattr(read_columns, "decode", lambda extents: (found.append(extents.bytes), decode(extents))[1])
    return found


def cache_files(folder):
    place = folder / GROWING_FOLDER
    return {path.name: path.read_bytes() for path in place.iterdir()} if place.exists() else {}


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
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_open_after_any_growth_equals_full_build(new_run, script, keep_newest):
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


def test_open_of_growing_run_reads_only_new_records(run, read):
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


def test_open_of_growing_run_reads_only_new_definitions(run, monkeypatch):
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
    assert 0 < len(found) < 400  # the definitions of the uncompressed chunk, and the new ones
    opened(growing.folder)
    live.pack(h.ChunkState.IN_USE)
    growing.write()
    opened(growing.folder)


def test_open_after_drops_for_the_quota_removes_dropped_events(run, read):
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
    # Without further drops, no record is read again.
    work(thread, 1)
    growing.write()
    read.clear()
    open_graph(growing.folder)
    assert 0 < sum(read) < 10_000


def test_open_of_finished_run_leaves_only_its_store(run):
    growing = Growing(run)
    work(growing.start().process.thread(), 20)
    growing.finish()
    opened(growing.folder)
    assert not (growing.folder / GROWING_FOLDER).exists()
    assert (growing.folder / STORE_FOLDER).exists()


def test_open_of_growing_run_many_times_leaves_few_files(run):
    growing = Growing(run)
    thread = growing.start().process.thread()
    for number in range(40):
        work(thread, 1 + number % 3)
        growing.write()
        open_graph(growing.folder)
        assert len(cache_files(growing.folder)) <= 6
    opened(growing.folder)


def grown(run):
    """Return a live run that was opened twice and has grown since."""
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


def test_open_with_any_damage_in_the_cache_gives_the_right_graph(run):
    growing = grown(run)
    place = growing.folder / GROWING_FOLDER
    files = cache_files(growing.folder)
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


def test_open_after_read_records_changed_reads_them_again(run, read):
    growing = grown(run)
    live = growing.lives[0]
    opened(growing.folder)
    # Change a number in one record of a chunk, which a recorder never does.
    slot = next(slot for slot in live.slots if slot.data and h.CHUNK_HEADER.unpack(slot.head)[1] == h.ChunkKind.EVENTS)
    for at in (4, len(slot.data) // 2 // 16 * 16 + 4):
        slot.data = slot.data[:at] + bytes([slot.data[at] ^ 1]) + slot.data[at + 1 :]
        live.write(run.info.started)
        opened(growing.folder)
        for thread in live.process.threads.values():
            work(thread, 1)
        growing.write()
        opened(growing.folder)
    # Complete compressed blocks: fewer records, then more and other numbers.
    chunks = [each.decompress() for path in compressed_files(live.path) for _, each in block.blocks(path.read_bytes())]
    for change in (
        lambda chunk: chunk[:80].ljust(len(chunk), b"\0"),
        lambda chunk: chunk[:68] + bytes([chunk[68] ^ 1]) + chunk[69:],
    ):
        for path in compressed_files(live.path):
            path.unlink()
        live.packed = CompressedFiles(live.path)
        for chunk in chunks:
            live.packed.append(change(chunk) if chunk[4] == h.ChunkKind.EVENTS else chunk)
        opened(growing.folder)
        for thread in live.process.threads.values():
            work(thread, 1)
        growing.write()
        opened(growing.folder)


def test_open_removes_files_of_a_killed_writer(run):
    growing = grown(run)
    place = growing.folder / GROWING_FOLDER
    for name in ("7.columns", "state.part"):
        (place / name).write_bytes(b"half")
    opened(growing.folder)
    assert {"7.columns", "state.part"}.isdisjoint(cache_files(growing.folder)) or (
        place / "7.columns"
    ).read_bytes() != b"half"


def test_open_in_several_threads_gives_the_same_graph(run):
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


def test_open_without_a_writable_cache_works(run):
    growing = Growing(run)
    (growing.folder / GROWING_FOLDER).write_text("in the way")
    work(growing.start().process.thread(), 20)
    for _ in range(2):
        growing.write()
        opened(growing.folder)


def test_open_that_is_stopped_while_reading_leaves_the_cache_unchanged(run):
    growing = grown(run)
    before = cache_files(growing.folder)

    def stop(name, _done, _size):
        if name == "the records":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        open_graph(growing.folder, stop)
    assert cache_files(growing.folder) == before
    opened(growing.folder)


def test_open_of_finished_run_removes_leftover_cache(run):
    growing = grown(run)
    files = cache_files(growing.folder)
    growing.finish()
    open_graph(growing.folder)
    (growing.folder / GROWING_FOLDER).mkdir()
    for name, data in files.items():
        (growing.folder / GROWING_FOLDER / name).write_bytes(data)
    opened(growing.folder)
    assert not (growing.folder / GROWING_FOLDER).exists()
