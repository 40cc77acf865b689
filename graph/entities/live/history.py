"""Collect all entity events of a live run from its beginning.

Invariant: an answer about a moment stays true, because events are only appended and entities keep their numbers. The finished
run can number its entities differently.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clew.graph.entities.events import EntityEvents
from clew.graph.entities.fold import Fold
from clew.graph.entities.live.open import follow
from clew.graph.entities.live.state import COLUMNS, Batch, Place
from clew.graph.entities.live.tail import TraceFollower
from clew.graph.entities.source import Source, no_such_entities

POLL_SECONDS = 0.5
"""The approximate maximum duration of a poll. A reader that has fallen behind catches up in several polls."""
_FIRST = 1 << 10
"""The initial capacity of the columns, in events."""


@dataclass(frozen=True)
class EntitiesSnapshot:
    """The entities of a run at one poll."""

    source: Source
    fold: Fold
    channels: Mapping[int, str]
    """Texts by the channel numbers of the events."""
    site: npt.NDArray[np.uint32]
    """The site of each event, 0 for none."""
    places: Mapping[int, Place]
    """Source places by site."""

    @property
    def events(self) -> EntityEvents:
        return self.fold.events


class GrowingEntities:
    """The entity events of the live run in a folder."""

    def __init__(self, folder: Path, source: Literal["", "spec", "strands"] = "") -> None:
        """Raises `ClewError` if the folder is not a run, or if the run has no entities of the source."""
        self._following = follow(folder)
        if source == "spec" != self._following.source:
            raise no_such_entities(self._following.info.name)
        if source == "strands" and self._following.source == "spec":
            self._following = TraceFollower(folder, saved={"source": source})
        # The imported run has the same entities as the live spans: machines and processes.
        self.source: Source = "spec" if self._following.source == "spec" else "strands"
        self._lock = threading.Lock()
        self._size = 0
        self._columns: dict[str, npt.NDArray[Any]] = {name: np.zeros(_FIRST, kind) for name, kind in COLUMNS}
        self._names: list[str] = []
        self._classes: list[str] = []
        self._channels: dict[int, str] = {0: ""}
        self._places: dict[int, Place] = {}
        self._newest = self._now(None)

    def poll(self) -> EntitiesSnapshot:
        """Read new events and return a snapshot.

        It lacks the newest events if reading takes long, or if another thread polls at the same time.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._read()
                self._newest = self._now(self._newest.fold)
            finally:
                self._lock.release()
        return self._newest

    def close(self) -> None:
        with self._lock:
            self._following.close()

    def _read(self) -> None:
        """Read new events, for at most about `POLL_SECONDS`."""
        behind, deadline = True, time.monotonic() + POLL_SECONDS
        while behind and time.monotonic() < deadline:
            try:
                found = self._following.poll()
            except FileNotFoundError:
                return  # the run was removed
            if found is not None:
                self._add(found.batch)
            behind = self._following.behind

    def _add(self, batch: Batch) -> None:
        if batch.entities:
            # Copy the lists: an earlier snapshot can be in use now.
            missing = max(entity.number for entity in batch.entities) + 1 - len(self._names)
            self._names = [*self._names, *[""] * missing]
            self._classes = [*self._classes, *[""] * missing]
            for entity in batch.entities:
                self._names[entity.number], self._classes[entity.number] = entity.name, entity.kind
        self._channels |= batch.channels
        self._places |= batch.sites
        begin, end = self._size, self._size + len(batch)
        for name, added in batch.columns.items():
            column = self._columns[name]
            if end > len(column):
                column = self._columns[name] = np.concatenate([column, np.zeros(max(end, len(column)), column.dtype)])
            column[begin:end] = added
        ns = self._columns["ns"]
        if begin:
            ns[begin:end] = np.maximum(ns[begin:end], ns[begin - 1])
        self._size = end

    def _now(self, before: Fold | None) -> EntitiesSnapshot:
        columns = {name: column[: self._size] for name, column in self._columns.items()}
        events = EntityEvents(
            ns=columns["ns"],
            kind=columns["kind"],
            first=columns["first"],
            other=columns["other"],
            row=np.broadcast_to(np.int64(-1), self._size),
            channel=columns["channel"],
            names=self._names,
            classes=self._classes,
            failed=self._following.failed,
        )
        return EntitiesSnapshot(self.source, Fold(events, before), self._channels, columns["site"], self._places)
