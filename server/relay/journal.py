"""The journal of a relay: everything that it reported of a run, in the run's folder, so that the next relay continues
from there.

It has a few files. Each begins with the complete state at its beginning, followed by batches. A batch is reported to
viewers only after it is written here, together with its reader's position. Invariants: if a relay is killed, a batch is
here completely or not at all; one relay has a run's journal at a time; a relay that finds damage begins a new journal
with another name, and never continues a doubtful one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clew.graph.entities.live.state import LiveState
from clew.graph.entities.live.tail import put
from clew.records.errors import ClewError
from clew.records.run.directory import write_private
from clew.server.relay import wire

FOLDER = "relay"
MOST_BYTES = 8 << 20
"""Maximum bytes of a file; then a new file begins."""
FILES = 4
"""Maximum number of files, for viewers that reconnect."""
FORMAT = 1
_BLOCK = struct.Struct("<4sIII")
"""Magic, bytes of the part for readers, bytes of the part for viewers, crc32 of both."""
_MAGIC = b"CLWJ"
_SUFFIX = ".journal"


class Taken(ClewError):
    """Another relay has the journal."""


class _Damaged(Exception):
    """The file is damaged, or of another format."""


class ViewerBatch(NamedTuple):
    """A batch in the form that viewers get."""

    begin: int
    end: int
    message: bytes


class Journal:
    """The journal of one run; exclusive until `close`."""

    def __init__(self, run: Path) -> None:
        """Raises `Taken`, or `OSError` if it cannot be written."""
        self.folder = run / FOLDER
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._lock = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise Taken(f"{run}: another relay already forwards this run") from None
        self.name = ""
        self.state = LiveState()
        self.saved: dict[str, Any] = {}
        self.batches: list[ViewerBatch] = []
        """Batches that reconnecting viewers may have missed."""
        self._number = 0
        self._file = -1
        self._size = 0
        try:
            self._read()
        except (_Damaged, OSError, ValueError, KeyError, TypeError, ClewError):
            self._restart()

    def begin_file(self, message: dict[str, Any], saved: dict[str, Any]) -> None:
        """Begin a file with a state and its reader's position. Raises OSError."""
        self._number += 1
        path = self.folder / f"{self._number}{_SUFFIX}"
        block = _block(_json({"format": FORMAT, **saved}), _json(message))
        write_private(path, block)
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._size = len(block)
        for old in self._files()[:-FILES]:
            old.unlink(missing_ok=True)

    @property
    def is_full(self) -> bool:
        return self._file < 0 or self._size > MOST_BYTES

    def add(self, reached: dict[str, Any], message: bytes) -> None:
        """Append a batch. Raises OSError; then the batch is not in the file."""
        block = _block(_json(reached), message)
        try:
            written = os.write(self._file, block)
            while written < len(block):
                written += os.write(self._file, block[written:])
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(block)

    def close(self, *, remove: bool = False) -> None:
        if remove:
            shutil.rmtree(self.folder, ignore_errors=True)
        for file in (self._file, self._lock):
            if file >= 0:
                os.close(file)
        self._file = self._lock = -1

    def _files(self) -> list[Path]:
        found = [path for path in self.folder.glob(f"*{_SUFFIX}") if path.stem.isdigit()]
        return sorted(found, key=lambda path: int(path.stem))

    def _restart(self) -> None:
        for path in self._files():
            path.unlink(missing_ok=True)
        self.name = secrets.token_hex(8)
        self.state, self.saved, self.batches = LiveState(), {}, []

    def _read(self) -> None:
        files = self._files()
        if not files:
            raise _Damaged
        for path in files:
            data = path.read_bytes()
            blocks = list(_blocks(data))
            (saved, message), size = blocks[0], 0
            if path is files[-1]:
                self.saved = json.loads(saved)
                snapshot = wire.decode(message)
                if self.saved.pop("format") != FORMAT:
                    raise _Damaged
                self.name, self.state = str(snapshot["journal"]), wire.state_of(snapshot)
            for saved, message in blocks[1:]:
                _, batch = wire.decode_events(message)
                self.batches.append(ViewerBatch(batch.begin, batch.end, message))
                if path is files[-1]:
                    self.state.apply(batch)
                    put(self.saved, json.loads(saved))
            size = sum(_BLOCK.size + len(saved) + len(message) for saved, message in blocks)
            if size < len(data):  # its writer died
                os.truncate(path, size)
        self._number, self._size = int(files[-1].stem), size
        self._file = os.open(files[-1], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _block(saved: bytes, message: bytes) -> bytes:
    return _BLOCK.pack(_MAGIC, len(saved), len(message), zlib.crc32(message, zlib.crc32(saved))) + saved + message


def _blocks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the complete blocks. Raises `_Damaged` for an incomplete one, except the last, which its writer may not
    have finished."""
    at = 0
    while at < len(data):
        if len(data) - at < _BLOCK.size:
            break
        magic, saved, message, crc = _BLOCK.unpack_from(data, at)
        body = data[at + _BLOCK.size : at + _BLOCK.size + saved + message]
        if magic != _MAGIC or (len(body) == saved + message and zlib.crc32(body) != crc):
            raise _Damaged
        if len(body) < saved + message:
            break
        yield body[:saved], body[saved:]
        at += _BLOCK.size + saved + message
    if not at:
        raise _Damaged
