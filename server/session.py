"""A workspace's runs: which is selected, and the few that are open. Shared by the language server and HTTP; thread-safe.

Invariant: an answer never comes from a graph older than the files it was built from: an open run is dropped as soon as
its folder's fingerprint changes. Only a run that is still being recorded, whose files change all the time, is looked at
again after a pause.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clew.records import sources
from clew.records.alive import died, is_abandoned, silence
from clew.records.errors import ClewError, RunError
from clew.records.run import FOLDER, RUN_FILE, RunInfo, find_run, list_runs, load_run, record_files
from clew.records.sessions import SHORT
from clew.server import baseline, wording
from clew.server.aside import Helpers
from clew.server.files import same_file_key
from clew.server.log_texts import LogTexts
from clew.server.protocol import RunRef, RunsResult
from clew.server.task import Cancelled, Task

__all__ = ["Cancelled", "Fingerprint", "Session", "Task", "fingerprint_of", "is_look", "run_ref", "which_of"]

if TYPE_CHECKING:
    from clew.graph.entities.growing import GrowingEntities
    from clew.graph.ops.drill import Leaves
    from clew.graph.ops.savings import Savings
    from clew.graph.query import Run
    from clew.server.functions import FunctionTable
    from clew.server.settings import Program

OPEN_RUNS = 4
"""Graphs kept in memory; a diff needs two, and the user goes back and forth between a few."""
HELD_RUNS, HELD_EVENTS = 4, 1 << 23
"""Of runs that go on the looks in which somebody walks: at most so many, and besides the last one only those that fit."""

PAUSE = 5.0
"""Seconds for which the graph of a run that is still being recorded is good enough, or `PAUSES` times what building it
took: a program that runs for long must not keep the machine busy with being looked at."""
PAUSES = 10

Fingerprint = tuple[tuple[str, int, int], ...]
"""(path, modified ns, size) of every file that counts."""


@dataclass(frozen=True)
class Growing:
    """The entities of a run that goes on."""

    folder: Path
    ref: RunRef
    entities: GrowingEntities


@dataclass
class _Open:
    fingerprint: Fingerprint
    run: Run
    good_until: float
    """Monotonic seconds, for a run that is still being recorded."""
    functions: FunctionTable | None = None
    savings: dict[float, Savings] = field(default_factory=dict)
    """By how many percent functions are faster."""
    leaves: dict[str, Leaves] = field(default_factory=dict)
    """By what its processes consist of, threads or tasks."""
    figures_lock: threading.Lock = field(default_factory=threading.Lock)
    """Who looks at all of the run; others may ask meanwhile for what needs less."""


class Session:
    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.open_texts: Callable[[], Iterable[tuple[str, str]]] = tuple
        """Of the files that are open in an editor the path and the text, unsaved changes included."""
        self.logs = LogTexts()
        self.importing: Callable[[str, int, int], None] = lambda _name, _done, _size: None
        """Hears how far it is while a foreign file is imported or a graph is built: what is read or made, how much is done and
        how much there is; the name is "" at the end."""
        self.default_baseline = ""
        """The run that the user's settings name as the one to compare with."""
        self.programs: tuple[Program, ...] = ()
        """What the user's settings say can be recorded."""
        self.spec = ""
        """By which spec, where a program names none."""
        self.trusted = True
        """Whether the user trusts what the workspace says to run; an editor starts no server where they do not."""
        self.helpers = Helpers()
        self._selected = ""
        self._open: OrderedDict[Path, _Open] = OrderedDict()
        self._growing: OrderedDict[tuple[Path, str], GrowingEntities] = OrderedDict()
        """By what their source shall be."""
        self._held: OrderedDict[str, _Open] = OrderedDict()
        """By the ids that `hold` gave."""
        self._folder_locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def selected(self) -> str:
        """The folder of the run that was selected; "" where it is the newest, whichever that is."""
        return self._selected

    def let_go(self) -> None:
        """Once a question is answered: large runs' columns lie in files, of which only so much stays in memory."""
        with self._lock:
            graphs = [opened.run.graph for opened in self._open.values()]
        if graphs:
            from clew.graph.spilled import is_much

            if is_much():
                for graph in graphs:
                    graph.let_go()

    def runs(self) -> RunsResult:
        """All runs, newest first, damaged ones with their problem; `selected` is the id of the one that is used."""
        listed = list_runs(self.workspace)
        try:
            selected = self.folder().name
        except ClewError:
            selected = ""
        try:
            chosen = self.baseline()
        except ClewError:
            chosen = None  # whoever compares is told
        return RunsResult(
            str(self.workspace),
            [run_ref(folder, info) for folder, info in listed],
            selected,
            baseline=chosen.runs[0] if chosen else "",
            baselineName=chosen.name if chosen else "",
        )

    def has_runs(self) -> bool:
        return any(isinstance(info, RunInfo) for _, info in list_runs(self.workspace))

    def select(self, which: str) -> RunsResult:
        """Uses this run from now on; "" for whichever is the newest. Raises `RunError` when there is no such run."""
        selected = str(self._found(which)) if which else ""
        with self._lock:
            self._selected = selected
        return self.runs()

    def choose_baseline(self, which: str) -> RunsResult:
        """Compares with this run, or the tests of this revision, from now on, also in later sessions; "" goes back to what the
        settings say. Raises `RunError` when there is no such thing."""
        baseline.remember(self.workspace, baseline.find(self.workspace, which).key if which else "")
        return self.runs()

    def baseline(self, without: str = "") -> baseline.Baseline | None:
        """What to compare with, other than the run `without`. Raises `RunError` when it is not there; what was chosen is then
        forgotten."""
        chosen = baseline.remembered(self.workspace)
        if not chosen and not self.default_baseline:
            return None
        try:
            return baseline.find(self.workspace, chosen or self.default_baseline, without)
        except ClewError:
            if chosen:
                baseline.remember(self.workspace, "")
            raise

    def compared(self) -> str:
        """The id of the run that is compared with the baseline: the selected one, else the newest; "" unless it is over."""
        selected = self._selected
        for folder, info in list_runs(self.workspace):
            if (
                isinstance(info, RunInfo)
                and (not selected or folder == Path(selected))
                and run_ref(folder, info).finished
            ):
                return folder.name
        return ""

    def going_on(self) -> Path | None:
        """The folder of the run that is looked at, while it is being recorded."""
        try:
            folder = self.folder()
            info = load_run(folder)
        except ClewError:
            return None
        return None if run_ref(folder, info).finished else folder

    def growing(self, which: str, source: Literal["", "spec", "strands"]) -> Growing | None:
        """The entities of a run that goes on, read as far as somebody asked for them; None of one that is over. Raises
        `ClewError` when there is no such run, or no such source."""
        from clew.graph.entities.growing import GrowingEntities

        folder = self.folder(which)
        info = load_run(folder)
        ref = run_ref(folder, info)
        key = (folder, source)
        with self._lock:
            if ref.finished:
                gone = [one for one in self._growing if one[0] == folder]
            else:
                found = self._growing[key] = self._growing.get(key) or GrowingEntities(folder, source)
                self._growing.move_to_end(key)
                gone = list(self._growing)[:-OPEN_RUNS]
            for one in gone:
                self._growing.pop(one).close()
        return None if ref.finished else Growing(folder, ref, found)

    def hold(self, which: str, task: Task, *, anew: bool = False) -> Run:
        """A run as it is now, `kept`. `anew`: what was read a few seconds ago will not do."""
        return self.kept(self._opened(which, task, anew=anew).run)

    def kept(self, run: Run) -> Run:
        """An opened run; one that goes on under an id of its own, which stands for what was recorded by then and nothing later:
        there events keep their numbers. Of such looks the last few that were asked for are kept."""
        if is_look(run) or self.ref(run).finished:
            return run
        events = len(run.graph)
        last = int(run.graph.ts.max()) if events else 0
        until = wording.duration(float(last)) if events else "no time"
        # The number of events alone is not enough: at its quota a run loses as many as it gains.
        which = f"{run.folder.name}@{events}-{last}"
        info = run.info._replace(id=which, name=f"{run.info.name}, its first {until}")
        with self._lock:
            held = self._held.setdefault(info.id, _Open((), replace(run, info=info), good_until=0.0))
            self._held.move_to_end(info.id)
            while len(self._held) > 1 and (
                len(self._held) > HELD_RUNS or sum(len(one.run.graph) for one in self._held.values()) > HELD_EVENTS
            ):
                self._held.popitem(last=False)
        return held.run

    def watched(self) -> set[Path]:
        """Folders of runs whose entities somebody asked for while they went on."""
        with self._lock:
            return {folder for folder, _ in self._growing}

    def folder(self, which: str = "") -> Path:
        """The folder of a run by id, name or path; without one the selected, else the newest. Raises `RunError`."""
        if which:
            return self._found(which)
        selected = self._selected
        if selected:
            try:
                return find_run(self.workspace, selected)
            except ClewError:
                with self._lock:
                    if self._selected == selected:  # or another one was selected meanwhile
                        self._selected = ""  # it was removed
        return find_run(self.workspace)

    def _found(self, which: str) -> Path:
        """A run's folder, made first where `which` is a trace that others wrote."""
        held = self._look(which)
        if held is not None:
            return held.run.folder
        if not any(Path(part).is_file() for part in (which, *which.split(","))):
            return self._run_called(which)
        from clew.graph.imports import run_folder

        return run_folder(self.workspace, which, self.importing)

    def _look(self, which: str) -> _Open | None:
        """What `kept` gave this id to, if it is still there."""
        with self._lock:
            held = self._held.get(which)
            if held is not None:
                self._held.move_to_end(which)
        return held

    def _run_called(self, which: str) -> Path:
        try:
            return find_run(self.workspace, which)
        except RunError:
            run, _, of = which.rpartition("@")
            events = of.partition("-")[0]
            if run and events.isdecimal() and (self.workspace / FOLDER / "runs" / run).is_dir():
                what = f"what run {run} had recorded when it had {int(events):,} events is no longer kept"
                raise RunError(f"{what}; ask again, of the run as it is now") from None
            raise

    def open(self, which: str = "", task: Task | None = None) -> Run:
        """The graph of a run. The first time that takes as long as building it does; `task` hears of it."""
        return self._opened(which, task).run

    def functions(self, which: str = "", task: Task | None = None) -> FunctionTable:
        """What each function of a run cost. The first time that takes a look at all of the run."""
        from clew.graph.figures import profiles_of
        from clew.server.functions import FunctionTable

        opened = self._opened(which, task)
        if opened.functions is None:
            with (task or Task()).hold(opened.figures_lock):
                if opened.functions is None:
                    run = opened.run
                    found = profiles_of(run.folder, run.graph, partial(_tell, task))
                    opened.functions = FunctionTable.of(run, found)
        return opened.functions

    def functions_at_hand(self, task: Task | None = None, *, wait: bool = False) -> FunctionTable | None:
        """Those of the selected run, unless to find them takes long and was not done yet; with `wait` also then."""
        from clew.graph.figures import SMALL, kept_profiles
        from clew.server.functions import FunctionTable

        opened = self._opened("", task)
        if opened.functions is None and (wait or len(opened.run.graph) < SMALL):
            return self.functions("", task)
        if opened.functions is None:
            known = kept_profiles(opened.run.folder, opened.run.graph)
            opened.functions = FunctionTable.of(opened.run, known) if known else None
        return opened.functions

    def savings(self, which: str, percent: float, task: Task) -> Savings:
        """What functions being so much faster would save in a run that is over. The first time that takes as long as looking at
        all of the run many times."""
        from clew.graph.figures import savings_of

        opened = self._opened(which, task)
        with task.hold(opened.figures_lock):
            if percent not in opened.savings:
                run = opened.run
                opened.savings[percent] = savings_of(run.folder, run.graph, percent, partial(_tell, task))
        return opened.savings[percent]

    def leaves(self, which: str, strands: str, task: Task) -> Leaves:
        """What the boxes of a whole run consist of. The first time that takes a look at all of the run."""
        from clew.graph.figures import leaves_of_run

        opened = self._opened(which, task)
        with task.hold(opened.figures_lock):
            if strands not in opened.leaves:
                run = opened.run
                opened.leaves[strands] = leaves_of_run(run.folder, run.graph, strands, partial(_tell, task))
        return opened.leaves[strands]

    def savings_at_hand(self, which: str, percent: float) -> Savings | None:
        """If they were found."""
        folder = self.folder(which)
        with self._lock:
            known = self._open.get(folder)
        return known.savings.get(percent) if known else None

    def _opened(self, which: str, task: Task | None, *, anew: bool = False) -> _Open:
        from clew import open as open_run

        held = self._look(which)
        if held is not None:
            return held
        folder = self.folder(which)
        # Two requests at once must not build the same graph twice.
        with (task or Task()).hold(self._folder_lock(folder)):
            fingerprint = fingerprint_of(folder)
            with self._lock:
                known = self._open.get(folder)
                if known and not anew and (known.fingerprint == fingerprint or self._is_good_enough(known, folder)):
                    self._open.move_to_end(folder)
                    return known
            if task is not None:
                task.phase(f"reading run {folder.name}")
            began = time.monotonic()
            try:
                run = open_run(folder, progress=partial(self._progress, task, folder.name), spare=True)
            finally:
                self.importing("", 1, 1)
            if load_run(folder).finished is None or not (folder / sources.INDEX_FILE).exists():
                # As long as its files are as they were when it ran.
                sources.keep(folder)
            now = time.monotonic()
            opened = _Open(fingerprint, run, now + max(PAUSE, PAUSES * (now - began)))
            with self._lock:
                self._open[folder] = opened
                self._open.move_to_end(folder)
                while len(self._open) > OPEN_RUNS:
                    self._open.popitem(last=False)
            if task is not None:
                task.phase(f"run {folder.name} is open")
            return opened

    def _progress(self, task: Task | None, run: str, name: str, done: int, size: int) -> None:
        self.importing(name, done, size)
        if task is not None and name:
            task.phase(f"reading run {run}: {name}, {100 * done // max(size, 1)} %")

    @staticmethod
    def _is_good_enough(known: _Open, folder: Path) -> bool:
        return time.monotonic() < known.good_until and load_run(folder).finished is None

    def _folder_lock(self, folder: Path) -> threading.Lock:
        with self._lock:
            return self._folder_locks.setdefault(folder, threading.Lock())

    def overlay(self, path: str) -> str | None:
        """The text of a file that is open in an editor, unsaved changes included."""
        key = same_file_key(path)
        return next((text for other, text in self.open_texts() if same_file_key(other) == key), None)

    def text(self, path: str) -> str | None:
        """A file's text as the user sees it, unsaved changes included; None when it can't be read."""
        unsaved = self.overlay(path)
        if unsaved is not None:
            return unsaved
        try:
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def ref(self, run: Run) -> RunRef:
        """With everything that was odd about the run, which only its graph tells."""
        found = [*run.info.notes, *(problem.what for problem in run.problems)]
        problems = [wording.within(run.folder, text) for text in found]
        return replace(run_ref(run.folder, run.info), problems=list(dict.fromkeys(problems)))

    def state(self) -> Fingerprint:
        """Changes whenever a run begins, is written to, ends or is removed; cheap enough to ask every second."""
        base = self.workspace / FOLDER / "runs"
        found = []
        for folder in sorted(base.iterdir()) if base.is_dir() else ():
            found.extend(_stat(folder / RUN_FILE))
        return tuple(found)


def is_look(run: Run) -> bool:
    """Is it what was recorded by some time of a run that went on then? Another process cannot open it."""
    return run.info.id.startswith(f"{run.folder.name}@")


def which_of(run: Run) -> str:
    """What opens just this run, or this look at one, in its session."""
    return run.info.id if is_look(run) else str(run.folder)


def _tell(task: Task | None, what: str, done: int, size: int) -> None:
    if task is not None:
        task.phase(f"{what}, {100 * done // max(size, 1)} %")


def run_ref(folder: Path, info: RunInfo | Exception) -> RunRef:
    if not isinstance(info, RunInfo):
        return RunRef(id=folder.name, name=folder.name, started=0.0, finished=True, problems=[str(info)])
    finished = info.finished is not None or is_abandoned(folder, info)
    lost = [f"process {pid} died while it was recorded" for pid in died(folder)] if finished else []
    if silent := silence(folder, info):
        lost.append(silent)
    return RunRef(
        id=info.id,
        name=info.name,
        started=info.started / 1e6,
        finished=finished,
        exitCode=info.exit_code,
        command=" ".join(info.command),
        commit=info.commit[:SHORT] + (", changed" if info.commit and info.dirty else ""),
        problems=[*info.notes, *lost],
    )


def fingerprint_of(folder: Path) -> Fingerprint:
    """Of a run's files. Raises `RunError` when the folder is no run any more."""
    load_run(folder)
    found = _stat(folder / RUN_FILE)
    for path in record_files(folder):
        found.extend(_stat(path))
    return tuple(found)


def _stat(path: Path) -> list[tuple[str, int, int]]:
    try:
        status = path.stat()
    except OSError:
        return []  # not written yet, or just removed
    return [(str(path), status.st_mtime_ns, status.st_size)]
