"""What takes all requests of large runs to answer is answered by a process of its own, which has the same handlers.

It takes gigabytes, which are given back with the process, and are files (`clew.graph.aside`) where there is not that much.
The process is kept for a while, as it knows what to answer when the next question is about the same runs. Invariants: its
answer is what is answered here; whoever no longer wants one ends the process at once, and so does the end of ours.
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

from clew.server.task import Task

if TYPE_CHECKING:
    from clew.graph.progress import Progress
    from clew.server.session import Session

T = TypeVar("T")

LARGE = 1 << 21
"""Events of all runs that are asked about, from which on it is worth the seconds that a process takes to begin."""
KEPT_SECONDS = 300.0
NEED = 250
"""Bytes an event that an answer takes at most, as measured."""
MOST = 1500 << 20
"""Bytes that the process may take for itself. What may need more has its large blocks in files, which the system takes back."""
NEVER = 1 << 62
PLACE = "answers"


def answered(session: Session, runs: Iterable[str], task: Task, work: Callable[..., T], *given: Any) -> T:
    """`work(session, *given, task)`, a function of a module, here or in the other process. `runs` are those of which all is
    looked at. Raises what it raises."""
    large = _large(session, runs, task)
    helper = None
    if large is not None:
        with contextlib.suppress(OSError):
            helper = session.helpers.take(*large)
    if helper is None:
        return work(session, *given, task)
    from clew.graph.aside import NoRoom

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
    """The folder of one of these runs and how many events they have, if that is many and another process can look at them."""
    from clew.graph import aside
    from clew.graph.figures import is_over
    from clew.server.session import is_look

    opened = [session.open(run, task) for run in runs]
    events = sum(len(run.graph) for run in opened)
    if events < LARGE or not aside.is_possible():
        return None
    # Of a look at a run that went on nobody else knows what it was.
    possible = all(
        not is_look(run) and is_over(run.folder, run.graph) and os.access(run.folder, os.W_OK) for run in opened
    )
    return (opened[0].folder, events) if possible else None


class Helper:
    """A process, and the folder in which it has its blocks; `end` ends it once, at the latest with ours."""

    def __init__(self, folder: Path, events: int) -> None:
        from clew.graph.aside import PARTS, Aside
        from clew.graph.memory import outgrows
        from clew.graph.workplace import workplace

        self.events = events
        need = events * NEED
        large = PARTS if need > MOST or outgrows(need) else NEVER
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(workplace(folder, PLACE))
            self.process = Aside(place, large=large)
            stack.callback(self.process.end)
            self.end = weakref.finalize(self, stack.pop_all().close)


class Helpers:
    """Of one session: a process for each question that is being answered; the last one is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: Helper | None = None
        self._timer = threading.Timer(0, self.end)

    def take(self, folder: Path, events: int) -> Helper:
        """The one that is kept, if it was made for as many events. Raises OSError."""
        kept = self._replace(None)
        if kept is not None and kept.events >= events:
            return kept
        if kept is not None:
            kept.end()
        return Helper(folder, events)

    def give(self, helper: Helper) -> None:
        """Whose question is answered."""
        before = self._replace(helper)
        if before is not None:
            before.end()

    def end(self) -> None:
        kept = self._replace(None)
        if kept is not None:
            kept.end()

    def _replace(self, helper: Helper | None) -> Helper | None:
        with self._lock:
            before, self._kept = self._kept, helper
            self._timer.cancel()
            if helper is not None:
                self._timer = threading.Timer(KEPT_SECONDS, self.end)
                self._timer.daemon = True
                self._timer.start()
        return before


@dataclass(frozen=True)
class _Surroundings:
    """What an answer may depend on beside the question and the workspace's files."""

    workspace: Path
    selected: str
    default_baseline: str
    texts: tuple[tuple[str, str], ...]

    @staticmethod
    def of(session: Session) -> _Surroundings:
        return _Surroundings(session.workspace, session.selected, session.default_baseline, tuple(session.open_texts()))


# In the process

_SESSIONS: dict[Path, Session] = {}


def _work(of: _Surroundings, work: Callable[..., T], given: tuple[Any, ...], progress: Progress) -> T:
    from clew.server.session import Session

    session = _SESSIONS.setdefault(of.workspace, Session(of.workspace))
    session.default_baseline = of.default_baseline
    session.open_texts = lambda: of.texts
    if session.selected != of.selected:
        session.select(of.selected)
    found = work(session, *given, Task(lambda what: progress(what, 0, 1)))
    session.let_go()
    return found
