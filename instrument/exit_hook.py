"""End the recording of a process that exits by `os._exit`, which skips `atexit`.

Forked children exit this way, including those of multiprocessing. Without the hook, their files would look like the files
of killed processes.
"""

from __future__ import annotations

import contextlib
import operator

from clew.instrument.adapters.os_wrappers import wrap_os_function
from clew.instrument.recorder import lifecycle

_STATUS = 1 << 31
"""A status must be a C int; otherwise the original raises, and the process keeps running."""


def install() -> None:
    wrap_os_function("_exit", _before_exit)


def _before_exit(status: object) -> None:
    if -_STATUS <= operator.index(status) < _STATUS:  # type: ignore[arg-type]  # a TypeError is dropped
        # An interrupt comes too late here: without clew the process would have exited already.
        with contextlib.suppress(BaseException):
            lifecycle.end()
