"""Assigns each event to a call: the call around it, or the call that its scope or step runs.

Invariant: a call gets only its own events and the events that were recorded to run it. Events of a strand between calls have
no owner.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.runtime.mmap_arrays import Allocator
from clew.records.format.event import CALLS, FACTS, Kind

I64 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.signedinteger]

LEADING = (
    Kind.STEP_BEGIN, Kind.SCOPE_BEGIN, Kind.RECEIVE, Kind.REQUEST, Kind.JOIN, Kind.PAYLOAD, Kind.RELEASE, Kind.ACQUIRE, *FACTS,
)  # fmt: skip
"""The kinds that a scope or step records before the call that it runs."""
OUTCOMES = ("thread.join", "executor.result", "asyncio.future")
"""The channels that carry the outcome of a thread, a worker or a task. After the outcome only library code runs."""


def owners(
    kind: npt.NDArray[np.uint8],
    region: npt.NDArray[np.uint32],
    strand: npt.NDArray[np.uint32],
    call: Rows,
    inner: Rows,
    *,
    is_outcome: npt.NDArray[np.bool_],
    allocate: Allocator = np.empty,
) -> Rows:
    """Return, per event, the row of the ENTER of its call, else -1.

    The columns are the graph's. `is_outcome` marks the events on a channel of `OUTCOMES`.
    """
    owner = allocate(len(call), call.dtype)
    owner[:] = call
    unnamed = call < 0
    if not unnamed.any():
        return owner
    # Parts are regions, cut where a step begins; `place` counts events region by region. Only regions with an event outside
    # calls are processed.
    relevant = np.zeros(int(region.max()) + 1, bool)
    relevant[region[unnamed]] = True
    order = np.flatnonzero(relevant[region])
    order = order[np.argsort(region[order], kind="stable")]
    kinds, regions, outside = kind[order], region[order], call[order] < 0
    place = np.arange(len(order))
    starts = np.ones(len(order), bool)
    starts[1:] = (regions[1:] != regions[:-1]) | (kinds[1:] == Kind.STEP_BEGIN)
    first, part = np.flatnonzero(starts), np.cumsum(starts) - 1

    # The first record of each part that does not lead up to a call.
    runs = _next(~(outside & np.isin(kinds, LEADING)), first)
    at = np.minimum(runs, len(order) - 1)
    begins = np.isin(kinds, (Kind.ENTER, Kind.RESUME)) & _is_outermost(strand, inner)[order]
    led = (runs > first) & (runs < np.append(first[1:], len(order))) & begins[at]
    resumed = led & (kinds[at] == Kind.RESUME)
    single = led & (np.add.reduceat(begins, first, dtype=np.int64) == 1)

    settled = np.flatnonzero(outside & (place > runs[part]) & (kinds == Kind.SEND) & is_outcome[order])
    settles = np.full(len(first), len(order))
    np.minimum.at(settles, part[settled], settled)
    after = (place > runs[part]) & ((place >= settles[part]) | np.isin(kinds, (Kind.STEP_END, Kind.SCOPE_END)))
    mine = outside & (((single | resumed)[part] & (place < runs[part])) | (single[part] & after))
    owner[order[mine]] = call[order[at[part[mine]]]]

    thrown = _thrown_into(kind, strand, call, order[first])
    thrown[resumed] = -1
    mine = outside & (place < _next(~outside, first)[part]) & (thrown[part] >= 0)
    owner[order[mine]] = thrown[part[mine]]
    return owner


def _next(mask: npt.NDArray[np.bool_], places: I64) -> I64:
    """Return, per place, the first index at or after it where `mask` is true, else `len(mask)`."""
    found = np.append(np.flatnonzero(mask), len(mask))
    return found[np.searchsorted(found, places)]


def _is_outermost(strand: npt.NDArray[np.uint32], inner: Rows) -> npt.NDArray[np.bool_]:
    """Return, per event, whether no recorded call of its strand runs just before it."""
    outermost = np.ones(len(strand), bool)
    outermost[1:] = (strand[1:] != strand[:-1]) | (inner[:-1] < 0)
    return outermost


def _thrown_into(kind: npt.NDArray[np.uint8], strand: npt.NDArray[np.uint32], call: Rows, starts: I64) -> I64:
    """Return, per start of a step, the call that an exception resumes there, else -1.

    No record shows such a call. It is the innermost call that the strand's previous step suspended, if that step ended so.
    """
    found = np.full(len(starts), -1, np.int64)
    if not (kind[starts] == Kind.STEP_BEGIN).any():
        return found
    calls = np.flatnonzero(np.isin(kind, list(CALLS)))
    steps = np.flatnonzero(kind == Kind.STEP_BEGIN)
    if not len(calls):
        return found
    last = np.searchsorted(calls, starts) - 1
    before = np.searchsorted(steps, starts) - 1
    pauses = kind[calls] == Kind.SUSPEND
    suspended = (
        (kind[starts] == Kind.STEP_BEGIN)
        & (last >= 0)
        & (before >= 0)
        & pauses[last]
        & (calls[last] > steps[before])
        & (strand[steps[before]] == strand[starts])
    )
    awake = np.append(-1, np.flatnonzero(~pauses))
    innermost = np.maximum(awake[np.searchsorted(awake, last) - 1] + 1, np.searchsorted(calls, steps[before]))
    found[suspended] = call[calls[innermost[suspended]]]
    return found
