"""Lay out spans and their events as rows, strand by strand, and assemble the graph.

The rows of a span are its ENTER, its events and inline calls in time order, and its EXIT.
Invariant: along a strand, times never decrease, and calls are nested.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from clew.graph.build.assemble import Events, Tables, assemble, scopes_of
from clew.graph.build.clock_alignment import Correction
from clew.graph.formats.spans.assign_strands import Inner, Lanes, inline, lanes
from clew.graph.formats.spans.clock_skew import host_numbers
from clew.graph.formats.spans.collector import FAILED, MISSING, PSEUDO, Collector
from clew.graph.formats.spans.edges import (
    HEAD,
    Draft,
    EdgePieces,
    Points,
    add_calls,
    add_file_events,
    add_heads,
    add_links,
    find_file_events,
    link_sources,
)
from clew.graph.formats.spans.tree import FAR, build_forest, column, levels
from clew.graph.model.array_utils import expand
from clew.graph.model.edge_order import Joined
from clew.graph.model.graph import ExecutionGraph, Extensions, Process, Strand, Texts
from clew.graph.model.machines import Machine
from clew.records.errors import Problem
from clew.records.format.event import Kind
from clew.records.run.directory import RunInfo

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LOGS = "logs"
"""The strand of log lines without a span, or outside of its time."""


def make_graph(info: RunInfo, collector: Collector) -> tuple[ExecutionGraph, list[Problem]]:
    """Return the graph of the collected spans, and the problems. `info.started` is set to the first event."""
    home_of = _log_strands(collector)
    forest, finder, same = build_forest(collector)
    found = find_file_events(collector, forest, finder, same, home_of)
    sent, came = column(collector.links, "source_time"), column(collector.links, "target_time")
    source, target = link_sources(collector, finder, same), column(collector.links, "target")
    sends, comes = (sent != MISSING) & (source >= 0), (came != MISSING) & (source >= 0)
    is_inline = inline(
        forest,
        np.concatenate((found.home, source[sends], target[comes])),
        np.concatenate((found.time, sent[sends], came[comes])),
    )
    draft = Draft(
        collector, forest, finder, same, is_inline, Inner(forest, is_inline), Points.beginning(collector), EdgePieces()
    )
    add_heads(draft)
    add_file_events(draft, found)
    called = add_calls(draft)
    add_links(draft)
    return _Layout(info, draft, called).graph()


def _log_strands(collector: Collector) -> dict[int, int]:
    """Add a pseudo span for log lines to each process; an empty one gets no strand."""
    if not len(collector.points):
        return {}
    return {
        process: collector.pseudo(process, collector.thread(process, LOGS))
        for process in range(len(collector.processes))
    }


class _Layout:
    def __init__(self, info: RunInfo, draft: Draft, sent: I64) -> None:
        forest = draft.forest
        self.info, self.collector, self.forest, self.is_inline = info, draft.collector, forest, draft.is_inline
        self.points, self.edges = draft.points, draft.edges
        self.pseudo = forest.has(PSEUDO)
        self.owner = self.points.column("owner")
        self.time = self._times(sent)
        self.lanes: Lanes = lanes(forest, self.is_inline)
        self._place()

    def _times(self, sent: I64) -> I64:
        """Return the points' times: the first receive of a span is not before its send if the span's own times allow that."""
        forest, owner, time = self.forest, self.owner, self.points.column("time")
        head = self.points.column("order") == HEAD
        first = forest.end.copy()
        np.minimum.at(first, owner[~head], time[~head])
        below = np.flatnonzero(self.is_inline)
        np.minimum.at(first, forest.parent[below], forest.start[below])
        begins = np.minimum(np.maximum(forest.start, sent), np.maximum(first, forest.start))
        late = head & (self.points.column("step") > 0)
        return np.where(late, begins[owner], time)

    def _place(self) -> None:
        """Compute the first row of each span and the row of each point."""
        forest, spans = self.forest, len(self.forest)
        below = np.flatnonzero(self.is_inline)
        place = np.zeros(spans, np.int64)
        family = np.flatnonzero(forest.parent >= 0)
        family = family[np.lexsort((family, forest.end[family], forest.start[family], forest.parent[family]))]
        place[family] = np.arange(len(family))
        owner = np.concatenate((self.owner, forest.parent[below]))
        order = np.lexsort(
            (
                np.concatenate((self.points.column("step"), np.zeros(len(below), np.int64))),
                np.concatenate((self.points.column("place"), place[below])),
                np.concatenate((self.points.column("order"), np.full(len(below), 3))),
                np.concatenate((self.points.column("time"), forest.start[below])),
                owner,
            )
        )
        size = np.where(self.pseudo, 0, 2) + np.bincount(self.owner, minlength=spans)
        by_depth = levels(forest.depth)
        for rows in reversed(by_depth):
            inside = rows[self.is_inline[rows]]
            np.add.at(size, forest.parent[inside], size[inside])
        sizes = np.concatenate((np.ones(len(self.owner), np.int64), size[below]))[order]
        before = np.cumsum(sizes) - sizes
        owners = owner[order]
        if len(owners):
            before -= before[np.searchsorted(owners, owners, "left")]
        offset = np.empty(len(order), np.int64)
        offset[order] = before

        heads = np.flatnonzero(~self.is_inline)
        lane = self.lanes.of_head[heads]
        heads = heads[np.lexsort((heads, forest.end[heads], forest.start[heads], lane))]
        first = np.zeros(spans, np.int64)
        first[heads] = np.cumsum(size[heads]) - size[heads]
        self.strand_start = np.concatenate(
            ([0], np.cumsum(np.bincount(self.lanes.of_head[heads], size[heads], len(self.lanes.process))))
        ).astype(np.int64)
        opening = np.where(self.pseudo, 0, 1)
        within = np.zeros(spans, np.int64)
        within[below] = offset[len(self.owner) :]
        for rows in by_depth:
            inside = rows[self.is_inline[rows]]
            above = forest.parent[inside]
            first[inside] = first[above] + opening[above] + within[inside]
        self.first, self.size = first, size
        self.row = first[self.owner] + opening[self.owner] + offset[: len(self.owner)]

    def graph(self) -> tuple[ExecutionGraph, list[Problem]]:
        forest, collector = self.forest, self.collector
        real = np.flatnonzero(~self.pseudo)
        enter, leave = self.first[real], self.first[real] + self.size[real] - 1
        count = int(self.strand_start[-1])
        ts, kind = np.zeros(count, np.int64), np.zeros(count, np.uint8)
        site, ext = np.zeros(count, np.uint32), np.full(count, -1, np.int32)
        ts[enter], ts[leave], ts[self.row] = forest.start[real], forest.end[real], self.time
        kind[enter] = Kind.ENTER
        kind[leave] = np.where(forest.has(FAILED)[real], Kind.UNWIND, Kind.EXIT)
        kind[self.row] = self.points.column("kind")
        site[enter] = site[leave] = forest.site[real]
        site[self.row] = self.points.column("site")
        extensions, of_point = self._extensions()
        ext[self.row] = of_point
        started = self._started(ts)
        ts -= started
        numbers = [np.concatenate(part) if part else np.zeros(0, np.int64) for part in
                   (self.edges.source, self.edges.target, self.edges.kind)]  # fmt: skip
        edges = Joined(self.row[numbers[0]], self.row[numbers[1]], numbers[2].astype(np.uint8))
        early = int((ts[edges.src] > ts[edges.dst]).sum())
        collector.count_odd("edge", "its effect is before its cause, because clocks disagree", early)
        used = np.flatnonzero(np.diff(self.strand_start) > 0)
        self.strand_start = np.append(self.strand_start[used], self.strand_start[-1])
        events = Events(ts, kind, site, ext, np.arange(count), self.strand_start, extensions)
        strands = self._strands(used.tolist())
        machines = self._machines()
        processes = self._processes(strands, ts)
        tables = Tables(
            list(collector.strings),
            collector.sites,
            strands,
            processes,
            machines=machines,
            counted=self.collector.counted,
        )
        info = self.info._replace(started=started)
        graph, problems = assemble(info, events, scopes_of(events), edges, tables)
        return graph, [*collector.all_problems(info.name), *problems]

    def _started(self, ts: I64) -> int:
        """Return the time of the first event, ignoring outliers."""
        if not len(ts):
            return 0
        middle = int(np.median(ts))
        return int(ts[np.abs(ts - middle) <= FAR].min(initial=middle))

    def _extensions(self) -> tuple[Extensions, npt.NDArray[np.int32]]:
        """Return the extensions, sorted by text so that texts are not moved, and the row of each point's extension."""
        points = self.points
        text = points.column("text")
        plain = np.isin(points.column("kind"), (Kind.ENTER, Kind.EXIT, Kind.UNWIND))
        order = np.argsort(text, kind="stable")
        order = order[~plain[order]]
        of_point = np.full(len(text), -1, np.int32)
        of_point[order] = np.arange(len(order), dtype=np.int32)
        begins = np.append(np.concatenate(points.text_start), points.bytes)
        data = np.concatenate(points.text_data)
        chosen = text[order]
        none, chosen = int((chosen < 0).sum()), chosen[chosen >= 0]
        if not np.array_equal(chosen, np.arange(points.texts)):
            data = data[expand(begins[chosen], begins[chosen + 1])]
            begins = np.concatenate(([0], np.cumsum((begins[1:] - begins[:-1])[chosen])))
        start = np.concatenate((np.zeros(none, np.int64), begins))
        key = points.column("key")[order].view(np.uint64)
        channel = points.column("channel")[order].astype(np.uint32)
        return Extensions(key, channel, np.zeros(len(order), np.uint16), Texts(start, data)), of_point

    def _strands(self, used: list[int]) -> list[Strand]:
        names = {number: name for (_, name), number in self.collector.threads.items()}
        processes = list(self.collector.processes)
        bounds = self.strand_start.tolist()
        lanes = self.lanes
        made = []
        for index, lane in enumerate(used):
            number, known = lanes.number[lane], names.get(lanes.thread[lane], "")
            thread = known or f"lane {number + 1}"
            name = f"{known} ({number + 1})" if known and number else thread
            info = processes[lanes.process[lane]]
            kind = "lane" if not known else "host" if known == info.service == info.host else "thread"
            made.append(
                Strand(index, lanes.process[lane], lanes.thread[lane], 0, kind, name, thread, bounds[index], bounds[index + 1])
            )  # fmt: skip
        return made

    def _machines(self) -> tuple[Machine, ...]:
        made, clocks = [], self.forest.clocks
        for host, index in host_numbers(self.collector).items():
            it = clocks.get(host, Correction())
            made.append(Machine(index, host, host, it.offset_ns, it.rate, it.below_ns, it.above_ns, it.messages))
        return tuple(made)

    def _processes(self, strands: list[Strand], ts: I64) -> list[Process]:
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for strand in strands:
            begin, end = int(ts[strand.start]), int(ts[strand.stop - 1])
            first[strand.process] = min(begin, first.get(strand.process, begin))
            last[strand.process] = max(end, last.get(strand.process, end))
        names = [info.service or "unnamed" for info in self.collector.processes]
        often, seen = Counter(names), Counter[str]()
        hosts = host_numbers(self.collector)
        made = []
        for index, (info, name) in enumerate(zip(self.collector.processes, names, strict=True)):
            seen[name] += 1
            made.append(
                Process(
                    index=index,
                    pid=info.pid,
                    uid=index + 1,
                    parent_pid=0,
                    parent_uid=0,
                    name=f"{name} #{seen[name]}" if often[name] > 1 else name,
                    argv=(),
                    executable="",
                    host=info.host,
                    file=self.collector.files[index],
                    end="closed",
                    died=False,
                    dropped=0,
                    first_ns=first.get(index, 0),
                    last_ns=last.get(index, 0),
                    machine=hosts[info.host],
                )
            )
        return made
