"""The kernel's lock on a chunk, for the one moment in which recorder and collector may both want it: see `csrc/store.h`.

Invariants: nobody ever waits for it; it goes with whoever has it, however that ends; it is the open file's, not the
process's, so that no other file that is closed takes it away.
"""

from __future__ import annotations

import errno
import os
import struct

from clew.records.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE

try:
    import fcntl

    _COMMAND: int = getattr(fcntl, "F_OFD_SETLK", 0)
except ImportError:  # nor are files shared with their processes there
    _COMMAND = 0
_FLOCK = struct.Struct("@hhqqi4x")
"""Type, from where, start, length, process (0): `struct flock` where `off_t` has 64 bits."""


def lock_chunk(file: int, slot: int) -> None:
    """Raises `BlockingIOError` when another has it, another `OSError` where there are no such locks: then nobody takes a chunk
    that is the collector's."""
    if not _COMMAND:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    _set(file, slot, fcntl.F_WRLCK)


def unlock_chunk(file: int, slot: int) -> None:
    """Of one that was locked."""
    _set(file, slot, fcntl.F_UNLCK)


def _set(file: int, slot: int, kind: int) -> None:
    fcntl.fcntl(file, _COMMAND, _FLOCK.pack(kind, 0, HEADER_SIZE + slot * CHUNK_SIZE, CHUNK_HEADER_SIZE, 0))
