"""Which call every event happened in: the nesting of ENTER, EXIT, UNWIND, SUSPEND and RESUME, per strand.

The kernel goes through a stack per strand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels
from clew.graph.runtime.mmap_arrays import Room
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32] | npt.NDArray[np.int64]
_PART = 1 << 22
_MOST_SITES = 1 << 20
"""The kernel keeps tables as large as the greatest site; greater sites are renumbered."""


@dataclass(frozen=True)
class Nesting:
    """Rows of events; calls are named by the row that opened them."""

    call: Rows
    """Per event: its own call for a call's records, else the innermost open one; -1 for none."""
    inner: Rows
    """Per event: the call that runs right after it; -1 for none."""
    enter: I64
    """Per call, ascending."""
    exit: I64
    """Per call, -1 when its end is not there."""
    caller: I64
    """Per call, -1 for none."""
    suspended: I64
    """Pairs of rows, a SUSPEND and the record that ended it, as an array of shape (n, 2)."""
    unmatched: int
    """Ends of calls whose beginning is not there."""


def nest(
    kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], strand_start: I64, room: Room = np.empty
) -> Nesting:
    """`strand_start` has one more entry than there are strands; strand s has the rows `strand_start[s]` up to the next's."""
    events = len(kind)
    kind, site = np.ascontiguousarray(kind), np.ascontiguousarray(site)
    if events and int(site.max()) > _MOST_SITES + events:
        site = np.unique(site, return_inverse=True)[1].astype(np.uint32)
    # Part by part: numpy counts in a copy that is eight times as large.
    count = np.zeros(256, np.int64)
    for at in range(0, events, _PART):
        count += np.bincount(kind[at : at + _PART], minlength=256)
    calls = int(count[Kind.ENTER] + count[Kind.RESUME])
    wide = events >= 1 << 31
    call: Rows = room(events, np.int64 if wide else np.int32)
    inner: Rows = room(events, call.dtype)
    enter, exits, caller = room(calls, np.int64), room(calls, np.int64), room(calls, np.int64)
    pauses = np.empty((int(count[Kind.SUSPEND]), 2), np.int64)
    start = np.ascontiguousarray(strand_start, np.int64)
    calls, paused, unmatched = kernels.nest(kind, site, start, wide, call, inner, enter, exits, caller, pauses)
    return Nesting(call, inner, enter[:calls], exits[:calls], caller[:calls], pauses[:paused], unmatched)
