"""Build a graph from records in C (`csrc/`).

Arrays are as wide as the numpy columns of the same name; rows are 8 bytes wide where `wide` says so, else 4. What is written
goes into the arrays given for it. Sizes and rows that do not fit raise ValueError.
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
    """An extent's columns into the beginnings of arrays; how many records and extensions it has.
    Extensions are numbered from `base`; `text_start[0]` is read."""

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
    """A thread's records taken apart, from where `keys`, `since`, `stack` and `dropped` say (`graph.strands.Steps`): the keys
    of new strands, the new `since` and `stack`, how many ends had no beginning, the new `dropped`."""

def nanoseconds(ticks: Array, begin: Array, base: Array, rate: Array, ns: Array, /) -> None:
    """Convert ticks to nanoseconds by the sorted segments of a `ClockMap`."""

def tally(strand: Array, base: int, thread: int, count: Array, home: Array, /) -> None:
    """Adds a thread's records to `count`, per strand, and notes in `home` that the thread ran it: -2 when another did, too."""

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
    """A thread's columns to the rows that are `free` first in each strand; `wide` is of `sequence`."""

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
    """How many calls, pauses (pairs of rows) and ends without a beginning there are. The arrays of calls need room for every
    ENTER and RESUME, `pauses` for every SUSPEND. Memory goes with the greatest site."""

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
    """How many edges there are, and by kind (64 bits each) the targets that have none. `process` is per strand; `family` (from
    1, 0 for none) and `source` are by kind, `handed_over` and `edge` by family. `src`, `dst` and `edge_kind` need room for all
    targets, of which none has a flag of `without`. Some `granted` events, or a sixteenth of all, are held at a time."""

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
    """Sum durations per call; `self_` and `waiting` begin as zeros."""

def idle(
    kind: Array, site: Array, sequence: Array, wide: bool, strand_start: Array, by_loop: Array, idle: Array, /
) -> None:
    """Marks the events after which the strand did not work on; `wide` is of `sequence`, `by_loop` is by site."""

def waits(ts: Array, kind: Array, strand: Array, passive: Array, src: Array, dst: Array, idle: Array, /) -> None:
    """Marks the events after which an edge's target's strand waited; `passive` is by kind, 256 of them."""

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
    """Frame and parent's place per place of all flows; then the frames of repeats and their places. `name` is by label; a frame
    whose parent is -2 is left out. Fills `first` and `shape` by root."""

def retime(
    order: Array, first: Array, other: Array, time: Array, done: Array, gap: Array, rate: float, saved: Array, /
) -> None:
    """Fills in by how much joins come sooner (`graph.ops.retiming`); `done` and `gap` are float64, NaN is not known."""
