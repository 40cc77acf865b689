"""Open a foreign file, compressed or not, with clear errors if it cannot be read.

Invariant: reading any bytes ends with data, or with one `FormatError` that names the file, the position and a remedy.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from clew.graph.runtime.progress import Progress, no_progress
from clew.records.errors import ClewError

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
COMPRESSED_SUFFIXES = (".gz", ".zst")
CHUNK = 1 << 20


class FormatError(ClewError):
    """A foreign file that cannot be read, or is not in the given format."""


class Source:
    """One foreign file, decompressed."""

    def __init__(self, path: Path, progress: Progress = no_progress) -> None:
        self.path = path
        self.progress = progress
        try:
            self._file = path.open("rb")
            self.size = path.stat().st_size
        except IsADirectoryError:
            raise FormatError(f"{path}: a folder; name the trace files in it") from None
        except OSError as error:
            raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
        head = self._file.read(4)
        self._file.seek(0)
        self.compression = "gzip" if head.startswith(GZIP) else "zstd" if head == ZSTD else ""
        self._stream = self._decompressed()
        self._ahead = b""
        if not self.size:
            raise FormatError(f"{path}: empty; was it written to the end?")

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, pa.ArrowException):
            self._stream.close()
        self._file.close()

    def _decompressed(self) -> IO[bytes]:
        if self.compression == "gzip":
            unzipped: Any = gzip.GzipFile(fileobj=self._file)
            stream: IO[bytes] = unzipped
            return stream
        if self.compression == "zstd":
            stream = pa.CompressedInputStream(pa.PythonFile(self._file, "r"), "zstd")
            return stream
        return self._file

    def read(self, count: int = CHUNK) -> bytes:
        """Read up to `count` bytes, b"" at the end. Raises `FormatError`."""
        if self._ahead:
            data, self._ahead = self._ahead[:count], self._ahead[count:]
            return data
        try:
            data = self._stream.read(count)
        except (EOFError, zlib.error, gzip.BadGzipFile, pa.ArrowException, OSError) as error:
            at = self._file.tell()
            what = f"damaged or cut off: its {self.compression or 'data'} cannot be read after byte {at:,}"
            raise FormatError(f"{self.path}: {what} ({error}); copy or write it again") from None
        self.progress(self.path.name, self._file.tell(), self.size)
        return data

    def start(self, count: int) -> bytes:
        """Return the first bytes without consuming them."""
        while len(self._ahead) < count:
            more = b"" if not self._stream else self._read_ahead()
            if not more:
                break
            self._ahead += more
        return self._ahead[:count]

    def _read_ahead(self) -> bytes:
        ahead, self._ahead = self._ahead, b""
        more = self.read()
        self._ahead = ahead
        return more

    def data(self) -> bytes:
        """Read the rest of the file."""
        whole = io.BytesIO()
        while chunk := self.read():
            whole.write(chunk)
        return whole.getvalue()


def as_text(value: object) -> str:
    """Convert a value that should be a text to a text."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else "" if value is None else to_json(value)


def to_json(value: object) -> str:
    """Encode a value as compact JSON."""
    return _ENCODE(value)


def _number(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else str(value)


# A shared encoder: `json.dumps` creates an encoder for every call with options.
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_number).encode


def dicts(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects in a value that should be an array of objects."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
