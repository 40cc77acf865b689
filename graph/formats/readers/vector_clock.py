"""Read logs with vector clocks like ShiViz: by a regular expression with the groups `host`, `clock` and `event`.

Each host is a strand. If an event's clock learns of events of other hosts, edges lead from them. An edge is omitted if another
event that is learnt of implies it, so the edges are the fewest with the same order. Invariant: edges never form a cycle.
Contradictions between clocks are counted, and their edges are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from clew.graph.formats.format import Format
from clew.graph.formats.source import FormatError, Source
from clew.graph.formats.spans import attribute_names
from clew.graph.formats.spans.collector import MISSING, Collector
from clew.records.errors import Problem
from clew.records.format.event import Kind

FORMS = (
    r"^(?<host>\S+) (?<clock>\{.*\})\n(?<event>.*)$",
    r"^(?<timestamp>\d+) (?<event>.*)\n(?<host>\S+) (?<clock>\{.*\})$",
    r"^(?<event>.+)\n(?<host>\S+) (?<clock>\{.*\})$",
    r"^(?<host>\S+) (?<clock>\{.*?\}) (?<event>.*)$",
)
"""The common forms; the one that matches the beginning of the file best is used."""
_CLOCK_LINE = re.compile(r"^\S+ \{[^{}]*\}", re.M)
_TIMES = ("timestamp", "time", "date", "ts")
_NEEDED = ("host", "clock", "event")
_CALL = re.compile(r"(Entering|Exiting) (\S.*)")
STEP = 1000
"""The distance of consecutive events in a log without times, in nanoseconds."""


@dataclass(eq=False)
class _Event:
    host: str
    clock: Mapping[str, int]
    text: str
    time: int
    attributes: dict[str, str]
    causes: list[_Event] = field(default_factory=list)
    sends: bool = False
    point: int = -1

    @property
    def own(self) -> int:
        return self.clock.get(self.host, 0)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with groups in the syntax of ShiViz, `(?<name>…)`, or Python, `(?P<name>…)`. Raises `FormatError`."""
    try:
        compiled = re.compile(re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern), re.M)
    except re.error as error:
        raise FormatError(f"--pattern {pattern!r}: not a regular expression ({error})") from None
    missing = [name for name in _NEEDED if name not in compiled.groupindex]
    if missing:
        raise FormatError(
            f"--pattern {pattern!r}: missing groups: {', '.join(missing)}; "
            r"for example, (?<host>\S*) (?<clock>\{.*\})\n(?<event>.*)"
        )
    return compiled


def looks_like(start: bytes) -> bool:
    lines = _CLOCK_LINE.findall(start.decode("utf-8", "replace"))
    return any(_is_clock(line[line.index("{") :]) for line in lines[:3])


def _is_clock(text: str) -> bool:
    try:
        clock = json.loads(text)
    except ValueError:
        return False
    return isinstance(clock, dict) and bool(clock) and all(type(value) is int for value in clock.values())


def read(source: Source, collector: Collector, pattern: str = "") -> None:
    text = source.data().decode("utf-8", "replace").replace("\r\n", "\n")
    compiled = compile_pattern(pattern) if pattern else _form(source, text)
    hosts: dict[str, list[_Event]] = {}
    for event in _events(text, compiled, collector):
        hosts.setdefault(event.host, []).append(event)
    if not hosts:
        raise FormatError(
            f"{source.path}: no line matches {compiled.pattern!r}; describe its events with --pattern, "
            r"for example '(?<host>\S*) (?<clock>\{.*\})\n(?<event>.*)'"
        )
    for events in hosts.values():
        events.sort(key=lambda event: event.own)
        again = sum(one.own == other.own for one, other in pairwise(events))
        collector.count_odd("event", "its host's clock did not advance", again)
    _find_causes(hosts, collector)
    order = _in_order(hosts, collector)
    _give_times(source, order, hosts, collector)
    _collect(hosts, collector)


def _form(source: Source, text: str) -> re.Pattern[str]:
    compiled = [compile_pattern(form) for form in FORMS]
    start = text[: 1 << 16]
    best = max(compiled, key=lambda form: _score(form, start))
    if not _score(best, start)[0]:
        raise FormatError(
            f"{source.path}: not a log with vector clocks in a common form; describe its events with --pattern, "
            r"for example '(?<host>\S*) (?<clock>\{.*\})\n(?<event>.*)'"
        )
    return best


def _score(form: re.Pattern[str], start: str) -> tuple[int, int, int]:
    """Rank a form by the events it finds, by the text skipped before the first event, and by its number of groups."""
    found = [match for match in form.finditer(start) if _is_clock(match["clock"])]
    return (len(found), -found[0].start() if found else 0, len(form.groupindex))


def _events(text: str, compiled: re.Pattern[str], collector: Collector) -> Iterator[_Event]:
    end = 0
    skipped = 0
    for match in compiled.finditer(text):
        skipped += sum(bool(line.strip()) for line in text[end : match.start()].split("\n"))
        end = match.end()
        groups = {name: value or "" for name, value in match.groupdict().items()}
        host, clock, event = (groups.pop(name) for name in _NEEDED)
        time = next((_time(groups.pop(name)) for name in _TIMES if name in groups), MISSING)
        try:
            counts = json.loads(clock)
            counts = {str(name): int(count) for name, count in counts.items()}
        except (ValueError, AttributeError, TypeError):
            collector.count_odd("event", "its clock is not a JSON object of numbers; left out")
            continue
        if host not in counts:
            collector.count_odd("event", "its clock does not name its own host; left out")
            continue
        yield _Event(host, counts, event.strip(), time, groups)
    skipped += sum(bool(line.strip()) for line in text[end:].split("\n"))
    collector.count_odd("line", "not matched by the pattern; left out", skipped)


def _time(text: str) -> int:
    """Parse an ISO date, or digits as s, ms, µs or ns depending on their number."""
    text = text.strip()
    if text.isdecimal() and len(text) < 25:
        value = int(text)
        for bound, unit in ((10**11, 10**9), (10**14, 10**6), (10**17, 1000)):
            if value < bound:
                return value * unit
        return value
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return MISSING
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000


def _find_causes(hosts: Mapping[str, list[_Event]], collector: Collector) -> None:
    by_count = {host: {event.own: event for event in reversed(events)} for host, events in hosts.items()}
    unknown = 0
    for host, events in hosts.items():
        before: Mapping[str, int] = {}
        for event in events:
            learnt = []
            for other, count in event.clock.items():
                known = before.get(other, 0)
                if other == host or count <= known:
                    continue
                source = by_count.get(other, {}).get(count)
                if source is None:
                    unknown += 1
                    source = _latest(hosts.get(other, []), known, count)
                if source is not None:
                    learnt.append(source)
            event.causes = [
                source
                for source in learnt
                if not any(
                    other is not source and other.clock.get(source.host, 0) >= source.own and not _knows(source, other)
                    for other in learnt
                )
            ]
            before = event.clock
    collector.count_odd("clock entry", "its event is not in the log; the last event before it is used", unknown)


def _knows(one: _Event, other: _Event) -> bool:
    return one.clock.get(other.host, 0) >= other.own


def _latest(events: list[_Event], after: int, until: int) -> _Event | None:
    return next((event for event in reversed(events) if after < event.own <= until), None)


def _in_order(hosts: Mapping[str, list[_Event]], collector: Collector) -> list[_Event]:
    """Order events so that causes precede effects. If clocks contradict each other, the earliest blocked event loses causes."""
    place = dict.fromkeys(hosts, 0)
    done: set[int] = set()
    order: list[_Event] = []
    waiting = list(hosts)
    while waiting:
        moved = False
        for host in waiting:
            events = hosts[host]
            while place[host] < len(events) and all(id(cause) in done for cause in events[place[host]].causes):
                event = events[place[host]]
                order.append(event)
                done.add(id(event))
                place[host] += 1
                moved = True
        waiting = [host for host in waiting if place[host] < len(hosts[host])]
        if waiting and not moved:
            stuck = min((hosts[host][place[host]] for host in waiting), key=lambda event: sum(event.clock.values()))
            stuck.causes = [cause for cause in stuck.causes if id(cause) in done]
            collector.count_odd("event", "its clock contradicts clocks that it knows; their edges are left out")
    return order


def _give_times(source: Source, order: list[_Event], hosts: Mapping[str, list[_Event]], collector: Collector) -> None:
    lacking = sum(event.time == MISSING for event in order)
    if lacking:
        what = "each event is placed a microsecond after the last event that it knows of; durations have no meaning"
        if lacking < len(order):
            collector.count_odd("event", "it has no time, so no times are used")
        collector.problems.append(Problem(str(source.path), f"the log has no times: {what}"))
        latest: dict[str, int] = {}
        for event in order:
            known = [latest.get(event.host, -STEP), *(cause.time for cause in event.causes)]
            event.time = latest[event.host] = max(known) + STEP
        return
    for events in hosts.values():
        last = None
        for event in events:
            if last is not None and event.time <= last:
                if event.time < last:
                    collector.count_odd(
                        "event", "its time is before that of its host's previous event; moved just after it"
                    )
                event.time = last + 1
            last = event.time


def _collect(hosts: Mapping[str, list[_Event]], collector: Collector) -> None:
    for events in hosts.values():
        for event in events:
            for cause in event.causes:
                cause.sends = True
    joins: list[tuple[_Event, int]] = []
    for host, events in hosts.items():
        process = collector.process(host, host)
        row = collector.pseudo(process, collector.thread(process, host))
        for event in events:
            for cause in event.causes:
                joins.append((cause, collector.point(row, event.time, Kind.JOIN, channel="message")))
            _collect_event(event, row, host, collector)
            if event.sends:
                event.point = collector.point(row, event.time, Kind.SEND, channel="message")
    for cause, point in joins:
        collector.joined.add(cause.point, point)


def _collect_event(event: _Event, row: int, host: str, collector: Collector) -> None:
    entered, left = event.attributes.pop("enter", ""), event.attributes.pop("exit", "")
    call = _CALL.fullmatch(event.text)
    if call and not entered and not left:
        entered, left = (call[2], "") if call[1] == "Entering" else ("", call[2])
    if entered or left:
        site = collector.site((host, entered or left, "", 0), host)
        collector.point(row, event.time, Kind.ENTER if entered else Kind.EXIT, site=site)
        return
    level = event.attributes.pop("level", "") or event.attributes.pop("priority", "")
    number = attribute_names.level_number(level) if level else attribute_names.INFO
    more = {name: value for name, value in event.attributes.items() if value}
    collector.log(event.time, event.text, owner=row, level=number, attributes=more)


FORMAT = Format(
    name="vector-clock",
    title="a log with vector clocks",
    suffixes=(".log", ".txt"),
    looks_like=looks_like,
    read=read,
    takes_pattern=True,
)
