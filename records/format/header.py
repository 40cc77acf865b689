"""Define the layout of a process's trace file, version 2: one header page, then chunks of a fixed size.

All numbers are little-endian. `docs/trace-format.md` shows the bytes. Invariants: a chunk belongs to one thread until
it is free again, and only a chunk that is saved elsewhere becomes free. A chunk's magic, and later its state, are
stored after the rest of its header. The file grows only by whole chunks until it is closed.
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
"""`u64`, written by the recorder: number of finished chunks; while it is constant, no chunk finishes."""
RING_HEAD_OFFSET = 112
"""`u32`, written by the collector: free chunks ever put into the ring."""
RING_TAIL_OFFSET = 116
"""`u32`, written by the recorder: free chunks ever taken from the ring."""
PACKED_BYTES_OFFSET = 120
"""`u64`, written by the collector: size of the process's compressed files."""
RETIRED_OFFSET = 128
"""`u64`, written by the collector: chunks that are holes in the file and will not be reused."""
OVERWRITTEN_OFFSET = 136
"""`u64`, written by the recorder: records in chunks it dropped to stay within the quota; then the ticks of the last of
them."""
COUNTERS = struct.Struct("<QIIQQQQ")
COUNTER_FIELDS = ("finished", "ring_head", "ring_tail", "packed_bytes", "retired", "overwritten", "overwritten_ticks")
"""The fields directly after `HEADER`; each is at its `…_OFFSET`."""
RING_OFFSET = 3072
RING_CHUNKS = 256
"""Size of the ring: `u32` numbers of chunks, 16 MB of chunks."""
FLAG_PACKED = 1
"""Header flag: the process has ended and all its chunks are in compressed files."""
INFO_OFFSET = 256
INFO_MAX = RING_OFFSET - INFO_OFFSET - 4
"""`u32` length, then that many bytes of JSON: host, boot_id, executable, argv, cwd, python, recorder ("c" or "python"),
pauses (the source of PAUSEs, "" for none)."""

CHUNK_HEADER = struct.Struct("<IHHQIIQQ")
"""magic, kind, reserved, native thread id, thread serial (unique in the process, from 1), the chunk's number in the
thread (from 0), ticks and monotonic ns when it was claimed; then the chunk's state. The rest up to 64 bytes is zero."""
CHUNK_HEADER_FIELDS = ("magic", "kind", "reserved", "native_id", "serial", "number", "ticks", "monotonic_ns")
CHUNK_STATE_OFFSET = 40
"""`u32`, see `ChunkState`."""


class Clock(enum.IntEnum):
    CYCLES = 1  # the invariant cycle counter; a run's pairs of (ticks, monotonic ns) convert it
    MONOTONIC = 2  # ticks are CLOCK_MONOTONIC nanoseconds


class State(enum.IntEnum):
    RECORDING = 1  # also the state after a kill
    CLOSED = 2
    QUOTA = 3  # stopped: the plan's quota was reached
    FAILED = 4  # stopped: the disk was full or a mapping failed


class ChunkKind(enum.IntEnum):
    EVENTS = 1
    DEFINITIONS = 2
    COUNTERS = 3
    """Pairs of u64 (site, calls counted) from probes that were switched to counting."""


class ChunkState(enum.IntEnum):
    """The permitted operations on a chunk with a magic."""

    IN_USE = 0  # its writer stores into it
    FINISHED = 1  # complete: the collector may compress it
    PACKED = 2  # in a compressed file: ignore it here
    FREE = 3  # zeros except for its header; in the ring, for the recorder to take
    RETIRED = 4  # a hole
    DROPPED = 5  # its records were counted in the header and dropped; the recorder is about to reuse it
