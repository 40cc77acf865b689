"""Work that makes what is larger than memory: in a process of its own, whose large blocks of memory are files.

The system writes such files out where it would else run out of memory (`csrc/scratch.c`). In a process of its own, since
everything in it has to take its memory there: also what numpy sorts in, Arrow's buffers and Python's lists. Invariants: the
process ends with whoever waits for it, however that ends, and its blocks with the process; what it was told to write is all
that it leaves.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from clew.graph.runtime.progress import ALWAYS, Progress, Wanted
from clew.records.errors import ClewError
from clew.records.run.directory import CAUSE_VARIABLE, RUN_VARIABLE

T = TypeVar("T")

LARGE = 1 << 20
"""Blocks from this size on are files. Smaller ones cost more time as such, and only strands, places and the like have many."""
PARTS = 1 << 26
"""As `LARGE`, for work that goes through a run part by part: what it makes of a part stays in memory, since files for all of
that would take longer than the work itself."""
_MODULE = "clew.graph.runtime._file_malloc"
_PRELOAD = "LD_PRELOAD"
_FRUGAL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
"""Arrow is to ask malloc, and nothing here multiplies matrices."""
END_SECONDS = 0.01
"""For how long the end of what is not wanted any more is waited for."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class NoRoom(Exception):
    """The disk did not suffice; the text says how."""


def is_possible() -> bool:
    """Is there what it takes: glibc, and a compiler when clew was installed?"""
    return bool(sys.executable) and _preloaded() is not None


def _preloaded() -> str | None:
    found = importlib.util.find_spec(_MODULE) if sys.platform == "linux" else None
    return found.origin if found else None


def run(
    work: Callable[..., T],
    given: tuple[Any, ...],
    folder: Path,
    progress: Progress,
    wanted: Wanted = ALWAYS,
    *,
    large: int = LARGE,
) -> T:
    """What `work(*given, progress)` gives, a function of a module and values that can be pickled. Its blocks of `large` bytes
    and more are files in `folder`, which have no names.

    Raises what the work raises, `NoRoom` and `MemoryError`, and `ClewError` when it was killed. What `progress` raises ends it,
    and what `wanted` raises, also while the work says nothing.
    """
    process = WorkerProcess(folder, large=large)
    try:
        return process.ask(work, given, progress, wanted)
    finally:
        process.end()


class WorkerProcess:
    """A worker process that takes several pieces of work and keeps its state between them. Its creator ends it."""

    def __init__(self, folder: Path, *, large: int = LARGE) -> None:
        library = os.open(_preloaded() or "", os.O_RDONLY | os.O_CLOEXEC)
        environment = {name: value for name, value in os.environ.items() if name not in {RUN_VARIABLE, CAUSE_VARIABLE}}
        # By its descriptor: a path may have a space in it, where a list of libraries goes on.
        environment |= {_PRELOAD: f"/proc/self/fd/{library}", **_FRUGAL}
        try:
            self._process = subprocess.Popen(
                # -P: the folder that we are in may be full of names that are modules' of ours.
                [sys.executable, "-P", "-c", "from clew.graph.runtime.worker_process import main; main()"],
                env=environment, pass_fds=(library,), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(library)
        assert self._process.stdin and self._process.stdout
        self._pipe = self._process.stdin
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._listener = threading.Thread(
            target=_listen, args=(self._process, self._process.stdout, self._messages), daemon=True
        )
        self._listener.start()
        self._tell((os.fspath(folder.absolute()), large))

    def ask(self, work: Callable[..., T], given: tuple[Any, ...], progress: Progress, wanted: Wanted) -> T:
        """As `run`, by one thread at a time. Once it has raised something, nothing more is to be asked."""
        self._tell((work, given))
        with wanted.when_unwanted(lambda: self._messages.put(("unwanted",))):
            answer: T = _answer(self._messages, progress, wanted)
        return answer

    def end(self) -> None:
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._pipe.close()
        # The system takes its time to give so much memory back, for which nobody has to wait.
        self._listener.join(END_SECONDS)

    def _tell(self, what: object) -> None:
        # Of one that ended it is said how when it is asked.
        with contextlib.suppress(BrokenPipeError):
            pickle.dump(what, self._pipe)
            self._pipe.flush()


def _listen(process: subprocess.Popen[bytes], pipe: IO[bytes], messages: queue.SimpleQueue[Any]) -> None:
    """Passes on what the process says, and at last how it ended."""
    with pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
        while True:
            messages.put(pickle.load(pipe))
    messages.put(("ended", process.wait()))


def _answer(messages: queue.SimpleQueue[Any], progress: Progress, wanted: Wanted) -> Any:
    while True:
        wanted.check()
        kind, *said = messages.get()
        if kind == "ended":
            (code,) = said
            how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended early (exit code {code})"
            why = "; the system does so where memory runs out" if code == -signal.SIGKILL else ""
            raise ClewError(f"the process that worked on it {how}{why}") from None
        if kind == "progress":
            progress(*said)
        elif kind == "done":
            return said[0]
        elif kind == "failed":
            raise said[0]


# In the process


def main() -> None:
    # What prints something shall not do so between our messages.
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    del os.environ[_PRELOAD]
    folder, large = pickle.load(sys.stdin.buffer)
    work: queue.SimpleQueue[Any] = queue.SimpleQueue()
    from clew.graph.runtime import _file_malloc

    _file_malloc.begin(folder, large)
    threading.Thread(target=_hear, args=(work,), daemon=True).start()
    saying = threading.Lock()

    def say(*what: Any) -> None:
        with saying:
            pickle.dump(what, messages)
            messages.flush()

    try:
        while True:
            what, given = work.get()
            say("done", _do(what, given, lambda *step: say("progress", *step)))
    except BaseException as error:
        say("failed", _picklable(error))


def _hear(work: queue.SimpleQueue[Any]) -> None:
    """What to do next; the end of whoever says so is ours."""
    try:
        while True:
            work.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(1)


def _do(work: Callable[..., T], given: tuple[Any, ...], progress: Progress) -> T:
    from clew.graph.runtime import _file_malloc

    try:
        return work(*given, progress)
    except MemoryError as error:  # Arrow's is one, too
        if refused := _file_malloc.refused():
            raise NoRoom(os.strerror(refused)) from error
        raise MemoryError from error
    except OSError as error:
        if error.errno in _FULL:
            raise NoRoom(os.strerror(error.errno)) from error
        raise


def _picklable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
