"""The collector: compress the finished chunks of a run's processes and free their space, until the processes end.

python -m clew.records.collector.main RUN_FOLDER

The collector is a separate process started by the creator of the run (`clew.records.collector.launch`). It is optional:
without it the trace files only grow. Invariants: a run has at most one collector, by a lock on its folder. It may be
killed at any instant. A problem with one process's files does not affect the others. It exits silently when the run
folder is removed. Its memory is bounded by one compressed file.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clew.records.collector.process_file import TraceFile, Unusable
from clew.records.errors import ClewError
from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.plan import Plan, load
from clew.records.run.directory import PLAN_FILE, boot_id, trace_files

NICE = 10
SHORTEST, LONGEST = 0.01, 0.2
"""Seconds between two polls: the first while busy, the second while idle."""
_END_CHECK_EVERY = 0.2
"""Seconds between two checks whether a process still runs, which cost more than a poll."""
_AFTER_ERROR = 1.0
_SETTLED_NS = 1_000_000_000
_USAGE = """usage: python -m clew.records.collector.main [--attached] RUN_FOLDER

Compress the records of a run's processes until all of them have ended.

  --attached  also wait for the end of standard input, that is, for the end of the starting process
"""

ReportProgress = Callable[[int, int], None]


class Totals(NamedTuple):
    """Statistics of a collector."""

    chunks: int = 0
    processes: int = 0
    """Ended processes that are completely compressed."""
    live: int = 0
    """Processes that have not ended."""


class _Progress:
    """A counter that reports the progress up to ten times a second."""

    def __init__(self, report: ReportProgress | None, total: int) -> None:
        self._report, self._total, self._done = report, total, 0
        self._next = 0.0

    def one_more(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._report and now >= self._next:
            self._next = now + 0.1
            self._report(self._done, max(self._total, self._done))


class Collector:
    """All processes of one run. Use under `locked`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plan = _plan_of(folder)
        self._boot_id = boot_id()
        self._files: dict[Path, TraceFile] = {}
        self._unusable: set[Path] = set()
        """Files that cannot be collected on this machine."""
        self._changed = 0
        self._last_end_check = 0.0
        self._paused = 0.0
        self.totals = Totals()

    @property
    def live(self) -> int:
        """Return the number of processes that have not ended."""
        return len(self._files)

    def poll(self, report: ReportProgress | None = None, *, ask: bool = False, last: bool = False) -> bool:
        """Poll every process once; return True when there was work. Raises `FileNotFoundError` without a folder.

        With `ask`, check now which processes have ended. With `last`, chunks that cannot be compressed (for example on
        a full disk) stay unchanged.
        """
        now = time.monotonic()
        if now < self._paused and not ask:
            return False
        self._list()
        ask = ask or now - self._last_end_check >= _END_CHECK_EVERY
        if ask:
            self._last_end_check = now
        before = self.totals
        newest = self._newest() if ask else {}
        over = [
            file for file in self._files.values() if self._guarded(file, lambda file: self._is_over(file, ask, newest))
        ]
        for file in [file for file in self._files.values() if file not in over]:
            self._guarded(file, self._collect)
        progress = _Progress(report, sum(file.pending() for file in over))
        for file in over:
            if not self._guarded(file, lambda file: self._finish(file, progress.one_more)) and last:
                self._leave(file)
        return self.totals != before

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _list(self) -> None:
        """Find new trace files since the last poll."""
        changed = self._folder.stat().st_mtime_ns
        if changed == self._changed:
            return
        # A file may be created at the same moment, and an existing file may not be initialized.
        self._changed = changed if time.time_ns() - changed > _SETTLED_NS else 0
        for path in trace_files(self._folder):
            if path in self._files or path in self._unusable:
                continue
            try:
                newest = self._plan.keep == "newest"
                self._files[path] = TraceFile(path, self._boot_id, self._plan.quota, keep_newest=newest)
            except Unusable:
                if _begun(path):
                    self._unusable.add(path)
                else:
                    self._changed = 0
            except OSError:
                self._changed = 0

    def _newest(self) -> dict[int, int]:
        """Return when the newest file of every PID was started."""
        newest: dict[int, int] = {}
        for file in self._files.values():
            newest[file.pid] = max(file.started, newest.get(file.pid, 0))
        return newest

    def _is_over(self, file: TraceFile, ask: bool, newest: dict[int, int]) -> bool:
        return file.closed or (ask and file.has_ended(replaced=newest.get(file.pid, 0) > file.started))

    def _collect(self, file: TraceFile) -> bool:
        self.totals = self.totals._replace(chunks=self.totals.chunks + file.poll())
        return True

    def _finish(self, file: TraceFile, progress: Callable[[], None]) -> bool:
        chunks = file.finish(progress)
        self._leave(file)
        self.totals = Totals(self.totals.chunks + chunks, self.totals.processes + 1)
        return True

    def _leave(self, file: TraceFile) -> None:
        file.close()
        self._files.pop(file.path, None)
        self._unusable.add(file.path)

    def _guarded(self, file: TraceFile, what: Callable[[TraceFile], bool]) -> bool:
        """Run an action. If the file is gone, stop collecting it; on other errors, such as a full disk, pause."""
        try:
            return what(file)
        except FileNotFoundError:
            self._leave(file)
        except (OSError, ValueError):
            self._paused = time.monotonic() + _AFTER_ERROR
        return False


def collect_now(folder: Path | str, report: ReportProgress | None = None) -> Totals:
    """Compress all finished chunks in this process; no effect while another collector works.

    `report` receives the number of compressed last chunks, and their total.
    """
    folder = Path(folder)
    with contextlib.suppress(OSError), locked(folder) as mine:
        if mine:
            collector = Collector(folder)
            try:
                collector.poll(report, ask=True, last=True)
                live = collector.live
            finally:
                collector.close()
            return collector.totals._replace(live=live)
    return Totals()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Lock the run; yield False if another process collects it. Raises `OSError` when the folder does not exist."""
    try:
        import fcntl
    except ImportError:
        yield False  # such a platform cannot share files with their processes either
        return
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(lock)


def _plan_of(folder: Path) -> Plan:
    try:
        return load((folder / PLAN_FILE).read_text(encoding="utf-8"), PLAN_FILE)
    except (OSError, ValueError, ClewError):
        return Plan()


def _begun(path: Path) -> bool:
    """Return whether the header is complete."""
    try:
        with path.open("rb") as file:
            return bool(file.read(8).strip(b"\0"))
    except OSError:
        return False


def _collect(folder: Path, *, attached: bool) -> None:
    """Collect until all recordings into the folder are finished and compressed."""
    collector = Collector(folder)
    pause = SHORTEST
    while attached:
        pause = SHORTEST if collector.poll() else min(pause * 2, LONGEST)
        attached = not _ended(pause)
    collector.poll(ask=True, last=True)
    while collector.live:
        time.sleep(pause)
        pause = SHORTEST if collector.poll(last=True) else min(pause * 2, LONGEST)


def _ended(seconds: float) -> bool:
    """Wait; return True when standard input ends, which means that the starting process has ended."""
    ready, _, _ = select.select([0], [], [], seconds)
    return bool(ready) and not os.read(0, 4096)


def main(arguments: list[str]) -> int:
    attached = "--attached" in arguments
    folders = [argument for argument in arguments if not argument.startswith("-")]
    if len(folders) != 1 or len(folders) + attached != len(arguments):
        sys.stdout.write(_USAGE)
        return 0 if "--help" in arguments else 2
    for name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTSTP", "SIGPIPE", "SIGIO"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the starting process may have blocked signals
    if hasattr(os, "nice"):
        os.nice(NICE)
    with contextlib.suppress(FileNotFoundError), locked(Path(folders[0])) as mine:
        if mine:
            _collect(Path(folders[0]), attached=attached)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
