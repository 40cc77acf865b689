"""Write a run as Chrome's trace events for Perfetto's UI: calls as slices, edges as flows, log lines as instants.

A strand is a thread. Slices of one thread must nest, so a call that does not nest with its neighbours (of a generator, for
example) is an asynchronous slice. So are the times in which a call was suspended, and gaps. Invariant: times are microseconds
since the start of the run, with three decimals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from clew.graph.formats.readers.chrome import COUNTED, EVENT, GAP, STARTED, SUSPENDED
from clew.graph.formats.source import to_json
from clew.graph.formats.writers.spans import SpansOf
from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.gaps import gaps, stretch
from clew.graph.model.graph import ExecutionGraph, edge_kind_name
from clew.records.format.event import Kind

_INSTANTS = (Kind.LOG, Kind.MARK)


def write_chrome(graph: ExecutionGraph, file: IO[bytes]) -> None:
    """Write a run."""
    # A reader needs this information before the events.
    counted = {graph.sites[site].label: calls for site, calls in sorted(graph.counted.items())}
    about: dict[str, Any] = {STARTED: str(graph.info.started), "clew.run": graph.info.id}
    other = to_json(about | ({COUNTED: counted} if counted else {}))
    file.write(b'{"otherData":' + other.encode("utf-8", "replace") + b',"displayTimeUnit":"ns","traceEvents":[')
    for number, event in enumerate(events(graph)):
        file.write((b",\n" if number else b"\n") + event.encode("utf-8", "replace"))
    file.write(b"\n]}\n")


def events(graph: ExecutionGraph) -> Iterator[str]:
    """Yield each event as JSON."""
    pids = [process.pid for process in graph.processes]
    if len(set(pids)) < len(pids) or 0 in pids:
        pids = [process.index + 1 for process in graph.processes]
    spans = SpansOf(graph)
    for process in graph.processes:
        yield _line("M", {"pid": pids[process.index], "tid": 0, "name": "process_name", "args": {"name": process.name}})
    where = [{"pid": pids[strand.process], "tid": strand.index + 1} for strand in graph.strands]
    for strand in graph.strands:
        name = {"name": spans.strand_names[strand.index]}
        yield _line("M", where[strand.index] | {"name": "thread_name", "args": name})
    yield from _calls(graph, spans, where)
    for row in graph.rows_of(_INSTANTS).tolist():
        yield _instant(graph, row, where)
    for edge, (source, target) in enumerate(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True)):
        about = {
            "cat": graph.strings[int(graph.edge_channel[edge])] or "edge",
            "name": edge_kind_name(int(graph.edge_kind[edge])),
            "id": edge + 1,
        }
        sent = {"args": {EVENT: graph.event(source).kind}}
        came = {"args": {EVENT: graph.event(target).kind}, "bp": "e"}
        yield _line("s", where[int(graph.strand[source])] | about | sent, int(graph.ts[source]))
        yield _line("f", where[int(graph.strand[target])] | about | came, int(graph.ts[target]))
    yield from _lost(graph, where)
    yield from _waits(graph, where)


def _lost(graph: ExecutionGraph, where: list[dict[str, Any]]) -> Iterator[str]:
    for number, gap in enumerate(gaps(graph)):
        arguments: dict[str, Any] = {"why": gap.why}
        if gap.lost is not None:
            arguments["lost"] = gap.lost
        missing = {"cat": GAP, "name": "lost records", "id": f"gap {number}", "args": arguments}
        yield from _interval(where[gap.strand] | missing, *stretch(graph, gap))


def _waits(graph: ExecutionGraph, where: list[dict[str, Any]]) -> Iterator[str]:
    for number, (suspend, resume) in enumerate(_suspensions(graph)):
        name = graph.sites[int(graph.site[suspend])].label or "call"
        waiting = where[int(graph.strand[suspend])] | {"cat": SUSPENDED, "name": name, "id": f"suspended {number}"}
        yield from _interval(waiting, int(graph.ts[suspend]), int(graph.ts[resume]))


def _interval(about: dict[str, Any], begin: int, end: int) -> Iterator[str]:
    yield _line("b", about, begin)
    yield _line("e", about, end)


def _suspensions(graph: ExecutionGraph) -> Iterator[tuple[int, int]]:
    """Yield the rows of each suspension of a call: the suspend event and the resume event."""
    rows = graph.rows_of((Kind.SUSPEND, Kind.RESUME))
    rows = rows[graph.call[rows] >= 0]
    rows = rows[np.lexsort((rows, graph.call[rows]))]
    follows = (graph.kind[rows[:-1]] == Kind.SUSPEND) & (graph.kind[rows[1:]] == Kind.RESUME)
    for at in np.flatnonzero(follows & (graph.call[rows[:-1]] == graph.call[rows[1:]])).tolist():
        yield int(rows[at]), int(rows[at + 1])


def _calls(graph: ExecutionGraph, spans: SpansOf, where: list[dict[str, Any]]) -> Iterator[str]:
    open_: list[int] = []
    strand = -1
    ends = spans.exit.tolist()
    for call, enter in enumerate(graph.calls.enter.tolist()):
        if int(graph.strand[enter]) != strand:
            strand, open_ = int(graph.strand[enter]), []
        while open_ and open_[-1] < enter:
            open_.pop()
        end = ends[call]
        site = graph.sites[int(graph.site[enter])]
        about: dict[str, Any] = where[strand] | {"cat": "call", "name": site.label or "call", "args": _place(site)}
        if spans.failed(call):
            about["args"] = about["args"] | {"error": True}
        if open_ and end > open_[-1]:
            about["id"] = f"call {call}"
            yield from _interval(about, int(graph.ts[enter]), int(graph.ts[end]))
            continue
        open_.append(end)
        yield _line("X", about, int(graph.ts[enter]), _microseconds(int(graph.ts[end] - graph.ts[enter])))


def _place(site: Any) -> dict[str, Any]:
    place = {"code.namespace": site.module, "code.function.name": site.qualname}
    return place | ({"code.file.path": site.file, "code.line.number": site.line} if site.file else {})


def _instant(graph: ExecutionGraph, row: int, where: list[dict[str, Any]]) -> str:
    about: dict[str, Any] = where[int(graph.strand[row])] | {"s": "t"}
    if graph.kind[row] == Kind.MARK:
        about |= {"cat": "mark", "name": graph.channel(row) or "mark", "args": {"value": graph.text(row)}}
    else:
        number, site = graph.key(row), graph.sites[int(graph.site[row])]
        fields = {
            "message": graph.text(row),
            "level": LEVEL_NAMES.get(number, str(number)),
            "logger": graph.channel(row),
        }
        about |= {"cat": "log", "name": fields["level"], "args": fields | (_place(site) if site.file else {})}
    return _line("i", about, int(graph.ts[row]))


def _line(phase: str, about: dict[str, Any], ns: int | None = None, duration: str = "") -> str:
    text = to_json({"ph": phase, **about})
    # Formatted here, because a float loses the nanoseconds of a long run.
    times = f',"ts":{_microseconds(ns)}' if ns is not None else ""
    return text[:-1] + times + (f',"dur":{duration}' if duration else "") + "}"


def _microseconds(ns: int) -> str:
    sign, value = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{value // 1000}.{value % 1000:03d}"
