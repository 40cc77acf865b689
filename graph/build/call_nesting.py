"""Computes the call of every event from the nesting of ENTER, EXIT, UNWIND, SUSPEND and RESUME in each strand.

The kernel uses a stack per strand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels
from clew.graph.runtime.mmap_arrays import Allocator
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32] | npt.NDArray[np.int64]
_CHUNK = 1 << 22
_MOST_SITES = 1 << 20
"""The largest site number for which the kernel has a table; larger ones are renumbered."""


@dataclass(frozen=True)
class Nesting:
    """The nesting of calls, as rows of events. A call is identified by the row that opened it."""

    call: Rows
    """The call of each event: for a call's records its own, else the innermost open call; -1 for none."""
    inner: Rows
    """The call that runs right after each event, -1 for none."""
    enter: I64
    """The opening row of each call, ascending."""
    exit: I64
    """The closing row of each call, -1 when its end is missing."""
    caller: I64
    """The caller of each call, -1 for none."""
    suspended: I64
    """Pairs of a SUSPEND and the record that ended it, as rows of shape (n, 2)."""
    unmatched: int
    """The number of call ends without a beginning."""


def nest(
    kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], strand_start: I64, allocate: Allocator = np.empty
) -> Nesting:
    """Nest the calls of all strands. The rows of strand s are `range(strand_start[s], strand_start[s + 1])`."""
    events = len(kind)
    kind, site = np.ascontiguousarray(kind), np.ascontiguousarray(site)
    if events and int(site.max()) > _MOST_SITES + events:
        site = np.unique(site, return_inverse=True)[1].astype(np.uint32)
    # Count in chunks, because numpy converts its input to a copy that is eight times as large.
    count = np.zeros(256, np.int64)
    for at in range(0, events, _CHUNK):
        count += np.bincount(kind[at : at + _CHUNK], minlength=256)
    calls = int(count[Kind.ENTER] + count[Kind.RESUME])
    wide = events >= 1 << 31
    call: Rows = allocate(events, np.int64 if wide else np.int32)
    inner: Rows = allocate(events, call.dtype)
    enter, exits, caller = allocate(calls, np.int64), allocate(calls, np.int64), allocate(calls, np.int64)
    pauses = np.empty((int(count[Kind.SUSPEND]), 2), np.int64)
    start = np.ascontiguousarray(strand_start, np.int64)
    calls, paused, unmatched = kernels.nest(kind, site, start, wide, call, inner, enter, exits, caller, pauses)
    return Nesting(call, inner, enter[:calls], exits[:calls], caller[:calls], pauses[:paused], unmatched)
