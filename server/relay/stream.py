"""The events of one run for viewers: numbered batches, the newest of them cached.

`step` reads, stores and returns new events, in any one thread at a time; everything else belongs to the event loop that
serves viewers. Invariant: a batch has the same numbers for every viewer and for ever. A gap is reported to the viewer
as a state with the number of skipped events.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

from clew.graph.entities.live.open import follow
from clew.records.read.tail import MOST_BYTES
from clew.server.relay import wire
from clew.server.relay.journal import Journal, ViewerBatch

MOST_RECENT = 24 << 20
"""Bytes of cached batches for viewers that are behind."""


class _Recent(NamedTuple):
    batch: ViewerBatch
    at: float
    """When it was sent, in monotonic seconds."""


class Stream:
    def __init__(self, folder: Path) -> None:
        """Raises `RunError` or `Taken`, and `OSError` if the journal cannot be written."""
        self.folder = folder
        self._journal = Journal(folder)
        try:
            self._following = follow(folder, self._journal.state, self._journal.saved)
        except BaseException:
            self._journal.close()
            raise
        self._lock = threading.Lock()
        self._recent: deque[_Recent] = deque()
        self._bytes = 0
        self.end = self._following.state.moment
        """The number of events sent so far."""
        self.is_over = False
        self._changed: asyncio.Future[None] | None = None
        for batch in self._journal.batches:
            self._keep(batch)

    @property
    def run(self) -> str:
        return self._following.info.id

    @property
    def source(self) -> str:
        return self._following.source

    @property
    def journal(self) -> str:
        return self._journal.name

    def about(self) -> dict[str, object]:
        """Return the run's entry in a list of runs."""
        info = self._following.info
        return {
            "run": info.id, "name": info.name, "workspace": info.workspace, "folder": str(self.folder), "host": info.host,
            "started": info.started, "source": self._following.source, "moment": self.end, "over": self.is_over,
        }  # fmt: skip

    def step(self, most: int = MOST_BYTES) -> tuple[ViewerBatch | None, bool]:
        """Read new events, up to this many bytes of a process. Return them, and whether the run is over with nothing
        left. Raises `OSError` if reading or writing fails, for example because the run was removed."""
        with self._lock:
            following, journal = self._following, self._journal
            if journal.is_full:
                state = wire.state_message(self.run, following.source, journal.name, following.state)
                journal.begin_file(state, following.all())
            found = following.poll(most)
            if found is None:
                return None, following.is_over
            message = wire.encode_events(self.run, found.batch)
            journal.add(found.reached, message)
            return (
                ViewerBatch(found.batch.begin, found.batch.end, message) if found.batch.has_content else None
            ), False

    @property
    def is_behind(self) -> bool:
        return self._following.behind

    def state(self) -> tuple[int, dict[str, object]]:
        """Return the newest state and the number of events before it. Waits for a running `step`."""
        with self._lock:
            state = self._following.state
            return state.moment, wire.state_message(self.run, self._following.source, self.journal, state)

    def close(self, *, remove: bool = False) -> None:
        """Close the stream. `remove`: delete the journal, which no viewer will need."""
        with self._lock:
            self._following.close()
            self._journal.close(remove=remove)

    # runs in the event loop

    def tell(self, batch: ViewerBatch) -> None:
        self._keep(batch)
        self.end = batch.end
        self.wake()

    def wake(self) -> None:
        if self._changed is not None:
            self._changed.set_result(None)
            self._changed = None

    async def change(self) -> None:
        """Wait until new events are sent."""
        if self._changed is None:
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._changed)

    def after(self, moment: int, max_age: float) -> list[ViewerBatch] | None:
        """Return the batches after a moment; None if they are no longer cached, or the first of them is older than this
        many seconds."""
        recent = self._recent
        if moment >= self.end:
            return []
        if not recent or recent[0].batch.begin > moment:
            return None
        found = []
        for one in reversed(recent):
            if one.batch.begin < moment:
                break
            found.append(one)
        first = found[-1] if found else None
        if first is None or first.batch.begin != moment or (max_age and time.monotonic() - first.at > max_age):
            return None
        return [one.batch for one in reversed(found)]

    def forget(self) -> None:
        """Drop the cached batches. A viewer that reconnects gets the state."""
        self._recent.clear()
        self._bytes = 0

    def _keep(self, batch: ViewerBatch) -> None:
        self._recent.append(_Recent(batch, time.monotonic()))
        self._bytes += len(batch.message)
        while self._bytes > MOST_RECENT and len(self._recent) > 1:
            self._bytes -= len(self._recent.popleft().batch.message)
