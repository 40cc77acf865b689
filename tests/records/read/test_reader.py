"""The reader returns all complete records of any bytes, and problems that describe the rest."""

import json
import os
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.instrument.recorder import _core as recorder
from clew.records.errors import Problem
from clew.records.format import event, header
from clew.records.format.event import Kind, SiteInfo
from clew.records.format.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE, ChunkKind, State
from clew.records.read.process_records import Note, StrandInfo
from clew.records.read.reader import MAX_PROBLEMS, parse_process, read_process, read_run
from clew.records.run.directory import create_run
from tests.support.examples import examples


class Builder:
    """Writes trace files byte by byte, following the format's document instead of the recorder's code."""

    def __init__(self, **fields):
        values = {
            "magic": header.MAGIC, "version": header.VERSION, "header_size": HEADER_SIZE, "chunk_size": CHUNK_SIZE, "pid": 10,
            "parent_pid": 9, "clock": 2, "state": State.CLOSED, "flags": 0, "reserved": 0, "start_ticks": 100,
            "start_monotonic_ns": 100, "start_wall_ns": 5, "last_ticks": 900, "last_monotonic_ns": 900, "chunks": 0,
            "dropped": 0, "uid": 77, "parent_uid": 0,
        }  # fmt: skip
        self.values = values | fields
        self.info = json.dumps({"host": "h", "boot_id": "b"}).encode()
        self.chunks = []
        self.numbers = {}

    def chunk(self, data, kind=ChunkKind.EVENTS, serial=1, number=None, magic=header.CHUNK_MAGIC):
        if number is None:
            number = self.numbers.get((kind, serial), 0)
        self.numbers[kind, serial] = number + 1
        head = struct.pack("<IHHQIIQQ24x", magic, kind, 0, 4000 + serial, serial, number, 200, 200)
        assert len(head + data) <= CHUNK_SIZE
        self.chunks.append((head + data).ljust(CHUNK_SIZE, b"\0"))
        return self

    def definitions(self, *entries):
        return self.chunk(
            b"".join(record(1, kind, 0, key, 0, text) for kind, key, text in entries), ChunkKind.DEFINITIONS, 0
        )

    def bytes(self):
        values = self.values | {"chunks": self.values["chunks"] or len(self.chunks)}
        head = struct.pack("<8sHHIIIBBHIQQQQQQQQQ", *values.values())
        page = head.ljust(256, b"\0") + struct.pack("<I", len(self.info)) + self.info
        return page.ljust(HEADER_SIZE, b"\0") + b"".join(self.chunks)


def record(ticks, kind, site=0, key=None, channel=0, text=b""):
    if key is None:
        return struct.pack("<QQ", ticks, kind | site << 32)
    slots = 1 + -(-len(text) // 16)
    return struct.pack("<QQHHIQ", ticks, kind | slots << 8 | site << 32, len(text), 0, channel, key) + text.ljust(
        (slots - 1) * 16, b"\0"
    )


def plain(count, first=1):
    return b"".join(record(tick, Kind.ENTER, 5) for tick in range(first, first + count))


def parse(builder):
    return parse_process(builder.bytes(), "t.clew")


def ticks(process, serial=1):
    return [found.ticks for found in process.events(serial)]


def what(process):
    return [problem.what for problem in process.problems]


def test_reader_reads_records_of_all_kinds_as_written():
    data = plain(3) + record(4, Kind.SEND, 6, 2**64 - 1, 7, "tëxt".encode()) + record(5, Kind.EXIT, 5)
    process = parse(Builder().chunk(data))
    assert process.problems == []
    events = list(process.events())
    assert [e[:5] for e in events[:3]] == [(1, tick, Kind.ENTER, 5, 0) for tick in (1, 2, 3)]
    assert events[3].extension == (2**64 - 1, 7, "tëxt", 0)
    assert [bytes(extent) for extent in process.threads[1].extents] == [data]
    assert process.threads[1].native_id == 4001


def test_reader_decodes_definitions():
    builder = Builder().definitions(
        (Kind.SITE, 5, json.dumps({"id": 5, "module": "m", "qualname": "q", "file": "/f", "line": 1, "end_line": 2,
                                   "kind": "function", "rule": 3}).encode()),
        (Kind.STRING, 1, b"one"),
        (Kind.STRING, 1, b"uno"),
        (Kind.THREAD, 1, b'{"name": "Main", "native_id": 8, "daemon": true}'),
        (Kind.STRAND, 9, b'{"kind": "task", "name": "Task-1", "thread": 1}'),
        (Kind.NOTE, 0, b"a note"),
        (Kind.NOTE, 0, b"a note"),
        (Kind.NOTE, 5, b"another"),
    )  # fmt: skip
    process = parse(builder)
    assert process.problems == []
    assert process.sites == {5: SiteInfo(5, "m", "q", "/f", 1, 2, "function", 3)}
    assert process.strings == {1: "uno"}
    assert (process.threads[1].name, process.threads[1].native_id, process.threads[1].daemon) == ("Main", 8, True)
    assert process.strands == {9: StrandInfo("task", "Task-1", 1)}
    assert process.notes == [Note(0, "a note"), Note(5, "another")]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b'{"line": "x"}', b'{"name": 3}', b"[" * 4000, b"\xff\xfe"])
@pytest.mark.parametrize("kind", [Kind.SITE, Kind.THREAD, Kind.STRAND, 99])
def test_reader_invalid_definition_loses_only_itself(kind, text):
    process = parse(Builder().definitions((Kind.STRING, 1, b"one"), (kind, 3, text), (Kind.STRING, 2, b"two")))
    assert process.strings == {1: "one", 2: "two"}
    assert not process.problems or f"kind {int(kind)} cannot be understood" in what(process)[0]


def test_reader_joins_chunks_of_a_thread_in_order():
    builder = Builder().chunk(plain(3, 7), number=1).chunk(plain(2), serial=2).chunk(plain(3), number=0)
    process = parse(builder)
    assert process.problems == []
    assert ticks(process) == [1, 2, 3, 7, 8, 9]
    assert ticks(process, 2) == [1, 2]


def test_reader_torn_record_ends_its_chunk():
    for torn in (
        record(0, Kind.EXIT, 5),
        record(0, Kind.SEND, 5, 3, 1, b"half a te"),
        b"\0" * 16 + b"\1" * 40,
    ):
        process = parse(Builder().chunk(plain(3) + torn).chunk(plain(1, 9)))
        assert process.problems == []
        assert ticks(process) == [1, 2, 3, 9]


def test_reader_zero_ticks_inside_an_extension_are_data():
    data = record(1, Kind.MARK, 1, 0, 0, b"\0" * 64) + record(2, Kind.MARK, 1, 0) + plain(1, 3)
    process = parse(Builder().chunk(data))
    assert process.problems == []
    assert ticks(process) == [1, 2, 3]


def test_reader_unfinished_record_before_data_is_a_problem():
    process = parse(Builder().chunk(plain(3) + record(0, Kind.EXIT, 5) + plain(300, 4)))
    assert ticks(process) == [1, 2, 3]
    assert what(process) == ["an unfinished record in the middle"]


def test_reader_unknown_kind_ends_its_chunk_with_a_problem():
    process = parse(Builder().chunk(plain(3) + record(4, 99, 5) + plain(3, 5)).chunk(plain(1, 9)))
    assert ticks(process) == [1, 2, 3, 9]
    assert process.problems == [
        Problem(
            f"t.clew@{HEADER_SIZE + CHUNK_HEADER_SIZE + 48}", "a record of unknown kind 99", "the rest of the chunk"
        )
    ]


def test_reader_record_reaching_beyond_its_chunk_is_a_problem():
    data = plain((CHUNK_SIZE - CHUNK_HEADER_SIZE) // 16 - 1) + struct.pack("<QQ", 1, Kind.SEND | 3 << 8)
    process = parse(Builder().chunk(data))
    assert len(ticks(process)) == 4091
    assert what(process) == ["a record that reaches beyond its chunk"]


def test_reader_reads_full_chunk_to_its_last_record():
    process = parse(Builder().chunk(plain(4092)).chunk(plain(1, 5000)))
    assert (len(ticks(process)), process.problems) == (4093, [])


def test_reader_duplicate_chunk_number_uses_the_first_and_reports_it():
    process = parse(Builder().chunk(plain(3)).chunk(plain(3, 50), number=0))
    assert ticks(process) == [1, 2, 3]
    assert what(process) == ["chunk 0 of thread 1 exists twice"]


def test_reader_missing_chunk_is_a_problem():
    process = parse(Builder().chunk(plain(3)).chunk(plain(3, 50), number=4))
    assert ticks(process) == [1, 2, 3, 50, 51, 52]
    assert what(process) == ["chunks 1 to 3 of thread 1 are missing"]


def test_reader_skips_claimed_chunk_with_unfinished_header():
    process = parse(Builder(state=State.RECORDING).chunk(plain(3)).chunk(plain(2), serial=2, magic=0))
    assert (ticks(process), list(process.threads), process.problems) == ([1, 2, 3], [1], [])


def test_reader_damaged_chunk_header_loses_only_its_chunk():
    process = parse(
        Builder().chunk(plain(3)).chunk(plain(2), magic=12345).chunk(plain(2), kind=9).chunk(plain(2), serial=0)
    )
    assert ticks(process) == [1, 2, 3]
    assert what(process) == ["a chunk's header is damaged", "a chunk of unknown kind", "a chunk of unknown kind"]


def test_reader_adds_up_counters():
    data = struct.pack("<6Q", 5, 100, 6, 1, 5, 11)
    process = parse(Builder().chunk(data, ChunkKind.COUNTERS, 0))
    assert process.counters == {5: 111, 6: 1}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (bytes(HEADER_SIZE), "empty"),
        (b"CLEWREC\0", "cut short inside its header"),
        (b"\x7fELF" + bytes(5000), "not a trace file"),
        (b"\0" * 8 + b"\1" * 500, "before its header was whole"),
    ],
)
def test_reader_of_file_that_is_not_a_trace_reports_it(tmp_path, data, says):
    path = tmp_path / "x.clew"
    path.write_bytes(data)
    process = read_process(path)
    assert not process.readable
    assert [says in problem.what for problem in process.problems] == [True]
    assert list(process.events()) == []


def test_reader_newer_format_is_refused_by_number():
    process = parse(Builder(version=3).chunk(plain(3)))
    assert (process.readable, process.threads) == (False, {})
    assert what(process) == ["written in format 3, but this clew reads up to 2; upgrade clew"]


def test_reader_older_format_is_refused_by_number():
    process = parse(Builder(version=1).chunk(plain(3)))
    assert (process.readable, process.threads) == (False, {})
    assert what(process) == ["written in format 1, this clew reads format 2; record again"]


@pytest.mark.parametrize("fields", [{"header_size": 9}, {"chunk_size": 1}, {"clock": 77}, {"state": 0}, {"version": 0}])
def test_reader_damaged_header_field_loses_no_record(fields):
    process = parse(Builder(**fields).chunk(plain(3)))
    assert ticks(process) == [1, 2, 3]
    assert "its header is damaged" in what(process)[0]


def test_reader_damaged_description_loses_no_record():
    builder = Builder().chunk(plain(3))
    for builder.info in (b"", b"{", b"[]", b"[" * 3000, b"\xff" * 9):
        process = parse(builder)
        assert (ticks(process), process.info, process.boot_id) == ([1, 2, 3], {}, "")
        assert "description" in what(process)[0]


def test_reader_of_recording_that_stopped_early_reports_lost_records():
    process = parse(Builder(state=State.QUOTA, dropped=12).chunk(plain(1)))
    assert process.problems == [
        Problem("t.clew", "recording stopped early: its quota was used up", "12 records after that")
    ]


@pytest.mark.parametrize("make", [lambda p: p / "missing", lambda p: p, lambda p: "a\0b"])
def test_reader_of_unreadable_file_reports_a_problem(tmp_path, make):
    process = read_process(make(tmp_path))
    assert (process.readable, len(process.problems)) == (False, 1)


def test_reader_of_random_file_reports_limited_problems():
    builder = Builder()
    for number in range(MAX_PROBLEMS * 2):
        builder.chunks.append(b"\x07" * CHUNK_SIZE)
    process = parse(builder)
    assert len(process.problems) == MAX_PROBLEMS + 1
    assert what(process)[-1] == f"{MAX_PROBLEMS} more problems of these kinds"


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> bytes:
    """Record a real file of one process: two threads with all kinds, extensions and definitions."""
    folder = tmp_path_factory.mktemp("small")
    path = folder / "1-0.clew"
    recorder.start(str(path), b'{"boot_id": "b"}', 3, 1 << 30, 0.0)
    probes = [recorder.Probe(site, kind) for site, kind in ((1, Kind.ENTER), (2, Kind.ENTER), (2, Kind.EXIT))]
    for number in range(40):
        for probe in probes:
            ~probe
        recorder.emit(Kind.SEND, 1, number, 1, b"x" * number)
    recorder.define(Kind.STRING, 1, b"queue")
    recorder.define(Kind.SITE, 1, json.dumps(SiteInfo(1, "m", "f", "/f", 1, 2, "function")._asdict()).encode())
    recorder.stop()
    return path.read_bytes()


def check_sane(process):
    """Check the invariants for any bytes: no exception, iterable events, a bounded number of problems."""
    assert len(process.problems) <= MAX_PROBLEMS + 1
    for found in process.events():
        assert found.ticks and found.kind < Kind.SITE
    for extent in (extent for thread in process.threads.values() for extent in thread.extents):
        assert len(extent) % event.RECORD_SIZE == 0


@pytest.mark.slow
def test_reader_of_truncated_file_returns_records_before_the_cut(small):
    whole = list(parse_process(small, "t").events())
    lengths = [
        *range(HEADER_SIZE + 200),
        *range(HEADER_SIZE + 200, len(small), 97),
        *(HEADER_SIZE + place for place in range(CHUNK_SIZE, CHUNK_SIZE + 7000)),
        *range(len(small) - 64, len(small)),
    ]
    for length in lengths:
        process = parse_process(small[:length], "t")
        check_sane(process)
        kept = list(process.events())
        assert kept == whole[: len(kept)]
        if length >= HEADER_SIZE:
            assert process.readable
        if length == len(small):
            assert not process.problems
        elif (length - HEADER_SIZE) % CHUNK_SIZE or length < len(small):
            assert process.problems


def test_reader_of_truncated_file_loses_only_cut_records():
    body = plain(100)
    data = Builder().chunk(body).bytes()
    for count in range(100):
        for cut in (0, 1, 8, 15):
            length = HEADER_SIZE + CHUNK_HEADER_SIZE + count * 16 + cut
            assert len(list(parse_process(data[:length], "t").events())) == count


def test_reader_of_flipped_bytes_never_raises(small):
    generator = random.Random(20)
    whole = parse_process(small, "t")
    used = [place for place in range(len(small)) if small[place]] + list(range(HEADER_SIZE + 100))
    for _ in range(4000):
        data = bytearray(small)
        for _ in range(generator.choice((1, 1, 1, 2, 30))):
            place = generator.choice(used) if generator.random() < 0.7 else generator.randrange(len(small))
            data[place] = generator.choice(
                (0, 255, data[place] ^ 1 << generator.randrange(8), generator.randrange(256))
            )
        process = parse_process(bytes(data), "t")
        check_sane(process)
        assert process.header.dropped is not None
        assert len(process.pairs) <= len(whole.pairs)


@given(st.binary(max_size=6000))
@settings(max_examples=examples(200), deadline=None)
def test_reader_of_random_chunk_bodies_never_raises(body):
    check_sane(parse(Builder().chunk(body)))
    check_sane(parse(Builder().chunk(body, ChunkKind.DEFINITIONS, 0)))
    check_sane(parse(Builder().chunk(body, ChunkKind.COUNTERS, 0)))


RECORDS = st.lists(
    st.one_of(
        st.builds(record, st.integers(1, 2**64 - 1), st.sampled_from([Kind.ENTER, Kind.EXIT]), st.integers(0, 2**32 - 1)),
        st.builds(
            record, st.integers(1, 2**64 - 1), st.just(Kind.MARK), st.just(1), st.integers(0, 2**64 - 1), st.just(0),
            st.binary(max_size=200),
        ),
    ),
    max_size=60,
)  # fmt: skip


@given(RECORDS, st.binary(max_size=15))
@settings(max_examples=examples(200), deadline=None)
def test_reader_finds_end_of_data_at_last_record(records, rest):
    """The reader searches for the end; the oracle goes record by record."""
    data = b"".join(records)
    process = parse(Builder().chunk(data + bytes(16)))
    assert b"".join(bytes(extent) for extent in process.threads[1].extents) == data
    assert len(list(process.events())) == len(records)
    assert process.problems == []


def test_read_run_reports_problems_of_all_files(tmp_path):
    folder, info = create_run(tmp_path, name="r", command=["x"], spec="", plan="{}")
    (folder / "1-1.clew").write_bytes(Builder().chunk(plain(3)).bytes())
    (folder / "2-2.clew").write_bytes(b"rubbish, not a trace")
    (folder / "3-3.clew").mkdir()
    found = read_run(folder)
    assert found.info == info
    assert [Path(process.path).name for process in found.processes] == ["1-1.clew"]
    assert [Path(problem.where).name for problem in found.problems] == ["2-2.clew"]


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"format": 99}', "[" * 100_000])
def test_read_run_without_description_returns_its_records(tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    (tmp_path / "1-1.clew").write_bytes(Builder().chunk(plain(3)).bytes())
    found = read_run(tmp_path)
    assert (found.info, len(found.processes), len(found.problems)) == (None, 1, 1)


def test_read_run_of_missing_folder_reports_a_problem(tmp_path):
    found = read_run(tmp_path / "none")
    assert (found.processes, len(found.problems)) == ([], 1)
    assert os.fspath(tmp_path) in found.problems[0].what


def test_reader_missing_chunks_of_thread_have_their_position():
    process = parse(Builder().chunk(plain(3)).chunk(plain(3, 50), number=4).chunk(plain(2), serial=2, number=1))
    assert [tuple(one) for one in process.threads[1].missing] == [(48, "chunks 1 to 3 of thread 1 are missing")]
    assert [tuple(one) for one in process.threads[2].missing] == [(0, "chunks 0 to 0 of thread 2 are missing")]
    assert parse(Builder().chunk(plain(3))).threads[1].missing == []
