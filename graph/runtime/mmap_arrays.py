"""Allocates arrays in memory-mapped temp files, so that a graph that is open for long takes memory only for the used parts.

Invariants: disk space is reserved before an array is written, so a full disk causes an allocation in memory and never a signal.
A file is removed with its last array, however the process ends.
"""

from __future__ import annotations

import itertools
import mmap
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

SMALL = 1 << 20
"""The size in bytes below which an array is in memory."""


MUCH = 1 << 29
"""The bytes of mapped files that may stay in memory, so that arrays that are soon used again are there."""


def is_much() -> bool:
    """Return whether more than `MUCH` bytes of mapped files are in this process's memory."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[2])
    except (OSError, ValueError, IndexError):
        return True
    return pages * mmap.PAGESIZE > MUCH


class Allocator(Protocol):
    """An allocator of uninitialised arrays, such as `numpy.empty`."""

    def __call__(self, shape: int | tuple[int, ...], dtype: Any, /) -> npt.NDArray[Any]: ...


class MappedFiles:
    """An allocator in memory-mapped temp files in a folder. If a file cannot be made, the array is in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Threads add to it while others iterate over a copy; copying is atomic in the interpreter. The weak references have no
        # callbacks, because an exception that interrupts a thread inside one would be lost.
        self._maps: dict[int, weakref.ref[mmap.mmap]] = {}
        self._numbers = itertools.count()

    def allocate(self, shape: int | tuple[int, ...], dtype: Any, /) -> npt.NDArray[Any]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        mapped = self._map(size) if size >= SMALL and hasattr(os, "posix_fallocate") else None
        if mapped is None:
            return np.empty(shape, dtype)
        self._existing()
        self._maps[next(self._numbers)] = weakref.ref(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def _map(self, size: int) -> mmap.mmap | None:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)
                return mmap.mmap(file.fileno(), size)
        except OSError:
            return None

    def release_memory(self) -> None:
        """Release the memory of all arrays until they are used again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._existing():
                mapped.madvise(mmap.MADV_DONTNEED)

    def _existing(self) -> list[mmap.mmap]:
        """Return the maps that still exist, and forget the others."""
        existing = []
        for number, reference in self._maps.copy().items():
            mapped = reference()
            if mapped is None:
                self._maps.pop(number, None)
            else:
                existing.append(mapped)
        return existing
