"""Write the one line on stderr that reports lost records to the program's user.

Invariant: the program is not affected otherwise. The line is dropped if writing it would block, raise SIGPIPE, or write
into a file that the program itself has opened under stderr's number. `say` in csrc/store/store.h has the same rules.
"""

from __future__ import annotations

import os
import stat

STDERR = 2


def _identity() -> tuple[int, int] | None:
    """Return the device and inode of stderr, or None if it is closed."""
    try:
        found = os.fstat(STDERR)
    except OSError:
        return None
    return found.st_dev, found.st_ino


_at_start = _identity()


def start() -> None:
    """Remember the current stderr as the one to write to."""
    global _at_start
    _at_start = _identity()


def complain(text: str) -> None:
    """Write `clew: TEXT` if that is possible without blocking."""
    try:
        if _is_ours():
            _write(f"clew: {text}\n".encode(errors="replace"))
    except (OSError, MemoryError):
        return  # stderr is gone; the trace contains the same message


def _is_ours() -> bool:
    if _at_start is None:
        return False  # stderr was closed at the start; a file opened later under its number is the program's
    return _identity() == _at_start or not stat.S_ISREG(os.fstat(STDERR).st_mode)


def _write(line: bytes) -> None:
    try:
        import signal
        from select import POLLOUT, poll
    except (ImportError, OSError):  # the platform lacks these calls, or no descriptor is free to load them
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
