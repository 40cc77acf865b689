"""All that happened to the entities of a run that goes on, from its beginning: events that are added to as it grows.

Invariant: what was told of a moment stays: events are only added behind it, and entities keep their numbers; they are the run's
own (`following`), so that the run when it is over may number them otherwise.
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
from clew.graph.entities.live.tail import Following
from clew.graph.entities.source import Source, no_such_entities

PATIENCE = 0.5
"""Seconds of a look, about: who has fallen behind catches up in several, and does not stay in one while more and more comes."""
_FIRST = 1 << 10
"""Events that there is room for at first."""


@dataclass(frozen=True)
class Grown:
    """A run's entities up to a look."""

    source: Source
    fold: Fold
    channels: Mapping[int, str]
    """By the numbers in the events."""
    site: npt.NDArray[np.uint32]
    """Per event, 0 for none."""
    places: Mapping[int, Place]
    """By site."""

    @property
    def events(self) -> EntityEvents:
        return self.fold.events


class GrowingEntities:
    """Of the run in a folder."""

    def __init__(self, folder: Path, source: Literal["", "spec", "strands"] = "") -> None:
        """Raises `ClewError` when it is no run, or has no entities of the source."""
        self._following = follow(folder)
        if source == "spec" != self._following.source:
            raise no_such_entities(self._following.info.name)
        if source == "strands" and self._following.source == "spec":
            self._following = Following(folder, kept={"source": source})
        # Services that send spans are what the run has when it is imported, too: machines and processes.
        self.source: Source = "spec" if self._following.source == "spec" else "strands"
        self._lock = threading.Lock()
        self._size = 0
        self._columns: dict[str, npt.NDArray[Any]] = {name: np.zeros(_FIRST, kind) for name, kind in COLUMNS}
        self._names: list[str] = []
        self._classes: list[str] = []
        self._channels: dict[int, str] = {0: ""}
        self._places: dict[int, Place] = {}
        self._grown = self._now(None)

    def look(self) -> Grown:
        """With what was recorded by now; all of it, unless that takes long or somebody else looks at the same time."""
        if self._lock.acquire(blocking=False):
            try:
                self._read()
                self._grown = self._now(self._grown.fold)
            finally:
                self._lock.release()
        return self._grown

    def close(self) -> None:
        with self._lock:
            self._following.close()

    def _read(self) -> None:
        """All that is there now, or as much as there is time for."""
        behind, deadline = True, time.monotonic() + PATIENCE
        while behind and time.monotonic() < deadline:
            try:
                found = self._following.look()
            except FileNotFoundError:
                return  # the run was removed
            if found is not None:
                self._add(found.batch)
            behind = self._following.behind

    def _add(self, batch: Batch) -> None:
        if batch.entities:
            # What was told of a moment is left as it was: it may be looked at now.
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

    def _now(self, before: Fold | None) -> Grown:
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
        return Grown(self.source, Fold(events, before), self._channels, columns["site"], self._places)
