"""A run of another machine, stored here in files of the same form as its segments arrive: an ordinary run for readers.

A segment is a range of bytes of a chunk at an offset, so that a repeated segment changes nothing. Invariants: the
progress of a mirror is in its files only. If its writer is killed, the files contain only recorded data, and the next
writer continues with the incomplete chunks. Readers of a run never see an incomplete record. A mirror holds the
collector's lock, so that it is the only writer of the run.
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

from clew.graph.entities.live.from_spans import FILE as SPANS_FILE
from clew.graph.formats.import_run import finish_import, is_imported
from clew.records.collector.main import locked
from clew.records.compress.compressed_files import CompressedFiles, Key, key_of
from clew.records.errors import ClewError
from clew.records.format import header
from clew.records.format.event import RECORD_SIZE
from clew.records.format.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE, ChunkKind, ChunkState, State
from clew.records.read.trace_chunks import CHUNK_MAGIC
from clew.records.run import source_snapshots as sources
from clew.records.run.directory import (
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
    """Data of another relay cannot be stored here."""


class Mirror:
    """The mirror of one run; exclusive until `close`."""

    def __init__(self, workspace: Path, run: str, origin: str, source: str = "") -> None:
        """`source`: "spans" for a run that was received over OTLP. Raises `MirrorError`, and `OSError`."""
        if not _RUN.fullmatch(run):
            raise MirrorError(f"{run!r} is not a run id")
        self.origin = origin
        self.folder = _folder(workspace, run, origin)
        self._left = contextlib.ExitStack()
        if not self._left.enter_context(locked(self.folder)):
            self._left.close()
            raise MirrorError(f"{self.folder}: another relay or a collector is writing there")
        self._workspace = workspace
        self._files: dict[str, _TraceFile] = {}
        self._requested: set[str] = set()
        self._room = 0
        self.spans = _SpansFile(self.folder / SPANS_FILE) if source == "spans" else None
        self.lock = threading.Lock()
        """Held during each operation on the mirror."""
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
        """Store the run's description and plan. The end of the run is recorded once all data is here; for OTLP data,
        once it was imported. Raises `MirrorError`."""
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
        """Return the number of the chunk that is incomplete here, by trace file and thread (0: definitions)."""
        names = [path.name for path in self.folder.glob(f"*{TRACE_SUFFIX}") if _TRACE.fullmatch(path.name)]
        return {name: self._file(name).have() for name in names}

    def finish(self) -> None:
        """Finish the run after its last data. Raises `RunError` and `OSError` if it cannot be stored as an imported
        run."""
        if self.spans and not self._is_imported():
            finish_import(self.folder, self.folder / SPANS_FILE)

    def _is_imported(self) -> bool:
        if not self.spans or not (self.folder / RUN_FILE).exists():
            return False
        with contextlib.suppress(ClewError):
            return is_imported(self.folder, load_run(self.folder))
        return False

    def page(self, name: str, page: bytes, *, is_over: bool) -> None:
        """Write a trace file's header page."""
        self._file(name).page(page, is_over=is_over)

    def piece(self, name: str, head: bytes, offset: int, data: bytes, *, is_whole: bool) -> None:
        """Write a segment of a chunk's data. Raises `MirrorError`."""
        self._file(name).piece(head, offset, data, is_whole=is_whole)

    def sources(self, files: object) -> list[str]:
        """Store the digest of each source file's text; return the digests of texts that are missing here. Raises
        `MirrorError`."""
        try:
            named = sources.named_of(files)
        except ValueError as error:
            raise MirrorError(str(error)) from None
        digests = sources.missing(self.folder, named)
        self._requested = set(digests)
        self._room = sources.MOST_RUN
        sources.name(self.folder, named)
        return digests

    def text(self, digest: str, data: str) -> None:
        """Store one of the missing texts. Raises `MirrorError` for any other text, and for invalid data."""
        packed = base64.b64decode(data)
        self._room -= len(packed)
        if digest not in self._requested or self._room < 0:
            raise MirrorError("received a source text that was not requested")
        self._requested.discard(digest)
        try:
            sources.take(self.folder, digest, packed)
        except ValueError as error:
            raise MirrorError(str(error)) from None

    def mark(self) -> None:
        """Mark the mirror as still fed by its sender (`alive.is_abandoned`)."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / ORIGIN_FILE)

    def _file(self, name: str) -> _TraceFile:
        if name not in self._files:
            if not _TRACE.fullmatch(name):
                raise MirrorError(f"{name!r} is not the name of a trace file")
            self._files[name] = _TraceFile(self.folder / name)
        return self._files[name]


class _SpansFile:
    """Data received over OTLP, unchanged; the file is append-only."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def close(self) -> None:
        os.close(self._file)

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def add(self, offset: int, data: bytes) -> None:
        """Append bytes at an offset. Raises `MirrorError`, and OSError; then none of the bytes is in the file."""
        size = self.size
        if not 0 <= offset <= size:
            raise MirrorError(f"the OTLP stream continues at byte {offset}, but the local copy ends at {size}")
        try:
            left = memoryview(data)[size - offset :]
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise


class _TraceFile:
    """A trace file. Complete chunks are packed; each other chunk has a slot."""

    def __init__(self, path: Path) -> None:
        self._packed = CompressedFiles(path)
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
        # The fields that follow describe this file: its recorder and its collector.
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
            raise MirrorError("a chunk of a trace file is damaged")
        if offset < 0 or offset + len(data) > CHUNK_SIZE - CHUNK_HEADER_SIZE or key_of(head)[0] not in set(ChunkKind):
            raise MirrorError("a chunk of a trace file is damaged")
        key = key_of(head)
        if key in self._packed.known:
            return
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._claimed(head)
        if data:
            # The first record's ticks come last, because readers stop at a record without ticks.
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
        """Make readers look for chunks again."""
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
    """Return the run's folder here, the same one every time. Raises `MirrorError`."""
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
    """Return the origin of a run that was recorded elsewhere, else None."""
    try:
        data: Any = json.loads((folder / ORIGIN_FILE).read_text(encoding="utf-8"))
        return str(data["origin"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def own_origin(folder: Path) -> str:
    """Return the global name of a run's origin: where it was recorded, however often it was forwarded."""
    return origin_of(folder) or f"{host_name()}:{folder}"
