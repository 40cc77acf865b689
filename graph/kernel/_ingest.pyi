"""Build a graph from records in C (`csrc/`).

Arrays have the widths of the numpy columns with these names; row numbers have 8 bytes if `wide`, else 4. Results are written
into the arrays given for them. Sizes and rows that do not fit raise ValueError.
"""

from typing import Any

import numpy.typing as npt
from typing_extensions import Buffer

Array = npt.NDArray[Any]

def fill(
    extent: Buffer,
    base: int,
    ticks: Array,
    kind: Array,
    site: Array,
    ext: Array,
    key: Array,
    channel: Array,
    flags: Array,
    text_start: Array,
    texts: Array,
    /,
) -> tuple[int, int]:
    """Write the columns of an extent to the beginnings of the arrays; return its numbers of records and extensions.

    Extensions are numbered from `base`; `text_start[0]` is read.
    """

def steps(
    kind: Array,
    site: Array,
    ext: Array,
    key: Array,
    keys: Array,
    since: int,
    stack: Array,
    dropped: bool,
    strand: Array,
    /,
) -> tuple[bytes, int, bytes, int, bool]:
    """Assign a thread's records to strands, from the state in `keys`, `since`, `stack` and `dropped`.

    `graph/build/split_strands.py:Steps` describes the state. Return the keys of new strands, the new `since` and `stack`, the
    number of ends without a beginning, and the new `dropped`.
    """

def nanoseconds(ticks: Array, begin: Array, base: Array, rate: Array, ns: Array, /) -> None:
    """Convert ticks to nanoseconds by the sorted segments of a `ClockMap`."""

def tally(strand: Array, base: int, thread: int, count: Array, home: Array, /) -> None:
    """Add a thread's records to `count` by strand, and write the thread to `home`, or -2 if several threads ran the strand."""

def place(
    strand: Array,
    times: Array,
    kind_of: Array,
    site_of: Array,
    ext_of: Array,
    base: int,
    first: int,
    extended: int,
    strand_start: Array,
    free: Array,
    wide: bool,
    ts: Array,
    kind: Array,
    site: Array,
    ext: Array,
    sequence: Array,
    /,
) -> None:
    """Copy a thread's columns to the next `free` rows of each strand; `wide` is for `sequence`."""

def nest(
    kind: Array,
    site: Array,
    strand_start: Array,
    wide: bool,
    call: Array,
    inner: Array,
    enter: Array,
    exit: Array,
    caller: Array,
    pauses: Array,
    /,
) -> tuple[int, int, int]:
    """Match the ENTER and end of each call; return the numbers of calls, of pauses, and of ends without a beginning.

    A pause is a pair of rows. The arrays of calls need room for every ENTER and RESUME, and `pauses` for every SUSPEND.
    Memory is proportional to the greatest site.
    """

def split(
    kinds: tuple[int, int, int, int],
    kind: Array,
    ext: Array,
    channel: Array,
    wide: bool,
    call: Array,
    enter: Array,
    exit: Array,
    caller: Array,
    strand_start: Array,
    region: Array,
    /,
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes]:
    """Return the columns of regions; `kinds` are the kinds of a root, a receive, a scope and a request."""

def pair(
    kind: Array,
    ext: Array,
    ts: Array,
    sequence: Array,
    wide: bool,
    strand_start: Array,
    process: Array,
    key: Array,
    flags: Array,
    without: int,
    family: Array,
    source: Array,
    handed_over: Array,
    edge: Array,
    granted: int,
    src: Array,
    dst: Array,
    edge_kind: Array,
    /,
) -> tuple[int, bytes]:
    """Match each target with its source; return the number of edges, and the numbers of unmatched targets by kind (64 bits).

    `process` is by strand, `family` (from 1, 0 for none) and `source` by kind, `handed_over` and `edge` by family. `src`, `dst`
    and `edge_kind` need room for all targets. Events with a flag of `without` are not targets. About `granted` events, or a
    sixteenth of all, are in memory at a time.
    """

def durations(
    call: Array,
    inner: Array,
    wide: bool,
    enter: Array,
    exit: Array,
    ts: Array,
    idle: Array,
    strand_start: Array,
    pauses: Array,
    total: Array,
    self_: Array,
    waiting: Array,
    /,
) -> None:
    """Sum the durations of each call; `self_` and `waiting` must be zeros."""

def idle(
    kind: Array, site: Array, sequence: Array, wide: bool, strand_start: Array, by_loop: Array, idle: Array, /
) -> None:
    """Mark the events after which the strand did not run; `wide` is for `sequence`, and `by_loop` is by site."""

def waits(ts: Array, kind: Array, strand: Array, passive: Array, src: Array, dst: Array, idle: Array, /) -> None:
    """Mark the events after which a strand waited for an edge; `passive` has 256 entries, by kind."""

def edges(
    src_of: Array,
    dst_of: Array,
    kind_of: Array,
    region: Array,
    regions: int,
    ext: Array,
    channel: Array,
    src: Array,
    dst: Array,
    kind: Array,
    name: Array,
    /,
) -> None:
    """Write the edges in order, and the channel of each edge."""

def flows(
    parent: Array,
    label: Array,
    begin: Array,
    name: Array,
    roots: Array,
    coalesce: bool,
    first: Array,
    shape: Array,
    /,
) -> tuple[bytes, bytes, bytes, bytes]:
    """Order flows; return the frame and the parent's place of each place, then the frames of repeats and their places.

    `name` is by label. A frame whose parent is -2 is left out. `first` and `shape` are written by root.
    """

def retime(
    order: Array, first: Array, other: Array, time: Array, done: Array, gap: Array, rate: float, saved: Array, /
) -> None:
    """Write to `saved` how much sooner joins happen (`graph/ops/timing/replay.py`); `done` and `gap` are float64.

    NaN means unknown.
    """
