"""The C header says the same numbers as the Python contract."""

import re
from pathlib import Path

import pytest

from clew.instrument.recorder import _core
from clew.records import event, header

LAYOUT = (Path(_core.__file__).parent / "csrc" / "layout.h").read_text()
DEFINES = {
    name: int(value.rstrip("u"), 0)
    for name, value in re.findall(r"^#define (\w+) (0x[0-9A-Fa-f]+u?|\d+)$", LAYOUT, re.MULTILINE)
}
ENUMERATORS = {name: int(value) for name, value in re.findall(r"\b([A-Z]+(?:_[A-Z]+)+) = (\d+)", LAYOUT)}

WRITTEN_IN_C = (
    *("ENTER", "EXIT", "UNWIND", "SUSPEND", "RESUME", "REQUEST", "SEND", "RECEIVE", "JOIN", "RELEASE", "ACQUIRE"),
    *("SCOPE_BEGIN", "SCOPE_END", "STEP_BEGIN", "STEP_END", "GAP", "THREAD", "STRAND", "NOTE"),
)


@pytest.mark.parametrize(
    "name",
    [
        *("VERSION", "HEADER_SIZE", "CHUNK_SIZE", "CHUNK_HEADER_SIZE", "CHUNK_MAGIC", "INFO_OFFSET", "RING_OFFSET"),
        "RING_CHUNKS",
    ],
)
def test_file_layout_numbers_are_equal(name):
    assert DEFINES[name] == getattr(header, name)


@pytest.mark.parametrize(
    "name", ["RECORD_SIZE", "MAX_SLOTS", "FLAG_TRUNCATED", "FLAG_AMBIGUOUS", "FLAG_BYTES", "FLAG_OVER"]
)
def test_record_layout_numbers_are_equal(name):
    assert DEFINES[name] == getattr(event, name)


def test_enumerators_are_equal():
    expected = {"CLOCK_CYCLES": header.Clock.CYCLES, "CLOCK_NANOSECONDS": header.Clock.MONOTONIC}
    expected |= {f"STATE_{state.name}": state for state in header.State}
    expected |= {f"CHUNK_{kind.name}": kind for kind in header.ChunkKind}
    expected |= {f"CHUNK_{state.name}": state for state in header.ChunkState}
    expected |= {f"KIND_{name}": event.Kind[name] for name in WRITTEN_IN_C}
    assert expected == ENUMERATORS


@pytest.mark.parametrize(
    ("field", "name"),
    [
        *(("state", "STATE_OFFSET"), ("last_ticks", "LAST_TICKS_OFFSET"), ("chunks", "CHUNKS_OFFSET")),
        *(("dropped", "DROPPED_OFFSET"), ("finished", "FINISHED_OFFSET"), ("ring_head", "RING_HEAD_OFFSET")),
        ("overwritten", "OVERWRITTEN_OFFSET"),
        *(("ring_tail", "RING_TAIL_OFFSET"), ("packed_bytes", "PACKED_BYTES_OFFSET"), ("retired", "RETIRED_OFFSET")),
    ],
)
def test_the_compiler_checks_the_same_offsets(field, name):
    said = re.search(rf"offsetof\(struct file_header, {field}\) == (\d+)", LAYOUT)
    assert said and int(said[1]) == getattr(header, name)


def test_a_chunks_state_has_the_same_place():
    assert f"offsetof(struct chunk_header, state) == {header.CHUNK_STATE_OFFSET}" in LAYOUT


def test_magic_is_equal():
    assert '#define MAGIC "CLEWREC\\0"' in LAYOUT
    assert header.MAGIC == b"CLEWREC\0"
