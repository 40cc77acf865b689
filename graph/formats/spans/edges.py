"""Create the events inside spans: those in the file, and those inferred from the calls.

A head span is opened by an edge from its parent, and joined at its end if the parent outlives it. If a span in another process
outlives its caller, the caller gave up waiting (or the clocks disagree), so the join is at the caller's end. Invariant: every
event is within the bounds of its span, even with inexact clocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clew.graph.formats.spans.assign_strands import Inner, siblings
from clew.graph.formats.spans.collector import (
    ASYNC,
    ATTRIBUTES,
    CONSUMER,
    EXPLICIT,
    MISSING,
    PRODUCER,
    PSEUDO,
    Collector,
)
from clew.graph.formats.spans.tree import Finder, Forest, column, ids
from clew.records.format.event import EdgeKind, Kind

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# The order of events with equal times in one span.
HEAD, ENDS, OWN, STARTS, TAIL = range(5)
_NAMES = ("owner", "time", "order", "place", "step", "kind", "key", "channel", "site", "text")


@dataclass
class Points:
    """Chunked columns of events. `order`, `place` and `step` sort events of one span and time; `text` is -1 for none."""

    text_start: list[I64]
    text_data: list[npt.NDArray[np.uint8]]
    texts: int
    bytes: int
    count: int = 0
    pieces: dict[str, list[I64]] = field(default_factory=lambda: {name: [] for name in _NAMES})

    @classmethod
    def beginning(cls, collector: Collector) -> Points:
        start = np.array(collector.texts.start, np.int64)
        data = np.frombuffer(bytes(collector.texts.data), np.uint8)
        return cls([start[:-1]], [data], len(start) - 1, len(data))

    def add(
        self, owner: I64, time: I64, order: int, kind: I64 | int, *, place: I64 | int = 0, step: int = 0,
        key: I64 | int = 0, channel: I64 | int = 0, site: I64 | int = 0, text: I64 | int = -1,
    ) -> I64:  # fmt: skip
        """Add events and return their numbers."""
        size = len(owner)
        values = (owner, time, order, place, step, kind, key, channel, site, text)
        for name, value in zip(_NAMES, values, strict=True):
            self.pieces[name].append(np.broadcast_to(np.asarray(value), (size,)).astype(np.int64, copy=False))
        self.count += size
        return np.arange(self.count - size, self.count)

    def column(self, name: str) -> I64:
        return np.concatenate(self.pieces[name]) if self.pieces[name] else np.zeros(0, np.int64)

    def hexadecimal(self, numbers: npt.NDArray[np.uint64]) -> I64:
        """Add each number as a text of 16 hexadecimal digits, and return the texts' numbers."""
        digits = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint8).reshape(256, 2)
        data = digits[np.ascontiguousarray(numbers.astype(">u8")).view(np.uint8)].reshape(-1)
        return self._new(data, 16)

    def traces(self, collector: Collector, numbers: I64) -> I64:
        """Add the ids of traces as texts, and return the texts' numbers."""
        names = [text.encode("ascii") for text in collector.traces]
        return self._new(np.frombuffer(b"".join(names[number] for number in numbers.tolist()), np.uint8), 32)

    def _new(self, data: npt.NDArray[np.uint8], width: int) -> I64:
        count = len(data) // width
        self.text_start.append(self.bytes + np.arange(count, dtype=np.int64) * width)
        self.text_data.append(data)
        self.texts += count
        self.bytes += len(data)
        return np.arange(self.texts - count, self.texts)


@dataclass
class EdgePieces:
    """Chunked columns of edges between points."""

    source: list[I64] = field(default_factory=list)
    target: list[I64] = field(default_factory=list)
    kind: list[I64] = field(default_factory=list)

    def add(self, source: I64, target: I64, kind: I64 | int = int(EdgeKind.USE)) -> None:
        self.source.append(source)
        self.target.append(target)
        self.kind.append(np.broadcast_to(np.asarray(kind), (len(source),)).astype(np.int64))


@dataclass(frozen=True)
class Draft:
    """The parts of a graph under construction."""

    collector: Collector
    forest: Forest
    finder: Finder
    same_trace: I64
    """The canonical number of each trace."""
    is_inline: Mask
    inner: Inner
    points: Points
    edges: EdgePieces


@dataclass(frozen=True)
class FileEvents:
    """The events in the file, with their spans."""

    owner: I64
    """The span of each event, -1 for none."""
    home: I64
    """The span or pseudo span in whose strand the event is."""
    time: I64
    detached: Mask
    """Whether an event has no span or is outside of its time. Such events are in a strand of their own."""


def find_file_events(
    collector: Collector, forest: Forest, finder: Finder, same_trace: I64, home_of: dict[int, int]
) -> FileEvents:
    """Find the spans of the events. `home_of` maps each process to the pseudo span for detached logs."""
    table = collector.points
    owner, time = column(table, "owner"), column(table, "time").copy()
    by_id = np.flatnonzero((owner < 0) & (ids(table) != 0))
    owner[by_id] = finder.first(same_trace[column(table, "trace")[by_id]], ids(table)[by_id])
    collector.count_odd("log", "its span is not in the file", int((owner[by_id] < 0).sum()))
    lost = time == MISSING
    alone, lost = lost & (owner < 0), lost & (owner >= 0)
    collector.count_odd("log", "it has no time; placed at its span's start", int(lost.sum()))
    collector.count_odd("log", "it has no time and no span; placed at the start of the file", int(alone.sum()))
    known = np.concatenate((forest.start[~forest.has(PSEUDO)], time[~alone & ~lost]))
    time[alone] = known.min() if len(known) else 0
    time[lost] = forest.start[owner[lost]]
    up = np.maximum(owner, 0)
    late = (owner >= 0) & ((time < forest.start[up]) | (time > forest.end[up])) if len(forest) else owner >= 0
    logs = column(table, "kind") == Kind.LOG
    collector.count_odd("log", "outside of its span's time; shown in the strand of logs", int((late & logs).sum()))
    late &= logs
    inside = np.flatnonzero((owner >= 0) & ~logs)
    time[inside] = np.clip(time[inside], forest.start[owner[inside]], forest.end[owner[inside]])
    detached = late | (owner < 0)
    process = np.where(late, forest.process[up], column(table, "process")) if len(forest) else column(table, "process")
    home = owner.copy()
    home[detached] = [home_of[number] for number in process[detached].tolist()]
    return FileEvents(owner, home, time, detached)


def add_file_events(draft: Draft, found: FileEvents) -> None:
    """Add the events in the file."""
    collector, forest, points, edges = draft.collector, draft.forest, draft.points, draft.edges
    table = collector.points
    columns = {name: column(table, name) for name in ("kind", "channel", "site", "text", "attributes")}
    key = ids(table, "key").view(np.int64)
    place = np.arange(len(table))
    numbers = points.add(
        found.home,
        found.time,
        OWN,
        columns["kind"],
        place=place,
        step=1,
        key=key,
        channel=columns["channel"],
        site=columns["site"],
        text=columns["text"],
    )
    edges.add(numbers[column(collector.joined, "source")], numbers[column(collector.joined, "target")])
    more = np.flatnonzero(columns["attributes"] >= 0)
    points.add(
        found.home[more],
        found.time[more],
        OWN,
        Kind.PAYLOAD,
        place=place[more],
        step=2,
        channel=collector.string(ATTRIBUTES),
        text=columns["attributes"][more],
    )
    # Each detached line is a scope of its own, because the order of these lines has no meaning.
    detached = np.flatnonzero(found.detached)
    log = collector.string("log")
    opened = points.add(
        found.home[detached], found.time[detached], OWN, Kind.RECEIVE, place=place[detached], step=0, channel=log
    )
    caused = found.owner[detached] >= 0
    owner, time = found.owner[detached][caused], found.time[detached][caused]
    after = time > forest.end[owner]
    for chosen, order, when in ((after, TAIL, forest.end), (~after, HEAD, forest.start)):
        source = points.add(owner[chosen], when[owner[chosen]], order, Kind.SEND, step=4, channel=log)
        edges.add(source, opened[caused][chosen])


def add_heads(draft: Draft) -> None:
    """Add the requests and attributes at the beginnings of spans."""
    collector, forest, points = draft.collector, draft.forest, draft.points
    pseudo = forest.has(PSEUDO)
    roots = np.flatnonzero((forest.parent < 0) & ~pseudo & ~forest.has(EXPLICIT))
    names = [collector.string(site.qualname or "request") for site in collector.sites]
    channel = np.array(names, np.int64)[forest.site[roots]]
    text = np.full(len(roots), -1, np.int64)
    traced = forest.trace[roots] >= 0
    text[traced] = points.traces(collector, forest.trace[roots][traced])
    points.add(roots, forest.start[roots], HEAD, Kind.REQUEST, step=0, channel=channel, text=text)
    has = np.flatnonzero(forest.attributes >= 0)
    points.add(
        has,
        forest.start[has],
        HEAD,
        Kind.PAYLOAD,
        step=3,
        channel=collector.string(ATTRIBUTES),
        text=forest.attributes[has],
    )


def add_calls(draft: Draft) -> I64:
    """Add the edges between parents and their heads; return the send time of each span, or `MISSING`."""
    collector, forest, points, edges = draft.collector, draft.forest, draft.points, draft.edges
    pseudo, up = forest.has(PSEUDO), np.maximum(forest.parent, 0)
    inferred = (forest.parent >= 0) & ~draft.is_inline & (~forest.has(EXPLICIT) | ~pseudo[up])
    called = inferred & (~pseudo[up] | forest.has(ASYNC))
    family = siblings(forest, np.flatnonzero(forest.parent >= 0))
    place = np.zeros(len(forest), np.int64)
    place[family] = np.arange(len(family))
    rows = np.flatnonzero(called)
    parent = forest.parent[rows]
    remote = forest.process[rows] != forest.process[parent]
    message = forest.has(PRODUCER)[parent] & forest.has(CONSUMER)[rows]
    begin, end = collector.string("span.start"), collector.string("span.end")
    request, response = collector.string("request"), collector.string("response")
    channel = np.where(message, collector.string("message"), np.where(remote, request, begin))
    sent = np.clip(forest.start[rows], forest.start[parent], forest.end[parent])
    named = forest.id[rows] != 0
    source = points.add(
        parent, sent, STARTS, Kind.SEND, place=place[rows], key=forest.id[rows].view(np.int64), channel=channel,
        text=_names(points, forest, rows, named),
    )  # fmt: skip
    target = points.add(
        rows, forest.start[rows], HEAD, Kind.RECEIVE, step=1, key=forest.id[rows].view(np.int64), channel=channel,
        text=_names(points, forest, rows, named),
    )  # fmt: skip
    edges.add(source, target)

    waited = ~forest.has(ASYNC)[rows] & ~message & (forest.start[rows] <= forest.end[parent])
    waited &= (forest.end[rows] >= forest.start[parent]) & ((forest.end[rows] <= forest.end[parent]) | remote)
    child, parent, channel = rows[waited], parent[waited], np.where(remote, response, end)[waited]
    until = np.minimum(_settled(forest, family, collector.resolution)[child], forest.end[parent])
    # A caller that gave up a span also gave up all that the span was waiting for; the span itself kept waiting.
    given_up = _given_up(forest, child, draft.is_inline)[parent]
    # A span that started after its caller was given up was never waited for.
    began = np.maximum(forest.start[child], forest.start[parent])
    then = np.flatnonzero((given_up < until) & (given_up > began))
    child, parent, channel = (np.concatenate((part, part[then])) for part in (child, parent, channel))
    until = np.concatenate((until, given_up[then]))
    at_end = until >= forest.end[child]
    owner = np.where(at_end, child, draft.inner.at(child, until))
    answer = np.empty(len(child), np.int64)
    join = np.empty(len(child), np.int64)
    for chosen, order in ((at_end, TAIL), (~at_end, OWN)):
        answer[chosen] = points.add(
            owner[chosen], until[chosen], order, Kind.SEND, place=len(collector.points), step=3, channel=channel[chosen]
        )
    # A span without duration ends after it starts.
    moment = until <= forest.start[child]
    for chosen, order in ((moment, STARTS), (~moment, ENDS)):
        join[chosen] = points.add(
            parent[chosen], until[chosen], order, Kind.JOIN, place=place[child[chosen]], step=1, channel=channel[chosen]
        )
    edges.add(answer, join)
    times = np.full(len(forest), MISSING, np.int64)
    times[rows] = sent
    return times


def _given_up(forest: Forest, waited: I64, is_inline: Mask) -> I64:
    """Return for each span the earliest end of itself and of its callers that waited for it."""
    end, above = forest.end.copy(), np.full(len(forest), -1, np.int64)
    above[waited] = forest.parent[waited]
    above[is_inline] = forest.parent[is_inline]
    above = np.where(forest.has(PSEUDO)[np.maximum(above, 0)], -1, above)
    while (inside := np.flatnonzero(above >= 0)).size:
        end[inside] = np.minimum(end[inside], end[above[inside]])
        above[inside] = above[above[inside]]
    return end


def _names(points: Points, forest: Forest, rows: I64, named: Mask) -> I64:
    text = np.full(len(rows), -1, np.int64)
    text[named] = points.hexadecimal(forest.id[rows[named]])
    return text


def _settled(forest: Forest, family: I64, resolution: int) -> I64:
    """Return for each span the time at which its parent can continue.

    It is the span's end, or the next sibling's start if it is earlier by no more than the resolution of the clock.
    """
    settled = forest.end.copy()
    if resolution > 1 and len(family) > 1:
        this, following = family[:-1], family[1:]
        over = forest.end[this] - forest.start[following]
        near = (forest.parent[this] == forest.parent[following]) & (over > 0) & (over <= resolution)
        settled[this[near]] = forest.start[following[near]]
    return settled


def link_sources(collector: Collector, finder: Finder, same_trace: I64) -> I64:
    """Return the source span of each link, or -1 if it is not in the file."""
    table = collector.links
    source = column(table, "source")
    by_id = np.flatnonzero(source < 0)
    source[by_id] = finder.first(same_trace[column(table, "trace")[by_id]], ids(table)[by_id])
    return source


def add_links(draft: Draft) -> None:
    """Add the edges of the links."""
    collector, forest, points = draft.collector, draft.forest, draft.points
    table = collector.links
    source, target = link_sources(collector, draft.finder, draft.same_trace), column(table, "target")
    good = (source >= 0) & (source != target)
    collector.count_odd("link", "its span is not in the file", int((source < 0).sum()))
    collector.count_odd("link", "its source and target are the same span", int((source == target).sum()))
    rows = np.flatnonzero(good | ((source == target) & (column(table, "source_time") != MISSING)))
    source, target = source[rows], target[rows]
    sent, came = column(table, "source_time")[rows], column(table, "target_time")[rows]
    at_head = came == MISSING
    came = np.where(at_head, forest.start[target], came)
    no_send_time = sent == MISSING
    sent = np.where(no_send_time, np.minimum(came, forest.end[source]), sent)
    sent = np.clip(sent, forest.start[source], forest.end[source])
    came = np.clip(came, forest.start[target], forest.end[target])
    over = no_send_time & (sent >= forest.end[source])
    owner = np.where(no_send_time & ~over, draft.inner.at(source, sent), source)
    channel, text = column(table, "channel")[rows], column(table, "text")[rows]
    source_kind, target_kind = column(table, "source_kind")[rows], column(table, "target_kind")[rows]
    place = len(collector.points) + rows
    out, into = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for chosen, order in ((over, TAIL), (~over, OWN)):
        out[chosen] = points.add(
            owner[chosen], sent[chosen], order, source_kind[chosen], place=place[chosen], channel=channel[chosen]
        )
    for chosen, order, step in ((at_head, HEAD, 2), (~at_head, OWN, 1)):
        into[chosen] = points.add(
            target[chosen], came[chosen], order, target_kind[chosen], place=place[chosen], step=step,
            channel=channel[chosen], text=text[chosen],
        )  # fmt: skip
    draft.edges.add(out, into, column(table, "kind")[rows])
