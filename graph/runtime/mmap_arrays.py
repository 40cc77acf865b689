"""Arrays that lie in files without names, for whoever keeps a large graph open for long: what is not looked at takes no memory.

Invariants: room on the disk is reserved before an array is written to, so that a full disk means memory as ever and never a
signal; a file is gone with its last array, whatever ends us.
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
"""Bytes of an array that is as well kept in memory."""


MUCH = 1 << 29
"""Bytes of files that may be in our memory before they are let go: what is looked at again soon is there."""


def is_much() -> bool:
    """Is more of files in our memory?"""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[2])
    except (OSError, ValueError, IndexError):
        return True
    return pages * mmap.PAGESIZE > MUCH


class Room(Protocol):
    """Makes arrays, whose values are arbitrary; as `numpy.empty` does."""

    def __call__(self, shape: int | tuple[int, ...], dtype: Any, /) -> npt.NDArray[Any]: ...


class Spilled:
    """`room` of its own, in files in a folder. Where there can be none it is in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Threads add to it while others go through a copy, which takes one step of the interpreter. No callback tells of
        # what is gone: whoever is interrupted in one is not interrupted.
        self._maps: dict[int, weakref.ref[mmap.mmap]] = {}
        self._numbers = itertools.count()

    def room(self, shape: int | tuple[int, ...], dtype: Any, /) -> npt.NDArray[Any]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        mapped = self._map(size) if size >= SMALL and hasattr(os, "posix_fallocate") else None
        if mapped is None:
            return np.empty(shape, dtype)
        self._there()
        self._maps[next(self._numbers)] = weakref.ref(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def _map(self, size: int) -> mmap.mmap | None:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)
                return mmap.mmap(file.fileno(), size)
        except OSError:
            return None

    def let_go(self) -> None:
        """Nothing of the arrays takes memory of ours, until it is looked at again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._there():
                mapped.madvise(mmap.MADV_DONTNEED)

    def _there(self) -> list[mmap.mmap]:
        """Those that are; the others are forgotten."""
        there = []
        for number, known in self._maps.copy().items():
            mapped = known()
            if mapped is None:
                self._maps.pop(number, None)
            else:
                there.append(mapped)
        return there
