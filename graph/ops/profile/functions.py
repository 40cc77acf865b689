"""Compute the profile shown next to each function in the source code.

A profile holds the durations of a function's calls, its callers and callees, its waits, the exceptions that left it,
and recorded values. Profiles of all functions are computed together in a few passes over the run, so that each lookup
is free. Times are in nanoseconds. Invariant: a call has one caller. The caller is in the call's own strand, or in
another strand if a task, a thread, a queue or another process handed the call on. A call without a caller has no
link.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.flows.calls import began_requests, find_frames
from clew.graph.ops.profile.statistics import FunctionStatistics, function_statistics
from clew.graph.ops.timing.replay import join_rows
from clew.graph.runtime.progress import Progress, no_progress
from clew.records.format.event import FACTS, Kind

I64 = npt.NDArray[np.int64]

BINS_PER_OCTAVE = 2
"""The number of latency histogram bins per octave."""
MOST_VALUES = 6
"""The maximum number of value names saved per function, each with its last value."""
MOST_TEXT = 120
_TYPE = re.compile(r"[A-Za-z_][\w.]*")
_EXCEPTION = "exception"


@dataclass(frozen=True)
class Link:
    """The calls of one function by another."""

    caller: int
    """The caller's site; `callee` is the callee's site."""
    callee: int
    how: str
    """The channel that handed the calls on (thread.start, asyncio.handle, queue, …); "" for plain calls."""
    calls: int
    """The number of calls. Calls that continue a running call, such as a worker that takes the next item from a
    queue, have no times.
    """
    total_ns: int
    waiting_ns: int
    p50_ns: int
    p95_ns: int


@dataclass(frozen=True)
class Wait:
    """A cause that calls of a function waited for."""

    channel: str
    through: str
    """The standard-library function that ended the wait, such as `queue:Queue.get`; "" for any other function."""
    source: int
    """The site of the function that ended the wait, 0 for none."""
    count: int
    total_ns: int


@dataclass(frozen=True)
class Raised:
    """Exceptions that left calls of a function."""

    source: int
    """The site of the function that the exceptions left first; the function's own site if it raised them."""
    type: str
    """The exception type; "" unless the spec records exceptions as values."""
    count: int


@dataclass(frozen=True)
class Value:
    name: str
    text: str
    """The last value, truncated."""
    count: int


@dataclass(frozen=True)
class Profile:
    statistics: FunctionStatistics
    max_ns: int
    first_bin: int
    histogram: tuple[int, ...]
    """The number of calls per bin. Bin b covers durations from 2 ** (b / BINS_PER_OCTAVE) ns up to the next bin,
    starting with `first_bin`.
    """
    waits: tuple[Wait, ...]
    """The waits, longest total first."""
    raised: tuple[Raised, ...]
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Profiles:
    """The profiles of all functions, by site."""

    by_site: dict[int, Profile]
    links: tuple[Link, ...]
    """The links, most calls first."""


def find_profiles(graph: ExecutionGraph, progress: Progress = no_progress) -> Profiles:
    """Return the profile of every function that was called."""
    steps = iter(range(5))
    progress("function statistics", next(steps), 5)
    statistics = function_statistics(graph)
    histograms = _histograms(graph)
    progress("function statistics", next(steps), 5)
    waits = _waits(graph)
    progress("function statistics", next(steps), 5)
    raised = _raised(graph)
    values = _values(graph)
    progress("function statistics", next(steps), 5)
    links = _links(graph)
    progress("function statistics", next(steps), 5)
    none: tuple[int, int, tuple[int, ...]] = (0, 0, ())
    by_site = {
        site: Profile(
            each,
            *histograms.get(site, none),
            waits=tuple(waits.get(site, ())),
            raised=tuple(raised.get(site, ())),
            values=tuple(values.get(site, ())),
        )
        for site, each in statistics.items()
    }
    return Profiles(by_site, tuple(links))


def _groups(*keys: I64) -> Iterator[I64]:
    """Yield the rows of each group with equal keys."""
    order = np.lexsort(keys[::-1])
    changed = np.zeros(len(order), bool)
    changed[:1] = True
    for key in keys:
        changed[1:] |= key[order[1:]] != key[order[:-1]]
    for low, high in pairwise([*np.flatnonzero(changed).tolist(), len(order)]):
        yield order[low:high]


def _histograms(graph: ExecutionGraph) -> dict[int, tuple[int, int, tuple[int, ...]]]:
    """Return by site the longest call, the first bin and the bins."""
    calls = graph.calls
    ended = np.flatnonzero(calls.exit >= 0)
    if not len(ended):
        return {}
    total, site = calls.total_ns[ended], graph.site[calls.enter[ended]].astype(np.int64)
    longest = np.zeros(len(graph.sites), np.int64)
    np.maximum.at(longest, site, total)
    bins = np.floor(np.log2(np.maximum(total, 1)) * BINS_PER_OCTAVE).astype(np.int64)
    width = 64 * BINS_PER_OCTAVE
    table = np.bincount(site * width + bins, minlength=len(graph.sites) * width).reshape(-1, width)
    found = {}
    for number in np.flatnonzero(table.any(axis=1)).tolist():
        there = np.flatnonzero(table[number])
        counts = table[number, there[0] : there[-1] + 1]
        found[number] = (int(longest[number]), int(there[0]), tuple(counts.tolist()))
    return found


def _links(graph: ExecutionGraph) -> list[Link]:
    calls = graph.calls
    if not len(calls.enter):
        return []
    frames = find_frames(graph)
    count = frames.calls
    # A visit (a region that began in the middle of a call) belongs to that call, and so do the calls that it made.
    own: I64 = np.concatenate((np.arange(count), frames.visits.call))
    parent, channel = frames.parent.astype(np.int64), frames.channel.astype(np.int64)
    # A request does not belong to the flow that began it, but it still has a caller.
    begun, by, edge = began_requests(frames)
    parent[begun], channel[begun] = by, graph.edge_channel[edge]
    outer: I64 = np.append(own, -1)[parent]
    called = np.flatnonzero((outer >= 0) & (own >= 0) & (outer != own))
    called = called[(called < count) | (channel[called] >= 0)]
    how = channel[called]
    caller = graph.site[calls.enter[outer[called]]].astype(np.int64)
    callee = graph.site[calls.enter[own[called]]].astype(np.int64)
    nothing = np.zeros(len(frames) - count, np.int64)
    total_ns, waiting_ns = np.append(calls.total_ns, nothing), np.append(calls.waiting_ns, nothing)
    links = []
    for rows in _groups(caller, callee, how):
        one, those = rows[0], called[rows]
        handed, total = int(how[one]), total_ns[those]
        p50, p95 = np.percentile(total, [50, 95], method="inverted_cdf").tolist()
        link = Link(
            caller=int(caller[one]),
            callee=int(callee[one]),
            how=graph.strings[handed] if handed >= 0 else "",
            calls=len(rows),
            total_ns=int(total.sum()),
            waiting_ns=int(waiting_ns[those].sum()),
            p50_ns=int(p50),
            p95_ns=int(p95),
        )
        links.append(link)
    return sorted(links, key=lambda link: (-link.calls, link.caller, link.callee, link.how))


def _waits(graph: ExecutionGraph) -> dict[int, list[Wait]]:
    """Return the waits by site. A strand waits if it is idle until the source of an edge has happened."""
    edges = np.flatnonzero(graph.ts[graph.edge_src] <= graph.ts[graph.edge_dst])
    at, _ = join_rows(graph, edges)
    before = np.maximum(at - 1, 0)
    waited = (
        (at > 0) & (graph.strand[before] == graph.strand[at]) & (graph.ts[before] < graph.ts[graph.edge_src[edges]])
    )
    edges, at = edges[waited], at[waited]
    if not len(edges):
        return {}
    # Among the edges that ended one wait, the last belongs to the outermost function that waited.
    order = np.lexsort((graph.edge_dst[edges], at))
    order = order[np.append(at[order][1:] != at[order][:-1], True)]
    edges, at = edges[order], at[order]
    call = _waiting_calls(graph, graph.edge_dst[edges])
    edges, at, call = edges[call >= 0], at[call >= 0], call[call >= 0]
    site, through = graph.site[call].astype(np.int64), graph.site[graph.edge_dst[edges]].astype(np.int64)
    owner = graph.owner[graph.edge_src[edges]].astype(np.int64)
    source = np.where(owner >= 0, graph.site[np.maximum(owner, 0)], 0).astype(np.int64)
    channel, length = graph.edge_channel[edges].astype(np.int64), graph.ts[at] - graph.ts[at - 1]
    found: dict[int, list[Wait]] = defaultdict(list)
    for rows in _groups(site, channel, through, source):
        one = rows[0]
        by = graph.sites[int(through[one])]
        name = by.label if by.kind == "adapter" else ""
        wait = Wait(graph.strings[int(channel[one])], name, int(source[one]), len(rows), int(length[rows].sum()))
        found[int(site[one])].append(wait)
    return {number: sorted(those, key=lambda wait: -wait.total_ns) for number, those in found.items()}


def _waiting_calls(graph: ExecutionGraph, targets: I64) -> I64:
    """Return the calls that continued: the innermost call that resumed then, else the running call; -1 for none."""
    call = graph.call[targets].astype(np.int64)
    row, open_ = targets.copy(), np.arange(len(targets))
    while len(open_):
        following = np.minimum(row[open_] + 1, len(graph) - 1)
        resumed = graph.kind[following] == Kind.RESUME
        on = (resumed | np.isin(graph.kind[following], list(FACTS))) & (following > row[open_])
        on &= graph.strand[following] == graph.strand[row[open_]]
        open_, following, resumed = open_[on], following[on], resumed[on]
        row[open_] = following
        call[open_[resumed]] = graph.call[following[resumed]]
    return call


def _raised(graph: ExecutionGraph) -> dict[int, list[Raised]]:
    """Return the exceptions by site. An exception propagates if it leaves a call right after leaving the call inside
    it.
    """
    rows = graph.rows_of([Kind.UNWIND])
    if not len(rows):
        return {}
    goes_on = np.zeros(len(rows), bool)
    goes_on[1:] = (rows[1:] == rows[:-1] + 1) & (graph.strand[rows[1:]] == graph.strand[rows[:-1]])
    source = graph.site[rows[np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(rows))))]].astype(np.int64)
    site, code = graph.site[rows].astype(np.int64), np.zeros(len(rows), np.int64)
    types = _types(graph)
    names = {name: number for number, name in enumerate(["", *sorted(set(types.values()))])}
    if types:
        code = np.array([names[types.get(call, "")] for call in graph.call[rows].tolist()], np.int64)
    texts = list(names)
    found: dict[int, list[Raised]] = defaultdict(list)
    for group in _groups(site, source, code):
        one = group[0]
        found[int(site[one])].append(Raised(int(source[one]), texts[int(code[one])], len(group)))
    return {number: sorted(those, key=lambda raised: -raised.count) for number, those in found.items()}


def _types(graph: ExecutionGraph) -> dict[int, str]:
    """Return the exception types by the calls that they left, if the spec records exceptions as values."""
    found = {}
    for row in graph.rows_of([Kind.PAYLOAD], _EXCEPTION).tolist():
        match = _TYPE.match(graph.text(row))
        if match and match[0] != "None":
            found[graph.call_of(row)] = match[0]
    return found


def _values(graph: ExecutionGraph) -> dict[int, list[Value]]:
    rows = graph.rows_of([Kind.PAYLOAD])
    rows = rows[graph.call[rows] >= 0]
    if not len(rows):
        return {}
    site = graph.site[graph.call[rows]].astype(np.int64)
    channel = graph.extensions.channel[graph.ext[rows]].astype(np.int64)
    found: dict[int, list[Value]] = defaultdict(list)
    for group in _groups(site, channel):
        last = int(rows[group[np.argmax(graph.ts[rows[group]])]])
        mine = found[int(site[group[0]])]
        if len(mine) < MOST_VALUES:
            text = graph.text(last)
            cut = text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
            mine.append(Value(graph.channel(last), cut, len(group)))
    return found
