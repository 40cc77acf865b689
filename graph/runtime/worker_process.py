"""Runs work that needs more than the memory in a worker process, whose large allocations are memory-mapped temp files.

The system writes such files to disk instead of running out of memory (`csrc/file_malloc.c`). This needs a separate process,
because it replaces malloc for everything in it, including numpy's sort buffers, Arrow's buffers and Python's lists. Invariants:
the worker ends with its creator, however that ends, and its files end with the worker. It leaves only the files that the work
writes.
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

from clew.graph.runtime.progress import NEVER_CANCELLED, Cancellation, Progress
from clew.records.errors import ClewError
from clew.records.run.directory import CAUSE_VARIABLE, RUN_VARIABLE

T = TypeVar("T")

LARGE = 1 << 20
"""The size in bytes from which on allocations are files. Files for smaller ones would take longer than they save memory."""
PARTS = 1 << 26
"""The same as `LARGE`, for work on one part of a run at a time: temporary arrays of a part stay in memory, because files for
them would take longer than the work itself."""
_MODULE = "clew.graph.runtime._file_malloc"
_PRELOAD = "LD_PRELOAD"
_FRUGAL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
"""Settings that make Arrow use malloc, and that avoid threads for linear algebra, which the work does not use."""
END_SECONDS = 0.01
"""The time to wait for the end of a killed worker."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class NoRoom(Exception):
    """Raised when the disk space does not suffice; the message is the system's error."""


def is_possible() -> bool:
    """Return whether workers are supported: this needs glibc, and a compiler when clew was installed."""
    return bool(sys.executable) and _preloaded() is not None


def _preloaded() -> str | None:
    found = importlib.util.find_spec(_MODULE) if sys.platform == "linux" else None
    return found.origin if found else None


def run(
    work: Callable[..., T],
    given: tuple[Any, ...],
    folder: Path,
    progress: Progress,
    cancellation: Cancellation = NEVER_CANCELLED,
    *,
    large: int = LARGE,
) -> T:
    """Return `work(*given, progress)`, computed in a worker process. `work` is a module's function; `given` can be pickled.

    Allocations of `large` bytes and more are unnamed files in `folder`. An exception of `progress` or `cancellation` stops the
    work; the latter also while the work reports nothing.

    Raises any exception of the work, `NoRoom`, `MemoryError`, and `ClewError` when the worker was killed.
    """
    process = WorkerProcess(folder, large=large)
    try:
        return process.ask(work, given, progress, cancellation)
    finally:
        process.end()


class WorkerProcess:
    """A worker process that takes several pieces of work and keeps its state between them. Its creator ends it."""

    def __init__(self, folder: Path, *, large: int = LARGE) -> None:
        library = os.open(_preloaded() or "", os.O_RDONLY | os.O_CLOEXEC)
        environment = {name: value for name, value in os.environ.items() if name not in {RUN_VARIABLE, CAUSE_VARIABLE}}
        # Pass its descriptor, because a space in a path would separate libraries.
        environment |= {_PRELOAD: f"/proc/self/fd/{library}", **_FRUGAL}
        try:
            self._process = subprocess.Popen(
                # -P: files in the current folder may have the names of modules.
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
        self._send((os.fspath(folder.absolute()), large))

    def ask(self, work: Callable[..., T], given: tuple[Any, ...], progress: Progress, cancellation: Cancellation) -> T:
        """Run work like `run`, for one thread at a time. After an exception the worker cannot be used again."""
        self._send((work, given))
        with cancellation.on_cancel(lambda: self._messages.put(("cancelled",))):
            answer: T = _answer(self._messages, progress, cancellation)
        return answer

    def end(self) -> None:
        """Kill the worker."""
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._pipe.close()
        # Releasing much memory takes the system a while; do not wait for it.
        self._listener.join(END_SECONDS)

    def _send(self, message: object) -> None:
        # If the worker has ended, `ask` reports how.
        with contextlib.suppress(BrokenPipeError):
            pickle.dump(message, self._pipe)
            self._pipe.flush()


def _listen(process: subprocess.Popen[bytes], pipe: IO[bytes], messages: queue.SimpleQueue[Any]) -> None:
    """Queue the messages of the worker, and finally its exit code."""
    with pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
        while True:
            messages.put(pickle.load(pipe))
    messages.put(("ended", process.wait()))


def _answer(messages: queue.SimpleQueue[Any], progress: Progress, cancellation: Cancellation) -> Any:
    while True:
        cancellation.check()
        kind, *content = messages.get()
        if kind == "ended":
            (code,) = content
            how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended early (exit code {code})"
            why = "; the system does so when memory runs out" if code == -signal.SIGKILL else ""
            raise ClewError(f"the worker process {how}{why}") from None
        if kind == "progress":
            progress(*content)
        elif kind == "done":
            return content[0]
        elif kind == "failed":
            raise content[0]


# In the worker


def main() -> None:
    """Run the work that arrives on stdin, and write messages to stdout, until stdin ends."""
    # Redirect stdout to stderr, so that printed text does not mix with the messages.
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    del os.environ[_PRELOAD]
    folder, large = pickle.load(sys.stdin.buffer)
    work: queue.SimpleQueue[Any] = queue.SimpleQueue()
    from clew.graph.runtime import _file_malloc

    _file_malloc.begin(folder, large)
    threading.Thread(target=_receive, args=(work,), daemon=True).start()
    sending = threading.Lock()

    def send(*message: Any) -> None:
        with sending:
            pickle.dump(message, messages)
            messages.flush()

    try:
        while True:
            function, given = work.get()
            send("done", _do(function, given, lambda *step: send("progress", *step)))
    except BaseException as error:
        send("failed", _picklable(error))


def _receive(work: queue.SimpleQueue[Any]) -> None:
    """Queue work from stdin. Exit when stdin ends, i.e. when the creator does."""
    try:
        while True:
            work.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(1)


def _do(work: Callable[..., T], given: tuple[Any, ...], progress: Progress) -> T:
    from clew.graph.runtime import _file_malloc

    try:
        return work(*given, progress)
    except MemoryError as error:  # Arrow's error is a subclass
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
