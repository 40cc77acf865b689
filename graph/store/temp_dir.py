"""Makes temporary folders next to the store, one per builder.

Invariant: a killed builder leaves only its folder, which the next builder removes. Active builders do not touch each other's
folders. A folder is active while its lock is held, which the process's end releases.
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
    """Make an empty folder in `folder`, and remove it with its contents at the end. Raises OSError."""
    prefix = f".{name}-"
    # Hold a lock until the new folder has its own. Do not lock the run's folder: the collector locks it while the run is live.
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
    """Lock the folder and return the descriptor. Raises OSError, also when another descriptor holds the lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
