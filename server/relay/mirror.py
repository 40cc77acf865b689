"""A run of another machine, kept in files of the same form here, as its pieces come: an ordinary run for whoever reads.

A piece is bytes of a chunk at an offset, so that one which comes twice changes nothing. Invariants: how far a mirror is, its
files say; whoever kills it, what is in them is as it was recorded, and goes on with the chunks that were not whole; who reads a
run here meets no record that is not whole. Nobody else writes to the run: a mirror has the collector's lock.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import threading
from pathlib import Path
from typing import Any

from clew.graph.entities.live_spans import FILE as SPANS_FILE
from clew.graph.imports import finish_import, is_imported
from clew.records import header, sources
from clew.records.chunks import CHUNK_MAGIC
from clew.records.collect import locked
from clew.records.errors import ClewError
from clew.records.event import RECORD_SIZE
from clew.records.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE, ChunkKind, ChunkState, State
from clew.records.packed import Key, PackedFiles, key_of
from clew.records.run import (
    FOLDER,
    ORIGIN_FILE,
    PLAN_FILE,
    RUN_FILE,
    TRACE_SUFFIX,
    host_name,
    load_run,
    make_folder,
    write_private,
)

MOST_TEXT = 16 << 20
_TRACE = re.compile(r"\d{1,10}-[0-9a-f]{16}\.clew")
_RUN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
_TICKS = 8


class MirrorError(ClewError):
    """What another relay sent cannot be kept here."""


class Mirror:
    """Of one run. Nobody else's until `close`."""

    def __init__(self, workspace: Path, run: str, origin: str, source: str = "") -> None:
        """`source`: "spans" for a run that came by OTLP. Raises `MirrorError`, and `OSError`."""
        if not _RUN.fullmatch(run):
            raise MirrorError(f"{run!r} is no run's id")
        self.origin = origin
        self.folder = _folder(workspace, run, origin)
        self._left = contextlib.ExitStack()
        if not self._left.enter_context(locked(self.folder)):
            self._left.close()
            raise MirrorError(f"{self.folder}: another relay, or a collector, writes there")
        self._workspace = workspace
        self._files: dict[str, _TraceFile] = {}
        self._wanted: set[str] = set()
        self._room = 0
        self.spans = _SpansFile(self.folder / SPANS_FILE) if source == "spans" else None
        self.lock = threading.Lock()
        """Of whoever does something with it."""
        self.is_closed = False
        self.mark()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            for file in self._files.values():
                file.close()
            if self.spans:
                self.spans.close()
            self._left.close()

    def describe(self, run: str, plan: str, *, is_whole: bool) -> None:
        """The run's own description and plan; that it is over is said when all of it is here, and of what came by OTLP, when
        it was imported. Raises `MirrorError`."""
        if self._is_imported():
            return
        try:
            info = json.loads(run)
            info |= {"id": self.folder.name, "workspace": str(self._workspace)}
            info |= {} if is_whole and not self.spans else {"finished": None, "exit_code": None, "imported": 0}
        except (ValueError, TypeError, RecursionError):
            raise MirrorError("the description of a run is damaged") from None
        if max(len(run), len(plan)) > MOST_TEXT:
            raise MirrorError("the description of a run is too large")
        write_private(self.folder / PLAN_FILE, plan)
        write_private(self.folder / RUN_FILE, json.dumps(info, indent=1, ensure_ascii=False) + "\n")

    def have(self) -> dict[str, dict[int, int]]:
        """By trace file and thread (0: definitions) the number of the chunk that is not whole here."""
        names = [path.name for path in self.folder.glob(f"*{TRACE_SUFFIX}") if _TRACE.fullmatch(path.name)]
        return {name: self._file(name).have() for name in names}

    def finish(self) -> None:
        """All of it is here. Raises `RunError` and `OSError` where it cannot be kept as an imported run."""
        if self.spans and not self._is_imported():
            finish_import(self.folder, self.folder / SPANS_FILE)

    def _is_imported(self) -> bool:
        if not self.spans or not (self.folder / RUN_FILE).exists():
            return False
        with contextlib.suppress(ClewError):
            return is_imported(self.folder, load_run(self.folder))
        return False

    def page(self, name: str, page: bytes, *, is_over: bool) -> None:
        """A trace file's header page."""
        self._file(name).page(page, is_over=is_over)

    def piece(self, name: str, head: bytes, offset: int, data: bytes, *, is_whole: bool) -> None:
        """Bytes of a chunk's data. Raises `MirrorError`."""
        self._file(name).piece(head, offset, data, is_whole=is_whole)

    def sources(self, files: object) -> list[str]:
        """Which text each source file had; gives the digests of those that are not here. Raises `MirrorError`."""
        try:
            named = sources.named_of(files)
        except ValueError as error:
            raise MirrorError(str(error)) from None
        wanted = sources.missing(self.folder, named)
        self._wanted = set(wanted)
        self._room = sources.MOST_RUN
        sources.name(self.folder, named)
        return wanted

    def text(self, digest: str, data: str) -> None:
        """One of those. Raises `MirrorError` for any other, and for what it cannot be."""
        packed = base64.b64decode(data)
        self._room -= len(packed)
        if digest not in self._wanted or self._room < 0:
            raise MirrorError("a source text came that was not asked for")
        self._wanted.discard(digest)
        try:
            sources.take(self.folder, digest, packed)
        except ValueError as error:
            raise MirrorError(str(error)) from None

    def mark(self) -> None:
        """Somebody who passes it on is there (`alive.is_abandoned`)."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / ORIGIN_FILE)

    def _file(self, name: str) -> _TraceFile:
        if name not in self._files:
            if not _TRACE.fullmatch(name):
                raise MirrorError(f"{name!r} is no trace file's name")
            self._files[name] = _TraceFile(self.folder / name)
        return self._files[name]


class _SpansFile:
    """What came by OTLP, as it came: it is only added to."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def close(self) -> None:
        os.close(self._file)

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def add(self, offset: int, data: bytes) -> None:
        """Bytes of it from a place on. Raises `MirrorError`, and OSError; then none of them is here."""
        size = self.size
        if not 0 <= offset <= size:
            raise MirrorError(f"what came by OTLP goes on at byte {offset}, but ends here at {size}")
        try:
            left = memoryview(data)[size - offset :]
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise


class _TraceFile:
    """Chunks that are whole are packed, the others have a slot each."""

    def __init__(self, path: Path) -> None:
        self._packed = PackedFiles(path)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._slots: dict[Key, int] = {}
        self._free: list[int] = []
        self._count = max(0, os.fstat(self._file).st_size - HEADER_SIZE) // CHUNK_SIZE
        self._finished = 0
        for slot in range(self._count):
            head = os.pread(self._file, CHUNK_HEADER_SIZE, self._at(slot))
            key = key_of(head) if head[:4] == CHUNK_MAGIC and _state(head) == ChunkState.IN_USE else None
            if key is None or key in self._packed.known:
                self._set_state(slot, ChunkState.PACKED)
                self._free.append(slot)
            else:
                self._slots[key] = slot

    def close(self) -> None:
        os.close(self._file)

    def have(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for kind, serial, number in self._packed.known:
            if kind != ChunkKind.COUNTERS:
                found[serial] = max(found.get(serial, 0), number + 1)
        for kind, serial, number in self._slots:
            if kind != ChunkKind.COUNTERS:
                found[serial] = max(found.get(serial, 0), number)
        return found

    def page(self, page: bytes, *, is_over: bool) -> None:
        if len(page) != HEADER_SIZE or page[: len(header.MAGIC)] != header.MAGIC:
            raise MirrorError("the header of a trace file is damaged")
        mine = bytearray(page)
        if not is_over:
            mine[header.STATE_OFFSET] = State.RECORDING
        # What follows is of the file there: its recorder's and its collector's.
        mine[header.FLAGS_OFFSET : header.FLAGS_OFFSET + 2] = bytes(2)
        mine[header.FINISHED_OFFSET : header.OVERWRITTEN_OFFSET] = bytes(
            header.OVERWRITTEN_OFFSET - header.FINISHED_OFFSET
        )
        mine[header.RING_OFFSET :] = bytes(HEADER_SIZE - header.RING_OFFSET)
        mine[header.CHUNKS_OFFSET : header.CHUNKS_OFFSET + 8] = self._count.to_bytes(8, "little")
        mine[header.FINISHED_OFFSET : header.FINISHED_OFFSET + 8] = self._finished.to_bytes(8, "little")
        begins = len(header.MAGIC)
        os.pwrite(self._file, mine[begins:], begins)
        os.pwrite(self._file, mine[:begins], 0)

    def piece(self, head: bytes, offset: int, data: bytes, *, is_whole: bool) -> None:
        if len(head) != CHUNK_HEADER_SIZE or head[:4] != CHUNK_MAGIC or offset % RECORD_SIZE or len(data) % RECORD_SIZE:
            raise MirrorError("a piece of a trace file is damaged")
        if offset < 0 or offset + len(data) > CHUNK_SIZE - CHUNK_HEADER_SIZE or key_of(head)[0] not in set(ChunkKind):
            raise MirrorError("a piece of a trace file is damaged")
        key = key_of(head)
        if key in self._packed.known:
            return
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._claimed(head)
        if data:
            # The first record's ticks come last: nobody reads beyond a record without.
            at = self._at(slot) + CHUNK_HEADER_SIZE + offset
            os.pwrite(self._file, data[_TICKS:], at + _TICKS)
            os.pwrite(self._file, data[:_TICKS], at)
        if is_whole:
            self._pack(key, slot)

    def _claimed(self, head: bytes) -> int:
        slot = self._free.pop() if self._free else self._count
        body = head[4 : header.CHUNK_STATE_OFFSET] + bytes(CHUNK_SIZE - header.CHUNK_STATE_OFFSET)
        os.pwrite(self._file, bytes(4), self._at(slot))
        os.pwrite(self._file, body, self._at(slot) + 4)
        os.pwrite(self._file, head[:4], self._at(slot))
        if slot == self._count:
            self._count += 1
        self._changed()
        return slot

    def _pack(self, key: Key, slot: int) -> None:
        chunk = os.pread(self._file, CHUNK_SIZE, self._at(slot))
        self._packed.append(chunk)
        self._packed.known.add(key)
        self._set_state(slot, ChunkState.PACKED)
        del self._slots[key]
        self._free.append(slot)
        self._changed()

    def _changed(self) -> None:
        """Tells readers to look for chunks again."""
        self._finished += 1
        for offset, value in ((header.CHUNKS_OFFSET, self._count), (header.FINISHED_OFFSET, self._finished)):
            os.pwrite(self._file, value.to_bytes(8, "little"), offset)

    def _set_state(self, slot: int, state: ChunkState) -> None:
        os.pwrite(self._file, int(state).to_bytes(4, "little"), self._at(slot) + header.CHUNK_STATE_OFFSET)

    @staticmethod
    def _at(slot: int) -> int:
        return HEADER_SIZE + slot * CHUNK_SIZE


def _state(head: bytes) -> int:
    return int.from_bytes(head[header.CHUNK_STATE_OFFSET : header.CHUNK_STATE_OFFSET + 4], "little")


def _folder(workspace: Path, run: str, origin: str) -> Path:
    """The run's folder here, the same one every time. Raises `MirrorError`."""
    base = workspace / FOLDER / "runs"
    try:
        make_folder(workspace)
        base.mkdir(exist_ok=True, mode=0o700)
        for name in (run, *(f"{run}-{number}" for number in range(2, 1000))):
            folder = base / name
            if not folder.exists():
                folder.mkdir(mode=0o700)
                write_private(folder / ORIGIN_FILE, json.dumps({"origin": origin}))
                return folder
            if origin_of(folder) == origin:
                return folder
    except OSError as error:
        raise MirrorError(f"{base}: cannot be written ({error.strerror})") from None
    raise MirrorError(f"{base}: too many runs are called {run}")


def origin_of(folder: Path) -> str | None:
    """Where a run was recorded, if that was elsewhere."""
    try:
        data: Any = json.loads((folder / ORIGIN_FILE).read_text(encoding="utf-8"))
        return str(data["origin"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def own_origin(folder: Path) -> str:
    """How a run's place is called everywhere: where it was recorded, however often it was passed on."""
    return origin_of(folder) or f"{host_name()}:{folder}"
