"""The reader returns exactly the records that the recorder stored, for any records."""

import errno
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.records.format.event import FLAG_TRUNCATED, MAX_TEXT, Extension, Kind
from clew.records.format.header import CHUNK_SIZE, HEADER_SIZE, INFO_MAX, Clock, State
from tests.support.examples import examples

EVENTS = [kind for kind in Kind if kind < Kind.SITE]
U32 = st.integers(0, 2**32 - 1)
PLAIN = st.tuples(st.sampled_from(EVENTS), U32)
EXTENDED = st.tuples(
    st.sampled_from(EVENTS), U32, st.integers(-(2**70), 2**70), U32, st.text(max_size=300), st.integers(0, 2**16 - 1)
)
STREAM = st.lists(st.one_of(PLAIN, EXTENDED), max_size=300)


def store(core, stream):
    for item in stream:
        if len(item) == 2:
            ~core.Probe(item[1], item[0])
        else:
            kind, site, key, channel, text, flags = item
            core.emit(kind, site, key, channel, text.encode(), flags)


def expected(stream):
    out = []
    for item in stream:
        if len(item) == 2:
            out.append((item[0], item[1], None))
        else:
            kind, site, key, channel, text, flags = item
            out.append((kind, site, Extension(key & (2**64 - 1), channel, text, flags)))
    return out


def seen(process):
    return [(event.kind, event.site, event.extension) for event in process.events()]


@given(stream=STREAM)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_record_that_is_stored_is_read_back(recording, stream):
    recording.start()
    store(recording.core, stream)
    process = recording.stop()
    assert not process.problems
    assert seen(process) == expected(stream)
    os.unlink(recording.path)


def test_recorder_stores_long_stream_in_many_chunks_and_segments(recording):
    recording.start()
    enter = recording.core.Probe(3, Kind.ENTER)
    leave = recording.core.Probe(3, Kind.EXIT)
    # 70 chunks: the first segment has 16, the second 32, the third 64.
    for number in range(70 * 4092 // 4):
        ~enter
        if number % 3 == 0:
            recording.core.emit(Kind.SEND, 3, number, 9, b"x" * (number % 50))
        ~leave
    process = recording.stop()
    assert not process.problems
    kinds = [event.kind for event in process.events()]
    total = 70 * 4092 // 4
    assert kinds.count(Kind.ENTER) == kinds.count(Kind.EXIT) == total
    keys = [event.extension.key for event in process.events() if event.extension]
    assert keys == list(range(0, total, 3))
    assert process.header.chunks >= 48
    assert os.path.getsize(recording.path) == HEADER_SIZE + process.header.chunks * CHUNK_SIZE


def test_recorder_ticks_never_decrease(recording):
    recording.start()
    probe = recording.core.Probe(3, Kind.ENTER)
    for _ in range(20_000):
        ~probe
    ticks = [event.ticks for event in recording.stop().events()]
    assert ticks == sorted(ticks)
    assert len(ticks) == 20_000


def test_recorder_record_never_spans_two_chunks(recording):
    recording.start()
    for number in range(300):
        recording.core.emit(Kind.MARK, 1, number, 0, b"m" * 1000)
    process = recording.stop()
    assert not process.problems
    assert [event.extension.key for event in process.events()] == list(range(300))
    (thread,) = process.threads.values()
    assert all(len(extent) % 1040 == 0 for extent in thread.extents)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, MAX_TEXT - 1, MAX_TEXT])
def test_emit_text_up_to_the_limit_is_complete(recording, length):
    recording.start()
    recording.core.emit(Kind.MARK, 1, 2, 3, b"t" * length)
    (event,) = recording.stop().events()
    assert event.extension == Extension(2, 3, "t" * length, 0)


def test_emit_text_beyond_the_limit_is_truncated_and_flagged(recording):
    recording.start()
    recording.core.emit(Kind.MARK, 1, 2, 3, b"t" * (MAX_TEXT + 1), 8)
    recording.core.define(Kind.STRING, 5, b"s" * 70_000)
    process = recording.stop()
    (event,) = process.events()
    assert event.extension == Extension(2, 3, "t" * MAX_TEXT, 8 | FLAG_TRUNCATED)
    assert process.strings == {5: "s" * MAX_TEXT}
    assert not process.problems


def test_define_of_same_key_again_replaces_the_definition(recording):
    recording.start()
    for name in (b"one", b"two", b"three"):
        recording.core.define(Kind.STRING, 1, name)
    assert recording.stop().strings == {1: "three"}


def test_define_fills_more_than_one_chunk(recording):
    recording.start()
    for number in range(1, 3001):
        recording.core.define(Kind.STRING, number, b"name %d " % number * 5)
    process = recording.stop()
    assert process.strings == {number: f"name {number} " * 5 for number in range(1, 3001)}
    assert not process.problems


def test_trace_header_has_process_ids_and_clock(recording):
    uid = recording.core.uid()
    recording.start(info=b'{"host": "here"}', parent_uid=2**64 - 2)
    process = recording.stop()
    header = process.header
    assert (header.pid, header.parent_pid, header.uid, header.parent_uid) == (os.getpid(), os.getppid(), uid, 2**64 - 2)
    assert header.state == State.CLOSED
    assert header.clock in (Clock.CYCLES, Clock.MONOTONIC)
    assert header.start_monotonic_ns <= header.last_monotonic_ns
    assert process.info == {"host": "here"}
    assert recording.core.uid() != uid


def test_recording_without_events_has_a_file_without_chunks(recording):
    recording.start()
    process = recording.stop()
    assert not process.problems
    assert list(process.events()) == []
    assert os.path.getsize(recording.path) == HEADER_SIZE


def test_trace_file_is_private(recording):
    recording.start()
    assert recording.path.stat().st_mode & 0o777 == 0o600


def test_probe_without_recording_does_nothing(core):
    probe = core.Probe(1, Kind.ENTER)
    assert (~probe, probe(), core.emit(8, 1, 2), core.define(65, 1, b"x")) == (None, None, None, None)
    assert (core.active(), core.thread(), core.problem()) == (False, 0, "")
    core.stop()


def test_probe_made_before_start_records_in_every_recording(recording):
    probe = recording.core.Probe(6, Kind.ENTER)
    for _ in range(3):
        recording.start()
        ~probe
        assert probe() is None
        process = recording.stop()
        ~probe
        assert [(event.kind, event.site) for event in process.events()] == [(Kind.ENTER, 6)] * 2


def test_probe_used_as_iterator_records_and_stops(recording):
    probe = recording.core.Probe(6, Kind.ENTER)
    recording.start()
    assert [next(probe, "ended") for _ in range(2)] == ["ended"] * 2
    assert [(event.kind, event.site) for event in recording.stop().events()] == [(Kind.ENTER, 6)] * 2
    assert next(probe, "ended") == "ended"


def test_probe_has_site_kind_and_repr(core):
    probe = core.Probe(7, Kind.EXIT)
    assert (probe.site, probe.kind, probe.count, probe.counting) == (7, Kind.EXIT, 0, False)
    assert repr(probe) == "<clew probe, site 7, kind 2>"
    with pytest.raises(ValueError, match="kind 0"):
        core.Probe(1, 0)


def test_start_while_recording_is_refused_and_recording_continues(recording, tmp_path):
    recording.start()
    with pytest.raises(OSError) as caught:
        recording.core.start(str(tmp_path / "other.clew"), b"{}", 0, 1 << 30, 0.0)
    assert caught.value.errno == errno.EBUSY
    assert recording.core.active()
    assert not (tmp_path / "other.clew").exists()


def test_start_never_overwrites_an_existing_file(core, tmp_path):
    path = tmp_path / "taken.clew"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        core.start(str(path), b"{}", 0, 1 << 30, 0.0)
    assert path.read_bytes() == b"precious"
    assert not core.active()


def test_start_with_too_long_info_is_refused(core, tmp_path):
    with pytest.raises(OSError) as caught:
        core.start(str(tmp_path / "x.clew"), b"x" * (INFO_MAX + 1), 0, 1 << 30, 0.0)
    assert caught.value.errno == errno.EMSGSIZE
    assert not (tmp_path / "x.clew").exists()


def test_start_in_missing_folder_raises_file_not_found(core, tmp_path):
    with pytest.raises(FileNotFoundError):
        core.start(str(tmp_path / "missing" / "x.clew"), b"{}", 0, 1 << 30, 0.0)


def test_calibrate_returns_nanoseconds(core):
    assert 0.1 < core.calibrate() < 1e6


def test_calibrate_while_recording_adds_no_records(recording):
    recording.start()
    probe = recording.core.Probe(1, Kind.ENTER)
    ~probe
    recording.core.calibrate()
    ~probe
    assert len(list(recording.stop().events())) == 2
