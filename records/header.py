"""The layout of a process's trace file, version 2: one header page, then chunks of a fixed size.

Everything is little-endian. `docs/trace-format.md` draws the bytes. Invariants: a chunk belongs to one thread until it is
free again, and only what was packed elsewhere becomes free; a chunk's magic, and later its state, are stored after the rest
of its header; the file is extended only by whole chunks until it is closed.
"""

from __future__ import annotations

import enum
import struct

MAGIC = b"CLEWREC\0"
VERSION = 2
HEADER_SIZE = 4096
CHUNK_SIZE = 64 * 1024
CHUNK_HEADER_SIZE = 64
CHUNK_MAGIC = 0x4B4E4843  # "CHNK"

HEADER = struct.Struct("<8sHHIIIBBHIQQQQQQQQQ")
"""magic, version, header size, chunk size, pid, parent pid, clock, state, flags, reserved, start ticks, start monotonic ns,
start wall ns, last ticks, last monotonic ns, chunks claimed, events dropped, process uid, parent uid."""
HEADER_FIELDS = (
    "magic",
    "version",
    "header_size",
    "chunk_size",
    "pid",
    "parent_pid",
    "clock",
    "state",
    "flags",
    "reserved",
    "start_ticks",
    "start_monotonic_ns",
    "start_wall_ns",
    "last_ticks",
    "last_monotonic_ns",
    "chunks",
    "dropped",
    "uid",
    "parent_uid",
)
STATE_OFFSET = 25
FLAGS_OFFSET = 26
LAST_TICKS_OFFSET = 56
CHUNKS_OFFSET = 72
DROPPED_OFFSET = 80
FINISHED_OFFSET = 104
"""`u64`, the recorder's: chunks that were marked finished; when it stands still, so does the rest."""
RING_HEAD_OFFSET = 112
"""`u32`, the collector's: free chunks ever put into the ring."""
RING_TAIL_OFFSET = 116
"""`u32`, the recorder's: free chunks ever taken out of the ring."""
PACKED_BYTES_OFFSET = 120
"""`u64`, the collector's: what the process's packed files take."""
RETIRED_OFFSET = 128
"""`u64`, the collector's: chunks that are holes in the file and will not be used again."""
OVERWRITTEN_OFFSET = 136
"""`u64`, the recorder's: records whose chunks it dropped to stay within the quota; then the ticks of the last of them."""
RING_OFFSET = 3072
RING_CHUNKS = 256
"""The ring's places: `u32` numbers of chunks, 16 MB of them."""
FLAG_PACKED = 1
"""Header flag: the process is over and all its chunks are in packed files."""
INFO_OFFSET = 256
INFO_MAX = RING_OFFSET - INFO_OFFSET - 4
"""`u32` length, then that many bytes of JSON: host, boot_id, executable, argv, cwd, python, recorder ("c" or "python")."""

CHUNK_HEADER = struct.Struct("<IHHQIIQQ")
"""magic, kind, reserved, native thread id, thread serial (unique in the process, from 1), chunk's number in the thread
(from 0), ticks and monotonic ns when it was claimed; then the chunk's state. The rest up to 64 bytes is zero."""
CHUNK_STATE_OFFSET = 40
"""`u32`, see `ChunkState`; always 0 in version 1."""


class Clock(enum.IntEnum):
    CYCLES = 1  # the invariant cycle counter; a run's pairs of (ticks, monotonic ns) convert it
    MONOTONIC = 2  # ticks are CLOCK_MONOTONIC nanoseconds


class State(enum.IntEnum):
    RECORDING = 1  # also what a killed process leaves behind
    CLOSED = 2
    QUOTA = 3  # stopped: the plan's quota was reached
    FAILED = 4  # stopped: the disk was full or a mapping failed


class ChunkKind(enum.IntEnum):
    EVENTS = 1
    DEFINITIONS = 2
    COUNTERS = 3
    """Pairs of u64 (site, calls counted): what probes that were switched to counting have seen."""


class ChunkState(enum.IntEnum):
    """Who may do what with a chunk that has a magic."""

    IN_USE = 0  # its writer stores into it
    FINISHED = 1  # whole: the collector may pack it
    PACKED = 2  # in a packed file: to be ignored here
    FREE = 3  # zeros, but for its header; in the ring, for the recorder to take
    RETIRED = 4  # a hole
    DROPPED = 5  # its records were counted in the header and are gone; the recorder is about to use it again
