"""The history of a state: its writes over time by writer, with the write that the code in question read."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.states.claims import short
from clew.graph.ops.states.history import HistoryRow, is_recorded
from clew.graph.ops.states.order import unordered
from clew.graph.ops.states.state_at import StateAt, sites_of, state_at, state_named, state_of_event
from clew.graph.ops.states.writes import Writes
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.server.locations.function_at_line import function_at
from clew.server.locations.line_mapping import places
from clew.server.protocol.history import HistoryLane, HistoryParams, HistoryResult, LastWrite, StateWrite
from clew.server.protocol.shared import Location
from clew.server.session.session import Cancelled, Session, Task, which_of
from clew.server.text import units
from clew.server.views.target import NothingFound

if TYPE_CHECKING:
    from clew.query.api import Run

MAX_WRITES = 1_000
MAX_LANES = 40
MAX_OTHERS = 8


@dataclass(frozen=True)
class _Page:
    rows: tuple[int, ...]
    later: int
    """The number of newer writes that were left out."""


def history_view(session: Session, params: HistoryParams, task: Task) -> HistoryResult:
    """Answer with a bounded number of writes; with a message and a command if nothing was recorded."""
    run = session.open(params.run, task)
    ref = session.ref(run)
    asked = params.state or params.expression
    try:
        with task.interruptible():
            found = _found(session, run, params, task)
            return _answer(run, found, params, HistoryResult(ref, units.printable(found.name), [], []))
    except Cancelled:
        raise
    except ClewError as error:
        text = str(error)
        recorded = is_recorded(run.graph)
        end = "" if text.endswith(("?", ".")) else "."
        message = f"{text[:1].upper()}{text[1:]}{end}" if recorded else f"Run {run.info.name} recorded no writes."
        return HistoryResult(
            ref,
            units.printable(asked),
            [],
            [],
            message=units.printable(message),
            command="" if recorded else _command(run),
        )


def _found(session: Session, run: Run, params: HistoryParams, task: Task) -> StateAt:
    graph, place = run.graph, params.location
    if params.event is not None:
        return state_of_event(graph, params.event)
    if params.state:
        return state_named(graph, params.state)
    if place is None or not params.expression:
        raise NothingFound("name a state, or an expression and its line")
    table = session.functions(which_of(run), task)
    there = places(session, table.folder, place.path)
    function = function_at(table, there, place.line)
    if function is None:
        raise NothingFound(
            f"no function at {units.place(place.path, place.line, run.info.workspace)} was recorded in run {run.info.name}"
        )
    now = there.recorded_line(place.line)
    if now.state == "stale":
        file = units.place(place.path, 0, run.info.workspace)
        raise NothingFound(f"line {place.line} of {file} is not the line that ran in run {run.info.name}")
    return state_at(graph, sites_of(graph, graph.sites[function.site]), now.line, params.expression)


def _answer(run: Run, found: StateAt, params: HistoryParams, empty: HistoryResult) -> HistoryResult:
    graph = run.graph
    page = _page(found, params)
    described = found.history.described(page.rows)
    races = _races(found)
    lanes, numbers = _lanes(described)
    writes = [
        StateWrite(
            row.event,
            float(row.ns),
            number,
            units.printable(row.state),
            units.printable(row.change),
            units.printable(row.writer),
            row.object,
            row.event == found.marked,
            races.get(row.event, ""),
            Location(row.path, row.line) if row.path else None,
        )
        for row, number in zip(described, numbers, strict=True)
    ]
    reader = graph.sites[graph.function_site(found.reader)].qualname if found.reader >= 0 else ""
    return HistoryResult(
        empty.run,
        empty.state,
        lanes,
        writes,
        hiddenWrites=len(found.history.rows) - len(writes),
        laterWrites=page.later,
        objects=found.history.several,
        readNs=float(graph.at("ts", found.reader)) if found.reader >= 0 else None,
        reader=units.printable(short(reader)),
        others=[units.printable(name) for name in found.others[:MAX_OTHERS]],
        notes=_notes(run, found),
        last=_last(found, writes, lanes),
    )


def _last(found: StateAt, writes: list[StateWrite], lanes: list[HistoryLane]) -> LastWrite | None:
    """Return the write in question in words, else the newest of the shown ones."""
    if not writes:
        return None
    write = next((write for write in writes if write.isMarked), writes[-1])
    lane = lanes[write.lane]
    name = write.state or found.name
    caller = f", called by {lane.caller}" if lane.caller else ""
    request = f", for {lane.request}" if lane.request else ""
    lead = "" if write.isMarked else "The newest write: "
    done = f"{name}{'' if write.change[:1] in '.[' else ' '}{write.change}"
    text = f"{lead}{done}, by {write.by}{caller}, in {lane.who}{request} ({units.offset(write.timeNs)})."
    return LastWrite(f"{text} {write.race}".rstrip(), write.location)


def _page(found: StateAt, params: HistoryParams) -> _Page:
    rows = found.history.rows
    most = max(1, min(params.maxWrites, MAX_WRITES))
    if params.skip is not None:
        end = max(1, len(rows) - max(0, params.skip))
    elif found.marked in rows:
        # What came right after the write matters as well.
        end = max(most, min(len(rows), rows.index(found.marked) + 1 + most // 4))
    else:
        end = len(rows)
    end = min(end, len(rows))
    return _Page(rows[max(0, end - most) : end], len(rows) - end)


def _lanes(rows: list[HistoryRow]) -> tuple[list[HistoryLane], list[int]]:
    """Return the writers and, for each row, the index of its writer. The last lane has the writers beyond the limit."""
    keys = [(short(row.writer).partition("(")[0], row.caller, row.who, row.request) for row in rows]
    counts: dict[tuple[str, str, str, str], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    shown = list(counts)
    if len(shown) > MAX_LANES:
        frequent = set(sorted(shown, key=lambda key: -counts[key])[: MAX_LANES - 1])
        shown = [key for key in shown if key in frequent]
    index = {key: number for number, key in enumerate(shown)}
    lanes = [_lane(key, counts[key]) for key in shown]
    rest = sum(count for key, count in counts.items() if key not in index)
    if rest:
        lanes.append(HistoryLane("", "", units.count(len(counts) - len(shown), "other writer"), "", rest))
    return lanes, [index.get(key, len(shown)) for key in keys]


def _lane(key: tuple[str, str, str, str], writes: int) -> HistoryLane:
    writer, caller, who, request = map(units.printable, key)
    return HistoryLane(writer, caller, who, request, writes)


def _races(found: StateAt) -> dict[int, str]:
    """Return the writes that are part of a race with the read, each with a sentence."""
    seen = found.seen
    if seen is None:
        return {}
    races = {}
    graph = found.history.graph
    pairs = [(seen.row, "this write and the read")] if seen.order == "unordered" else []
    for later in seen.later:
        if not slice_events(graph, [later]).contains(found.reader):
            pairs.append((later, "the read and this later write"))
    for row, pair in pairs:
        known = unordered(graph, row, found.reader, seen.name, pair)
        if known.is_race:
            races[row] = f"{known.text[:1].upper()}{known.text[1:]}."
    return races


def _notes(run: Run, found: StateAt) -> list[str]:
    notes = [found.note] if found.note else []
    writes = Writes.of(run.graph)
    last = [row for row in found.history.rows if run.graph.at("kind", row) == Kind.WRITE]
    if last and writes.may_miss(last, int(run.graph.ts.max())):
        notes.append(
            "Writes may be missing: a line wrote more often than the recording's budget allows, or events were lost."
        )
    return [units.printable(note) for note in notes]


def _command(run: Run) -> str:
    """Return the command that records the run again with writes; "" if it cannot be told."""
    info = run.info
    if info.imported or not info.command:
        return ""
    if info.tests:
        return shlex.join([*info.command, "--clew-writes"])
    if info.attached:
        return "clew attach --writes PID"
    spec = ["--spec", info.spec] if info.spec else []
    return shlex.join(["clew", "run", "--writes", *spec, "--", *info.command])
