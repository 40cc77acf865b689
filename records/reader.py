"""Reads trace files: any bytes whatsoever give what is whole in them, and problems that say what is not.

Invariants: no exception and no endless loop, whatever the files hold; they may still be growing, and a collector may be
moving chunks from the trace file to packed ones, while they are read. A thread's `extents` are whole records, in its order.

A chunk is in the trace file until it is in a packed one. So the trace file is read first, the packed ones after it, and what
is met twice is taken once. What is read of a chunk counts only if its header is the same after it as before: else the chunk
was packed meanwhile, and will be met there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from clew.records import clocks, header, pack, run
from clew.records.errors import Problem, RunError
from clew.records.event import RECORD_SIZE, Extension, Kind, SiteInfo, unpack_extension
from clew.records.header import ChunkKind, ChunkState, Clock, State

_T = TypeVar("_T")

MAX_PROBLEMS = 50
"""Per file; a file that is rubbish throughout need not say so a thousand times."""

_EVENT_KINDS = bytes(kind for kind in Kind if kind < Kind.SITE)
_EXTENDED = re.compile(rb"[^\0]")
_NO_TICKS = bytes(8)
_MAX_RECORD = RECORD_SIZE * 256
_NUMBERED = frozenset({Kind.SITE, Kind.STRING, Kind.THREAD})
"""Definitions whose keys are the numbers that records and chunks carry in 32 bits, from 1."""
_NUMBERS = 1 << 32
_MAX_NS = (1 << 62) - 1
"""Differences of times up to this, a hundred and forty years, fit 64 bits with a sign."""
_MAX_COUNT = (1 << 48) - 1
_MOST_MISSING = 1 << 20
_CHUNK_MAGIC = header.CHUNK_MAGIC.to_bytes(4, "little")
_READABLE = frozenset({ChunkState.IN_USE, ChunkState.FINISHED})

_MOST = {
    "start_monotonic_ns": _MAX_NS,
    "start_wall_ns": _MAX_NS,
    "last_monotonic_ns": _MAX_NS,
    "dropped": _MAX_COUNT,
}
"""The greatest plausible values of the header's fields; what is beyond them is read as 0."""


class Header(NamedTuple):
    """The first page's numbers, see `clew.records.header.HEADER`; all 0 when the file is not readable."""

    version: int = 0
    pid: int = 0
    parent_pid: int = 0
    clock: int = 0
    state: int = 0
    flags: int = 0
    start_ticks: int = 0
    start_monotonic_ns: int = 0
    start_wall_ns: int = 0
    last_ticks: int = 0
    last_monotonic_ns: int = 0
    chunks: int = 0
    dropped: int = 0
    uid: int = 0
    parent_uid: int = 0


class Event(NamedTuple):
    """One record. `extension` is None for a plain one."""

    thread: int
    ticks: int
    kind: Kind
    site: int
    flags: int
    extension: Extension | None


class StrandInfo(NamedTuple):
    kind: str
    name: str
    thread: int


class Note(NamedTuple):
    """A sentence for the user, about the function whose site's id is `key`, if there is one."""

    key: int
    text: str


@dataclass
class ThreadRecords:
    """One thread's stream: `extents` are whole records only, in order."""

    serial: int
    native_id: int = 0
    name: str = ""
    daemon: bool = False
    extents: list[memoryview] = field(default_factory=list)


@dataclass
class ProcessRecords:
    """What one trace file holds. `readable` is False when it is no trace file that this version reads."""

    path: str
    readable: bool = False
    header: Header = field(default_factory=Header)
    info: dict[str, Any] = field(default_factory=dict)
    threads: dict[int, ThreadRecords] = field(default_factory=dict)
    sites: dict[int, SiteInfo] = field(default_factory=dict)
    strings: dict[int, str] = field(default_factory=dict)
    strands: dict[int, StrandInfo] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    counters: dict[int, int] = field(default_factory=dict)
    """Calls that were counted instead of recorded, by site."""
    pairs: list[clocks.Pair] = field(default_factory=list)
    """(ticks, monotonic ns) of the same instants."""
    problems: list[Problem] = field(default_factory=list)

    @property
    def boot_id(self) -> str:
        value = self.info.get("boot_id")
        return value if isinstance(value, str) else ""

    @property
    def bytes(self) -> int:
        """Of records that are whole."""
        return sum(len(extent) for thread in self.threads.values() for extent in thread.extents)

    def events(self, serial: int | None = None) -> Iterator[Event]:
        """Every record, or one thread's, thread by thread: simple and slow, for tests and tools."""
        for thread in self.threads.values() if serial is None else [self.threads[serial]]:
            for extent in thread.extents:
                for ticks, word, extension in _records(extent):
                    yield Event(thread.serial, ticks, Kind(word & 0xFF), word >> 32, word >> 16 & 0xFFFF, extension)


@dataclass
class RunRecords:
    """All readable trace files of a run, and every problem met."""

    folder: Path
    info: run.RunInfo | None
    processes: list[ProcessRecords]
    problems: list[Problem]

    def clock(self, process: ProcessRecords) -> clocks.ClockMap:
        """Ticks of `process` to monotonic ns, by the pairs of every process of its boot."""
        if process.header.clock != Clock.CYCLES:
            return clocks.MONOTONIC
        cached = self._clocks.get(process.boot_id)
        if cached is None:
            cached = self._clocks[process.boot_id] = clocks.fit(self._pairs(process.boot_id))
        return cached

    def _pairs(self, boot_id: str) -> Iterator[clocks.Pair]:
        for other in self.processes:
            if other.boot_id == boot_id and other.header.clock == Clock.CYCLES:
                yield from other.pairs

    def __post_init__(self) -> None:
        self._clocks: dict[str, clocks.ClockMap] = {}


def read_run(folder: Path | str) -> RunRecords:
    """Everything in a run's folder. Never raises: a folder that is no run gives no processes and a problem."""
    folder = Path(folder)
    info, problems = None, []
    try:
        info = run.load_run(folder)
    except (RunError, OSError, RecursionError) as error:
        problems.append(Problem(str(folder), str(error)))
    try:
        paths = run.trace_files(folder)
    except OSError as error:
        paths = []
        problems.append(Problem(str(folder), f"its files cannot be listed ({error.strerror})"))
    read = [read_process(path) for path in paths]
    problems += [problem for process in read for problem in process.problems]
    return RunRecords(folder, info, [process for process in read if process.readable], problems)


def read_process(path: Path | str) -> ProcessRecords:
    """The records of one trace file. Never raises: what is wrong is in `problems`."""
    name = os.fspath(path)
    try:
        file = os.open(name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        return _unreadable(name, f"cannot be opened ({getattr(error, 'strerror', None) or error})")
    try:
        return _Reader(
            name,
            lambda: os.fstat(file).st_size,
            lambda offset, length: os.pread(file, length, offset),
            lambda: _packed(name),
        ).read()
    except (OSError, ValueError) as error:
        return _unreadable(name, f"cannot be read ({getattr(error, 'strerror', None) or error})")
    finally:
        os.close(file)


def parse_process(data: bytes, where: str, packed: Iterable[tuple[str, bytes]] = ()) -> ProcessRecords:
    """As `read_process`, of bytes in memory: the trace file's, and names and bytes of packed ones."""
    return _Reader(
        where, lambda: len(data), lambda offset, length: data[offset : offset + length], lambda: packed
    ).read()


def _packed(name: str) -> Iterator[tuple[str, bytes]]:
    paths = run.packed_files(name)
    gone = False
    for path in paths:
        try:
            yield str(path), path.read_bytes()
        except FileNotFoundError:
            gone = True
        except OSError as error:
            yield f"{path}: {error.strerror}", b""
    if gone:  # it was the oldest, and the quota is reached: the first one says so now
        with contextlib.suppress(OSError):
            yield str(paths[0]), paths[0].read_bytes()


def _unreadable(path: str, what: str, lost: str = "all of it") -> ProcessRecords:
    return ProcessRecords(path, problems=[Problem(path, what, lost)])


def _records(extent: memoryview) -> Iterator[tuple[int, int, Extension | None]]:
    """(ticks, word, extension) of whole records."""
    words = extent.cast("Q")
    at = 0
    while at < len(words):
        word = words[at + 1]
        slots = word >> 8 & 0xFF
        after = at + 2 + 2 * slots
        yield words[at], word, unpack_extension(extent[at * 8 + 16 : after * 8]) if slots else None
        at = after


def find_end(chunk: memoryview, kinds: bytes) -> tuple[int, str]:
    """Where the whole records of a chunk's data end, in bytes, and what is wrong there; "" for an ordinary end.

    Only records with an extension are visited one by one; runs of plain ones are checked by searching in them.
    """
    body = bytes(chunk[: len(chunk) // RECORD_SIZE * RECORD_SIZE])
    kind_bytes, slot_bytes = body[8::RECORD_SIZE], body[9::RECORD_SIZE]
    count = len(kind_bytes)
    at = 0
    while at < count:
        slots = slot_bytes[at]
        if (
            slots
            and at + slots < count
            and kind_bytes[at] in kinds
            and not body.startswith(_NO_TICKS, at * RECORD_SIZE)
        ):
            at += 1 + slots
            continue
        match = _EXTENDED.search(slot_bytes, at)
        extended = match.start() if match else count
        # Plain records at ... extended - 1, then one with an extension.
        heads = min(extended + 1, count)
        unfinished = _first_without_ticks(body, at, heads)
        strange = kind_bytes[at:unfinished].translate(None, kinds)
        if strange:
            place = kind_bytes.index(strange[:1], at)
            return place * RECORD_SIZE, f"a record of unknown kind {strange[0]}"
        if unfinished < heads:
            rest = len(body.rstrip(b"\0")) - unfinished * RECORD_SIZE
            # What follows the end can only be a record that was being written.
            return unfinished * RECORD_SIZE, "" if rest <= _MAX_RECORD else "an unfinished record in the middle"
        if extended == count:
            break
        at = extended + 1 + slot_bytes[extended]
        if at > count:
            return extended * RECORD_SIZE, "a record that reaches beyond its chunk"
    return count * RECORD_SIZE, ""


def _first_without_ticks(body: bytes, first: int, stop: int) -> int:
    """The first 16-byte unit of first ... stop - 1 whose ticks are 0, or `stop`."""
    place = first * RECORD_SIZE
    while True:
        place = body.find(_NO_TICKS, place, stop * RECORD_SIZE - 8)
        if place < 0:
            return stop
        unit, inside = divmod(place, RECORD_SIZE)
        if not inside:
            return unit
        place = (unit + 1) * RECORD_SIZE


def _state(head: bytes) -> int:
    return int.from_bytes(head[header.CHUNK_STATE_OFFSET : header.CHUNK_STATE_OFFSET + 4], "little")


def _identity(head: bytes) -> bytes:
    """What two copies of a chunk's header have in common."""
    return head[: header.CHUNK_STATE_OFFSET]


class _Chunk(NamedTuple):
    """A chunk that was found, not yet looked into."""

    where: str
    """The file, with `@offset` of the chunk or of the frame that holds it."""
    head: bytes
    """Its header, but for the state: equal for two copies of one chunk."""
    native_id: int
    data: Callable[[], bytes]
    """Gives its bytes, header included; fewer when the file was cut. Raises `ValueError` when they can't be unpacked."""
    raw: bool

    def inside(self, end: int) -> str:
        """The place of byte `end` of its data; a packed one is named as a whole."""
        path, _, offset = self.where.rpartition("@")
        return f"{path}@{int(offset) + header.CHUNK_HEADER_SIZE + end}" if self.raw else self.where

    @property
    def empty(self) -> bool:
        try:
            return not self.data()[header.CHUNK_HEADER_SIZE :][: len(_NO_TICKS)].strip(b"\0")
        except ValueError:
            return True


class _Reader:
    """One pass over one process's files."""

    def __init__(
        self,
        path: str,
        size: Callable[[], int],
        part: Callable[[int, int], bytes],
        packed: Callable[[], Iterable[tuple[str, bytes]]],
    ) -> None:
        self._path = path
        self._size_now = size
        self._part = part
        self._packed = packed
        self._size = 0
        self._found = ProcessRecords(path)
        self._more_problems = 0
        self._notes: dict[Note, None] = {}
        self._chunks: dict[tuple[ChunkKind, int, int], _Chunk] = {}
        """By (kind, thread's serial, number)."""
        self._said: set[tuple[str, str]] = set()
        self._dropped = (0, 0)
        """To stay within the quota: records, and the ticks of the last of them."""

    def read(self) -> ProcessRecords:
        found = self._found
        if not self._read_header():
            return found
        self._find_chunks()
        if found.header.state == State.RECORDING and (missing := self._missing()):
            # They have moved while we read: a second look finds them. It may also find newer ones, and miss some of those.
            seen = set(self._chunks)
            self._find_chunks()
            self._chunks = {key: chunk for key, chunk in self._chunks.items() if key in seen or key in missing}
        self._check_numbers()
        for (kind, serial, _), chunk in sorted(self._chunks.items()):
            try:
                data = memoryview(chunk.data())[header.CHUNK_HEADER_SIZE :]
            except ValueError:
                self._problem("a packed chunk is damaged", chunk.where, lost="the chunk")
                continue
            if kind is ChunkKind.EVENTS:
                self._read_events(serial, chunk, data)
            elif kind is ChunkKind.DEFINITIONS:
                self._read_definitions(chunk, data)
            else:
                self._read_counters(chunk, data)
        found.threads = dict(sorted(found.threads.items()))
        found.notes = list(self._notes)
        self._report_dropped()
        if self._more_problems:
            found.problems.append(Problem(self._path, f"{self._more_problems} more problems of these kinds"))
        return found

    def _problem(self, what: str, where: str | int | None = None, lost: str = "") -> None:
        """`where` is a place, or an offset in the trace file."""
        where = self._path if where is None else f"{self._path}@{where}" if isinstance(where, int) else where
        if (where, what) in self._said:  # at the first look
            return
        self._said.add((where, what))
        if len(self._found.problems) >= MAX_PROBLEMS:
            self._more_problems += 1
            return
        self._found.problems.append(Problem(where, what, lost))

    def _read_header(self) -> bool:
        page = self._part(0, header.HEADER_SIZE)
        if not page.strip(b"\0"):
            self._problem("empty: the process ended before it recorded anything", lost="all of it")
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
                f"written in format {values['version']}, this clew reads up to {header.VERSION}; upgrade clew",
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
        for pair in (
            (fields.start_ticks, fields.start_monotonic_ns),
            (fields.last_ticks, fields.last_monotonic_ns),
        ):
            if all(pair):
                self._found.pairs.append(pair)
        self._read_state(fields)
        self._read_info(page)
        return True

    def _read_state(self, fields: Header) -> None:
        if fields.state not in set(State):
            self._problem("its header is damaged: unknown state")
        elif fields.state in (State.QUOTA, State.FAILED):
            why = "its quota was used up" if fields.state == State.QUOTA else "the file could not grow"
            self._problem(f"recording stopped early: {why}", lost=f"{fields.dropped} records after that")

    def _read_info(self, page: bytes) -> None:
        start = header.INFO_OFFSET + 4
        length = int.from_bytes(page[header.INFO_OFFSET : start], "little")
        try:
            text = json.dumps(json.loads(page[start : start + length]), ensure_ascii=False)
            # JSON can spell halves of characters, which no other format takes.
            info = json.loads(text.encode("utf-8", "replace"))
            if not isinstance(info, dict):
                raise TypeError
            self._found.info = info
        except (ValueError, TypeError, RecursionError):
            self._problem("its description of the process is damaged", header.INFO_OFFSET, "host, command, boot")

    def _find_chunks(self) -> None:
        """Everything in the trace file, then everything in packed ones, see above."""
        self._size = self._size_now()
        whole, rest = divmod(max(self._size - header.HEADER_SIZE, 0), header.CHUNK_SIZE)
        if rest:
            self._problem("cut short inside a chunk", self._size)
        claimed = self._found.header.chunks
        over = self._found.header.flags & header.FLAG_PACKED
        if claimed > whole + (rest > 0) and not over:
            lost = claimed - whole - (rest > 0)
            self._problem(
                "cut short", self._size, f"{lost} chunks" if lost < 1 << 32 else "an unknown number of chunks"
            )
        for index in range(whole + (rest > header.CHUNK_HEADER_SIZE)):
            if not self._find_raw(header.HEADER_SIZE + index * header.CHUNK_SIZE):
                break
        for name, data in self._packed():
            if not data and not name.endswith(run.PACKED_SUFFIX):
                self._problem("a packed file cannot be read", name, "what it held")
            self._find_packed(name, data)
        if over and claimed > len(self._chunks):
            lost = claimed - len(self._chunks)
            lost_chunks = f"{lost} chunks" if lost < 1 << 32 else "an unknown number of chunks"
            self._problem("what was packed of it is not all there", lost=lost_chunks)

    def _find_raw(self, offset: int) -> bool:
        """False when the file ends before it."""
        head = self._part(offset, header.CHUNK_HEADER_SIZE)
        if len(head) < header.CHUNK_HEADER_SIZE:  # it was cut off while we read
            return False
        if head[:4] != _CHUNK_MAGIC:
            if head.strip(b"\0") and head[:4].strip(b"\0"):
                self._problem("a chunk's header is damaged", offset, "the chunk")
            return True
        if _state(head) not in _READABLE:
            return True
        data = self._part(offset, header.CHUNK_SIZE)
        again = self._part(offset, header.CHUNK_HEADER_SIZE)
        if _identity(again) == _identity(head) and _state(again) in _READABLE:
            self._add(f"{self._path}@{offset}", head, lambda: data, raw=True)
        return True

    def _find_packed(self, name: str, data: bytes) -> None:
        for offset, frame in pack.frames(data):
            if frame is None:
                self._problem("a packed chunk is damaged", f"{name}@{offset}", "the chunk")
            elif frame.kind == pack.CHUNK and len(frame.header) == header.CHUNK_HEADER_SIZE:
                self._add(f"{name}@{offset}", frame.header, frame.unpack, raw=False)
            elif frame.kind == pack.DROPPED and len(frame.body) == pack.DROPPED_BODY.size:
                self._dropped = max(self._dropped, pack.DROPPED_BODY.unpack(frame.body))

    def _add(self, where: str, head: bytes, data: Callable[[], bytes], *, raw: bool) -> None:
        _, kind, _, native_id, serial, number, ticks, monotonic_ns = header.CHUNK_HEADER.unpack_from(head)
        if kind not in set(ChunkKind) or (kind == ChunkKind.EVENTS and not serial):
            self._problem("a chunk of unknown kind", where, "the chunk")
            return
        key = (ChunkKind(kind), serial, number)
        chunk = _Chunk(where, _identity(head), native_id, data, raw)
        other = self._chunks.get(key)
        if other and other.where != where:
            # Of two copies the trace file's is the newer one, if they differ: it may have grown.
            if other.head == chunk.head and not (raw and other.raw):
                return
            if not other.empty:
                self._problem(f"chunk {number} of thread {serial} is there twice", where, "the second one")
                return
        self._chunks[key] = chunk
        if ticks and 0 < monotonic_ns <= _MAX_NS:
            self._found.pairs.append((ticks, monotonic_ns))

    def _report_dropped(self) -> None:
        records, ticks = self._dropped
        if not records:
            return
        start = self._found.header
        clock = clocks.MONOTONIC if start.clock != Clock.CYCLES else clocks.fit(self._found.pairs)
        after = (clock.monotonic_ns(ticks) - start.start_monotonic_ns) / 1e9
        self._problem(
            f"the oldest {records} records were dropped to stay within the quota; "
            f"it is complete from {after:.1f} s after the process's start on",
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
            before = expected.get((kind, serial), number if self._dropped[0] and kind is ChunkKind.EVENTS else 0)
            if number != before:
                whose = f"thread {serial}" if kind is ChunkKind.EVENTS else kind.name.lower()
                self._problem(f"chunks {before} to {number - 1} of {whose} are missing", chunk.where, "what they held")
            expected[kind, serial] = number + 1

    def _thread(self, serial: int) -> ThreadRecords:
        return self._found.threads.setdefault(serial, ThreadRecords(serial))

    def _read_events(self, serial: int, chunk: _Chunk, data: memoryview) -> None:
        end, wrong = find_end(data, _EVENT_KINDS)
        if wrong:
            self._problem(wrong, chunk.inside(end), "the rest of the chunk")
        thread = self._thread(serial)
        thread.native_id = thread.native_id or chunk.native_id
        if end:
            thread.extents.append(data[:end])

    def _read_definitions(self, chunk: _Chunk, data: memoryview) -> None:
        end, wrong = find_end(data, bytes(range(1, 256)))
        if wrong:
            self._problem(wrong, chunk.inside(end), "the rest of the definitions in the chunk")
        for _, word, extension in _records(data[:end]):
            if extension is None or not self._define(word & 0xFF, extension):
                what = f"a definition of kind {word & 0xFF} cannot be understood"
                self._problem(what, chunk.where, "one definition")

    def _define(self, kind: int, definition: Extension) -> bool:
        found, key, text = self._found, definition.key, definition.text
        if kind in _NUMBERED and not 0 < key < _NUMBERS:
            return False
        if kind == Kind.STRING:
            found.strings[key] = text
            return True
        if kind == Kind.NOTE:
            self._notes[Note(key, text)] = None
            return True
        try:
            fields = json.loads(text)
            if kind == Kind.SITE:
                found.sites[key] = _site(key, fields)
            elif kind == Kind.THREAD:
                name, native_id = _checked(fields, "name", str, ""), _number(fields, "native_id", most=_MAX_NS)
                daemon = _checked(fields, "daemon", bool, False)
                thread = self._thread(key)
                thread.name, thread.native_id, thread.daemon = name, native_id, daemon
            elif kind == Kind.STRAND:
                name, home = _checked(fields, "name", str, ""), _number(fields, "thread")
                found.strands[key] = StrandInfo(_checked(fields, "kind", str, ""), name, home)
            else:
                return False
        except (ValueError, TypeError, KeyError, RecursionError):
            return False
        return True

    def _read_counters(self, chunk: _Chunk, data: memoryview) -> None:
        numbers = data[: len(data) // 16 * 16].cast("Q")
        counters = self._found.counters
        for place in range(0, len(numbers), 2):
            site, count = numbers[place], numbers[place + 1]
            if not site:
                return
            if site >= _NUMBERS or count > _MAX_COUNT:
                self._problem("a counter of calls is damaged", chunk.where, "one counter")
                continue
            counters[site] = counters.get(site, 0) + count


def _checked(fields: Any, name: str, kind: type[_T], missing: _T) -> _T:
    value = fields.get(name, missing) if isinstance(fields, dict) else None
    if type(value) is not kind:
        raise TypeError(name)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # type: ignore[return-value]  # a str for a str
    return value


def _number(fields: Any, name: str, missing: int = 0, least: int = 0, most: int = _NUMBERS - 1) -> int:
    value = _checked(fields, name, int, missing)
    if not least <= value <= most:
        raise ValueError(name)
    return value


def _site(key: int, fields: Any) -> SiteInfo:
    return SiteInfo(
        id=key,
        module=_checked(fields, "module", str, ""),
        qualname=_checked(fields, "qualname", str, ""),
        file=_checked(fields, "file", str, ""),
        line=_number(fields, "line"),
        end_line=_number(fields, "end_line"),
        kind=_checked(fields, "kind", str, ""),
        rule=_number(fields, "rule", -1, least=-1),
    )
