"""Pauses of threads: the time in which a thread does not run, and how much of it the thread waits for a processor.

The recorder's core notices them at the thread's next record (`csrc/store/pauses.c`). Invariant: a record of a thread that
runs all the time costs one load more.
"""

from __future__ import annotations

from clew.instrument.recorder.core import core


def install() -> None:
    core.watch_pauses(True)
