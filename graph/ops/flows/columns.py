"""Build the columns of a run's flows: frames (`calls.py`) in flow order (`order.py`), with labels, times, errors and
logs.

Invariant: every code is an index into its list of names, and labels are numbered in the order of their names.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand, lengths
from clew.graph.model.event import ERROR
from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.model.levels import LabelFunction, labels_of, strand_label
from clew.graph.model.text_templates import templates_of
from clew.graph.ops.flows.call_order import call_order
from clew.graph.ops.flows.calls import Frames, find_frames
from clew.graph.ops.flows.clock_offsets import without_offsets
from clew.graph.ops.flows.order import LEFT_OUT, Ordered, order_flows
from clew.graph.ops.timing.pauses import pauses
from clew.records.format.event import Kind

I32 = npt.NDArray[np.int32]
Codes = npt.NDArray[np.signedinteger]
Mask = npt.NDArray[np.bool_]

REPEATED = " xN"
"""The suffix of the name of equal siblings that count as one."""


class CategoryKey(NamedTuple):
    """The identity of requests of one name whose flows have one shape; see `order.py`."""

    name: str
    shape: int


def columns_of(
    graph: ExecutionGraph, requests: I64, level: str | LabelFunction, *, coalesce: bool, ordered: bool = False
) -> dict[str, Any]:
    """Return the fields of `Flows`, except its runs."""
    with graph.passing() as release:
        frames = find_frames(graph)
        roots = frames.roots(requests)
        label, labels = _labels(frames, level)
        of = _own(frames, label)
        parent, mine = frames.parent, None
        if level != "function":
            parent, mine = _merge(parent, label, roots)
            of = of._replace(
                work=_summed(mine, of.work),
                waiting=_summed(mine, of.waiting),
                taken=_summed(mine, of.taken),
                failures=_summed(mine, of.failed),
            )
        in_order = call_order(frames, parent, of.begin, of.total) if ordered and not coalesce else None
        order = order_flows(parent, label, of.begin, labels, roots, coalesce=coalesce, order=in_order)
        columns = _logs(frames, order, mine) | _requests(graph, requests, order) | _names(frames, labels)
        # The columns built next are as large as the data read from the graph, so release these first.
        del frames, parent, label
        release()
    columns |= _calls(of, order)
    without_offsets(graph, order.first, columns)
    columns["errors"] = _errors(of.failures, order, columns)
    response = of.total[roots]
    start = of.begin[roots] + graph.info.started
    return columns | {"response_ns": response, "start_ns": start}


class _Own(NamedTuple):
    """Values per frame, in ns."""

    begin: I64
    total: I64
    work: I64
    waiting: I64
    taken: I64
    failed: Mask
    failures: npt.NDArray[Any]
    """The number of failed calls among those that the frame represents."""
    delay: I64
    event: npt.NDArray[np.signedinteger]
    label: I32
    channel: Codes
    instance: Codes


def _own(frames: Frames, label: I32) -> _Own:
    graph, visits = frames.graph, frames.visits
    event = graph.calls.enter.astype(graph.call.dtype)
    if len(visits.region):
        event = np.concatenate((event, graph.regions.first[visits.region].astype(event.dtype)))
    more = (
        frames.delay, event, label, _channels(frames)[1], _instances(graph)[1][graph.strand[event]],
    )  # fmt: skip
    calls = graph.calls
    ended = calls.exit >= 0
    failed = np.zeros(len(frames), bool)
    failed[: frames.calls][ended] = graph.kind[calls.exit[ended]] == Kind.UNWIND
    begin = graph.ts[calls.enter]
    if not len(visits.region):
        work, waiting, taken = _without_pauses(frames, calls.self_ns, calls.waiting_ns)
        return _Own(begin, calls.total_ns, work, waiting, taken, failed, failed, *more)
    first, last = graph.regions.first[visits.region], graph.regions.last[visits.region]
    exits = np.where(visits.call >= 0, calls.exit[np.maximum(visits.call, 0)] if frames.calls else -1, -1)
    here = np.flatnonzero(exits >= 0)
    here = here[graph.region[exits[here]] == visits.region[here]]
    failed[frames.calls + here] = graph.kind[exits[here]] == Kind.UNWIND
    work, waiting = (
        np.concatenate(pair) for pair in zip((calls.self_ns, calls.waiting_ns), _times_of_visits(frames), strict=True)
    )
    work, waiting, taken = _without_pauses(frames, work, waiting)
    return _Own(
        np.concatenate((begin, graph.ts[first])),
        np.concatenate((calls.total_ns, graph.ts[last] - graph.ts[first])),
        work,
        waiting,
        taken,
        failed,
        failed,
        *more,
    )


def _without_pauses(frames: Frames, work: I64, waiting: I64) -> tuple[I64, I64, I64]:
    """Return the frames' work with their unexplained waiting, their explained waiting, and the time that others took."""
    found = pauses(frames.graph)
    frame = frames.at(found.row)
    inside = frame >= 0
    taken, blocked = (
        np.bincount(frame[inside], column[inside], len(frames)).astype(np.int64)
        for column in (found.taken_ns, found.blocked_ns)
    )
    taken = np.minimum(taken, waiting)
    blocked = np.minimum(blocked, waiting - taken)
    return work + blocked, waiting - taken - blocked, taken


def _times_of_visits(frames: Frames) -> tuple[I64, I64]:
    """Return the work and waiting time in a visit's call itself.

    These are the gaps between the region's events in which no call made from the region runs.
    """
    graph, visits = frames.graph, frames.visits
    rows = np.flatnonzero(frames.visit[graph.region] >= 0)
    region = graph.region[rows]
    # After a region's last event, another region continues.
    rows = rows[rows != graph.regions.last[region]]
    which = frames.visit[graph.region[rows]] - frames.calls
    inner = graph.inner[rows]
    running = np.where(inner >= 0, frames.where.number[inner], -1)
    length = graph.ts[rows + 1] - graph.ts[rows]
    mine = running == visits.call[which]
    idle = graph.idle[rows]
    result = []
    for those in (mine & ~idle, mine & idle):
        total = np.zeros(len(visits.region), np.int64)
        np.add.at(total, which[those], length[those])
        result.append(total)
    return result[0], result[1]


def _labels(frames: Frames, level: str | LabelFunction) -> tuple[I32, tuple[str, ...]]:
    """Return a code for each frame, and the names, sorted."""
    graph, visits = frames.graph, frames.visits
    found = labels_of(graph, level)
    enter = graph.calls.enter
    # A visit is named after its call, or after its strand if it has no call.
    rows = np.where(visits.call >= 0, enter[np.maximum(visits.call, 0)] if frames.calls else -1, -1)
    rows = np.where(rows >= 0, rows, graph.regions.opener[visits.region])
    rows = np.concatenate((enter, rows)) if len(rows) else enter
    names: list[str]
    if found.of_strand is not None:
        code = found.of_strand[graph.strand[rows]]
        names = [found.name(number) for number in range(int(found.of_strand.max(initial=-1)) + 1)]
    elif found.of_site is not None:
        code = graph.site[rows].astype(np.int32)
        names = [found.of_site(number) for number in range(len(graph.sites))]
        bare = np.flatnonzero(visits.call < 0)
        bare = bare[graph.site_is_adapter[graph.site[graph.regions.opener[visits.region[bare]]]]]
        strand = graph.strand[graph.regions.opener[visits.region[bare]]].astype(np.int64)
        code[frames.calls + bare] = len(names) + strand
        names += [strand_label(strand.kind, strand.name) for strand in graph.strands]
    else:
        numbers, code = np.unique(found.of(rows), return_inverse=True)
        names = [found.name(number) for number in numbers.tolist()]
    used = np.bincount(code, minlength=len(names)) > 0
    used_names = sorted({names[number] for number in np.flatnonzero(used).tolist()})
    place = {name: number for number, name in enumerate(used_names)}
    return np.array([place.get(name, -1) for name in names], np.int32)[code], tuple(used_names)


def _merge(parent: I32, label: I32, roots: I32) -> tuple[I32, I32]:
    """Merge calls of one label that made each other.

    Return the parents after merging, and for each frame the outermost frame that it is merged into.
    """
    merges = parent >= 0
    merges[merges] = label[parent[merges]] == label[merges]
    merges[roots] = False
    mine = np.where(merges, parent, np.arange(len(parent), dtype=np.int32))
    while True:
        farther = mine[mine]
        if np.array_equal(farther, mine):
            break
        mine = farther
    above = np.where(parent >= 0, mine[parent], -1)
    return np.where(merges, LEFT_OUT, above).astype(np.int32), mine


def _summed(mine: I32, column: npt.NDArray[Any]) -> I64:
    total = np.zeros(len(column), np.int64)
    np.add.at(total, mine, column)
    return total


def _names(frames: Frames, labels: tuple[str, ...]) -> dict[str, Any]:
    return {"labels": labels, "channels": _channels(frames)[0], "instances": _instances(frames.graph)[0]}


def _channels(frames: Frames) -> tuple[tuple[str, ...], Codes]:
    return _coded(frames.channel, ["", *frames.graph.strings])


def _calls(of: _Own, order: Ordered) -> dict[str, Any]:
    frame = order.frame
    begin = of.begin[frame]
    begin -= np.repeat(begin[order.first[:-1]], lengths(order.first))
    columns: dict[str, Any] = {
        "first": order.first,
        "label": of.label[frame],
        "parent": order.parent,
        "channel": of.channel[frame],
        "instance": of.instance[frame],
        "begin_ns": begin,
        "total_ns": of.total[frame],
        "self_ns": of.work[frame],
        "waiting_ns": of.waiting[frame],
        "taken_ns": of.taken[frame],
        "delay_ns": of.delay[frame],
        "failed": of.failed[frame],
        "event": of.event[frame],
        "repeats": np.broadcast_to(np.int32(1), len(frame)),
    }
    if len(order.again):
        sums = {
            "total_ns": of.total,
            "self_ns": of.work,
            "waiting_ns": of.waiting,
            "taken_ns": of.taken,
            "delay_ns": of.delay,
        }
        for name, column in sums.items():
            np.add.at(columns[name], order.where, column[order.again])
        columns["failed"][order.where[of.failed[order.again]]] = True
        columns["repeats"] = 1 + np.bincount(order.where, minlength=len(frame)).astype(np.int32)
    return columns


def _instances(graph: ExecutionGraph) -> tuple[tuple[str, ...], Codes]:
    """Return the instances, and the instance of each strand."""
    hosts = {process.host for process in graph.processes}
    seen: Counter[tuple[str, str]] = Counter()
    known: dict[str, int] = {}
    codes = []
    for process in graph.processes:
        name = process.host if len(hosts) > 1 and process.host else process.name
        seen[name, process.name] += 1
        many = seen[name, process.name]
        codes.append(known.setdefault(name if many == 1 else f"{name} #{many}", len(known)))
    return tuple(known), _small(np.array(codes, np.int32)[graph.strand_process], len(known))


def _coded(numbers: I32, names: list[str]) -> tuple[tuple[str, ...], Codes]:
    """Convert numbers from -1 up to codes into the names that occur; the first name corresponds to -1."""
    used = np.flatnonzero(np.bincount(numbers + 1, minlength=len(names)))
    known: dict[str, int] = {}
    codes = np.zeros(len(names), np.int32)
    for number in used.tolist():
        codes[number] = known.setdefault(names[number], len(known))
    return tuple(known), _small(codes, len(known))[numbers + 1]


def _small(codes: I32, count: int) -> Codes:
    return codes.astype(np.int16) if count < 1 << 15 else codes


def _logs(frames: Frames, order: Ordered, mine: I32 | None) -> dict[str, Any]:
    """Return the logs at their places. A log in several flows occurs several times."""
    graph = frames.graph
    rows = graph.rows_of([Kind.LOG])
    frame = frames.at(rows)
    rows, frame = rows[frame >= 0], frame[frame >= 0]
    if mine is not None:
        frame = mine[frame]
    by_frame = np.argsort(frame, kind="stable")
    rows, frame = rows[by_frame], frame[by_frame]
    has = np.zeros(len(frames), bool)
    has[frame] = True
    places = np.flatnonzero(has[order.frame])
    of = order.frame[places]
    if len(order.again):
        more = np.flatnonzero(has[order.again])
        places, of = np.concatenate((places, order.where[more])), np.concatenate((of, order.again[more]))
        by_place = np.argsort(places, kind="stable")
        places, of = places[by_place], of[by_place]
    begin, end = np.searchsorted(frame, of, "left"), np.searchsorted(frame, of, "right")
    event = rows[expand(begin, end)]
    ext = graph.ext[event]
    template, texts = templates_of(graph.extensions.texts, ext.astype(np.int64))
    templates, codes = _coded(template.astype(np.int32) - 1, list(texts) or [""])
    return {
        "templates": templates if len(event) else (),
        "log_call": np.repeat(places, end - begin),
        "log_template": codes,
        "log_level": graph.extensions.key[ext].astype(np.int32),
        "log_event": event,
    }


def _errors(failures: npt.NDArray[Any], order: Ordered, columns: dict[str, Any]) -> I32:
    """Return the number of errors of each request."""
    here, again = failures[order.frame], failures[order.again]
    calls = np.concatenate((np.flatnonzero(here), order.where[again > 0]))
    many = np.concatenate((here[here > 0], again[again > 0]))
    logged = columns["log_call"][columns["log_level"] >= ERROR]
    of = np.searchsorted(order.first, np.concatenate((calls, logged)), "right") - 1
    weights = np.concatenate((many, np.ones(len(logged), np.int64)))
    return np.bincount(of, weights, minlength=len(order.first) - 1).astype(np.int32)


def _requests(graph: ExecutionGraph, requests: I64, order: Ordered) -> dict[str, Any]:
    channel = graph.extensions.channel[graph.ext[requests]].astype(np.int32)
    names, name = _coded(channel - 1, graph.strings)
    if not len(requests):
        names = ()
    shape = np.unique(order.shape, return_inverse=True)[1].reshape(-1)
    found, first, category = np.unique(shape * max(len(names), 1) + name, return_index=True, return_inverse=True)
    # Number the categories in the order of their first requests.
    number = np.empty(len(found), np.int32)
    number[np.argsort(first)] = np.arange(len(found), dtype=np.int32)
    first = np.sort(first)
    return {
        "request": requests,
        "names": names,
        "name": name,
        "category": number[category.reshape(-1)],
        "categories": tuple(
            CategoryKey(names[code], shape)
            for code, shape in zip(name[first].tolist(), order.shape[first].tolist(), strict=True)
        ),
    }
