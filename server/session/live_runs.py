"""Follows the live runs of a workspace: reads the additions to their record files every second. For runs with viewed
entities, relays push additions earlier (`pushes`), also for runs elsewhere on the machine.

Invariant: reading takes at most a tenth of one processor, however much a program records. The callback gets the newest
state and never a queue of older ones.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clew.records.errors import ClewError
from clew.records.run import source_snapshots
from clew.records.run.directory import FOLDER, RunInfo, list_runs, load_run
from clew.server.protocol.live import RunGrew
from clew.server.session.relay_client import Pushes
from clew.server.session.session import Fingerprint, Session, run_ref

if TYPE_CHECKING:
    from clew.graph.ops.profile.live_counts import Counts, Tally

INTERVAL = 1.0
"""Minimum seconds between two reads of a run; longer if `REST` times the processor time of the last read is more."""
REST = 10
NOT_WANTED = "relays are disabled"
MOST_RUNS = 8
"""Maximum number of runs that are followed at once, the newest ones."""

log = logging.getLogger(__name__)


@dataclass
class _Followed:
    folder: Path
    info: RunInfo
    tally: Tally
    counts: Counts
    due: float = 0.0
    """Time of the next read, in monotonic seconds."""
    files: set[str] = field(default_factory=set)
    """Source files whose text is stored."""


class Following:
    """Calls `grew` in its own thread until `stop`."""

    def __init__(
        self,
        session: Session,
        grew: Callable[[RunGrew], None],
        interval: float = INTERVAL,
        *,
        relayed: Callable[[], bool] = lambda: False,
        grace: float | None = None,
    ) -> None:
        """`relayed` returns whether to start relays; `grace` is the grace period of these relays."""
        self._session = session
        self._grew = grew
        self._relayed = relayed
        self._pushes = Pushes(self._pushed, grace)
        self._interval = interval
        self._runs: dict[str, _Followed] = {}
        self._lock = threading.Lock()
        """Ensures that no push comes after the end of a run."""
        self._state: Fingerprint | None = None
        self._listed: list[tuple[Path, RunInfo]] = []
        """Runs without an end, as of the state `_state`."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="clew-following", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._pushes.stop()

    def counts(self, run: str) -> Counts | None:
        """Return the counts of a live run by id; None for other runs."""
        followed = self._runs.get(run)
        return followed.counts if followed else None

    def _follow(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._look()
            except OSError as error:
                # A folder that is being removed, or an unmounted disk: it may be back the next time.
                log.info("cannot follow live runs now: %s", error)
            except Exception:
                log.exception("following live runs failed")

    def _look(self) -> None:
        going = dict(self._going())
        for folder, info in going.items():
            known = self._runs.get(info.id) or self._begin(folder, info)
            if time.monotonic() >= known.due:
                self._look_at(known)
        for followed in [one for one in self._runs.values() if one.folder not in going]:
            with self._lock:
                del self._runs[followed.info.id]
            if followed.folder.exists():
                self._look_at(followed, finished=True)
        watched = self._session.watched() if self._relayed() else ()
        if not self._stopped.is_set():
            self._pushes.watch({info.id: folder for folder, info in going.items() if folder in watched})

    def _going(self) -> list[tuple[Path, RunInfo]]:
        """Return the newest live runs, and viewed live runs elsewhere."""
        state = self._session.state()
        if state != self._state:
            listed = list_runs(self._session.workspace)
            self._listed = [
                (folder, info) for folder, info in listed if isinstance(info, RunInfo) and info.finished is None
            ]
            self._state = state
        here = [(folder, info) for folder, info in self._listed if not run_ref(folder, info).finished][:MOST_RUNS]
        return here + self._elsewhere()

    def _elsewhere(self) -> list[tuple[Path, RunInfo]]:
        here, found = (self._session.workspace / FOLDER / "runs").resolve(), []
        for folder in self._session.watched():
            if folder.resolve().parent == here:
                continue
            with contextlib.suppress(ClewError):  # it was removed
                info = load_run(folder)
                if not run_ref(folder, info).finished:
                    found.append((folder, info))
        return found

    def _begin(self, folder: Path, info: RunInfo) -> _Followed:
        from clew.graph.ops.profile.live_counts import Counts, Tally  # these load numpy

        found = self._runs[info.id] = _Followed(folder, info, Tally(folder), Counts())
        return found

    def _look_at(self, run: _Followed, *, finished: bool = False) -> None:
        began = time.thread_time()
        counts = run.tally.poll()
        files = {function.file for function in counts.functions}
        if not files <= run.files:
            # As long as the files are unchanged since they were loaded.
            source_snapshots.keep(run.folder)
            run.files |= files
        run.due = time.monotonic() + max(self._interval, REST * (time.thread_time() - began)) - self._interval / 2
        if finished or counts != run.counts:
            run.counts = counts
            unheard = self._pushes.missing_relay(run.folder) if self._relayed() else NOT_WANTED
            self._grew(_growth(run, finished=finished, unheard=unheard))

    def _pushed(self, run: str) -> None:
        with self._lock:
            if (followed := self._runs.get(run)) is not None:
                self._grew(_growth(followed, pushed=True))


def _growth(run: _Followed, *, finished: bool = False, pushed: bool = False, unheard: str = "") -> RunGrew:
    counts, elapsed = run.counts, time.time_ns() - run.info.started
    counted = counts.processes, counts.events, counts.calls, counts.errors
    return RunGrew(run.info.id, run.info.name, elapsed, *counted, finished, pushed, unheard)
