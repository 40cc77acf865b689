"""Maps parts of a file for the Python recorder. Invariant: a mapping needs no descriptor; its file may be closed at once.

Up to Python 3.12 `mmap.mmap` keeps a duplicate of the descriptor, which the program would see among its own.
"""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Callable

Map = Callable[[int, int, int], memoryview]
"""(descriptor, offset, length) to writable bytes that are unmapped with their last view. Offsets are whole pages."""


def _choose() -> Map:
    if sys.version_info >= (3, 13):
        return lambda file, offset, length: memoryview(mmap.mmap(file, length, offset=offset, trackfd=False))
    else:  # to a type checker that is run by 3.13, what comes after a return without it would be out of reach
        if os.name == "posix":
            try:
                return _by_libc()
            except (ImportError, OSError, AttributeError):
                pass
        return lambda file, offset, length: memoryview(mmap.mmap(file, length, offset=offset))


def _by_libc() -> Map:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_ssize_t)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    failed = ctypes.c_void_p(-1).value

    def map_by_libc(file: int, offset: int, length: int) -> memoryview:
        address = libc.mmap(None, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, offset)
        if address == failed:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        data = (ctypes.c_ubyte * length).from_address(address)
        # At exit other threads may still be storing records.
        weakref.finalize(data, libc.munmap, address, length).atexit = False
        return memoryview(data).cast("B")

    return map_by_libc


map_file = _choose()
