"""The layout of a process's trace file, version 1: one header page, then chunks of a fixed size.

Everything is little-endian. `docs/trace-format.md` draws the bytes. Invariants: a chunk belongs to one thread for ever; a
chunk's magic is stored last, after the rest of its header; the file is extended only by whole chunks until it is closed.
"""

from __future__ import annotations

import enum
import struct

MAGIC = b"CLEWREC\0"
VERSION = 1
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
LAST_TICKS_OFFSET = 56
CHUNKS_OFFSET = 72
DROPPED_OFFSET = 80
INFO_OFFSET = 256
"""`u32` length, then that many bytes of JSON: host, boot_id, executable, argv, cwd, python, recorder ("c" or "python")."""

CHUNK_HEADER = struct.Struct("<IHHQIIQQ")
"""magic, kind, reserved, native thread id, thread serial (unique in the process, from 1), chunk's number in the thread
(from 0), ticks and monotonic ns when it was claimed. The rest up to 64 bytes is zero."""


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
