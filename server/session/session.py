"""A workspace's runs: the selected run, and the few open runs. The language server and HTTP share it; it is
thread-safe.

Invariant: an answer never comes from a graph older than the files it was built from: an open run is dropped as soon as
its folder's fingerprint changes. The exception is a live run, whose files change all the time: it is read again after a
pause.
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

from clew.records.errors import ClewError, RunError
from clew.records.run import source_snapshots
from clew.records.run.directory import FOLDER, RUN_FILE, RunInfo, find_run, list_runs, load_run, record_files
from clew.records.run.liveness import died, is_abandoned, silence
from clew.records.run.test_sessions import SHORT
from clew.server.locations.open_logs import LogTexts
from clew.server.locations.paths import same_file_key
from clew.server.protocol.session import RunsResult
from clew.server.protocol.shared import RunRef
from clew.server.session import baseline
from clew.server.session.answer_process import Helpers
from clew.server.session.cancellation import Cancelled, Task
from clew.server.text import units

__all__ = ["Cancelled", "Fingerprint", "Session", "Task", "fingerprint_of", "is_snapshot", "run_ref", "which_of"]

if TYPE_CHECKING:
    from clew.graph.entities.live.history import GrowingEntities
    from clew.graph.ops.aggregation.drill_down import Leaves
    from clew.graph.ops.timing.function_savings import Savings
    from clew.query.api import Run
    from clew.server.functions.table import FunctionTable
    from clew.server.lsp.settings import Program

OPEN_RUNS = 4
"""Maximum number of cached graphs; a diff needs two, and the user switches between a few."""
SNAPSHOT_RUNS, SNAPSHOT_EVENTS = 4, 1 << 23
"""Maximum number of cached snapshots of live runs for walks; apart from the last snapshot, all together must fit into
this number of events."""

PAUSE = 5.0
"""Minimum seconds for which the graph of a live run is used; or `PAUSES` times the duration of its build, so that
reading a long live run does not keep the machine busy."""
PAUSES = 10

Fingerprint = tuple[tuple[str, int, int], ...]
"""(path, modified ns, size) of each relevant file."""


@dataclass(frozen=True)
class LiveEntities:
    """The entities of a live run."""

    folder: Path
    ref: RunRef
    entities: GrowingEntities


@dataclass
class _Open:
    fingerprint: Fingerprint
    run: Run
    good_until: float
    """Time until which a live run is used without reading it again, in monotonic seconds."""
    functions: FunctionTable | None = None
    savings: dict[float, Savings] = field(default_factory=dict)
    """Savings by the percentage by which functions get faster."""
    leaves: dict[str, Leaves] = field(default_factory=dict)
    """Leaves by the parts of the processes: threads or tasks."""
    statistics_lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the whole run is read; requests that need less do not wait."""


class Session:
    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.open_texts: Callable[[], Iterable[tuple[str, str]]] = tuple
        """Returns path and text of the files that are open in an editor, unsaved changes included."""
        self.logs = LogTexts()
        self.importing: Callable[[str, int, int], None] = lambda _name, _done, _size: None
        """Called with the progress while a foreign file is imported or a graph is built: the name, the amount done and
        the total amount; the name is "" at the end."""
        self.default_baseline = ""
        """The baseline run from the user's settings."""
        self.programs: tuple[Program, ...] = ()
        """The recordable programs from the user's settings."""
        self.spec = ""
        """The spec for programs that name none."""
        self.trusted = True
        """Whether the user trusts the workspace to run code; an editor starts no server in an untrusted workspace."""
        self.helpers = Helpers()
        self._selected = ""
        self._open: OrderedDict[Path, _Open] = OrderedDict()
        self._live_entities: OrderedDict[tuple[Path, str], GrowingEntities] = OrderedDict()
        """Entities of live runs by run folder and requested source."""
        self._snapshots: OrderedDict[str, _Open] = OrderedDict()
        """Snapshots by the ids that `snapshot` assigned."""
        self._folder_locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def selected(self) -> str:
        """The folder of the selected run; "" if the newest run is selected implicitly."""
        return self._selected

    def release_memory(self) -> None:
        """Release memory after an answer: the columns of large runs are memory-mapped files, and only a limited part of
        them stays in memory."""
        with self._lock:
            graphs = [opened.run.graph for opened in self._open.values()]
        if graphs:
            from clew.graph.runtime.mmap_arrays import is_much

            if is_much():
                for graph in graphs:
                    graph.release_memory()

    def runs(self) -> RunsResult:
        """Return all runs, newest first, damaged ones with their problem; `selected` is the id of the run in use."""
        listed = list_runs(self.workspace)
        try:
            selected = self.folder().name
        except ClewError:
            selected = ""
        try:
            chosen = self.baseline()
        except ClewError:
            chosen = None  # comparing reports the error
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
        """Use this run from now on; "" for the newest run. Raises `RunError` for an unknown run."""
        selected = str(self._found(which)) if which else ""
        with self._lock:
            self._selected = selected
        return self.runs()

    def choose_baseline(self, which: str) -> RunsResult:
        """Compare with this run, or with the tests of this revision, from now on, also in later sessions; "" restores
        the settings' baseline. Raises `RunError` if it does not exist."""
        baseline.remember(self.workspace, baseline.find(self.workspace, which).key if which else "")
        return self.runs()

    def baseline(self, without: str = "") -> baseline.Baseline | None:
        """Return the baseline, excluding the run `without`. Raises `RunError` if the baseline does not exist; a saved
        choice is then removed."""
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
        """Return the id of the run to compare with the baseline: the selected run, else the newest; "" while that run
        is live."""
        selected = self._selected
        for folder, info in list_runs(self.workspace):
            if (
                isinstance(info, RunInfo)
                and (not selected or folder == Path(selected))
                and run_ref(folder, info).finished
            ):
                return folder.name
        return ""

    def selected_live_run(self) -> Path | None:
        """Return the folder of the selected run if it is live."""
        try:
            folder = self.folder()
            info = load_run(folder)
        except ClewError:
            return None
        return None if run_ref(folder, info).finished else folder

    def live_entities(self, which: str, source: Literal["", "spec", "strands"]) -> LiveEntities | None:
        """Return the entities of a live run, read as far as requested so far; None for a finished run. Raises
        `ClewError` for an unknown run or source."""
        from clew.graph.entities.live.history import GrowingEntities

        folder = self.folder(which)
        info = load_run(folder)
        ref = run_ref(folder, info)
        key = (folder, source)
        with self._lock:
            if ref.finished:
                gone = [one for one in self._live_entities if one[0] == folder]
            else:
                found = self._live_entities[key] = self._live_entities.get(key) or GrowingEntities(folder, source)
                self._live_entities.move_to_end(key)
                gone = list(self._live_entities)[:-OPEN_RUNS]
            for one in gone:
                self._live_entities.pop(one).close()
        return None if ref.finished else LiveEntities(folder, ref, found)

    def snapshot(self, which: str, task: Task, *, refresh: bool = False) -> Run:
        """Return a snapshot of a run as it is now. `refresh`: do not reuse data that was read a few seconds ago."""
        return self.as_snapshot(self._opened(which, task, refresh=refresh).run)

    def as_snapshot(self, run: Run) -> Run:
        """Return an opened run. A live run gets its own id, which identifies this snapshot: within it, events keep
        their numbers. The last few requested snapshots are cached."""
        if is_snapshot(run) or self.ref(run).finished:
            return run
        events = len(run.graph)
        last = int(run.graph.ts.max()) if events else 0
        until = units.duration(float(last)) if events else "no time"
        # The number of events alone is not enough: at its quota a run loses as many as it gains.
        which = f"{run.folder.name}@{events}-{last}"
        info = run.info._replace(id=which, name=f"{run.info.name}, its first {until}")
        with self._lock:
            snapshot = self._snapshots.setdefault(info.id, _Open((), replace(run, info=info), good_until=0.0))
            self._snapshots.move_to_end(info.id)
            while len(self._snapshots) > 1 and (
                len(self._snapshots) > SNAPSHOT_RUNS
                or sum(len(one.run.graph) for one in self._snapshots.values()) > SNAPSHOT_EVENTS
            ):
                self._snapshots.popitem(last=False)
        return snapshot.run

    def watched(self) -> set[Path]:
        """Return the folders of runs whose entities were requested while the run was live."""
        with self._lock:
            return {folder for folder, _ in self._live_entities}

    def folder(self, which: str = "") -> Path:
        """Return the folder of a run by id, name or path; by default the selected run, else the newest. Raises
        `RunError`."""
        if which:
            return self._found(which)
        selected = self._selected
        if selected:
            try:
                return find_run(self.workspace, selected)
            except ClewError:
                with self._lock:
                    if self._selected == selected:  # or another run was selected meanwhile
                        self._selected = ""  # it was removed
        return find_run(self.workspace)

    def _found(self, which: str) -> Path:
        """Return a run's folder. If `which` is a foreign trace, import it first."""
        snapshot = self._cached_snapshot(which)
        if snapshot is not None:
            return snapshot.run.folder
        if not any(Path(part).is_file() for part in (which, *which.split(","))):
            return self._run_called(which)
        from clew.graph.formats.import_run import run_folder

        return run_folder(self.workspace, which, self.importing)

    def _cached_snapshot(self, which: str) -> _Open | None:
        """Return the cached snapshot with this id, if any."""
        with self._lock:
            snapshot = self._snapshots.get(which)
            if snapshot is not None:
                self._snapshots.move_to_end(which)
        return snapshot

    def _run_called(self, which: str) -> Path:
        try:
            return find_run(self.workspace, which)
        except RunError:
            run, _, of = which.rpartition("@")
            events = of.partition("-")[0]
            if run and events.isdecimal() and (self.workspace / FOLDER / "runs" / run).is_dir():
                what = f"the snapshot of run {run} with {int(events):,} events is no longer cached"
                raise RunError(f"{what}; ask again for a current snapshot") from None
            raise

    def open(self, which: str = "", task: Task | None = None) -> Run:
        """Return the graph of a run. The first call takes as long as building it; `task` gets the progress."""
        return self._opened(which, task).run

    def functions(self, which: str = "", task: Task | None = None) -> FunctionTable:
        """Return the costs of each function of a run. The first call reads the whole run."""
        from clew.graph.store.profile_cache import profiles_of
        from clew.server.functions.table import FunctionTable

        opened = self._opened(which, task)
        if opened.functions is None:
            with (task or Task()).hold(opened.statistics_lock):
                if opened.functions is None:
                    run = opened.run
                    found = profiles_of(run.folder, run.graph, partial(_report, task))
                    opened.functions = FunctionTable.of(run, found)
        return opened.functions

    def cached_functions(self, task: Task | None = None, *, wait: bool = False) -> FunctionTable | None:
        """Return the functions of the selected run if they are cached or fast to compute; with `wait` in any case."""
        from clew.graph.store.profile_cache import SMALL, cached_profiles
        from clew.server.functions.table import FunctionTable

        opened = self._opened("", task)
        if opened.functions is None and (wait or len(opened.run.graph) < SMALL):
            return self.functions("", task)
        if opened.functions is None:
            known = cached_profiles(opened.run.folder, opened.run.graph)
            opened.functions = FunctionTable.of(opened.run, known) if known else None
        return opened.functions

    def savings(self, which: str, percent: float, task: Task) -> Savings:
        """Return what functions would save in a finished run if they were faster by this percentage. The first call
        takes as long as reading the whole run many times."""
        from clew.graph.store.profile_cache import savings_of

        opened = self._opened(which, task)
        with task.hold(opened.statistics_lock):
            if percent not in opened.savings:
                run = opened.run
                opened.savings[percent] = savings_of(run.folder, run.graph, percent, partial(_report, task))
        return opened.savings[percent]

    def leaves(self, which: str, strands: str, task: Task) -> Leaves:
        """Return the leaves of a whole run's nodes. The first call reads the whole run."""
        from clew.graph.store.profile_cache import leaves_of_run

        opened = self._opened(which, task)
        with task.hold(opened.statistics_lock):
            if strands not in opened.leaves:
                run = opened.run
                opened.leaves[strands] = leaves_of_run(run.folder, run.graph, strands, partial(_report, task))
        return opened.leaves[strands]

    def cached_savings(self, which: str, percent: float) -> Savings | None:
        """Return the savings if they are cached."""
        folder = self.folder(which)
        with self._lock:
            known = self._open.get(folder)
        return known.savings.get(percent) if known else None

    def _opened(self, which: str, task: Task | None, *, refresh: bool = False) -> _Open:
        from clew import open as open_run

        snapshot = self._cached_snapshot(which)
        if snapshot is not None:
            return snapshot
        folder = self.folder(which)
        # Two requests at once must not build the same graph twice.
        with (task or Task()).hold(self._folder_lock(folder)):
            fingerprint = fingerprint_of(folder)
            with self._lock:
                known = self._open.get(folder)
                if known and not refresh and (known.fingerprint == fingerprint or self._is_good_enough(known, folder)):
                    self._open.move_to_end(folder)
                    return known
            if task is not None:
                task.phase(f"reading run {folder.name}")
            began = time.monotonic()
            try:
                run = open_run(folder, progress=partial(self._progress, task, folder.name), spare=True)
            finally:
                self.importing("", 1, 1)
            if load_run(folder).finished is None or not (folder / source_snapshots.INDEX_FILE).exists():
                # The path stays valid while the files are unchanged since they ran.
                source_snapshots.keep(folder)
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
        """Return the text of a file that is open in an editor, unsaved changes included."""
        key = same_file_key(path)
        return next((text for other, text in self.open_texts() if same_file_key(other) == key), None)

    def text(self, path: str) -> str | None:
        """Return a file's text as the user sees it, unsaved changes included; None if it can't be read."""
        unsaved = self.overlay(path)
        if unsaved is not None:
            return unsaved
        try:
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def ref(self, run: Run) -> RunRef:
        """Return the run's reference with all its problems, some of which only its graph knows."""
        found = [*run.info.notes, *(problem.what for problem in run.problems)]
        problems = [units.within(run.folder, text) for text in found]
        return replace(run_ref(run.folder, run.info), problems=list(dict.fromkeys(problems)))

    def state(self) -> Fingerprint:
        """Return a value that changes whenever a run begins, is written to, ends or is removed; cheap enough to compute
        every second."""
        base = self.workspace / FOLDER / "runs"
        found = []
        for folder in sorted(base.iterdir()) if base.is_dir() else ():
            found.extend(_stat(folder / RUN_FILE))
        return tuple(found)


def is_snapshot(run: Run) -> bool:
    """Return whether this is a snapshot of a run that was live then. Another process cannot open a snapshot."""
    return run.info.id.startswith(f"{run.folder.name}@")


def which_of(run: Run) -> str:
    """Return the text that opens this run, or this snapshot, in its session."""
    return run.info.id if is_snapshot(run) else str(run.folder)


def _report(task: Task | None, what: str, done: int, size: int) -> None:
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
    """Return the fingerprint of a run's files. Raises `RunError` if the folder is no longer a run."""
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
