"""Confirm the sentences of a finding or an answer from the events that they name, with the plain reader of records.

Nothing here uses the facts or the diagnoses: names, places, times and the order of events come from the trace files. The graph
only translates the number of an event into a strand and a place in it.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind
from clew.records.read.process_records import Event, ProcessRecords
from clew.records.read.reader import RunRecords, read_run

OPENS = (Kind.ENTER, Kind.RESUME)
CLOSES = (Kind.EXIT, Kind.UNWIND, Kind.SUSPEND)
_PLACE = re.compile(r"([\w.<>]+), ([\w.<>-]+\.pyx?):(\d+)")
_OFFSET = re.compile(r"\+(\d+\.\d\d) s")
_LASTED = re.compile(
    r"(?:\bwaited|\bslept|\bran|\bkept the event loop of \S+ for|\d s, for) (\d+(?:\.\d+)?) (s|ms|µs)\b"
)
_UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3}
_STOPPED = ("cancelled", "timeout")
Place = tuple[str, str, int]
"""A function, the name of its file, and a line."""


class Sentence(Protocol):
    """A claim: a sentence, and the events that prove it."""

    @property
    def text(self) -> str: ...
    @property
    def events(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Recorded:
    """One recorded event, with what the records around it say."""

    process: ProcessRecords
    event: Event
    strand: str
    """The name of its thread or task."""
    owner: tuple[int, int, int]
    ns: int
    calls: tuple[int, ...]
    """The sites of the calls around it, the outermost first."""

    @property
    def fact(self) -> dict[str, Any]:
        try:
            loaded = json.loads(self.event.extension.text) if self.event.extension else {}
        except ValueError:
            return {}
        return loaded if isinstance(loaded, dict) else {}

    @property
    def key(self) -> int:
        return self.event.extension.key if self.event.extension else 0


class Evidence:
    """The records of a run, by the numbers that its graph gives to events."""

    def __init__(self, folder: Path, graph: ExecutionGraph) -> None:
        self._graph = graph
        run = read_run(folder)
        self._strands: dict[tuple[int, int, int], list[Recorded]] = defaultdict(list)
        self._stacks: dict[tuple[int, int], list[Any]] = {}
        self.names: set[str] = set()
        for process in run.processes:
            for serial in process.threads:
                for recorded in _recorded(run, process, serial):
                    self._strands[recorded.owner].append(recorded)
                    fact = recorded.fact if recorded.event.kind in (Kind.WAIT, Kind.HOLD, Kind.CANCEL) else {}
                    if fact.get("at") and fact.get("stack"):
                        self._stacks[process.header.uid, fact["stack"]] = fact["at"]
            self.names |= {thread.name for thread in process.threads.values()}
            self.names |= {strand.name for strand in process.strands.values()}
        self.names = {name for name in self.names if len(name) > 2}
        everything = [recorded.ns for own in self._strands.values() for recorded in own]
        self.last_ns = max(everything, default=0)

    def __getitem__(self, row: int) -> Recorded:
        """Return the event with a number; fail if the trace files have no such event."""
        strand = self._graph.strand_of(row)
        uid = self._graph.processes[strand.process].uid
        own = self._strands[uid, 0 if strand.key else strand.thread, strand.key]
        found = own[row - strand.start]
        assert found.event.kind == self._graph.at("kind", row), f"event {row} is a {found.event.kind.name}"
        return found

    def named(self, recorded: Recorded) -> Iterator[str]:
        """Yield the names of strands that an event speaks of."""
        yield recorded.strand
        yield recorded.process.threads[recorded.event.thread].name
        fact, strands = recorded.fact, recorded.process.strands
        yield from (str(fact[field]) for field in ("name", "target") if isinstance(fact.get(field), str))
        target = fact.get("target")
        keys = [recorded.key, *fact.get("targets", ()), *([target] if isinstance(target, int) else [])]
        yield from (strands[key].name for key in keys if key in strands)
        if isinstance(target, int) and target in recorded.process.threads:
            yield recorded.process.threads[target].name
        for holder in fact.get("holders", ()):
            process = next(
                (one for one in self._processes() if one.header.uid == holder.get("process")), recorded.process
            )
            if holder.get("strand") in process.strands:
                yield process.strands[holder["strand"]].name
            elif holder.get("thread") in process.threads:
                yield process.threads[holder["thread"]].name

    def _processes(self) -> list[ProcessRecords]:
        return list({id(own[0].process): own[0].process for own in self._strands.values() if own}.values())

    def places(self, recorded: Recorded) -> Iterator[Place]:
        """Yield the places that an event speaks of: its own, those of the calls around it, and those of its stacks."""
        sites, fact = recorded.process.sites, recorded.fact
        for number in (recorded.event.site, *recorded.calls):
            if number in sites:
                yield _short(sites[number].qualname), os.path.basename(sites[number].file), sites[number].line
        stacks = [fact.get("at") or self._stacks.get((recorded.process.header.uid, fact.get("stack", 0)), [])]
        stacks += [holder.get("at", []) for holder in fact.get("holders", ())]
        for frame in (frame for stack in stacks for frame in stack):
            yield _short(frame[2]), os.path.basename(frame[0]), frame[1]

    def times(self, recorded: Recorded) -> Iterator[int]:
        """Yield the times that an event speaks of."""
        yield recorded.ns
        for holder in recorded.fact.get("holders", ()):
            yield recorded.ns - max(holder.get("held_ns", -1), 0)


def unconfirmed(evidence: Evidence, claims: Iterable[Sentence]) -> list[str]:
    """Return what the events of sentences do not confirm. A sentence may build on the events of those before it."""
    wrong: list[str] = []
    known: list[Recorded] = []
    for claim in claims:
        if not claim.events:
            wrong.append(f"no events: {claim.text}")
        own = [evidence[row] for row in claim.events]
        known += own
        wrong += [f"{what}: {claim.text}" for what in _wrong(evidence, claim.text, own, known)]
    return wrong + _wrong_order(known)


def _wrong(evidence: Evidence, text: str, own: list[Recorded], known: list[Recorded]) -> Iterator[str]:
    named = {name for recorded in known for name in evidence.named(recorded)}
    for name in evidence.names - named:
        if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) and not _is_word(name, text):
            yield f"no event speaks of {name}"
    places = {place for recorded in known for place in evidence.places(recorded)}
    for function, file, line in _PLACE.findall(text):
        if (function, file, int(line)) not in places:
            yield f"no event is in {function}, {file}:{line}"
    times = {ns for recorded in known for ns in evidence.times(recorded)}
    for offset in _OFFSET.findall(text):
        if not any(abs(ns / 1e9 - float(offset)) <= 0.0051 for ns in times):
            yield f"no event was at +{offset} s"
    moments = sorted({recorded.ns for recorded in own or known} | {evidence.last_ns})
    for number, unit in _LASTED.findall(text):
        lasted = float(number) * _UNITS[unit]
        if not any(_is_about(later - ns, lasted, unit) for ns in moments for later in moments if later > ns):
            yield f"no two events are {number} {unit} apart"


def _is_about(ns: int, lasted: float, unit: str) -> bool:
    """Return whether a time is what a rounded number says: two digits, or a whole unit."""
    return abs(ns - lasted) <= max(0.06 * lasted if unit == "s" else 0, 0.51 * _UNITS[unit if unit != "s" else "ms"])


def _is_word(name: str, text: str) -> bool:
    """Return whether the text uses a name only as a part of a place or an expression, such as a function of that name."""
    return all(match.end() < len(text) and text[match.end()] in ",.(" for match in re.finditer(re.escape(name), text))


def _wrong_order(known: list[Recorded]) -> list[str]:
    """Return each cancellation that came after all ends that the sentence ascribes to it."""
    wrong = []
    for cancel in known:
        if cancel.event.kind != Kind.CANCEL or cancel.key not in cancel.process.strands:
            continue
        ends = [
            each.ns
            for each in known
            if each.process is cancel.process
            and (
                (each.event.kind == Kind.ENDED and each.key == cancel.key)
                or (each.event.kind == Kind.WAKE and each.owner[2] == cancel.key and each.fact.get("end") in _STOPPED)
            )
        ]
        if ends and max(ends) < cancel.ns:
            wrong.append(f"the cancellation of {cancel.process.strands[cancel.key].name} is later than what it stopped")
    return wrong


def _recorded(run: RunRecords, process: ProcessRecords, serial: int) -> Iterator[Recorded]:
    """Yield the events of a thread, each with its task and its calls."""
    first = next(other.header for other in run.processes if other.boot_id == process.boot_id)
    assert run.info is not None
    clock, shift = run.clock(process), first.start_wall_ns - first.start_monotonic_ns - run.info.started
    tasks, calls = [0], defaultdict[int, list[int]](list)
    for event in process.events(serial):
        if event.kind == Kind.STEP_BEGIN and event.extension:
            tasks.append(event.extension.key)
        key = tasks[-1]
        own = calls[key]
        if event.kind in OPENS:
            own.append(event.site)
        name = process.strands[key].name if key else process.threads[serial].name
        owner = process.header.uid, 0 if key else serial, key
        yield Recorded(process, event, name, owner, clock.monotonic_ns(event.ticks) + shift, tuple(own))
        if event.kind in CLOSES and own[-1:] == [event.site]:
            own.pop()
        if event.kind == Kind.STEP_END and len(tasks) > 1:
            tasks.pop()


def _short(function: str) -> str:
    return function.rpartition(".<locals>.")[2]
