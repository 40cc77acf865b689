"""The collector: packs what the processes of a run have finished recording, gives them its space back, until they are over.

    python -m clew.records.collect RUN_FOLDER

It is a process of its own, started by whoever made the run (`clew.records.collector`), and everything works without it: the
trace files then just grow. Invariants: one collector a run, by a lock on its folder; it may be killed at any instant; what
goes wrong with one process's files leaves the others alone; a run folder that is removed ends it in silence. Its memory is
bounded by one packed file.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clew.records.errors import ClewError
from clew.records.plan import Plan, load
from clew.records.recycle import Recycled, Unusable
from clew.records.run import PLAN_FILE, boot_id, trace_files
from clew.records.tuples import NamedTuple

NICE = 10
SHORTEST, LONGEST = 0.01, 0.2
"""Seconds between two looks: the first while there is much to do, the second while there is nothing."""
_GONE_EVERY = 0.2
"""Seconds between two questions whether a process still runs, which cost more than a look."""
_AFTER_ERROR = 1.0
_SETTLED_NS = 1_000_000_000
_USAGE = """usage: python -m clew.records.collect [--attached] RUN_FOLDER

Packs what the processes of a run have recorded, until they have all ended.

  --attached  also wait for the end of standard input, which comes with the end of whoever started it
"""

Told = Callable[[int, int], None]


class Totals(NamedTuple):
    """What a collector did."""

    chunks: int = 0
    processes: int = 0
    """That were over, and are packed whole."""
    live: int = 0
    """Processes that are not over."""


class _Progress:
    """Tells how much is done, ten times a second."""

    def __init__(self, told: Told | None, total: int) -> None:
        self._told, self._total, self._done = told, total, 0
        self._next = 0.0

    def one_more(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._told and now >= self._next:
            self._next = now + 0.1
            self._told(self._done, max(self._total, self._done))


class Collector:
    """All processes of one run. Use under `locked`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plan = _plan_of(folder)
        self._boot_id = boot_id()
        self._files: dict[Path, Recycled] = {}
        self._unusable: set[Path] = set()
        """That will never be collected here."""
        self._changed = 0
        self._asked = 0.0
        self._paused = 0.0
        self.totals = Totals()

    @property
    def live(self) -> int:
        """Processes that are not over."""
        return len(self._files)

    def poll(self, told: Told | None = None, *, ask: bool = False, last: bool = False) -> bool:
        """One look at every process; True when there was something to do. Raises `FileNotFoundError` without a folder.

        `ask`: finds out now which processes have ended. `last`: what cannot be packed (a full disk, say) stays as it is.
        """
        now = time.monotonic()
        if now < self._paused and not ask:
            return False
        self._list()
        ask = ask or now - self._asked >= _GONE_EVERY
        if ask:
            self._asked = now
        before = self.totals
        newest = self._newest() if ask else {}
        over = [
            file for file in self._files.values() if self._guarded(file, lambda file: self._is_over(file, ask, newest))
        ]
        for file in [file for file in self._files.values() if file not in over]:
            self._guarded(file, self._collect)
        progress = _Progress(told, sum(file.pending() for file in over))
        for file in over:
            if not self._guarded(file, lambda file: self._finish(file, progress.one_more)) and last:
                self._leave(file)
        return self.totals != before

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _list(self) -> None:
        """New trace files since the last look."""
        changed = self._folder.stat().st_mtime_ns
        if changed == self._changed:
            return
        # Another file may be made in the same moment, and one that is there may not be begun.
        self._changed = changed if time.time_ns() - changed > _SETTLED_NS else 0
        for path in trace_files(self._folder):
            if path in self._files or path in self._unusable:
                continue
            try:
                newest = self._plan.keep == "newest"
                self._files[path] = Recycled(path, self._boot_id, self._plan.quota, keep_newest=newest)
            except Unusable:
                if _begun(path):
                    self._unusable.add(path)
                else:
                    self._changed = 0
            except OSError:
                self._changed = 0

    def _newest(self) -> dict[int, int]:
        """When the newest file of every process number was begun."""
        newest: dict[int, int] = {}
        for file in self._files.values():
            newest[file.pid] = max(file.started, newest.get(file.pid, 0))
        return newest

    def _is_over(self, file: Recycled, ask: bool, newest: dict[int, int]) -> bool:
        return file.closed or (ask and file.gone(replaced=newest.get(file.pid, 0) > file.started))

    def _collect(self, file: Recycled) -> bool:
        self.totals = self.totals._replace(chunks=self.totals.chunks + file.poll())
        return True

    def _finish(self, file: Recycled, packed: Callable[[], None]) -> bool:
        chunks = file.finish(packed)
        self._leave(file)
        self.totals = Totals(self.totals.chunks + chunks, self.totals.processes + 1)
        return True

    def _leave(self, file: Recycled) -> None:
        file.close()
        self._files.pop(file.path, None)
        self._unusable.add(file.path)

    def _guarded(self, file: Recycled, what: Callable[[Recycled], bool]) -> bool:
        """Does it, unless the disk refuses: then the file is left as it is, or for a while, when the disk is full."""
        try:
            return what(file)
        except FileNotFoundError:
            self._leave(file)
        except (OSError, ValueError):
            self._paused = time.monotonic() + _AFTER_ERROR
        return False


def collect_now(folder: Path | str, told: Told | None = None) -> Totals:
    """Packs, in this process, all that is finished now. Does nothing where another collector is at work.

    `told` is given how many of the last chunks are packed, and of how many.
    """
    folder = Path(folder)
    with contextlib.suppress(OSError), locked(folder) as mine:
        if mine:
            collector = Collector(folder)
            try:
                collector.poll(told, ask=True, last=True)
                live = collector.live
            finally:
                collector.close()
            return collector.totals._replace(live=live)
    return Totals()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Is nobody else collecting this run? Raises `OSError` when the folder is not there."""
    try:
        import fcntl
    except ImportError:
        yield False  # neither can a file be shared with its process there
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
    """Is its header whole?"""
    try:
        with path.open("rb") as file:
            return bool(file.read(8).strip(b"\0"))
    except OSError:
        return False


def _collect(folder: Path, *, attached: bool) -> None:
    """Until everything that is recorded into the folder is over and packed."""
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
    """Waits; True as soon as standard input is at its end: whoever started us is gone."""
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
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whoever started us may have waited for some
    if hasattr(os, "nice"):
        os.nice(NICE)
    with contextlib.suppress(FileNotFoundError), locked(Path(folders[0])) as mine:
        if mine:
            _collect(Path(folders[0]), attached=attached)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
