"""Hold the contents of a trace file: plain data, except for the records, which are read on demand.

Invariant: no access raises; `problems` lists unreadable parts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from clew.records.errors import Problem
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import Extension, Kind, SiteInfo
from clew.records.format.record_scan import records
from clew.records.read import clock_map


class Header(NamedTuple):
    """Numbers of the first page, see `clew.records.format.header.HEADER`; all 0 when the file is not readable."""

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
    """One record; `extension` is None for a plain record."""

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
    """A sentence for the user, about the function with the site id `key`, if any."""

    key: int
    text: str


def _same(part: memoryview) -> memoryview:
    return part


class Part(NamedTuple):
    """A chunk of a thread's stream with complete records, or a GAP where one was dropped."""

    size: int
    load: Callable[[], memoryview]
    name: bytes = b""
    """Parts with the same name are the same chunk, which may have grown."""
    block_crc: int = 0
    """Checksum of the chunk's compressed block; 0 for a chunk that may grow."""


class Extents:
    """Parts of a thread's stream, in order, as contiguous bytes.

    Each part is read on demand and not cached unless there are few, so a stream may exceed the memory. A part that was
    dropped for the quota meanwhile is skipped, or becomes a GAP in the middle.
    """

    def __init__(self, parts: Iterable[memoryview] = ()) -> None:
        self.parts: list[Part] = []
        self.bytes = 0
        """Total size."""
        for part in parts:
            self.add(Part(len(part), partial(_same, part)))

    def add(self, part: Part) -> None:
        self.parts.append(part)
        self.bytes += part.size

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[memoryview]:
        return filter(len, (part.load() for part in self.parts))


class Missing(NamedTuple):
    """Lost records of a thread."""

    offset: int
    """Bytes of the thread's records before the lost ones."""
    why: str


class ThreadRecords:
    """One thread's stream."""

    def __init__(self, serial: int, extents: Extents | None = None) -> None:
        self.serial = serial
        self.native_id = 0
        self.name = ""
        self.daemon = False
        self.extents = Extents() if extents is None else extents
        self.missing: list[Missing] = []


class Definitions(NamedTuple):
    """The definitions in the first chunks of definitions of a process, if all were understood, in order."""

    chunks: tuple[tuple[bytes, int], ...]
    """Identity and checksum of the block."""
    threads: Mapping[int, tuple[int, str, bool]]
    """Native id, name, and whether it is a daemon."""
    sites: Mapping[int, SiteInfo]
    strings: Mapping[int, str]
    strands: Mapping[int, StrandInfo]
    notes: tuple[Note, ...]

    @classmethod
    def of(
        cls, chunks: Iterable[tuple[bytes, int]], found: "ProcessRecords", named: Iterable[int], notes: Iterable[Note]
    ) -> "Definitions":
        """Capture the current definitions; `named` are the threads that were defined."""
        threads = {serial: found.threads[serial] for serial in named}
        return cls(
            tuple(chunks),
            {serial: (thread.native_id, thread.name, thread.daemon) for serial, thread in threads.items()},
            dict(found.sites),
            dict(found.strings),
            dict(found.strands),
            tuple(notes),
        )

    def define(self, found: "ProcessRecords", notes: dict[Note, None]) -> None:
        """Restore all definitions into an empty target."""
        for serial, (native_id, name, daemon) in self.threads.items():
            thread = found.threads.setdefault(serial, ThreadRecords(serial))
            thread.native_id, thread.name, thread.daemon = native_id, name, daemon
        found.sites.update(self.sites)
        found.strings.update(self.strings)
        found.strands.update(self.strands)
        notes.update(dict.fromkeys(self.notes))


class ProcessRecords:
    """The contents of one trace file."""

    # Not a dataclass: importing `dataclasses` would double the delay at the end of a short program.
    def __init__(self, path: str, header: Header | None = None, problems: Iterable[Problem] = ()) -> None:
        self.path = path
        self.readable = False
        """False if this version cannot read the file as a trace file."""
        self.header = Header() if header is None else header
        self.info: dict[str, Any] = {}
        self.threads: dict[int, ThreadRecords] = {}
        self.sites: dict[int, SiteInfo] = {}
        self.strings: dict[int, str] = {}
        self.strands: dict[int, StrandInfo] = {}
        self.notes: list[Note] = []
        self.counters: dict[int, int] = {}
        """Calls that were counted instead of recorded, by site."""
        self.pairs: list[clock_map.Pair] = []
        """(ticks, monotonic ns) of the same instants."""
        self.definitions: Definitions | None = None
        """Definitions of the first chunks, if they are to be cached."""
        self.problems = list(problems)

    @property
    def boot_id(self) -> str:
        value = self.info.get("boot_id")
        return value if isinstance(value, str) else ""

    @property
    def bytes(self) -> int:
        """Return the bytes of complete records."""
        return sum(thread.extents.bytes for thread in self.threads.values())

    def events(self, serial: int | None = None) -> Iterator[Event]:
        """Yield every record, or one thread's, thread by thread: simple and slow, for tests and tools."""
        for thread in self.threads.values() if serial is None else [self.threads[serial]]:
            for extent in thread.extents:
                for ticks, word, extension in records(extent):
                    yield Event(thread.serial, ticks, Kind(word & 0xFF), word >> 32, word >> 16 & 0xFFFF, extension)
