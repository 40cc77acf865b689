"""A folder beside the store in which the next one is made, by one builder.

Invariant: whoever was killed leaves no more than its folder, and the next builder removes that; builders at work do not touch
each other's. A folder is at work while its lock is held, which ends with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def workplace(folder: Path, name: str) -> Iterator[Path]:
    """An empty folder in `folder`, removed at the end with what is still in it. Raises OSError."""
    prefix = f".{name}-"
    # Until the new one has a lock of its own. Not the run's folder, which its collector has locked until the run is over.
    with _locked(folder.absolute().parent):
        for other in folder.glob(f"{prefix}*"):
            with contextlib.suppress(OSError), _locked(other, wait=False):
                shutil.rmtree(other, ignore_errors=True)
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        lock = _lock(place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


@contextlib.contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    lock = _lock(folder, wait=wait)
    try:
        yield
    finally:
        os.close(lock)


def _lock(folder: Path, *, wait: bool = True) -> int:
    """A descriptor that has the folder's lock. Raises OSError, also when another has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
