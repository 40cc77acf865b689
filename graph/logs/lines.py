"""Index the lines of a large file or an editor buffer: their offsets, and the lines with errors or warnings.

Invariant: only the line offsets of a file are kept in memory. A file is read once. If it grew, only the new data is
read. If it was replaced or truncated, the whole file is read again. The file is never memory-mapped, because
truncating a mapped file while it is read would kill the process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clew.graph.logs.timestamps import MAX_WIDTH

I64 = npt.NDArray[np.int64]
Report = Callable[[int, int], None]
"""A function that receives the number of bytes read and the total. An exception that it raises ends the reading."""

_CHUNK = 1 << 22
LONGEST = 1 << 26
"""The maximum length of a line in bytes. A file with a longer line is not a log, and reading stops there."""
_HEAD = 256
"""The number of bytes at a file's beginning that identify it."""
_NEWLINE = ord("\n")
_TROUBLE = (
    b"ERROR", b"CRITICAL", b"FATAL", b"WARN", b'"error"', b'"critical"', b'"warning"', b"[error", b"[critical", b"[warning",
    b"=error", b"=critical", b"=warn",
)  # fmt: skip
_IN_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Lines:
    """The lines of a text in memory, or of a file in `LogFile`."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data
        self._starts: list[I64] = [np.zeros(1, np.int64)]
        self._troubled: list[I64] = []
        self._whole = self._end = 0
        """The end of the last whole line, and the end of the data read."""
        self._lock = threading.Lock()
        if data:
            with self._lock:
                self._add(data)

    @staticmethod
    def of_text(text: str) -> Lines:
        return Lines(text.encode("utf-8", "surrogatepass"))

    @property
    def starts(self) -> I64:
        """Return the byte offset where each line begins, plus one offset for the text after the last line's end."""
        if len(self._starts) > 1:
            self._starts = [np.concatenate(self._starts)]
        return self._starts[0]

    @property
    def troubled(self) -> I64:
        """Return the lines (from 0) that report an error or a warning, ascending."""
        if len(self._troubled) > 1:
            self._troubled = [np.concatenate(self._troubled)]
        return self._troubled[0] if self._troubled else np.zeros(0, np.int64)

    def __len__(self) -> int:
        """Return the number of lines. The last line may be empty."""
        return sum(map(len, self._starts))

    def line(self, row: int) -> str:
        """Return a line (from 0) without its end, truncated to the useful length; "" if the line does not exist."""
        with self._lock:
            starts = self.starts
            if not 0 <= row < len(starts):
                return ""
            begin = int(starts[row])
            end = int(starts[row + 1]) if row + 1 < len(starts) else self._end
        data = self._read(begin, min(end - begin, 4 * MAX_WIDTH))
        return data.decode("utf-8", "replace").split("\n", 1)[0].rstrip("\r")

    def _read(self, begin: int, length: int) -> bytes:
        return self._data[begin : begin + length]

    def _add(self, data: bytes) -> None:
        """Add the data that follows the last whole line."""
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
        before = len(self) - 1
        hits: list[int] = []
        for word in _TROUBLE:
            at = data.find(word)
            while at >= 0:
                if _is_word(data, at, len(word)):
                    hits.append(at)
                at = data.find(word, at + len(word))
        if self._troubled and self._troubled[-1][-1] == before:
            seen = self._troubled.pop()[:-1]  # the incomplete last line
            self._troubled += [seen] if len(seen) else []
        if hits:
            self._troubled.append(np.unique(np.searchsorted(ends, np.array(hits))) + before)
        self._starts.append(ends + 1 + self._whole)
        self._end = self._whole + len(data)
        self._whole += int(ends[-1]) + 1 if len(ends) else 0


def _is_word(data: bytes, at: int, length: int) -> bool:
    if data[at] in _IN_WORD and at and data[at - 1] in _IN_WORD:
        return False
    end = at + length
    if data[end - 4 : end].lower() == b"warn" and data[end : end + 3].lower() == b"ing":
        end += 3
    return end >= len(data) or data[end] not in _IN_WORD


class LogFile(Lines):
    """The lines of a file as of the last `refresh`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = Path(path)
        self._known: tuple[int, int, bytes] | None = None
        """Device, inode and first bytes of the file that was read."""

    def refresh(self, report: Report = lambda _done, _of: None) -> None:
        """Read the new data of the file. Raise OSError if reading fails."""
        with self._lock, self.path.open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            head = file.read(_HEAD)
            if self._known is not None:
                device, inode, known = self._known
                same = (device, inode) == (status.st_dev, status.st_ino) and head.startswith(known)
                if not same or status.st_size < self._end:
                    self._starts, self._troubled = [np.zeros(1, np.int64)], []
                    self._whole = self._end = 0
            self._known = (status.st_dev, status.st_ino, head)
            file.seek(self._whole)
            rest = b""
            while data := file.read(_CHUNK):
                rest += data
                # Split at a line end, so that a word never spans two chunks.
                whole = rest.rfind(b"\n") + 1
                if whole:
                    self._add(rest[:whole])
                    rest = rest[whole:]
                    report(self._whole, status.st_size)
                elif len(rest) > LONGEST:
                    break
            self._add(rest)

    def _read(self, begin: int, length: int) -> bytes:
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(begin)
                return file.read(length)
        except OSError:
            return b""  # the file was removed
