"""The entities of a run that goes on, read from the files that its processes write: each look gives what happened since.

Where each thread has been read up to goes along with each batch (`Batch` and what `look` says beside it), so that whoever keeps
both goes on where they were. Invariant: what was read once is told once, and what is told is the run's own until another takes
over from the same place.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clew.graph.entities.live.decoded_chunks import Clock, Decoded, Stack, decoded
from clew.graph.entities.live.from_spec import LiveRecorded
from clew.graph.entities.live.from_strands import LiveStrands
from clew.graph.entities.live.state import Batch, LiveState, Naming, Row, table_of
from clew.graph.entities.source import Source
from clew.records.errors import ClewError
from clew.records.format.header import Clock as ClockKind
from clew.records.format.header import State
from clew.records.plan import plan
from clew.records.read import clock_map
from clew.records.read.tail import MOST_BYTES, Place, ProcessTail
from clew.records.run import directory
from clew.records.run.liveness import is_abandoned

SLACK_NS = 2_000_000
"""So long after it took the time a thread may need to store a record."""
ENDED_SECONDS = 1.0
SETTLE_LOOKS = 3
"""A process is over when nothing came of it in so many looks after it seemed to be."""


class Found(NamedTuple):
    """One look."""

    batch: Batch
    reached: dict[str, Any]
    """To be kept with the batch: where its reader is now."""


class Following:
    """A run's processes. `kept` is what `all` gave, `reached` of the batches since put to it one after the other."""

    def __init__(self, folder: Path, state: LiveState | None = None, kept: Mapping[str, Any] | None = None) -> None:
        """Raises `RunError` when the folder is no run."""
        self.folder = folder
        self.info = directory.load_run(folder)
        self.state = state or LiveState()
        self.behind = False
        kept = kept or {}
        self._naming = Naming(self.state, kept.get("next", 0))
        is_spec = kept.get("source", "spec" if _has_entities(folder) else "strands") == "spec"
        self._teller: LiveRecorded | LiveStrands = (LiveRecorded if is_spec else LiveStrands)(self.state, self._naming)
        self._teller.put(kept)
        self._elsewhere = (folder / directory.ORIGIN_FILE).exists()
        """Its processes are not this machine's."""
        self._tails: dict[str, ProcessTail] = {}
        self._stacks: dict[str, dict[int, Stack]] = {}
        self._left: dict[str, dict[int, int]] = {}
        self._places: dict[str, dict[int, Place]] = {}
        for name, threads in kept.get("threads", {}).items():
            self._places[name] = {int(serial): Place(*place) for serial, (place, _) in threads.items()}
            self._stacks[name] = {int(serial): tuple(stack) for serial, (_, stack) in threads.items()}
        self._quiet: dict[str, int] = {}
        """Looks at processes that seem to be over which gave nothing."""
        self._over: set[str] = set(kept.get("over", ()))
        """Processes that were told to be."""
        self._ended: dict[tuple[str, int], float] = {}
        """When threads were seen to have ended; infinite when that was told."""
        self._folder_seen = 0
        self._clocks: dict[str, tuple[int, Clock]] = {}
        self._last_ns: dict[str, int] = {}

    @property
    def source(self) -> Source:
        return self._teller.source

    @property
    def failed(self) -> int:
        return self._teller.failed

    def all(self) -> dict[str, Any]:
        """What is to be kept beside the state, to go on from here."""
        threads = {
            name: {
                serial: (place, self._stacks.get(name, {}).get(serial, ()))
                for serial, place in (self._tails[name].places if name in self._tails else places).items()
            }
            for name, places in {**self._places, **{name: tail.places for name, tail in self._tails.items()}}.items()
        }
        kept = {"next": self._naming.next_number, "source": self.source, "threads": threads, "over": sorted(self._over)}
        return kept | self._teller.all()

    def look(self, most: int = MOST_BYTES) -> Found | None:
        """None when nothing happened. Raises `FileNotFoundError` when the folder is gone."""
        began = time.monotonic_ns() - SLACK_NS
        self._list()
        parts: list[Decoded] = []
        threads: dict[str, dict[int, Any]] = {}
        self.behind = False
        for name, tail in self._tails.items():
            if name in self._over:
                continue
            before = dict(tail.places)
            stacks = self._stacks.setdefault(name, {})
            clock = self._clock(tail)
            left = self._left.setdefault(name, {})
            new = decoded(tail, clock, began + clock.since, stacks, left, most=most)
            self.behind |= tail.behind
            for part in new:
                stacks[part.serial] = part.stack
                self._last_ns[name] = max(self._last_ns.get(name, 0), int(part.ns[-1]))
            parts += new
            moved = [serial for serial, place in tail.places.items() if before.get(serial) != place]
            if moved:
                threads[name] = {serial: (tail.places[serial], stacks.get(serial, ())) for serial in moved}
            is_quiet = not moved and not left and self._seems_over(tail)
            self._quiet[name] = self._quiet.get(name, 0) + 1 if is_quiet else 0
        table = self._teller.happenings(parts)
        if ends := self._ends():
            table = np.concatenate((table, table_of(ends)))
        batch = self._naming.taken(self.state.moment, table)
        if not threads and not batch.says_something:
            return None
        forgotten = self.state.apply(batch)
        self._naming.forget(forgotten)
        self._teller.forget(forgotten)
        reached: dict[str, Any] = {"threads": threads, "next": self._naming.next_number, "over": sorted(self._over)}
        return Found(batch, reached | self._teller.changes())

    @property
    def is_over(self) -> bool:
        """Is the run over, and all of it read?"""
        if not self._folder_seen or any(name not in self._over for name in self._tails):
            return False
        try:
            self.info = directory.load_run(self.folder)
        except ClewError:
            return True
        return self.info.finished is not None or is_abandoned(self.folder, self.info)

    def close(self) -> None:
        for tail in self._tails.values():
            tail.close()

    def _list(self) -> None:
        """New processes, in the order of their starts."""
        seen = self.folder.stat().st_mtime_ns
        unknown = [name for name, tail in self._tails.items() if not tail.found.readable]
        if seen == self._folder_seen and not unknown:
            return
        self._folder_seen = seen
        for path in directory.trace_files(self.folder):
            if path.name not in self._tails:
                self._tails[path.name] = ProcessTail(path, self._places.pop(path.name, None))
                with contextlib.suppress(OSError):
                    self._tails[path.name].prepare()
        known = [tail.found for tail in self._tails.values() if tail.found.readable]
        self._teller.processes(sorted(known, key=lambda one: (one.header.start_wall_ns, one.header.pid)))

    def _clock(self, tail: ProcessTail) -> Clock:
        """Of all processes of one boot the same."""
        alike = [one for one in self._tails.values() if one.found.boot_id == tail.found.boot_id and one.found.readable]
        if not alike:
            return Clock(clock_map.MONOTONIC, 0)
        first = min(alike, key=lambda one: one.found.header.start_wall_ns).found.header
        since = first.start_wall_ns - first.start_monotonic_ns - self.info.started
        if tail.found.header.clock != ClockKind.CYCLES:
            return Clock(clock_map.MONOTONIC, since)
        pairs = [pair for one in alike if one.found.header.clock == ClockKind.CYCLES for pair in one.pairs]
        known, clock = self._clocks.get(tail.found.boot_id, (-1, None))
        if clock is None or known != len(pairs):
            clock = Clock(clock_map.fit(pairs), since)
            self._clocks[tail.found.boot_id] = (len(pairs), clock)
        return clock

    def _seems_over(self, tail: ProcessTail) -> bool:
        if tail.behind:
            return False
        if self._elsewhere or not tail.found.info:  # or damaged, so that nobody knows whose it was
            return tail.found.header.state == State.CLOSED or self._run_is_over()
        return tail.is_over if tail.found.readable else self._run_is_over()

    def _run_is_over(self) -> bool:
        with contextlib.suppress(ClewError):
            self.info = directory.load_run(self.folder)
        return self.info.finished is not None or (self._elsewhere and is_abandoned(self.folder, self.info))

    def _have_ended(self, name: str, tail: ProcessTail) -> list[int]:
        """The threads that have finished a chunk and begun no other for some time."""
        now = time.monotonic()
        for thread in [one for one in self._ended if one[0] == name and one[1] not in tail.ended]:
            del self._ended[thread]
        found = [serial for serial in tail.ended if now - self._ended.setdefault((name, serial), now) > ENDED_SECONDS]
        self._ended.update({(name, serial): math.inf for serial in found})
        return found

    def _ends(self) -> list[Row]:
        """Of threads and processes that are over now."""
        rows: list[Row] = []
        for name, tail in self._tails.items():
            uid, ns = tail.uid, self._last_ns.get(name, 0)
            for serial in self._have_ended(name, tail):
                rows += self._teller.ended(uid, serial, ns)
            if name not in self._over and self._quiet.get(name, 0) >= SETTLE_LOOKS:
                self._over.add(name)
                tail.close()
                rows += self._teller.over(uid, ns)
        return rows


def put(kept: dict[str, Any], reached: Mapping[str, Any]) -> None:
    """Of one batch more to what was kept before it; in place, but for messages, which are added one after the other."""
    for name, threads in reached["threads"].items():
        kept.setdefault("threads", {}).setdefault(name, {}).update(threads)
    kept |= {name: value for name, value in reached.items() if name not in ("threads", "messages")}
    known = kept.setdefault("messages", {})
    for what, changed in reached.get("messages", {}).items():
        known[what] = [*known.get(what, ()), *changed]


def _has_entities(folder: Path) -> bool:
    try:
        found = plan.load(directory.load_plan_text(folder), str(folder))
    except ClewError:
        return False
    return any(action.kind == "entity" for rule in found.rules for action in rule.actions)
