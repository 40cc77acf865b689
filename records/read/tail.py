"""Follow one process's records while they are written: each poll returns new records, thread by thread.

A `Place` is the position up to which a thread was read: the number of a chunk and a byte offset in its data. It is
valid whether the chunk is in the trace file or was compressed meanwhile. Invariant: continuing from the places of an
earlier poll gives each following record once and no preceding one. Events dropped for the quota are reported, not
guessed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from clew.records.compress import block
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format import header
from clew.records.format.definition_records import MAX_NS, define
from clew.records.format.event import RECORD_SIZE, Kind
from clew.records.format.header import (
    CHUNK_HEADER,
    CHUNK_HEADER_SIZE,
    CHUNK_SIZE,
    HEADER_SIZE,
    ChunkKind,
    ChunkState,
    State,
)
from clew.records.format.record_scan import NO_TICKS, find_end, records
from clew.records.read.clock_map import Pair
from clew.records.read.process_records import Header, Note, ProcessRecords
from clew.records.read.trace_chunks import CHUNK_MAGIC
from clew.records.run import directory
from clew.records.run.liveness import is_running

MOST_BYTES = 4 << 20
"""Maximum bytes per poll: a reader that lags catches up in several polls."""
_EVENT_KINDS = bytes(kind for kind in Kind if kind < Kind.SITE)
_ALL_KINDS = bytes(range(1, 256))
_READABLE = frozenset({ChunkState.IN_USE, ChunkState.FINISHED})
_MOST_PAIRS = 128
_INDEXED_BLOCKS = 64
"""Number of compressed chunks that are indexed before the index drops entries that all threads have read."""
_COUNTERS = (
    slice(header.FLAGS_OFFSET, header.FLAGS_OFFSET + 2),
    slice(header.CHUNKS_OFFSET, header.OVERWRITTEN_OFFSET + 16),
)
"""Counters of the header page: while they are constant, no chunk is added, removed, finished or compressed."""

_Key = tuple[int, int, int]
"""Kind, the thread's serial, number."""


class Place(NamedTuple):
    """The next chunk to read, and the offset in its data."""

    number: int = 0
    offset: int = 0


class Segment(NamedTuple):
    """Consecutive complete records of a thread in one chunk; for definitions the serial is 0."""

    head: bytes
    """The chunk's header."""
    serial: int
    records: bytes
    begin: Place
    end: Place
    lost: bool = False
    """True if records before these are lost."""


class ProcessTail:
    """One trace file and its compressed files."""

    def __init__(self, path: Path, places: Mapping[int, Place] | None = None) -> None:
        self.path = path
        self.places = dict(places or {})
        """Place by the thread's serial."""
        self.found = ProcessRecords(str(path))
        """Header, description and definitions, without records."""
        self.has_more = False
        """True if more was available than one poll returns."""
        self.defined: list[Segment] = []
        """Definitions found by the last poll."""
        self.pairs: list[Pair] = []
        """Pairs of ticks and monotonic ns."""
        self.ended: set[int] = set()
        """Threads that were read completely and have finished their last chunk."""
        self._file = -1
        self._counters = b""
        self._changed = False
        """True if the counters have just changed."""
        self._threads: list[int] = []
        self._slots: dict[_Key, int] = {}
        """Location of a chunk's header in the trace file."""
        self._seen = 0
        """Number of slots scanned; slots that are never reused need no second scan."""
        self._unknown: set[int] = set()
        """Scanned slots with an incomplete header, which need another scan."""
        self._compressed = _CompressedIndex(path)
        self._defined = Place()
        self._notes: dict[Note, None] = {}

    @property
    def uid(self) -> int:
        return self.found.header.uid

    @property
    def is_over(self) -> bool:
        """Return whether nothing more will be written, as far as the file and this machine show."""
        head = self.found.header
        here = self.found.info.get("host") == directory.host_name()
        return head.state == State.CLOSED or (here and not is_running(head.pid, head.start_wall_ns))

    def prepare(self) -> None:
        """Read the header. Raises OSError."""
        self._scan(has_more=False)
        self.has_more = True

    def poll(self, most: int = MOST_BYTES) -> list[Segment]:
        """Return new records; nothing for a file that was removed or is unreadable."""
        has_more, self.has_more = self.has_more, False
        found: list[Segment] = []
        try:
            if self._scan(has_more=has_more):
                for serial in self._threads:
                    for segment in self._of_thread(serial, most):
                        self.places[serial] = segment.end
                        most -= len(segment.records)
                        found.append(segment)
                # Read definitions after the records, so that all referenced names are known.
                self._read_definitions()
        except OSError:
            self.close()
        return found

    def go_back(self, serial: int, place: Place) -> None:
        """Make the next poll return the records after a place again."""
        self.places[serial] = place
        self.ended.discard(serial)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _scan(self, *, has_more: bool) -> bool:
        """Read the header page, and the headers of chunks if any changed. Raises OSError."""
        status = os.stat(self.path)
        if self._file >= 0 and os.fstat(self._file).st_ino != status.st_ino:
            self.close()  # all of it was compressed, and the file was replaced
        if self._file < 0:
            self._file = os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            self._counters, self._slots, self._seen, self._unknown = b"", {}, 0, set()
        page = os.pread(self._file, HEADER_SIZE, 0)
        if not self._read_header(page):
            return False
        counters = b"".join(page[part] for part in _COUNTERS)
        self._changed = counters != self._counters or has_more or bool(self._unknown)
        if self._changed:
            self._find_chunks(page, status.st_size)
            self._compressed.scan()
            self._compressed.forget(self.places)
            events = {
                serial for kind, serial, _ in (*self._slots, *self._compressed.blocks) if kind == ChunkKind.EVENTS
            }
            self._threads = sorted(events | self.places.keys())
            self._counters = counters
        return True

    def _read_header(self, page: bytes) -> bool:
        if len(page) < HEADER_SIZE:
            return False
        values = dict(zip(header.HEADER_FIELDS, header.HEADER.unpack_from(page), strict=True))
        if values["magic"] != header.MAGIC or values["version"] > header.VERSION:
            return False
        found = self.found
        found.header = Header(**{name: values[name] for name in Header._fields})
        if not found.readable:
            found.readable = True
            length = int.from_bytes(page[header.INFO_OFFSET : header.INFO_OFFSET + 4], "little")
            with contextlib.suppress(ValueError, RecursionError):
                info = json.loads(page[header.INFO_OFFSET + 4 :][: min(length, header.INFO_MAX)])
                found.info = info if isinstance(info, dict) else {}
        return True

    def _find_chunks(self, page: bytes, size: int) -> None:
        recycled = any(page[header.RING_HEAD_OFFSET : header.RING_TAIL_OFFSET + 4])
        claimed = int.from_bytes(page[header.CHUNKS_OFFSET : header.CHUNKS_OFFSET + 8], "little")
        there = min(claimed, max(size - HEADER_SIZE, 0) // CHUNK_SIZE)
        if recycled:
            self._slots, self._seen = {}, 0
        slots = [*self._unknown, *range(self._seen, there)]
        self._seen = max(self._seen, there)
        self._unknown = set()
        for slot in slots:
            offset = HEADER_SIZE + slot * CHUNK_SIZE
            head = os.pread(self._file, CHUNK_HEADER_SIZE, offset)
            key = _key(head)
            if key is not None:
                self._slots[key] = offset
            elif not head[: len(CHUNK_MAGIC)].strip(b"\0"):
                self._unknown.add(slot)
        times = self.found.header
        self._add_pair(times.start_ticks, times.start_monotonic_ns)
        self._add_pair(times.last_ticks, times.last_monotonic_ns)

    def _add_pair(self, ticks: int, ns: int) -> None:
        if not (ticks and 0 < ns <= MAX_NS) or (ticks, ns) in self.pairs[-2:] or (ticks, ns) in self.pairs[:1]:
            return
        self.pairs.append((ticks, ns))
        if len(self.pairs) > _MOST_PAIRS:
            del self.pairs[1:-1:2]

    def _of_thread(self, serial: int, most: int) -> Iterator[Segment]:
        place, lost = self.places.get(serial, Place()), False
        while True:
            if most <= 0:
                self.has_more = True
                return
            key = (int(ChunkKind.EVENTS), serial, place.number)
            chunk = self._chunk(key, place.offset)
            if chunk is None:
                following = self._following(key) if self._changed else None
                if following is None:
                    if place.number and not place.offset:
                        self.ended.add(serial)
                    return
                place, lost = Place(following), True
                continue
            head, data, is_whole = chunk
            end, wrong = find_end(data, _EVENT_KINDS)
            begin = place
            place = Place(place.number + 1) if is_whole else Place(place.number, place.offset + end)
            if end or is_whole:
                self.ended.discard(serial)
                most -= end
                yield Segment(head, serial, bytes(data[:end]), begin, place, lost)
            lost = is_whole and bool(wrong)
            if not is_whole:
                return

    def _following(self, key: _Key) -> int | None:
        """Return the number of the next existing chunk of a thread."""
        kind, serial, number = key
        numbers = (one[2] for one in (*self._slots, *self._compressed.blocks) if one[:2] == (kind, serial))
        return min((one for one in numbers if one > number), default=None)

    def _chunk(self, key: _Key, offset: int) -> tuple[bytes, memoryview | bytes, bool] | None:
        """Return a chunk's header, its data from an offset, and whether the data is final; None when the chunk is
        missing."""
        slot = self._slots.get(key)
        if slot is not None:
            head = os.pread(self._file, CHUNK_HEADER_SIZE, slot)
            if _key(head) == key:
                kind, serial, number = key
                is_whole = _state(head) == ChunkState.FINISHED or (kind, serial, number + 1) in self._slots
                at = slot + CHUNK_HEADER_SIZE + offset
                if not is_whole and os.pread(self._file, len(NO_TICKS), at) == NO_TICKS:
                    return head, b"", False
                data = os.pread(self._file, CHUNK_SIZE - CHUNK_HEADER_SIZE - offset, at)
                again = os.pread(self._file, CHUNK_HEADER_SIZE, slot)
                if _key(again) == key and _state(again) in _READABLE:
                    self._add_pair(*CHUNK_HEADER.unpack_from(head)[-2:])
                    return head, memoryview(data)[: len(data) // RECORD_SIZE * RECORD_SIZE], is_whole
            self._compressed.scan()  # it moved there
        chunk = self._compressed.load(key)
        if chunk is None:
            return None
        return chunk[:CHUNK_HEADER_SIZE], memoryview(chunk)[CHUNK_HEADER_SIZE + offset :], True

    def counters(self) -> list[Segment]:
        """Return the current counters of calls that were not recorded."""
        found = []
        with contextlib.suppress(OSError):
            for key in [key for key in (*self._slots, *self._compressed.blocks) if key[0] == ChunkKind.COUNTERS]:
                chunk = self._chunk(key, 0) if self._file >= 0 else None
                if chunk is not None:
                    found.append(Segment(chunk[0], 0, bytes(chunk[1]), Place(key[2]), Place(key[2])))
        return found

    def _read_definitions(self) -> None:
        self.defined = []
        while True:
            key = (int(ChunkKind.DEFINITIONS), 0, self._defined.number)
            chunk = self._chunk(key, self._defined.offset)
            if chunk is None:
                return
            head, data, is_whole = chunk
            end, _ = find_end(data, _ALL_KINDS)
            for _, word, extension in records(memoryview(bytes(data[:end]))):
                if extension is not None:
                    define(self.found, self._notes, word & 0xFF, extension)
            begin = self._defined
            self._defined = Place(begin.number + 1) if is_whole else Place(begin.number, begin.offset + end)
            if end or is_whole:
                self.defined.append(Segment(head, 0, bytes(data[:end]), begin, self._defined))
            if not is_whole:
                return


class _CompressedIndex:
    """Index of the chunks in a process's compressed files; only new data is scanned."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace
        self._ends: dict[Path, int] = {}
        self.blocks: dict[_Key, tuple[Path, int, int]] = {}
        """File, offset and size."""
        self._enough = _INDEXED_BLOCKS

    def scan(self) -> None:
        for path in directory.compressed_files(self._trace):
            begin = self._ends.get(path, 0)
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                if os.fstat(file.fileno()).st_size <= begin:
                    continue
                file.seek(begin)
                for offset, found in block.blocks(file.read()):
                    if found is None:
                        continue
                    key = _key(found.header, compressed=True) if found.kind == block.CHUNK else None
                    if key is not None:
                        self.blocks[key] = (path, begin + offset, found.size)
                    self._ends[path] = begin + offset + found.size

    def forget(self, places: Mapping[int, Place]) -> None:
        """Drop the entries that all threads have read."""
        if len(self.blocks) < self._enough:
            return
        for key in [key for key in self.blocks if key[1] and key[2] < places.get(key[1], Place()).number]:
            del self.blocks[key]
        self._enough = 2 * len(self.blocks) + _INDEXED_BLOCKS

    def load(self, key: _Key) -> bytes | None:
        """Return a chunk; None when it is missing or cannot be decompressed."""
        path, offset, size = self.blocks.get(key, (None, 0, 0))
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                return block.decompress(os.pread(file.fileno(), size, offset))
        except FileNotFoundError:
            del self.blocks[key]  # the oldest file was dropped because of the quota
        except ValueError:
            pass
        return None


def _key(head: bytes, *, compressed: bool = False) -> _Key | None:
    """Return the key in a chunk's header, if it has data to read."""
    if len(head) < CHUNK_HEADER_SIZE or head[:4] != CHUNK_MAGIC or (not compressed and _state(head) not in _READABLE):
        return None
    _, kind, _, _, serial, number, _, _ = CHUNK_HEADER.unpack_from(head)
    return kind, serial, number


def _state(head: bytes) -> int:
    return int.from_bytes(head[header.CHUNK_STATE_OFFSET : header.CHUNK_STATE_OFFSET + 4], "little")
