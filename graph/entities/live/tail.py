"""Follow the entities of a live run in the trace files that its processes write; each poll returns the new events.

Every `Reading` has a batch and the read position of each thread. A caller that saves both can resume there.
Invariant: a record is read once and reported once.
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
"""The time that a thread may need to store a record after it has read the clock."""
ENDED_SECONDS = 1.0
"""The time without a new chunk after which a thread that finished its last chunk is over."""
SETTLE_POLLS = 3
"""The number of polls without records after which a process that seems to be over is over."""


class Reading(NamedTuple):
    """The result of one poll."""

    batch: Batch
    reached: dict[str, Any]
    """The new read position, to be saved with the batch."""


class TraceFollower:
    """Follows the processes of a run.

    `saved` is the result of `all`, updated by `put` with `reached` of each later batch.
    """

    def __init__(self, folder: Path, state: LiveState | None = None, saved: Mapping[str, Any] | None = None) -> None:
        """Raises `RunError` if the folder is not a run."""
        self.folder = folder
        self.info = directory.load_run(folder)
        self.state = state or LiveState()
        self.behind = False
        saved = saved or {}
        self._naming = Naming(self.state, saved.get("next", 0))
        is_spec = saved.get("source", "spec" if _has_entities(folder) else "strands") == "spec"
        self._extractor: LiveRecorded | LiveStrands = (LiveRecorded if is_spec else LiveStrands)(
            self.state, self._naming
        )
        self._extractor.put(saved)
        self._elsewhere = (folder / directory.ORIGIN_FILE).exists()
        """Whether its processes run on another machine."""
        self._tails: dict[str, ProcessTail] = {}
        self._stacks: dict[str, dict[int, Stack]] = {}
        self._left: dict[str, dict[int, int]] = {}
        self._places: dict[str, dict[int, Place]] = {}
        for name, threads in saved.get("threads", {}).items():
            self._places[name] = {int(serial): Place(*place) for serial, (place, _) in threads.items()}
            self._stacks[name] = {int(serial): tuple(stack) for serial, (_, stack) in threads.items()}
        self._quiet: dict[str, int] = {}
        """The number of polls without records, for each process that seems to be over."""
        self._over: set[str] = set(saved.get("over", ()))
        """The processes that were reported as over."""
        self._ended: dict[tuple[str, int], float] = {}
        """The time when each thread was seen to have ended; infinite after it was reported."""
        self._folder_seen = 0
        self._clocks: dict[str, tuple[int, Clock]] = {}
        self._last_ns: dict[str, int] = {}

    @property
    def source(self) -> Source:
        return self._extractor.source

    @property
    def failed(self) -> int:
        return self._extractor.failed

    def all(self) -> dict[str, Any]:
        """Return what has to be saved with the state in order to resume here."""
        threads = {
            name: {
                serial: (place, self._stacks.get(name, {}).get(serial, ()))
                for serial, place in (self._tails[name].places if name in self._tails else places).items()
            }
            for name, places in {**self._places, **{name: tail.places for name, tail in self._tails.items()}}.items()
        }
        saved = {
            "next": self._naming.next_number,
            "source": self.source,
            "threads": threads,
            "over": sorted(self._over),
        }
        return saved | self._extractor.all()

    def poll(self, most: int = MOST_BYTES) -> Reading | None:
        """Read new events; None if there are none. Raises `FileNotFoundError` if the folder is gone."""
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
            self.behind |= tail.has_more
            for part in new:
                stacks[part.serial] = part.stack
                self._last_ns[name] = max(self._last_ns.get(name, 0), int(part.ns[-1]))
            parts += new
            moved = [serial for serial, place in tail.places.items() if before.get(serial) != place]
            if moved:
                threads[name] = {serial: (tail.places[serial], stacks.get(serial, ())) for serial in moved}
            is_quiet = not moved and not left and self._seems_over(tail)
            self._quiet[name] = self._quiet.get(name, 0) + 1 if is_quiet else 0
        table = self._extractor.happenings(parts)
        if ends := self._ends():
            table = np.concatenate((table, table_of(ends)))
        batch = self._naming.next_batch(self.state.moment, table)
        if not threads and not batch.has_content:
            return None
        forgotten = self.state.apply(batch)
        self._naming.forget(forgotten)
        self._extractor.forget(forgotten)
        reached: dict[str, Any] = {"threads": threads, "next": self._naming.next_number, "over": sorted(self._over)}
        return Reading(batch, reached | self._extractor.changes())

    @property
    def is_over(self) -> bool:
        """Whether the run is over and was read to the end."""
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
        """Open new trace files, and pass all processes on in the order of their starts."""
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
        self._extractor.processes(sorted(known, key=lambda one: (one.header.start_wall_ns, one.header.pid)))

    def _clock(self, tail: ProcessTail) -> Clock:
        """Return the clock of a process, which is the same for all processes of one boot."""
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
        if tail.has_more:
            return False
        if self._elsewhere or not tail.found.info:  # damaged: its process is unknown
            return tail.found.header.state == State.CLOSED or self._run_is_over()
        return tail.is_over if tail.found.readable else self._run_is_over()

    def _run_is_over(self) -> bool:
        with contextlib.suppress(ClewError):
            self.info = directory.load_run(self.folder)
        return self.info.finished is not None or (self._elsewhere and is_abandoned(self.folder, self.info))

    def _have_ended(self, name: str, tail: ProcessTail) -> list[int]:
        """Return the threads that finished a chunk and have not begun another for `ENDED_SECONDS`."""
        now = time.monotonic()
        for thread in [one for one in self._ended if one[0] == name and one[1] not in tail.ended]:
            del self._ended[thread]
        found = [serial for serial in tail.ended if now - self._ended.setdefault((name, serial), now) > ENDED_SECONDS]
        self._ended.update({(name, serial): math.inf for serial in found})
        return found

    def _ends(self) -> list[Row]:
        """Return the deletions of threads and processes that are over now."""
        rows: list[Row] = []
        for name, tail in self._tails.items():
            uid, ns = tail.uid, self._last_ns.get(name, 0)
            for serial in self._have_ended(name, tail):
                rows += self._extractor.ended(uid, serial, ns)
            if name not in self._over and self._quiet.get(name, 0) >= SETTLE_POLLS:
                self._over.add(name)
                tail.close()
                rows += self._extractor.over(uid, ns)
        return rows


def put(saved: dict[str, Any], reached: Mapping[str, Any]) -> None:
    """Update a saved position by one batch. Values are replaced, except that messages are appended."""
    for name, threads in reached["threads"].items():
        saved.setdefault("threads", {}).setdefault(name, {}).update(threads)
    saved |= {name: value for name, value in reached.items() if name not in ("threads", "messages")}
    known = saved.setdefault("messages", {})
    for what, changed in reached.get("messages", {}).items():
        known[what] = [*known.get(what, ()), *changed]


def _has_entities(folder: Path) -> bool:
    try:
        found = plan.load(directory.load_plan_text(folder), str(folder))
    except ClewError:
        return False
    return any(action.kind == "entity" for rule in found.rules for action in rule.actions)
