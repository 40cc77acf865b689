"""Programs recorded in another process, and the places of their events."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clew.instrument.startup
from clew.records.format.event import FLAG_BYTES, Kind
from clew.records.read.process_records import Event, ProcessRecords
from clew.records.read.reader import read_run

STARTUP = Path(clew.instrument.startup.__file__).parent


ADAPTERS = ("threads", "executors", "queues", "tasks", "processes", "http")


INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}


USES = ({Kind.SEND}, {Kind.RECEIVE, Kind.JOIN, Kind.SCOPE_BEGIN})


SYNCS = ({Kind.RELEASE}, {Kind.ACQUIRE})
"""The kinds of events at the sources and targets of use edges and of sync edges."""


@dataclass
class Placed:
    """An event with its process, the name of its strand and its innermost recorded function."""

    event: Event
    process: ProcessRecords
    strand: str
    function: str

    @property
    def key(self) -> int:
        return self.event.extension.key if self.event.extension else 0

    @property
    def channel(self) -> str:
        return self.process.strings.get(self.event.extension.channel, "") if self.event.extension else ""

    @property
    def text(self) -> str:
        return self.event.extension.text if self.event.extension else ""

    @property
    def site(self) -> Any:
        return self.process.sites.get(self.event.site)

    def __str__(self) -> str:
        return f"{self.strand}/{self.function}" if self.function else self.strand


def place(process: ProcessRecords, *, whole: bool = True) -> Iterable[Placed]:
    """Yield the events of every thread with strands and call stacks; pass `whole=False` for a recording that broke off."""
    for serial, thread in process.threads.items():
        strands = [thread.name]
        stacks: dict[str, list[str]] = defaultdict(list)
        for event in process.events(serial):
            if event.kind == Kind.STEP_BEGIN:
                strands.append(process.strands[event.extension.key].name)
            stack = stacks[strands[-1]]
            if event.kind in (Kind.ENTER, Kind.RESUME):
                stack.append(process.sites[event.site].qualname)
            yield Placed(event, process, strands[-1], stack[-1] if stack else "")
            # A frame that an exception was thrown into continues without a RESUME.
            if event.kind in (Kind.EXIT, Kind.UNWIND, Kind.SUSPEND) and stack[-1:] == [
                process.sites[event.site].qualname
            ]:
                stack.pop()
            if event.kind == Kind.STEP_END:
                strands.pop()
        assert len(strands) == 1 or not whole, "every step ends"


@dataclass
class Recording:
    code: int
    stdout: str
    stderr: str
    folder: Path
    events: list[Placed] = field(default_factory=list)

    @property
    def processes(self) -> list[ProcessRecords]:
        return read_run(self.folder).processes

    def edges(self, *channels: str) -> Counter[tuple[str, str, str]]:
        """Count (channel, source, target) of every target with a source, of the given channels or of all."""
        return Counter((target.channel, str(source), str(target)) for source, target in self.pairs(*channels))

    def syncs(self, *channels: str) -> Counter[tuple[str, str, str]]:
        """Count the same for sync edges."""
        pairs = self.pairs(*channels, kinds=SYNCS)
        return Counter((target.channel, str(source), str(target)) for source, target in pairs)

    def pairs(self, *channels: str, kinds: tuple[set[Kind], set[Kind]] = USES) -> list[tuple[Placed, Placed]]:
        """Return (source, target) of the same edges by time, without those of raw bytes, which times cannot match."""
        sources, targets = kinds
        last: dict[tuple[int, int], Placed] = {}
        anywhere: dict[int, Placed] = {}
        found = []
        for placed in sorted(self.events, key=lambda placed: placed.event.ticks):
            if placed.event.extension and placed.event.extension.flags & FLAG_BYTES:
                continue
            if placed.event.kind in sources:
                last[placed.process.header.uid, placed.key] = anywhere[placed.key] = placed
            elif placed.event.kind in targets:
                source = last.get((placed.process.header.uid, placed.key)) or anywhere.get(placed.key)
                if source is not None:
                    assert source.channel == placed.channel, "a key belongs to one channel"
                    found.append((source, placed))
        return [pair for pair in found if not channels or pair[1].channel in channels]

    def of(self, *kinds: Kind) -> list[Placed]:
        return [placed for placed in self.events if placed.event.kind in kinds]
