"""Answers requests that read large runs as a whole in a worker process, which has the same handlers.

Such an answer takes gigabytes. The worker process returns them when it ends, and keeps them in memory-mapped temp files
(`clew.graph.runtime.worker_process`) on machines without that much memory. The worker process stays alive for a while,
because it has the data for further questions about the same runs. Invariants: the worker's answer equals the answer of
this process; a cancelled request ends its worker process at once, and so does the end of this process.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from clew.server.session.cancellation import Task

if TYPE_CHECKING:
    from clew.graph.runtime.progress import Progress
    from clew.server.session.session import Session

T = TypeVar("T")

LARGE = 1 << 21
"""Number of events in all requested runs from which a worker process is worth the seconds that its start takes."""
KEPT_SECONDS = 300.0
NEED = 250
"""Measured upper bound of the bytes per event that an answer needs."""
MOST = 1500 << 20
"""Bytes that the worker process may allocate. Larger answers have their large blocks in files, whose memory the system
can reclaim."""
NEVER = 1 << 62
PLACE = "answers"


def answered(session: Session, runs: Iterable[str], task: Task, work: Callable[..., T], *given: Any) -> T:
    """Return `work(session, *given, task)` from this process or from a worker process; `work` is a function of a
    module. `runs` are the runs that are read as a whole. Raises what `work` raises."""
    large = _large(session, runs, task)
    helper = None
    if large is not None:
        with contextlib.suppress(OSError):
            helper = session.helpers.take(*large)
    if helper is None:
        return work(session, *given, task)
    from clew.graph.runtime.worker_process import NoRoom

    try:
        found: T = helper.process.ask(
            _work,
            (_Surroundings.of(session), work, given),
            lambda what, _done, _size: task.phase(what),
            task,
        )
    except NoRoom:
        helper.end()
        return work(session, *given, task)
    except BaseException:
        helper.end()
        raise
    session.helpers.give(helper)
    return found


def _large(session: Session, runs: Iterable[str], task: Task) -> tuple[Path, int] | None:
    """Return the folder of one of the runs and the total number of events, if that is large and a worker process can
    open the runs."""
    from clew.graph.runtime import worker_process
    from clew.graph.store.profile_cache import is_over
    from clew.server.session.session import is_snapshot

    opened = [session.open(run, task) for run in runs]
    events = sum(len(run.graph) for run in opened)
    if events < LARGE or not worker_process.is_possible():
        return None
    # A snapshot of a live run exists in this process only.
    possible = all(
        not is_snapshot(run) and is_over(run.folder, run.graph) and os.access(run.folder, os.W_OK) for run in opened
    )
    return (opened[0].folder, events) if possible else None


class Helper:
    """A worker process, and the folder with its memory blocks. `end` ends it once, at the latest with this process."""

    def __init__(self, folder: Path, events: int) -> None:
        from clew.graph.runtime.memory_limit import outgrows
        from clew.graph.runtime.worker_process import PARTS, WorkerProcess
        from clew.graph.store.temp_dir import workplace

        self.events = events
        need = events * NEED
        large = PARTS if need > MOST or outgrows(need) else NEVER
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(workplace(folder, PLACE))
            self.process = WorkerProcess(place, large=large)
            stack.callback(self.process.end)
            self.end = weakref.finalize(self, stack.pop_all().close)


class Helpers:
    """The worker processes of one session: one for each question in progress. The last one stays alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: Helper | None = None
        self._timer = threading.Timer(0, self.end)

    def take(self, folder: Path, events: int) -> Helper:
        """Return the idle worker process if it was made for as many events, else a new one. Raises OSError."""
        idle = self._replace(None)
        if idle is not None and idle.events >= events:
            return idle
        if idle is not None:
            idle.end()
        return Helper(folder, events)

    def give(self, helper: Helper) -> None:
        """Take back a worker process whose question is answered."""
        before = self._replace(helper)
        if before is not None:
            before.end()

    def end(self) -> None:
        idle = self._replace(None)
        if idle is not None:
            idle.end()

    def _replace(self, helper: Helper | None) -> Helper | None:
        with self._lock:
            before, self._idle = self._idle, helper
            self._timer.cancel()
            if helper is not None:
                self._timer = threading.Timer(KEPT_SECONDS, self.end)
                self._timer.daemon = True
                self._timer.start()
        return before


@dataclass(frozen=True)
class _Surroundings:
    """The state that an answer may depend on, in addition to the question and the workspace's files."""

    workspace: Path
    selected: str
    default_baseline: str
    texts: tuple[tuple[str, str], ...]

    @staticmethod
    def of(session: Session) -> _Surroundings:
        return _Surroundings(session.workspace, session.selected, session.default_baseline, tuple(session.open_texts()))


# runs in the worker process

_SESSIONS: dict[Path, Session] = {}


def _work(of: _Surroundings, work: Callable[..., T], given: tuple[Any, ...], progress: Progress) -> T:
    from clew.server.session.session import Session

    session = _SESSIONS.setdefault(of.workspace, Session(of.workspace))
    session.default_baseline = of.default_baseline
    session.open_texts = lambda: of.texts
    if session.selected != of.selected:
        session.select(of.selected)
    found = work(session, *given, Task(lambda what: progress(what, 0, 1)))
    session.release_memory()
    return found
