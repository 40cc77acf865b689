"""Cache files next to a run's store: one layout, one reader and one writer.

A sidecar begins with a line that has the length and the checksum of its head. The head is JSON: the format, the identity of the
files that the cache was made of, the contents, and a table of arrays. The arrays follow, each at a multiple of 8 bytes.
Invariants: a sidecar is used only if its format and identity are the expected ones and every byte has the checksum that it was
written with; a writer that is killed leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.store.parquet_read import sums_of
from clew.graph.store.temp_dir import workplace

Array = npt.NDArray[Any]
_FIRST_LINE = 200
"""The largest length of the first line."""
_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError)
"""The errors of reading a file that is missing, incomplete, or not a sidecar."""


class Found(NamedTuple):
    """The contents of a sidecar; the arrays are mapped into memory."""

    about: Any
    arrays: dict[str, Array]


@dataclass(frozen=True)
class Sidecar:
    """A cache file at a path, for one format and one identity. The identity and the contents are plain JSON data."""

    path: Path
    format: int
    of: Any

    def read(self, dtype_of: Callable[[str], npt.DTypeLike] | None = None) -> Found | None:
        """Return the contents; None if the file is missing, damaged, or of another format or identity.

        `dtype_of` returns the type of an array by its name.
        """
        with contextlib.suppress(*_DAMAGED), self.path.open("rb") as file:
            length, expected = json.loads(file.readline(_FIRST_LINE))
            text = file.read(length)
            if sums_of(text) != expected:
                return None
            head = json.loads(text)
            if head["format"] != self.format or head["of"] != json.loads(json.dumps(self.of)):
                return None
            arrays = _mapped(file, head["arrays"], dtype_of) if dtype_of is not None else {}
            return Found(head["about"], arrays)
        return None

    def write(self, about: Any, arrays: Mapping[str, Array] | None = None, *, place: Path | None = None) -> None:
        """Write the file, completely or not at all. Raises `OSError`.

        `place` is a folder for the unfinished file, in the same file system and locked by the caller. By default one is made
        next to the cache's folder.
        """
        if place is None:
            with workplace(self.path.parent.parent, self.path.parent.name) as made:
                self.write(about, arrays, place=made)
            return
        given = {name: np.ascontiguousarray(array).reshape(-1) for name, array in (arrays or {}).items()}
        data = {name: array.view(np.uint8).data for name, array in given.items()}
        table = [(name, len(given[name]), sums_of(view)) for name, view in data.items()]
        head = json.dumps({"format": self.format, "of": self.of, "arrays": table, "about": about}).encode()
        part = place / f"{self.path.name}.part"
        with private_file(part) as file:
            file.write(json.dumps([len(head), sums_of(head)]).encode() + b"\n" + head)
            for view in data.values():
                file.write(bytes(-file.tell() % 8))
                file.write(view)
        part.replace(self.path)


def _mapped(file: BinaryIO, table: list[Any], dtype_of: Callable[[str], npt.DTypeLike]) -> dict[str, Array]:
    """Map the arrays that follow in the file. Raises `ValueError` for an incomplete or changed array."""
    at = file.tell()
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays: dict[str, Array] = {}
    for name, count, expected in table:
        at += -at % 8
        dtype = np.dtype(dtype_of(name))
        array = np.frombuffer(mapped, dtype, count, at) if count else np.zeros(0, dtype)
        if sums_of(array.view(np.uint8).data) != expected:
            raise ValueError(f"{name} has changed")
        arrays[name] = array
        at += array.nbytes
    if hasattr(mmap, "MADV_DONTNEED"):
        # The checksums have read every page; the system can release them until they are used.
        mapped.madvise(mmap.MADV_DONTNEED)
    return arrays


def private_file(path: Path) -> BinaryIO:
    """Open a file for writing that only the user can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
