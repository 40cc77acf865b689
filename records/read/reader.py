"""Read trace files: for any bytes, return all complete data and problems that describe the rest.

Invariants: there is no exception and no endless loop for any content. The files may grow, and a collector may move
chunks from the trace file to compressed files, while they are read. Memory is bounded for files of any size: each chunk
is scanned once, and its records are read again on demand (`clew.records.read.process_records.Extents`).

A chunk is in the trace file until it is in a compressed file. So the trace file is read first and the compressed files
after it, and duplicates are dropped (`clew.records.read.trace_chunks`, `clew.records.read.compressed_chunks`).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from clew.records.errors import Problem, RunError
from clew.records.format import header
from clew.records.format.definition_records import MAX_COUNT, MAX_NS, count, define, thread_of
from clew.records.format.event import Kind
from clew.records.format.header import ChunkKind, Clock, State
from clew.records.format.record_scan import find_end, records
from clew.records.read import clock_map
from clew.records.read.compressed_chunks import (
    CompressedFile,
    Dropped,
    compressed_files_of,
    compressed_in_memory,
    find_compressed,
)
from clew.records.read.parallel import together
from clew.records.read.process_records import Definitions, Header, Missing, Note, Part, ProcessRecords, ThreadRecords
from clew.records.read.scan_cache import Known
from clew.records.read.trace_chunks import Chunk, Gone, InMemory, OnDisk, Source, find_raw, gap_before
from clew.records.run import directory

MAX_PROBLEMS = 50
"""Maximum problems per file; a completely corrupt file does not need to report thousands."""
_CACHE_BYTES = 32 << 20
"""Maximum bytes of decompressed records of one process cached by the first scan; most runs have fewer. Uncompressed
records are faster to read again than to cache."""

_EVENT_KINDS = bytes(kind for kind in Kind if kind < Kind.SITE)
_MOST_MISSING = 1 << 20
_MOVES = 4
"""Maximum moves of a chunk: it moves once, or twice during a scan; more moves are damage."""

_MOST = {
    "start_monotonic_ns": MAX_NS,
    "start_wall_ns": MAX_NS,
    "last_monotonic_ns": MAX_NS,
    "dropped": MAX_COUNT,
}
"""Maximum plausible values of the header's fields; larger values are read as 0."""

_Key = tuple[ChunkKind, int, int]
"""Kind, the thread's serial, number: identifies a chunk within its process."""

_GAP, _CHUNK = b"\0", b"\1"
"""Suffix of a chunk's identity in the name of a part: events dropped before it, or its own records."""


class RunRecords:
    """All readable trace files of a run, and all problems."""

    def __init__(
        self, folder: Path, info: directory.RunInfo | None, processes: list[ProcessRecords], problems: list[Problem]
    ) -> None:
        self.folder = folder
        self.info = info
        self.processes = processes
        self.problems = problems
        self._clocks: dict[str, clock_map.ClockMap] = {}

    def clock(self, process: ProcessRecords) -> clock_map.ClockMap:
        """Return the map from ticks of `process` to monotonic ns, by the pairs of every process of its boot."""
        if process.header.clock != Clock.CYCLES:
            return clock_map.MONOTONIC
        cached = self._clocks.get(process.boot_id)
        if cached is None:
            cached = self._clocks[process.boot_id] = clock_map.fit(self._pairs(process.boot_id))
        return cached

    def _pairs(self, boot_id: str) -> Iterator[clock_map.Pair]:
        for other in self.processes:
            if other.boot_id == boot_id and other.header.clock == Clock.CYCLES:
                yield from other.pairs


def read_run(folder: Path | str, known: Mapping[str, Known] | None = None, *, events: bool = True) -> RunRecords:
    """Read everything in a run's folder. Never raises: a folder that is not a run gives no processes and a problem.

    Data that is `known`, by the names of trace files, is not scanned again until it is needed; with None, nothing is
    cached. Without `events` only the definitions and counters of processes are read, which are small.
    """
    folder = Path(folder)
    info, problems = None, []
    try:
        info = directory.load_run(folder)
    except (RunError, OSError, RecursionError) as error:
        problems.append(Problem(str(folder), str(error)))
    try:
        paths = directory.trace_files(folder)
    except OSError as error:
        paths = []
        problems.append(Problem(str(folder), f"its files cannot be listed ({error.strerror})"))
    of = [None if known is None else known.get(path.name, Known()) for path in paths]
    read = together(partial(read_process, *each, events=events) for each in zip(paths, of, strict=True))
    problems += [problem for process in read for problem in process.problems]
    return RunRecords(folder, info, [process for process in read if process.readable], problems)


def read_process(path: Path | str, known: Known | None = None, *, events: bool = True) -> ProcessRecords:
    """Read the records of one trace file; see `read_run`. Never raises: errors are in `problems`."""
    name = os.fspath(path)
    try:
        file = OnDisk(name)
    except (OSError, ValueError) as error:
        return _unreadable(name, f"cannot be opened ({getattr(error, 'strerror', None) or error})")
    try:
        return _Reader(name, file, lambda: compressed_files_of(name), known).read(events=events)
    except (OSError, ValueError) as error:
        return _unreadable(name, f"cannot be read ({getattr(error, 'strerror', None) or error})")
    finally:
        file.close()


def parse_process(data: bytes, where: str, compressed: Iterable[tuple[str, bytes]] = ()) -> ProcessRecords:
    """Parse bytes in memory like `read_process`: those of the trace file, and names and bytes of compressed files."""
    files = [compressed_in_memory(name, content) for name, content in compressed]
    return _Reader(where, InMemory(data), lambda: files).read()


def _unreadable(path: str, what: str, lost: str = "all of it") -> ProcessRecords:
    return ProcessRecords(path, problems=[Problem(path, what, lost)])


class _Reader:
    """One pass over one process's files."""

    def __init__(
        self, path: str, file: Source, compressed: Callable[[], Iterable[CompressedFile]], known: Known | None = None
    ) -> None:
        self._path = path
        self._known = known or Known()
        self._definitions: list[tuple[bytes, int]] | None = None if known is None else []
        """The first chunks of definitions that are compressed and understood; None once they are cached, or must not
        be."""
        self._named: dict[int, None] = {}
        """Threads that these chunks define."""
        self._file = file
        self._compressed = compressed
        self._found = ProcessRecords(path)
        self._more_problems = 0
        self._notes: dict[Note, None] = {}
        self._chunks: dict[_Key, Chunk] = {}
        self._moved: dict[_Key | None, Chunk] = {}
        """Compressed locations of chunks that were elsewhere when they were found."""
        self._reported: set[tuple[str, str]] = set()
        self._dropped = Dropped()
        """Events dropped by the collector, compressed or not."""
        self._overwritten = Dropped()
        """Events dropped by the recorder itself, in the trace file."""
        self._gaps: set[_Key] = set()
        """Chunks before which some were dropped."""
        self._cached_bytes = 0
        self._next: dict[int, int] = {}
        """For each thread, the number of the next chunk to read."""

    def read(self, *, events: bool = True) -> ProcessRecords:
        found = self._found
        if not self._read_header():
            return found
        self._find_chunks()
        if found.header.state == State.RECORDING and (missing := self._missing()):
            # They moved during the scan: a second scan finds them. It may also find newer ones, and miss some of those.
            seen = set(self._chunks)
            self._find_chunks()
            self._chunks = {key: chunk for key, chunk in self._chunks.items() if key in seen or key in missing}
        self._check_numbers()
        ordered = sorted(self._chunks.items())
        for key, chunk in ordered:
            if events and key[0] is ChunkKind.EVENTS:
                self._read_chunk(key, chunk)
        defined = self._recall()
        for key, chunk in ordered:
            if key[0] is not ChunkKind.EVENTS and key not in defined:
                self._read_chunk(key, chunk)
        self._remember()
        if found.header.state in (State.QUOTA, State.FAILED) and found.header.dropped:
            for serial in found.threads:
                self._missing_here(serial, self._why_stopped(found.header))
        found.threads = dict(sorted(found.threads.items()))
        found.notes = list(self._notes)
        self._report_dropped()
        if self._more_problems:
            found.problems.append(Problem(self._path, f"{self._more_problems} more problems of these kinds"))
        return found

    def _problem(self, what: str, where: str | int | None = None, lost: str = "") -> None:
        """Report a problem; `where` is a place, or an offset in the trace file."""
        where = self._path if where is None else f"{self._path}@{where}" if isinstance(where, int) else where
        if (where, what) in self._reported:  # in the first scan
            return
        self._reported.add((where, what))
        if len(self._found.problems) >= MAX_PROBLEMS:
            self._more_problems += 1
            return
        self._found.problems.append(Problem(where, what, lost))

    def _read_header(self) -> bool:
        page = self._file.part(0, header.HEADER_SIZE)
        if not page.strip(b"\0"):
            self._problem("empty: the process ended before it recorded any event", lost="all of it")
            return False
        if len(page) < header.HEADER.size:
            self._problem("cut short inside its header", lost="all of it")
            return False
        values = dict(zip(header.HEADER_FIELDS, header.HEADER.unpack_from(page), strict=True))
        if values["magic"] != header.MAGIC:
            begun = not values["magic"].strip(b"\0")
            self._problem(
                "the process ended before its header was whole" if begun else "not a trace file of clew",
                lost="all of it",
            )
            return False
        if values["version"] > header.VERSION:
            self._problem(
                f"written in format {values['version']}, but this clew reads up to {header.VERSION}; upgrade clew",
                lost="all of it",
            )
            return False
        if 0 < values["version"] < header.VERSION:
            self._problem(
                f"written in format {values['version']}, this clew reads format {header.VERSION}; record again",
                lost="all of it",
            )
            return False
        sizes = (values["header_size"], values["chunk_size"])
        if not values["version"] or sizes != (header.HEADER_SIZE, header.CHUNK_SIZE):
            self._problem(f"its header is damaged; read as format {header.VERSION}")
        strange = [name for name, most in _MOST.items() if values[name] > most]
        if strange:
            self._problem(f"its header is damaged: {', '.join(strange)}")
        fields = Header(**{name: 0 if name in strange else values[name] for name in Header._fields})
        if fields.clock not in set(Clock):
            self._problem("its header is damaged: unknown clock; times are read as nanoseconds")
        self._found.header = fields
        self._found.readable = True
        ends = ((fields.start_ticks, fields.start_monotonic_ns), (fields.last_ticks, fields.last_monotonic_ns))
        self._found.pairs += [pair for pair in ends if all(pair)]
        self._read_state(fields)
        self._read_info(page)
        return True

    def _read_state(self, fields: Header) -> None:
        if fields.state not in set(State):
            self._problem("its header is damaged: unknown state")
        elif fields.state in (State.QUOTA, State.FAILED):
            self._problem(self._why_stopped(fields), lost=f"{fields.dropped} records after that")

    @staticmethod
    def _why_stopped(fields: Header) -> str:
        why = "its quota was used up" if fields.state == State.QUOTA else "the file could not grow"
        return f"recording stopped early: {why}"

    def _missing_here(self, serial: int, why: str) -> None:
        """Mark that records of a thread are lost after those read so far."""
        thread = thread_of(self._found, serial)
        thread.missing.append(Missing(thread.extents.bytes, why))

    def _read_info(self, page: bytes) -> None:
        start = header.INFO_OFFSET + 4
        length = int.from_bytes(page[header.INFO_OFFSET : start], "little")
        try:
            text = json.dumps(json.loads(page[start : start + length]), ensure_ascii=False)
            # JSON can encode lone surrogates, which no other format accepts.
            info = json.loads(text.encode("utf-8", "replace"))
            if not isinstance(info, dict):
                raise TypeError
            self._found.info = info
        except (ValueError, TypeError, RecursionError):
            self._problem("its description of the process is damaged", header.INFO_OFFSET, "host, command, boot")

    def _find_chunks(self) -> None:
        """Find all chunks in the trace file, then all in compressed files, see above."""
        size = self._file.size()
        whole, rest = divmod(max(size - header.HEADER_SIZE, 0), header.CHUNK_SIZE)
        if rest:
            self._problem("cut short inside a chunk", size)
        claimed = self._found.header.chunks
        over = self._found.header.flags & header.FLAG_PACKED
        if claimed > whole + (rest > 0) and not over:
            lost = claimed - whole - (rest > 0)
            self._problem("cut short", size, f"{lost} chunks" if lost < 1 << 32 else "an unknown number of chunks")
        for chunk in find_raw(self._file, self._path, whole + (rest > header.CHUNK_HEADER_SIZE), self._problem):
            self._add(chunk)
        for chunk in self._find_compressed():
            self._add(chunk)
        self._read_overwritten()
        if over and claimed > len(self._chunks):
            lost = claimed - len(self._chunks)
            lost_chunks = f"{lost} chunks" if lost < 1 << 32 else "an unknown number of chunks"
            self._problem("some of its compressed files are missing", lost=lost_chunks)

    def _read_overwritten(self) -> None:
        """Read the counts of dropped events after the chunks, because they are counted before they are dropped."""
        data = self._file.part(header.OVERWRITTEN_OFFSET, 16)
        if len(data) == 16:
            records, ticks = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")
            if records > MAX_COUNT:
                self._problem("its header is damaged: overwritten")
            else:
                self._overwritten = Dropped(records, ticks)

    def _find_compressed(self) -> Iterator[Chunk]:
        for file in self._compressed():
            for found in find_compressed(file, self._problem):
                if isinstance(found, Dropped):
                    self._dropped = max(self._dropped, found)
                else:
                    yield found

    def _add(self, chunk: Chunk) -> None:
        _, kind, _, _, serial, number, ticks, monotonic_ns = header.CHUNK_HEADER.unpack_from(chunk.header)
        if kind not in set(ChunkKind) or (kind == ChunkKind.EVENTS and not serial):
            self._problem("a chunk of unknown kind", chunk.where, "the chunk")
            return
        key = (ChunkKind(kind), serial, number)
        other = self._chunks.get(key)
        if other and other.where != chunk.where:
            # If two copies differ, the trace file's is the newer one: it may have grown.
            if other.identity == chunk.identity and not (chunk.raw and other.raw):
                return
            if not other.empty:
                what = f"chunk {number} of thread {serial} exists twice"
                self._problem(what, chunk.where, "the second one")
                return
        self._chunks[key] = chunk
        if ticks and 0 < monotonic_ns <= MAX_NS:
            self._found.pairs.append((ticks, monotonic_ns))

    def _load(self, key: _Key, chunk: Chunk) -> memoryview:
        """Return a chunk's data from its current location; nothing if it was dropped.

        Raises `ValueError` when it cannot be decompressed.
        """
        for _ in range(_MOVES):
            try:
                return memoryview(chunk.load())[header.CHUNK_HEADER_SIZE :]
            except Gone:
                moved = self._moved.get(key)
                if moved is None or moved is chunk:
                    with contextlib.suppress(OSError):  # the folder was removed
                        self._moved = {_key_of(found): found for found in self._find_compressed()}
                    moved = self._moved.get(key)
                if moved is None:
                    break
                chunk = moved
        return memoryview(b"")

    def _read_chunk(self, key: _Key, chunk: Chunk) -> None:
        kind, serial, number = key
        if kind is ChunkKind.EVENTS:
            before = self._next.get(serial, 0)
            if number != before and key not in self._gaps:  # those get their own record
                what = f"chunks {before} to {number - 1} of thread {serial} are missing"
                if serial not in self._next and (self._dropped.records or self._overwritten.records):
                    what = "the oldest records were dropped to stay within the quota"
                self._missing_here(serial, what)
            self._next[serial] = number + 1
            if end := self._known.end_of(chunk):
                thread = self._thread_of(serial, chunk)
                if key in self._gaps:
                    self._add_gap(thread, chunk)
                self._add_extent(thread, key, chunk, end, None)
                return
        try:
            data = self._load(key, chunk)
        except ValueError:
            self._problem("a compressed chunk is damaged", chunk.where, lost="the chunk")
            if kind is ChunkKind.EVENTS:
                self._missing_here(serial, "a compressed chunk is damaged")
            return
        if kind is ChunkKind.EVENTS:
            self._read_events(serial, key, chunk, data)
        elif kind is ChunkKind.DEFINITIONS:
            self._read_definitions(chunk, data)
        elif count(self._found, data):
            self._problem("a counter of calls is damaged", chunk.where, "one counter")

    def _report_dropped(self) -> None:
        records = self._dropped.records + self._overwritten.records
        if not records:
            return
        ticks = max(self._dropped.ticks, self._overwritten.ticks)
        start = self._found.header
        clock = clock_map.MONOTONIC if start.clock != Clock.CYCLES else clock_map.fit(self._found.pairs)
        after = (clock.monotonic_ns(ticks) - start.start_monotonic_ns) / 1e9
        which = (
            f"{records} records, the oldest that were not compressed,"
            if self._gaps
            else f"the oldest {records} records"
        )
        self._problem(
            f"{which} were dropped to stay within the quota; "
            f"the recording is complete from {after:.1f} s after the process's start",
            lost=f"{records} records",
        )

    def _missing(self) -> set[tuple[ChunkKind, int, int]]:
        last: dict[tuple[ChunkKind, int], int] = {}
        for kind, serial, number in self._chunks:
            last[kind, serial] = max(number, last.get((kind, serial), 0))
        if sum(last.values()) > _MOST_MISSING + len(self._chunks):  # damage; no process has that many
            return set()
        every = {(kind, serial, number) for (kind, serial), most in last.items() for number in range(most)}
        return every - self._chunks.keys()

    def _check_numbers(self) -> None:
        expected: dict[tuple[ChunkKind, int], int] = {}
        for (kind, serial, number), chunk in sorted(self._chunks.items()):
            dropped = kind is ChunkKind.EVENTS and (self._dropped.records or self._overwritten.records)
            before = expected.get((kind, serial), number if dropped else 0)
            if number != before and dropped:
                self._gaps.add((kind, serial, number))
            elif number != before:
                whose = f"thread {serial}" if kind is ChunkKind.EVENTS else kind.name.lower()
                self._problem(f"chunks {before} to {number - 1} of {whose} are missing", chunk.where, "their contents")
            expected[kind, serial] = number + 1

    def _read_events(self, serial: int, key: _Key, chunk: Chunk, data: memoryview) -> None:
        end, wrong = find_end(data, _EVENT_KINDS)
        if wrong:
            self._problem(wrong, chunk.inside(end), "the rest of the chunk")
        thread = self._thread_of(serial, chunk)
        if key in self._gaps or (not data and (chunk.raw or len(thread.extents))):
            self._add_gap(thread, chunk)
        if end:
            self._add_extent(thread, key, chunk, end, data[:end])
        if wrong:
            self._missing_here(serial, wrong)

    def _thread_of(self, serial: int, chunk: Chunk) -> ThreadRecords:
        thread = thread_of(self._found, serial)
        thread.native_id = thread.native_id or header.CHUNK_HEADER.unpack_from(chunk.header)[3]
        return thread

    @staticmethod
    def _add_gap(thread: ThreadRecords, chunk: Chunk) -> None:
        gap = gap_before(chunk)
        thread.extents.add(Part(len(gap), lambda: gap, chunk.identity + _GAP))

    def _add_extent(self, thread: ThreadRecords, key: _Key, chunk: Chunk, end: int, data: memoryview | None) -> None:
        """Add an extent; its `data` of `end` bytes is cached for later if it had to be decompressed and the cache has
        space."""
        cached = data if data is not None and not chunk.raw and self._cached_bytes + end <= _CACHE_BYTES else None
        if cached is not None:
            self._cached_bytes += end
        thread.extents.add(
            Part(
                end,
                lambda: cached if cached is not None else self._again(key, chunk, end),
                chunk.identity + _CHUNK,
                chunk.block_crc,
            )
        )

    def _again(self, key: _Key, chunk: Chunk, end: int) -> memoryview:
        """Read the records of a chunk again that was complete up to `end`; no more than that, and none if it was
        damaged since."""
        try:
            data = self._load(key, chunk)
        except ValueError:
            return memoryview(b"")
        return data[: min(end, find_end(data[:end], _EVENT_KINDS)[0])] if data or not chunk.raw else gap_before(chunk)

    def _recall(self) -> set[_Key]:
        """Restore cached definitions; return the chunks that they came from."""
        known = self._known.definitions
        if known is None or self._definitions is None:
            return set()
        chunks = sorted((key, chunk) for key, chunk in self._chunks.items() if key[0] is ChunkKind.DEFINITIONS)
        if tuple((chunk.identity, chunk.block_crc) for _, chunk in chunks[: len(known.chunks)]) != known.chunks:
            return set()
        known.define(self._found, self._notes)
        self._definitions += known.chunks
        self._named.update(dict.fromkeys(known.threads))
        return {key for key, _ in chunks[: len(known.chunks)]}

    def _remember(self) -> None:
        """Cache the definitions up to here."""
        if self._definitions is not None:
            self._found.definitions = Definitions.of(self._definitions, self._found, self._named, self._notes)
            self._definitions = None

    def _read_definitions(self, chunk: Chunk, data: memoryview) -> None:
        if not chunk.block_crc:  # it may grow
            self._remember()
        elif self._definitions is not None:
            self._definitions.append((chunk.identity, chunk.block_crc))
        end, wrong = find_end(data, bytes(range(1, 256)))
        if wrong:
            self._definitions = None
            self._problem(wrong, chunk.inside(end), "the rest of the definitions in the chunk")
        for _, word, extension in records(data[:end]):
            if extension is None or not define(self._found, self._notes, word & 0xFF, extension):
                self._definitions = None
                what = f"a definition of kind {word & 0xFF} cannot be understood"
                self._problem(what, chunk.where, "one definition")
            elif word & 0xFF == Kind.THREAD:
                self._named[extension.key] = None


def _key_of(chunk: Chunk) -> _Key | None:
    _, kind, _, _, serial, number, _, _ = header.CHUNK_HEADER.unpack_from(chunk.header)
    return (ChunkKind(kind), serial, number) if kind in set(ChunkKind) else None
