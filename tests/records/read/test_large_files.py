"""A trace file may be larger than memory: the reader scans each chunk once, and reads it again for its records."""

import os
import shutil
import struct
import subprocess
import sys

import pytest

from clew.instrument.recorder import _core
from clew.records.collector.main import collect_now
from clew.records.compress import block
from clew.records.format import header
from clew.records.format.event import Kind, pack_word
from clew.records.format.header import CHUNK_SIZE, HEADER_SIZE
from clew.records.read import reader
from clew.records.read.reader import read_process
from clew.records.run.directory import compressed_files

CHUNKS = 3200
"""200 MB; the process that reads them may use a quarter."""
RECORDS = (CHUNK_SIZE - header.CHUNK_HEADER_SIZE) // 16

READING = """
import re, resource, sys
from clew.records.read.reader import read_process
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak()
found = read_process(sys.argv[1])
size = sum(len(extent) for thread in found.threads.values() for extent in thread.extents)
print(found.bytes, size, len(found.problems), (peak() - before) >> 10)
"""


def chunk(number):
    head = struct.pack("<IHHQIIQQ", header.CHUNK_MAGIC, 1, 0, 77, 1, number, 100 + number, 100 + number).ljust(
        64, b"\0"
    )
    return head + DATA


DATA = b"".join(struct.pack("<QQ", 5000 + number * 7, pack_word(1 + number % 2, 3)) for number in range(RECORDS))


def page(chunks, flags=0):
    values = (
        header.MAGIC,
        2,
        HEADER_SIZE,
        CHUNK_SIZE,
        10,
        9,
        2,
        header.State.CLOSED,
        flags,
        0,
        1,
        1,
        1,
        9,
        9,
        chunks,
        0,
        7,
        0,
    )
    return header.HEADER.pack(*values).ljust(256, b"\0").ljust(HEADER_SIZE, b"\0")[:256] + struct.pack("<I", 2) + b"{}"


def read_elsewhere(path):
    found = subprocess.run([sys.executable, "-c", READING, str(path)], capture_output=True, text=True, check=True)
    return [int(word) for word in found.stdout.split()]


def test_reader_of_trace_file_larger_than_memory_uses_little(tmp_path):
    path = tmp_path / "10-0000000000000007.clew"
    with path.open("wb") as file:
        file.write(page(CHUNKS).ljust(HEADER_SIZE, b"\0"))
        for number in range(CHUNKS):
            file.write(chunk(number))
    counted, given, problems, grown_mb = read_elsewhere(path)
    assert counted == given == CHUNKS * RECORDS * 16
    assert not problems
    assert grown_mb < CHUNKS * CHUNK_SIZE >> 22


def test_reader_of_compressed_files_larger_than_memory_uses_little(tmp_path):
    path = tmp_path / "10-0000000000000007.clew"
    path.write_bytes(page(CHUNKS, header.FLAG_PACKED).ljust(HEADER_SIZE, b"\0"))
    compressed = block.compress(chunk(0))
    body = compressed[block.HEAD.size :]
    for part in range(4):
        with (tmp_path / f"10-0000000000000007.{part + 1}.clewz").open("wb") as file:
            for number in range(part * CHUNKS // 4, (part + 1) * CHUNKS // 4):
                file.write(block.encode(block.CHUNK, CHUNK_SIZE, chunk(number)[:64] + body[64:]))
    counted, given, problems, grown_mb = read_elsewhere(path)
    assert counted == given == CHUNKS * RECORDS * 16
    assert not problems
    assert grown_mb < CHUNKS * CHUNK_SIZE >> 22


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Record a process of six chunks that is still running, and let the reader cache nothing in memory."""
    monkeypatch.setattr(reader, "_CACHE_BYTES", 0)
    path = tmp_path / f"{os.getpid()}-{_core.uid():016x}.clew"
    _core.start(str(path), b"{}", 0, 1 << 30, 0.0)
    try:
        emit(range(6 * 4095 // 2))
        yield path
    finally:
        _core.stop()


def emit(numbers):
    for number in numbers:
        _core.emit(Kind.MARK, 5, number)


def keys(found):
    return [event.extension.key for event in found.events()]


def test_reader_finds_chunks_compressed_after_the_scan(recorded):
    found = read_process(recorded)
    everything = keys(found)
    assert everything == list(range(6 * 4095 // 2))
    assert collect_now(recorded.parent).live == 1
    emit(range(9000))  # into the recycled chunks
    assert keys(found) == everything
    _core.stop()
    assert collect_now(recorded.parent).processes == 1
    assert recorded.stat().st_size == HEADER_SIZE
    assert keys(found) == everything
    assert found.bytes == len(everything) * 32


def test_reader_skips_chunks_dropped_after_the_scan(recorded):
    collect_now(recorded.parent)
    found = read_process(recorded)
    everything = keys(found)
    for path in compressed_files(recorded):
        path.unlink()
    left = keys(found)
    assert 0 < len(left) < len(everything)
    assert left == everything[-len(left) :]
    shutil.rmtree(recorded.parent)
    assert [event.kind for event in found.events()] == [Kind.GAP]
    assert not found.problems


def test_reader_cuts_chunk_damaged_after_the_scan_at_the_damage(recorded):
    _core.stop()
    found = read_process(recorded)
    with recorded.open("r+b") as file:
        file.seek(recorded.read_bytes().index(struct.pack("<HHIQ", 0, 0, 0, 100)) - 16)
        file.write(b"\xff" * 16)
    assert keys(found) == [*range(100), *range(4092 // 2, 6 * 4095 // 2)]
