"""Read the ends of connections from a graph: who wrote and who took the bytes that arrived, in the order of time.

An end belongs to one process. Its writes have the key of one direction, and its reads have the key of the other, which
differs in its lowest bit. An end whose bytes were not all counted is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.ops.facts.connection_ends import byte_rows
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind

_CLAIM = re.compile(r"(\+?)(\d{1,18})-(\d{1,18})")
_STREAM = "asyncio.stream"


@dataclass(frozen=True)
class Use:
    """A write to an end, or bytes that a strand took from it."""

    ns: int
    row: int
    strand: int
    writes: bool
    arrival: int
    """For taken bytes, the row of the read from the socket that they arrived with; for a write, its own row."""
    size: int
    """The number of bytes of the write, or of the read from the socket."""


@dataclass(frozen=True)
class End:
    """One end of a connection in a process."""

    process: int
    key: int
    """The key of the direction that the end writes to."""
    uses: tuple[Use, ...]
    writes: tuple[int, ...]
    """The rows of all writes."""
    arrivals: tuple[int, ...]
    """The rows of all reads from the socket."""


class _Record(NamedTuple):
    """A write to a connection, or a read from one."""

    row: int
    ns: int
    strand: int
    sends: bool
    in_callback: bool
    text: str


def ends_of(facts: Facts) -> dict[tuple[int, int], End]:
    """Return the ends of the run's connections by process and key of the direction that they write to."""
    known: dict[tuple[int, int], End] | None = facts.graph.answers.get("ends of connections")
    if known is None:
        known = facts.graph.answers["ends of connections"] = _read(facts)
    return known


def _read(facts: Facts) -> dict[tuple[int, int], End]:
    graph = facts.graph
    rows = byte_rows(graph)
    ext = graph.ext[rows]
    sends = graph.kind[rows] == Kind.SEND
    key = graph.extensions.key[ext]
    columns = (
        rows.tolist(),
        graph.ts[rows].tolist(),
        graph.strand[rows].tolist(),
        sends.tolist(),
        _in_callbacks(graph, rows).tolist(),
        graph.extensions.texts.strings(ext.astype(np.int64)).to_pylist(),
    )
    ends = zip(graph.strand_process[graph.strand[rows]].tolist(), np.where(sends, key, key ^ 1).tolist(), strict=True)
    grouped: dict[tuple[int, int], list[_Record]] = defaultdict(list)
    for end, record in zip(ends, zip(*columns, strict=True), strict=True):
        grouped[end].append(_Record(*record))
    found = {}
    for (process, key_), records in grouped.items():
        end_ = _end(facts, process, key_, records)
        if end_:
            found[process, key_] = end_
    return found


def _in_callbacks(graph: ExecutionGraph, rows: I64) -> npt.NDArray[np.bool_]:
    """Return for each row whether an event loop ran it as a callback, like `runs_callback`."""
    opener = graph.regions.opener[graph.region[rows]]
    ext = np.where(opener >= 0, graph.ext[opener], -1)
    handle = (ext >= 0) & (graph.extensions.channel[ext] == graph.channel_ids.get("asyncio.handle", -1))
    found: npt.NDArray[np.bool_] = handle & (graph.kind[opener] == Kind.SCOPE_BEGIN)
    return found


def _end(facts: Facts, process: int, key: int, records: list[_Record]) -> End | None:
    firsts = {True: 0, False: 0}
    uses: list[Use] = []
    writes, arrivals = [], []
    for record in records:
        claim = _CLAIM.fullmatch(record.text)
        if claim is None and record.text.endswith("$"):
            continue
        if claim is None:
            return None
        firsts[record.sends] += bool(claim[1])
        size = int(claim[3]) - int(claim[2])
        if max(firsts.values()) > 1:  # two connections with the same addresses
            return None
        if size <= 0:
            continue
        if record.sends:
            writes.append(record.row)
            if not record.in_callback:
                uses.append(Use(record.ns, record.row, record.strand, True, record.row, size))
        else:
            arrivals.append(record.row)
            uses += _taken(facts, record, size)
    uses.sort(key=lambda use: (use.ns, use.row))
    return End(process, key, tuple(uses), tuple(writes), tuple(arrivals)) if writes and arrivals else None


def _taken(facts: Facts, record: _Record, size: int) -> list[Use]:
    """Return who took the bytes of a read: the reader itself, or the tasks that read from the stream that it filled."""
    graph, row = facts.graph, record.row
    if not record.in_callback:
        return [Use(record.ns, row, record.strand, False, row, size)]
    edges, sources = graph.index.out(graph.at("region", row))
    later = edges[np.searchsorted(sources, row) :]
    stream = graph.channel_ids.get(_STREAM, -1)
    taken: dict[int, Use] = {}
    for target in sorted(graph.edge_dst[later[graph.edge_channel[later] == stream]].tolist()):
        use = Use(graph.at("ts", target), target, graph.at("strand", target), False, row, size)
        taken.setdefault(use.strand, use)
    return list(taken.values())


def could_cause(facts: Facts, arrival: int, suspects: set[int]) -> tuple[bool, set[int]]:
    """Return whether the sender of the bytes of a read was recorded, and which of some writes they may depend on.

    The search goes back from the writers of the bytes, not from the reader. Bytes that came from outside the run may
    depend on everything that was written to their connection before.
    """
    graph = facts.graph
    ends = ends_of(facts)
    bounds: dict[int, int] = {}
    ready: list[int] = []
    starts = _into(graph, arrival)
    recorded = bool(starts)
    ready += starts or _written_before(facts, ends, arrival)
    while ready:
        row = ready.pop()
        region = graph.at("region", row)
        bound = bounds.get(region, -1)
        if row <= bound:
            continue
        bounds[region] = row
        edges, targets = graph.index.into(region)
        low, high = np.searchsorted(targets, [bound, row], "right")
        ready += graph.edge_src[edges[low:high]].tolist()
        reached = set(targets[low:high].tolist())
        for outside in _arrivals_in(facts, ends, region, bound, row):
            if outside not in reached:
                ready += _written_before(facts, ends, outside)
    found = {row for row in suspects if row <= bounds.get(graph.at("region", row), -1)}
    return recorded, found


def _into(graph: ExecutionGraph, row: int) -> list[int]:
    edges, targets = graph.index.into(graph.at("region", row))
    low, high = np.searchsorted(targets, [row, row + 1])
    found: list[int] = graph.edge_src[edges[low:high]].tolist()
    return found


def _arrivals_in(facts: Facts, ends: dict[tuple[int, int], End], region: int, after: int, until: int) -> list[int]:
    """Return the reads from sockets in a region's rows after one row and up to another."""
    graph = facts.graph
    known: dict[int, list[int]] | None = graph.answers.get("arrivals by region")
    if known is None:
        known = graph.answers["arrivals by region"] = {}
        for end in ends.values():
            for row in end.arrivals:
                known.setdefault(graph.at("region", row), []).append(row)
    return [row for row in known.get(region, ()) if after < row <= until]


def _written_before(facts: Facts, ends: dict[tuple[int, int], End], arrival: int) -> list[int]:
    """Return the writes to the connection of a read before it."""
    graph = facts.graph
    end = ends.get((graph.strand_of(arrival).process, graph.key(arrival) ^ 1))
    ns = graph.at("ts", arrival)
    return [row for row in end.writes if graph.at("ts", row) < ns] if end else []
