"""A call counter that outlives its process: eight bytes, little-endian, in a file mapped into memory.

The kernel keeps the page when the process is killed, so the file tells how many calls truly began. A function counts a
call in its first statement: a call that was entered but not yet counted when the process was killed is missing, which
is at most one call for each thread that makes them.
"""

import mmap
import struct
import threading
from pathlib import Path

COUNT = struct.Struct("<Q")


class CallCounter:
    def __init__(self, path: Path) -> None:
        path.write_bytes(COUNT.pack(0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), COUNT.size)
        self._lock = threading.Lock()
        self.value = 0

    def increment(self) -> None:
        with self._lock:
            self.value += 1
            COUNT.pack_into(self._map, 0, self.value)


def read_count(path: Path) -> int:
    """The count that a process, alive or dead, has left in its file."""
    return int(COUNT.unpack(path.read_bytes())[0])
