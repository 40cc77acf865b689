"""Lock a chunk in the kernel while both the recorder and the collector may claim it; see `csrc/store/store.h`.

Invariants: no process waits for the lock. It is released when its owner ends in any way. It belongs to the open file
description, not to the process, so closing another descriptor does not release it.
"""

from __future__ import annotations

import errno
import os
import struct

from clew.records.format.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE

try:
    import fcntl

    _COMMAND: int = getattr(fcntl, "F_OFD_SETLK", 0)
except ImportError:  # files are not shared with their processes there either
    _COMMAND = 0
_FLOCK = struct.Struct("@hhqqi4x")
"""Type, whence, start, length, process (0): `struct flock` with a 64-bit `off_t`."""


def lock_chunk(file: int, slot: int) -> None:
    """Lock a chunk.

    Raise `BlockingIOError` if another process holds the lock, and another `OSError` if the platform lacks such locks; the
    recorder does not take chunks from the collector there.
    """
    if not _COMMAND:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    _set(file, slot, fcntl.F_WRLCK)


def unlock_chunk(file: int, slot: int) -> None:
    """Unlock a locked chunk."""
    _set(file, slot, fcntl.F_UNLCK)


def _set(file: int, slot: int, kind: int) -> None:
    fcntl.fcntl(file, _COMMAND, _FLOCK.pack(kind, 0, HEADER_SIZE + slot * CHUNK_SIZE, CHUNK_HEADER_SIZE, 0))
