"""Cut a graph into partitions by strand, and join partitions again.

Invariants: a process is never cut, so every edge between partitions is a network hop. The events, edges and regions of a
partition keep their order. All partitions joined equal the original graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.graph import Calls, ExecutionGraph, Extensions, Regions, Texts

I64 = npt.NDArray[np.int64]

REMOTE = np.dtype(
    [
        ("near", "<u4"),
        ("far", "<u4"),
        ("far_part", "<u4"),
        ("number", "<i8"),
        ("kind", "u1"),
        ("channel", "<u4"),
        ("latency", "<i8"),
    ]
)
"""An edge to or from another part: its local row (`near`), its row in the other part (`far`), its number in the run, and the
time between its ends in ns."""


@dataclass(frozen=True, eq=False)
class Partition:
    """A part of a run: a graph with some strands of the run, and the data that map it to the run."""

    graph: ExecutionGraph
    strands: I64
    """The numbers in the run of the graph's strands, ascending."""
    starts: I64
    """The number in the run of each strand's first event."""
    first_region: I64
    """The number in the run of each strand's first region."""
    edges: I64
    """The numbers in the run of the graph's edges."""
    rank: npt.NDArray[np.uint32]
    """Per region of the structure plane, its number in the structure plane of the run."""
    outgoing: npt.NDArray[Any]
    """The edges that leave the part, as `REMOTE`, sorted by `near`."""
    incoming: npt.NDArray[Any]
    """The edges that enter the part, as `REMOTE`, sorted by `near`."""

    def ids(self, rows: I64) -> I64:
        """Return the numbers in the run of local rows."""
        strand = self.graph.strand[rows]
        return self.starts[strand] + rows - _starts(self.graph)[strand]

    def rows(self, ids: I64) -> I64:
        """Return the local rows of events of the run; the inverse of `ids`."""
        place = np.searchsorted(self.starts, ids, "right") - 1
        # Strands without events share their start with the next one.
        return _starts(self.graph)[place] + ids - self.starts[place]

    def region_ids(self, regions: I64) -> I64:
        """Return the numbers in the run of local regions."""
        strand = self.graph.regions.strand[regions]
        local = np.searchsorted(self.graph.regions.strand, np.arange(len(self.strands)))
        return self.first_region[strand] + regions - local[strand]

    def in_memory(self) -> Partition:
        """Return the same partition with all data in memory, so that it can be sent to another process."""
        graph = self.graph
        extensions = _extensions(graph.extensions, np.arange(len(graph.extensions.key)))
        return replace(self, graph=_with(graph, extensions=extensions, made_structure=None))


def _with(graph: ExecutionGraph, **changed: Any) -> ExecutionGraph:
    """Return the graph with some columns changed, all in memory."""
    unchanged = [column.name for column in fields(ExecutionGraph) if column.name not in changed]
    return ExecutionGraph(**{name: getattr(graph, name) for name in unchanged}, **changed)


def _starts(graph: ExecutionGraph) -> I64:
    cache: dict[str, I64] = graph.answers
    if "strand starts" not in cache:
        cache["strand starts"] = np.array([strand.start for strand in graph.strands], np.int64)
    return cache["strand starts"]


def assign(graph: ExecutionGraph, parts: int) -> I64:
    """Return the part of each process, so that the parts have similar numbers of events.

    The processes of a machine stay in one part, unless they have more than one part's share of the events or there are fewer
    machines than parts. The largest group goes first, each to the emptiest part.
    """
    events = np.zeros(len(graph.processes), np.int64)
    for strand in graph.strands:
        events[strand.process] += strand.stop - strand.start
    share = max(1, -(-int(events.sum()) // parts))
    machines: dict[int, list[int]] = {}
    for process in graph.processes:
        machines.setdefault(process.machine, []).append(process.index)
    groups: list[list[int]] = []
    for members in machines.values():
        whole = int(events[members].sum()) <= share and len(machines) >= parts
        groups.extend([members] if whole else [[process] for process in members])
    part, load = np.zeros(len(graph.processes), np.int64), [0] * parts
    for group in sorted(groups, key=lambda group: (-int(events[group].sum()), group)):
        emptiest = load.index(min(load))
        part[group] = emptiest
        # Count an idle process as one event, so that no part stays empty while there are enough processes.
        load[emptiest] += max(1, int(events[group].sum()))
    return part


def cut(graph: ExecutionGraph, part_of_process: I64) -> list[Partition]:
    """Cut a graph into its partitions. `part_of_process` has the part of each process."""
    parts = int(part_of_process.max()) + 1 if len(part_of_process) else 1
    process = np.array([strand.process for strand in graph.strands], np.int64)
    strand_part = part_of_process[process] if len(process) else np.zeros(0, np.int64)
    cutter = _Cutter(graph, strand_part, parts)
    return [cutter.partition(part) for part in range(parts)]


class _Cutter:
    """The cutting of a graph into partitions, with the tables that all partitions share."""

    def __init__(self, graph: ExecutionGraph, strand_part: I64, parts: int) -> None:
        self.graph, self.strand_part = graph, strand_part
        self.start = np.array([strand.start for strand in graph.strands], np.int64)
        self.stop = np.array([strand.stop for strand in graph.strands], np.int64)
        self.region_start = np.searchsorted(graph.regions.strand, np.arange(len(graph.strands) + 1)).astype(np.int64)
        self.local = np.zeros(len(graph), np.int64)
        """The row of each event in its part."""
        self.local_region = np.zeros(len(graph.regions), np.int64)
        for part in range(parts):
            strands = np.flatnonzero(strand_part == part)
            rows, regions = self._rows(strands), self._regions(strands)
            self.local[rows] = np.arange(len(rows))
            self.local_region[regions] = np.arange(len(regions))
        none = np.zeros(0, np.int64)
        self.src_part = strand_part[graph.strand[graph.edge_src]] if len(graph.edge_src) else none
        self.dst_part = strand_part[graph.strand[graph.edge_dst]] if len(graph.edge_dst) else none

    def _rows(self, strands: I64) -> I64:
        return expand(self.start[strands], self.stop[strands])

    def _regions(self, strands: I64) -> I64:
        return expand(self.region_start[strands], self.region_start[strands + 1])

    def _mapped(self, rows: I64) -> I64:
        return np.where(rows >= 0, self.local[np.maximum(rows, 0)], -1) if len(self.local) else rows.astype(np.int64)

    def partition(self, part: int) -> Partition:
        graph = self.graph
        strands = np.flatnonzero(self.strand_part == part)
        rows, regions = self._rows(strands), self._regions(strands)
        new_strand = np.zeros(len(graph.strands), np.uint32)
        new_strand[strands] = np.arange(len(strands))
        length = self.stop[strands] - self.start[strands]
        begin = np.cumsum(length) - length
        edges = np.flatnonzero((self.src_part == part) & (self.dst_part == part))
        used = np.unique(graph.ext[rows][graph.ext[rows] >= 0]).astype(np.int64)
        ext = np.where(graph.ext[rows] >= 0, np.searchsorted(used, graph.ext[rows]), -1)
        calls = np.flatnonzero(self.strand_part[graph.strand[graph.calls.enter]] == part)
        first = graph.regions.first[regions]
        opener = self._mapped(graph.regions.opener[regions])
        # A strand without events starts where the next strand starts.
        opener = np.where(
            first >= 0, opener, begin[new_strand[graph.regions.strand[regions]]] if len(begin) else opener
        )
        parent = graph.regions.parent[regions]
        made = _with(
            graph,
            ts=graph.ts[rows],
            kind=graph.kind[rows],
            site=graph.site[rows],
            strand=new_strand[graph.strand[rows]],
            region=self.local_region[graph.region[rows]].astype(np.uint32),
            ext=ext.astype(np.int32),
            call=self._mapped(graph.call[rows]).astype(graph.call.dtype),
            inner=self._mapped(graph.inner[rows]).astype(graph.inner.dtype),
            idle=graph.idle[rows],
            edge_src=self.local[graph.edge_src[edges]],
            edge_dst=self.local[graph.edge_dst[edges]],
            edge_kind=graph.edge_kind[edges],
            edge_channel=graph.edge_channel[edges],
            extensions=_extensions(graph.extensions, used),
            regions=Regions(
                strand=new_strand[graph.regions.strand[regions]],
                kind=graph.regions.kind[regions],
                opener=opener,
                first=self._mapped(first),
                last=self._mapped(graph.regions.last[regions]),
                parent=np.where(parent >= 0, self.local_region[np.maximum(parent, 0)], -1),
            ),
            calls=Calls(
                enter=self._mapped(graph.calls.enter[calls]),
                exit=self._mapped(graph.calls.exit[calls]),
                caller=self._mapped(graph.calls.caller[calls]),
                **{name: getattr(graph.calls, name)[calls] for name in ("total_ns", "self_ns", "waiting_ns")},
            ),
            strands=[
                replace(
                    graph.strands[strand], index=index, start=int(begin[index]), stop=int(begin[index] + length[index])
                )
                for index, strand in enumerate(strands.tolist())
            ],
            counted={},
            made_structure=None,
        )
        return Partition(
            made,
            strands,
            self.start[strands],
            self.region_start[strands],
            edges,
            self._rank(made, rows),
            self._remote(part, self.src_part, self.dst_part, graph.edge_src, graph.edge_dst),
            self._remote(part, self.dst_part, self.src_part, graph.edge_dst, graph.edge_src),
        )

    def _rank(self, made: ExecutionGraph, rows: I64) -> npt.NDArray[np.uint32]:
        plane = made.structure
        firsts = plane.rows_of(np.arange(plane.regions, dtype=np.uint32), plane.arrays["start"][:-1])
        return self.graph.structure.locate(rows[firsts])[0]

    def _remote(self, part: int, near_part: I64, far_part: I64, near: I64, far: I64) -> npt.NDArray[Any]:
        graph = self.graph
        edges = np.flatnonzero((near_part == part) & (far_part != part))
        edges = edges[np.argsort(self.local[near[edges]], kind="stable")]
        made = np.zeros(len(edges), REMOTE)
        made["near"], made["far"], made["far_part"] = self.local[near[edges]], self.local[far[edges]], far_part[edges]
        made["number"], made["kind"], made["channel"] = edges, graph.edge_kind[edges], graph.edge_channel[edges]
        made["latency"] = graph.ts[graph.edge_dst[edges]] - graph.ts[graph.edge_src[edges]]
        return made


def _extensions(of: Extensions, rows: I64) -> Extensions:
    texts = [of.texts[row].encode() for row in rows.tolist()]
    start = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    return Extensions(
        of.key[rows], of.channel[rows], of.flags[rows], Texts(start, np.frombuffer(b"".join(texts), np.uint8))
    )


def join(partitions: Sequence[Partition | None], counted: dict[int, int] | None = None) -> Partition:
    """Join some partitions into one. Events, regions and edges are sorted by their numbers in the run.

    `partitions` has each partition at its number, or None to leave it out. Edges to partitions that are left out are dropped.
    """
    given = [(part, partition) for part, partition in enumerate(partitions) if partition is not None]
    given_of = dict(given)
    strands = np.concatenate([partition.strands for _, partition in given])
    order = np.argsort(strands, kind="stable")
    length = np.concatenate([_lengths(partition.graph) for _, partition in given])[order]
    begin = np.cumsum(length) - length
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    new_start, new_strand, at = {}, {}, 0
    for part, partition in given:
        mine = place[at : at + len(partition.strands)]
        new_strand[part], new_start[part] = mine, begin[mine]
        at += len(partition.strands)

    def mapped(part: int, rows: npt.NDArray[Any]) -> I64:
        graph = given_of[part].graph
        rows = rows.astype(np.int64)
        if not len(graph):
            return rows
        strand = graph.strand[np.maximum(rows, 0)]
        return np.where(rows >= 0, new_start[part][strand] + rows - _starts(graph)[strand], -1)

    graphs = [partition.graph for _, partition in given]
    ids = np.concatenate([partition.ids(np.arange(len(partition.graph))) for _, partition in given])
    rows_order = np.argsort(ids, kind="stable")

    def events(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(graph, name) for graph in graphs])[rows_order]

    def rows_of(name: str) -> npt.NDArray[Any]:
        parts = [mapped(part, getattr(partition.graph, name)) for part, partition in given]
        return np.concatenate(parts)[rows_order].astype(getattr(graphs[0], name).dtype)

    region_strand = np.concatenate([new_strand[part][partition.graph.regions.strand] for part, partition in given])
    region_order = np.argsort(region_strand, kind="stable")
    region_place = np.empty(len(region_order), np.int64)
    region_place[region_order] = np.arange(len(region_order))
    first_region = np.cumsum([0] + [len(graph.regions) for graph in graphs])
    first_ext = np.cumsum([0] + [len(graph.extensions.key) for graph in graphs])

    def regions_of(values: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate(values)[region_order]

    region = np.concatenate(
        [region_place[first + graph.region] for first, graph in zip(first_region.tolist(), graphs, strict=False)]
    )
    ext = np.concatenate(
        [
            np.where(graph.ext >= 0, graph.ext + first, -1)
            for first, graph in zip(first_ext.tolist(), graphs, strict=False)
        ]
    )
    parents = [
        np.where(parent >= 0, region_place[first + np.maximum(parent, 0)] if len(parent) else parent, -1)
        for first, graph in zip(first_region.tolist(), graphs, strict=False)
        for parent in (graph.regions.parent,)
    ]
    openers = [
        np.where(regions.first >= 0, mapped(part, regions.opener), new_start[part][regions.strand])
        for part, partition in given
        for regions in (partition.graph.regions,)
    ]
    remote = [(part, partition.outgoing[_to_joined(partitions, partition.outgoing)]) for part, partition in given]
    numbers = np.concatenate([*(partition.edges for _, partition in given), *(edges["number"] for _, edges in remote)])
    edge_order = np.argsort(numbers, kind="stable")
    src = [
        *(mapped(part, partition.graph.edge_src) for part, partition in given),
        *(mapped(p, e["near"]) for p, e in remote),
    ]
    dst = [
        *(mapped(part, partition.graph.edge_dst) for part, partition in given),
        *(_far(mapped, e) for _, e in remote),
    ]
    call_enter = np.concatenate([mapped(part, partition.graph.calls.enter) for part, partition in given])
    call_order = np.argsort(call_enter, kind="stable")
    texts = b"".join(text for graph in graphs for text in _texts(graph.extensions))
    sizes = [len(text) for graph in graphs for text in _texts(graph.extensions)]
    made = _with(
        graphs[0],
        ts=events("ts"),
        kind=events("kind"),
        site=events("site"),
        strand=np.repeat(np.arange(len(strands), dtype=np.uint32), length),
        region=region[rows_order].astype(np.uint32),
        ext=ext[rows_order].astype(np.int32),
        call=rows_of("call"),
        inner=rows_of("inner"),
        idle=events("idle"),
        edge_src=np.concatenate(src)[edge_order],
        edge_dst=np.concatenate(dst)[edge_order],
        edge_kind=np.concatenate([*(g.edge_kind for g in graphs), *(e["kind"] for _, e in remote)])[edge_order],
        edge_channel=np.concatenate([*(g.edge_channel for g in graphs), *(e["channel"] for _, e in remote)])[
            edge_order
        ],
        extensions=Extensions(
            np.concatenate([graph.extensions.key for graph in graphs]),
            np.concatenate([graph.extensions.channel for graph in graphs]),
            np.concatenate([graph.extensions.flags for graph in graphs]),
            Texts(np.cumsum([0, *sizes]).astype(np.int64), np.frombuffer(texts, np.uint8)),
        ),
        regions=Regions(
            region_strand[region_order].astype(np.uint32),
            regions_of([graph.regions.kind for graph in graphs]),
            regions_of(openers),
            regions_of([mapped(part, partition.graph.regions.first) for part, partition in given]),
            regions_of([mapped(part, partition.graph.regions.last) for part, partition in given]),
            regions_of(parents),
        ),
        calls=Calls(
            *(
                np.concatenate([mapped(part, getattr(partition.graph.calls, name)) for part, partition in given])[
                    call_order
                ]
                for name in ("enter", "exit", "caller")
            ),
            *(
                np.concatenate([getattr(graph.calls, name) for graph in graphs])[call_order]
                for name in (field.name for field in fields(Calls)[3:])
            ),
        ),
        strands=[
            replace(strand, index=index, start=int(begin[index]), stop=int(begin[index] + length[index]))
            for index, strand in enumerate([s for g in graphs for s in g.strands][at] for at in order.tolist())
        ],
        counted=counted or {},
        made_structure=None,
    )
    nothing = np.zeros(0, REMOTE)
    return Partition(
        made,
        strands[order],
        np.concatenate([partition.starts for _, partition in given])[order],
        np.concatenate([partition.first_region for _, partition in given])[order],
        numbers[edge_order],
        np.zeros(0, np.uint32),
        nothing,
        nothing,
    )


def _lengths(graph: ExecutionGraph) -> I64:
    return np.array([strand.stop - strand.start for strand in graph.strands], np.int64)


def _to_joined(partitions: Sequence[Partition | None], edges: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    joined = np.array([partition is not None for partition in partitions], bool)
    mask: npt.NDArray[np.bool_] = joined[edges["far_part"]]
    return mask


def _far(mapped: Any, edges: npt.NDArray[Any]) -> I64:
    rows = np.zeros(len(edges), np.int64)
    for part in np.unique(edges["far_part"]).tolist():
        mine = edges["far_part"] == part
        rows[mine] = mapped(part, edges["far"][mine])
    return rows


def _texts(of: Extensions) -> list[bytes]:
    return [of.texts[row].encode() for row in range(len(of.key))]
