"""What happens in one run, as viewers get it: batches with numbers, the newest ones at hand.

`step` reads, keeps and gives what is new, in any one thread at a time; everything else belongs to the loop that viewers are
served by. Invariant: a batch has the same numbers for everybody and for ever, and a gap in what a viewer gets is told as a
state and how many events it stands for.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

from clew.graph.entities.follow import follow
from clew.records.tail import MOST_BYTES
from clew.server.relay import wire
from clew.server.relay.journal import Journal, Told

MOST_RECENT = 24 << 20
"""Bytes at hand for those who are behind."""


class _Recent(NamedTuple):
    told: Told
    at: float
    """Monotonic seconds when it was told."""


class Stream:
    def __init__(self, folder: Path) -> None:
        """Raises `RunError` or `Taken`, and `OSError` where nothing can be kept."""
        self.folder = folder
        self._journal = Journal(folder)
        try:
            self._following = follow(folder, self._journal.state, self._journal.kept)
        except BaseException:
            self._journal.close()
            raise
        self._lock = threading.Lock()
        self._recent: deque[_Recent] = deque()
        self._bytes = 0
        self.end = self._following.state.moment
        """How many events have been told."""
        self.is_over = False
        self._changed: asyncio.Future[None] | None = None
        for told in self._journal.told:
            self._keep(told)

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
        """A run as it is listed."""
        info = self._following.info
        return {
            "run": info.id, "name": info.name, "workspace": info.workspace, "folder": str(self.folder), "host": info.host,
            "started": info.started, "source": self._following.source, "moment": self.end, "over": self.is_over,
        }  # fmt: skip

    def step(self, most: int = MOST_BYTES) -> tuple[Told | None, bool]:
        """Reads what is new, so many bytes of a process at most; whether the run is over and nothing more will come. Raises
        `OSError` when nothing can be read, or kept, as when the run was removed."""
        with self._lock:
            following, journal = self._following, self._journal
            if journal.is_full:
                state = wire.state_message(self.run, following.source, journal.name, following.state)
                journal.begin_file(state, following.all())
            found = following.look(most)
            if found is None:
                return None, following.is_over
            message = wire.encode_events(self.run, found.batch)
            journal.add(found.reached, message)
            return (Told(found.batch.begin, found.batch.end, message) if found.batch.says_something else None), False

    @property
    def is_behind(self) -> bool:
        return self._following.behind

    def state(self) -> tuple[int, dict[str, object]]:
        """The newest, and after how many events it is. Waits for a `step` under way."""
        with self._lock:
            state = self._following.state
            return state.moment, wire.state_message(self.run, self._following.source, self.journal, state)

    def close(self, *, remove: bool = False) -> None:
        """`remove`: nobody will ask for what was told."""
        with self._lock:
            self._following.close()
            self._journal.close(remove=remove)

    # In the loop

    def tell(self, told: Told) -> None:
        self._keep(told)
        self.end = told.end
        self.wake()

    def wake(self) -> None:
        if self._changed is not None:
            self._changed.set_result(None)
            self._changed = None

    async def change(self) -> None:
        """Until something is told."""
        if self._changed is None:
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._changed)

    def after(self, moment: int, patience: float) -> list[Told] | None:
        """What was told after a moment; None when that is not at hand, or the first of it is older than so many seconds."""
        recent = self._recent
        if moment >= self.end:
            return []
        if not recent or recent[0].told.begin > moment:
            return None
        found = []
        for one in reversed(recent):
            if one.told.begin < moment:
                break
            found.append(one)
        first = found[-1] if found else None
        if first is None or first.told.begin != moment or (patience and time.monotonic() - first.at > patience):
            return None
        return [one.told for one in reversed(found)]

    def forget(self) -> None:
        """Who comes again gets the state."""
        self._recent.clear()
        self._bytes = 0

    def _keep(self, told: Told) -> None:
        self._recent.append(_Recent(told, time.monotonic()))
        self._bytes += len(told.message)
        while self._bytes > MOST_RECENT and len(self._recent) > 1:
            self._bytes -= len(self._recent.popleft().told.message)
