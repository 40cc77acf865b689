"""Read Chrome's trace events, which Perfetto, VizTracer and others write: an array, or an object that contains one.

Slices of a thread are nested by time. An asynchronous slice is caused by the slice that began it. Flows are edges.
Invariant: a truncated array is read up to its end, as the format allows, and reported as a problem.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from clew.graph.formats.format import Format, json_reader
from clew.graph.formats.json_stream import Cut, JsonStream
from clew.graph.formats.source import as_text
from clew.graph.formats.spans import attribute_names
from clew.graph.formats.spans.collector import ASYNC, MISSING, Collector, Place, Table
from clew.records.errors import Problem
from clew.records.format.event import CALLS, EdgeKind, Kind

MICROSECOND = 1000
_ASYNC = {"b": "b", "n": "n", "e": "e", "S": "b", "T": "n", "p": "n", "F": "e"}
"""The phases of asynchronous events, with the current phase for each older one."""
_SLICE = frozenset("XBE")
_FLOW = frozenset("stf")
_INSTANT = frozenset("iIR")
_WORDS = {
    "C": "counter", "D": "object's end", "N": "object's creation", "O": "object", "P": "sample", "V": "memory dump",
    "v": "memory dump", "c": "clock", "(": "context", ")": "context",
}  # fmt: skip
_WITH_PLACE = re.compile(r"(.+) \((.+):(\d+)\)", re.S)
_LIBRARY = re.compile(r".*[/\\](?:site-packages|dist-packages|[Pp]ython\d[\d.]*)[/\\](.+?)(?:[/\\]__init__)?\.pyw?")


class _Moment(NamedTuple):
    """An asynchronous or flow event."""

    time: int
    order: int
    phase: str
    track: int
    place: int
    arguments: Mapping[str, Any] | None
    encloses: bool


def decoder(text: str) -> Decimal:
    """Parse a time. Times are decimal microseconds, and a float would lose nanoseconds."""
    return Decimal(text)


def read_json(stream: JsonStream, collector: Collector) -> None:
    reader = _Reader(collector)
    try:
        for first in stream.documents():
            if first == "{":
                for key in stream.members():
                    if key == "traceEvents" and stream.peek() == "[":
                        reader.events(stream)
                    elif key == "otherData":
                        reader.other(stream.value())
                    else:
                        stream.value()
            elif first == "[":
                reader.events(stream)
            else:
                raise stream.error("expected a list of trace events")
    except Cut:
        where = f"{stream.source.path}@{stream.position}"
        what = f"the file is cut off inside its list of events; {reader.count:,} events were read"
        collector.problems.append(Problem(where, what))
    reader.finish()


class _Reader:
    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.count = 0
        self.started = 0
        self.is_own = False
        """Whether the file is an export of clew."""
        self.counted: dict[str, Any] = {}
        self.tracks: dict[tuple[str, str], int] = {}
        self.names: dict[tuple[str, str], str] = {}
        """The names of threads by (pid, tid), and of processes by (pid, "")."""
        self.places: dict[tuple[str, str, Place], int] = {}
        """The number of each (pid, category, place)."""
        self.plain_places: dict[tuple[str, str, str], int] = {}
        """The number of each (pid, category, name), for events without arguments."""
        self.slices = Table(track="q", start="q", end="q", order="q", close="q", place="q", text="q", flags="q")
        """`order` and `close` are the positions in the file of the begin and end events; `close` is -1 for a complete event."""
        self.halves = Table(track="q", time="q", begins="b", order="q", place="q", text="q", flags="q")
        self.asynchronous: dict[tuple[str, ...], list[_Moment]] = {}
        self.flows: dict[tuple[str, ...], list[_Moment]] = {}
        self.instants: list[_Moment] = []

    def other(self, data: object) -> None:
        """Read the start of the run, to which times are relative, and call counts from an export of clew."""
        if not isinstance(data, dict):
            return
        started = data.get(STARTED)
        if started is not None:
            self.started = max(self.collector.ns(started), 0)
            self.is_own = True
            counted = data.get(COUNTED)
            self.counted = counted if isinstance(counted, dict) else {}

    def events(self, stream: JsonStream) -> None:
        for event in stream.array():
            if isinstance(event, dict):
                self._event(event)
                self.count += 1
            else:
                self.collector.count_odd("value", "not an object; left out")

    def _event(self, event: Mapping[str, Any]) -> None:
        phase = event.get("ph")
        if not isinstance(phase, str):
            self.collector.count_odd("event", "it has no phase; left out")
            return
        pid, tid = as_text(event.get("pid")), as_text(event.get("tid"))
        arguments = event.get("args")
        arguments = arguments if isinstance(arguments, dict) else None
        if phase == "M":
            self._name(event, pid, tid, arguments or {})
            return
        if phase not in _SLICE and phase not in _ASYNC and phase not in _FLOW and phase not in _INSTANT:
            known = _WORDS.get(phase, f"event of phase {phase!r}")
            self.collector.count_odd(known, "not an event in time; left out")
            return
        time = self.collector.ns(event.get("ts"), MICROSECOND)
        if time == MISSING:
            self.collector.count_odd("event", "it has no time; left out")
            return
        time += self.started
        track = self.tracks.setdefault((pid, tid), len(self.tracks))
        name, category = as_text(event.get("name")), as_text(event.get("cat"))
        if phase == "E":
            self.halves.add(
                track, time, 0, self.count, 0, self._text(arguments), attribute_names.failed(arguments or {})
            )
            return
        place = self._place(pid, category, name, arguments)
        if phase == "X":
            duration = self.collector.ns(event.get("dur"), MICROSECOND)
            end = time if duration == MISSING else time + duration
            text, failed = self._text(arguments), attribute_names.failed(arguments or {})
            self.slices.add(track, time, end, self.count, -1, place, text, failed)
        elif phase == "B":
            text, failed = self._text(arguments), attribute_names.failed(arguments or {})
            self.halves.add(track, time, 1, self.count, place, text, failed)
        moment = _Moment(time, self.count, phase, track, place, arguments, event.get("bp") == "e")
        if phase not in _SLICE:
            self._moment(event, phase, moment)
        elif "bind_id" in event:
            self._bound(event, moment)

    def _moment(self, event: Mapping[str, Any], phase: str, moment: _Moment) -> None:
        if phase in _INSTANT:
            self.instants.append(moment)
            return
        local = event.get("id2")
        local = local if isinstance(local, dict) else {}
        id_ = as_text(local.get("global", local.get("local", event.get("id"))))
        scope = as_text(event.get("pid")) if "local" in local else ""
        key = (as_text(event.get("cat")), scope, as_text(event.get("scope")), id_)
        if phase in _FLOW:
            self.flows.setdefault((*key, as_text(event.get("name"))), []).append(moment)
        else:
            self.asynchronous.setdefault(key, []).append(moment._replace(phase=_ASYNC[phase]))

    def _bound(self, event: Mapping[str, Any], moment: _Moment) -> None:
        """Add a slice that names its flow by `bind_id`."""
        phase = {(True, False): "s", (True, True): "t", (False, True): "f"}.get(
            (event.get("flow_out") is True, event.get("flow_in") is True)
        )
        if phase:
            key = ("flow", "", "bind_id", as_text(event["bind_id"]), "")
            self.flows.setdefault(key, []).append(moment._replace(phase=phase, encloses=True))

    def _name(self, event: Mapping[str, Any], pid: str, tid: str, arguments: Mapping[str, Any]) -> None:
        what = event.get("name")
        if what in ("process_name", "thread_name") and arguments.get("name"):
            self.names[pid, tid if what == "thread_name" else ""] = as_text(arguments["name"])

    def _place(self, pid: str, category: str, name: str, arguments: Mapping[str, Any] | None) -> int:
        plain = (pid, category, name)
        if not arguments and plain in self.plain_places:
            return self.plain_places[plain]
        module, function, file, line = attribute_names.place_of("", name, arguments or {})
        if not file and not module:
            module, function, file, line = _of_python(name, category)
        number = self.places.setdefault((pid, category, (module, function, file, line)), len(self.places))
        if not arguments:
            self.plain_places[plain] = number
        return number

    def _text(self, arguments: Mapping[str, Any] | None) -> int:
        plain = attribute_names.plain(arguments, without=_PLACE) if arguments else None
        return self.collector.texts.add_json(plain) if plain else -1

    # After the last event

    def finish(self) -> None:
        collector = self.collector
        self.processes: dict[str, int] = {}
        for pid, _ in self.tracks:
            if pid not in self.processes:
                name = self.names.get((pid, "")) or f"process {pid or '?'}"
                number = int(pid) if pid.isdecimal() and len(pid) < 10 else 0
                self.processes[pid] = collector.process(name, "", pid, number)
        service = {pid: self.names.get((pid, "")) or f"process {pid or '?'}" for pid in self.processes}
        self.sites = [
            collector.site((module or category or service[pid], name, file, line), service[pid])
            for pid, category, (module, name, file, line) in self.places
        ]
        self.threads = self._threads()
        self._pair_halves()
        self._slices()
        for key, moments in self.asynchronous.items():
            if not self.is_own or key[0] not in (GAP, SUSPENDED):
                self._asynchronous(sorted(moments))
            elif key[0] == GAP:
                self._gap(max(moments))
        for key, moments in self.flows.items():
            self._flow(sorted(moments), key[0] or key[-1], key[-1])
        for moment in self.instants:
            self._instant(moment, *self._owner(moment.track, moment.time))
        self._count()

    def _gap(self, end: _Moment) -> None:
        """Add a gap that ends at a moment."""
        arguments = end.arguments or {}
        lost = arguments.get("lost")
        key = lost if isinstance(lost, int) and 0 < lost < 1 << 63 else 0
        owner, time = self._owner(end.track, end.time)
        self.collector.point(owner, time, Kind.GAP, text=as_text(arguments.get("why")), key=key)

    def _count(self) -> None:
        """Assign the calls that were only counted to a site of their function."""
        known: dict[str, int] = {}
        for number, site in enumerate(self.collector.sites):
            known.setdefault(site.label, number)
        for label, calls in self.counted.items():
            if isinstance(calls, int) and 0 < calls < 1 << 63:
                module, _, qualname = label.partition(":")
                place = known[label] if label in known else self.collector.site((module, qualname, "", 0), module)
                self.collector.counted[place] = self.collector.counted.get(place, 0) + calls

    def _threads(self) -> list[int]:
        """Add a pseudo span for each track. Threads with equal names get their numbers as suffixes."""
        collector = self.collector
        used: dict[tuple[str, str], int] = {}
        titles = {key: self.names.get(key) or f"thread {key[1] or '?'}" for key in self.tracks}
        for (pid, _), title in titles.items():
            used[pid, title] = used.get((pid, title), 0) + 1
        rows = []
        for pid, tid in self.tracks:
            title = titles[pid, tid]
            title = f"{title} {tid}" if used[pid, title] > 1 else title
            process = self.processes[pid]
            thread = collector.thread(process, title)
            rows.append(collector.pseudo(process, thread))
        return rows

    def _pair_halves(self) -> None:
        """Pair B and E events of each thread in time order."""
        columns = {name: np.array(column, np.int64) for name, column in self.halves.columns.items()}
        order = np.lexsort((columns["order"], columns["time"], columns["track"]))
        rows = zip(*(columns[name][order].tolist() for name in self.halves.columns), strict=True)
        stack: list[tuple[int, int, int, int, int]] = []
        current, last, lost, open_ = -1, 0, 0, 0
        for track, time, begins, at, place, text, flags in rows:
            if track != current:
                open_ += self._unended(current, stack, last)
                stack, current = [], track
            last = time
            if begins:
                stack.append((time, at, place, text, flags))
            elif stack:
                start, began, named, begin_text, failed = stack.pop()
                merged = self._merged(begin_text, text)
                self.slices.add(track, start, time, began, at, named, merged, failed | flags)
            else:
                lost += 1
        open_ += self._unended(current, stack, last)
        self.collector.count_odd("end", "no slice is open there; left out", lost)
        self.collector.count_odd("slice", "it has no end; taken to end with its thread", open_)

    def _unended(self, track: int, stack: list[tuple[int, int, int, int, int]], last: int) -> int:
        for start, began, place, text, flags in stack:
            self.slices.add(track, start, last, began, self.count, place, text, flags)
        return len(stack)

    def _merged(self, begin: int, end: int) -> int:
        """Merge the arguments of both halves; the end event's values win."""
        if begin < 0 or end < 0 or begin == end:
            return max(begin, end)
        try:
            both = json.loads(self.collector.texts.get(begin)) | json.loads(self.collector.texts.get(end))
        except ValueError:  # truncated because it is too long
            return begin
        return self.collector.texts.add_json(both)

    def _slices(self) -> None:
        """Add the spans of all slices; the parent is the innermost slice of the thread around the start."""
        collector = self.collector
        columns = {name: np.array(column, np.int64) for name, column in self.slices.columns.items()}
        # B and E events nest in file order, but complete slices can be written when they end.
        whole = np.zeros(len(self.tracks), bool)
        whole[columns["track"][columns["close"] < 0]] = True
        longest = np.where(whole[columns["track"]], -columns["end"], 0)
        order = np.lexsort((columns["order"], longest, columns["start"], columns["track"]))
        process = [self.processes[pid] for pid, _ in self.tracks]
        self.begins: dict[int, tuple[array[int], int]] = {}
        """The starts of the slices of each track, and the row of the first slice."""
        stack: list[tuple[int, int, int]] = []
        current, crossing = -1, 0
        for track, start, end, began, close, place, text, flags in zip(
            *(columns[name][order].tolist() for name in self.slices.columns), strict=True
        ):
            if track != current:
                stack, current = [], track
                self.begins[track] = (array("q"), len(collector.spans))
            # A slice without duration can be at the very end of another slice if it was written before that end.
            while stack and stack[-1][0] <= start and not (stack[-1][0] == end and began < stack[-1][1]):
                stack.pop()
            crossing += bool(stack) and end > stack[-1][0]
            parent = stack[-1][2] if stack else self.threads[track]
            row = collector.spans.add(-1, 0, 0, parent, start, end, self.sites[place], process[track], 0, flags, text)
            self.begins[track][0].append(start)
            stack.append((end, close, row))
        self.collector.count_odd(
            "slice", "it crosses the end of another slice of its thread; shown in parallel", crossing
        )

    def _owner(self, track: int, time: int) -> tuple[int, int]:
        """Return the innermost slice of a thread at a time, or the thread itself; and the time."""
        spans = self.collector.spans.columns
        begins, first = self.begins.get(track, (array("q"), 0))
        place = bisect_right(begins, time) - 1
        row = first + place if place >= 0 else self.threads[track]
        while row != self.threads[track] and spans["end"][row] < time:
            row = spans["parent"][row]
        return row, time

    def _next(self, track: int, time: int) -> tuple[int, int]:
        """Return the next slice of a thread and its start, or the surrounding slice if there is none."""
        begins, first = self.begins.get(track, (array("q"), 0))
        place = bisect_left(begins, time)
        return (first + place, begins[place]) if place < len(begins) else self._owner(track, time)

    def _asynchronous(self, moments: list[_Moment]) -> None:
        collector = self.collector
        spans = collector.spans.columns
        open_: list[tuple[int, int, Mapping[str, Any]]] = []
        """The place, row and arguments of each open slice."""
        for moment in moments:
            if moment.phase == "b":
                parent = open_[-1][1] if open_ else self._owner(moment.track, moment.time)[0]
                process = spans["process"][self.threads[moment.track]]
                site = self.sites[moment.place]
                arguments = moment.arguments or {}
                text, flags = self._text(arguments), attribute_names.failed(arguments) | (0 if open_ else ASYNC)
                row = collector.spans.add(-1, 0, 0, parent, moment.time, MISSING, site, process, 0, flags, text)
                open_.append((moment.place, row, arguments))
            elif not open_:
                if moment.phase == "e":
                    collector.count_odd("end", "no slice is open there; left out")
                else:
                    self._instant(moment, *self._owner(moment.track, moment.time))
            elif moment.phase == "n":
                self._instant(moment, open_[-1][1], moment.time)
            else:
                same = [at for at, (place, _, _) in enumerate(open_) if place == moment.place]
                _, row, arguments = open_.pop(same[-1] if same else -1)
                spans["end"][row] = moment.time
                if moment.arguments:
                    spans["attributes"][row] = self._text({**arguments, **moment.arguments})
                    spans["flags"][row] |= attribute_names.failed(moment.arguments)

    def _flow(self, moments: list[_Moment], channel: str, name: str) -> None:
        before: tuple[int, int] | None = None
        source_arguments: Mapping[str, Any] | None = None
        for moment in moments:
            encloses = moment.phase != "f" or moment.encloses
            here = self._owner(moment.track, moment.time) if encloses else self._next(moment.track, moment.time)
            if moment.phase != "s":
                if before is None:
                    self.collector.count_odd("flow", "it ends without a beginning; left out")
                else:
                    (source, sent), (target, came) = before, here
                    self.collector.link(
                        target,
                        source=source,
                        source_time=sent,
                        target_time=came,
                        source_kind=_own_kind(source_arguments, Kind.SEND),
                        target_kind=_own_kind(moment.arguments, Kind.JOIN),
                        kind=EdgeKind.__members__.get(name.upper(), EdgeKind.USE),
                        channel=channel,
                        text="" if name.upper() in EdgeKind.__members__ else name,
                    )
            before, source_arguments = (here, moment.arguments) if moment.phase != "f" else (None, None)
        if before is not None:
            self.collector.count_odd("flow", "it has no end", 1)

    def _instant(self, moment: _Moment, owner: int, time: int) -> None:
        collector = self.collector
        arguments = moment.arguments or {}
        site = collector.sites[self.sites[moment.place]]
        name = site.qualname or site.module
        if site.module == MARK and set(arguments) <= {"value"}:
            collector.point(owner, time, Kind.MARK, channel=name, text=as_text(arguments.get("value")))
            return
        text, level, logger = attribute_names.event_words(name, arguments)
        other = attribute_names.plain(arguments, without=("message", "level", "logger", *_PLACE))
        collector.log(time, text, owner=owner, level=level, logger=logger, attributes=other,
                      site=attribute_names.log_site(collector, site.component, arguments))  # fmt: skip


def _own_kind(arguments: Mapping[str, Any] | None, otherwise: Kind) -> int:
    """Return the kind of an edge's end event that an export of clew contains, else the default."""
    kind = Kind.__members__.get(str((arguments or {}).get(EVENT, "")).upper(), otherwise)
    return int(otherwise if kind in CALLS else kind)


STARTED, EVENT, COUNTED = "clew.started", "clew.event", "clew.counted"
GAP, SUSPENDED = "gap", "suspended"
"""The categories of intervals in exports of clew that are not calls."""
MARK = "mark"
"""The category of marks in exports of clew."""
_PLACE = ("code.namespace", "code.function.name", "code.file.path", "code.line.number")


def _of_python(name: str, category: str) -> Place:
    """Parse VizTracer's names of slices: `function (file:line)`, or `module.function` for C functions."""
    match = _WITH_PLACE.fullmatch(name)
    if match:
        file = match[2]
        library = _LIBRARY.fullmatch(file)
        module = library[1] if library else file.strip("<>").removeprefix("frozen ").rpartition("/")[2]
        return re.sub(r"[/\\]", ".", module.removesuffix(".py")), match[1], file, int(match[3])
    module, dot, function = name.rpartition(".")
    if dot and category.lower() == "fee" and module and function:
        return module, function, "", 0
    return "", name, "", 0


FORMAT = Format(
    name="chrome",
    title="Chrome or Perfetto JSON",
    suffixes=(".json",),
    json_sign=rb'"traceEvents"\s*:|"ph"\s*:\s*"[A-Za-z()]"',
    read=json_reader(read_json, decoder),
)
