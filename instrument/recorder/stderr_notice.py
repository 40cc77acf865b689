"""The one line on stderr that tells a program's user of lost records.

Invariant: nothing else of the program changes: the line is left out rather than wait for a reader, be killed by a pipe that
has none, or go into a file that the program itself has opened under stderr's number. `say` in csrc/store/store.h does the same.
"""

from __future__ import annotations

import os
import stat

STDERR = 2


def _identity() -> tuple[int, int] | None:
    """Device and inode of what is open as stderr; None when nothing is."""
    try:
        found = os.fstat(STDERR)
    except OSError:
        return None
    return found.st_dev, found.st_ino


_at_start = _identity()


def start() -> None:
    """What is stderr now stays the place for complaints."""
    global _at_start
    _at_start = _identity()


def complain(text: str) -> None:
    """Writes `clew: TEXT` if that can be done at once."""
    try:
        if _is_ours():
            _write(f"clew: {text}\n".encode(errors="replace"))
    except (OSError, MemoryError):
        return  # there is no stderr any more; the trace says it, too


def _is_ours() -> bool:
    if _at_start is None:
        return False  # what has its number later is the program's own
    return _identity() == _at_start or not stat.S_ISREG(os.fstat(STDERR).st_mode)


def _write(line: bytes) -> None:
    try:
        import signal
        from select import POLLOUT, poll
    except (ImportError, OSError):  # no such calls here, or no descriptor left to load them
        os.write(STDERR, line)
        return
    ready = poll()
    ready.register(STDERR, POLLOUT)
    if ready.poll(0) != [(STDERR, POLLOUT)]:
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
    try:
        os.write(STDERR, line)
    except BrokenPipeError:
        if signal.SIGPIPE not in before:
            signal.sigtimedwait([signal.SIGPIPE], 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
