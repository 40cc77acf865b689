"""End the recording of a process that exits by `os._exit`, which skips `atexit`: forked children do, also multiprocessing's.

Otherwise the file would look like the file of a killed process.
"""

from __future__ import annotations

import contextlib
import operator

from clew.instrument.adapters.os_wrappers import stand_in_for
from clew.instrument.recorder import lifecycle

_STATUS = 1 << 31
"""A status must be a C int; otherwise the original raises, and the process keeps running."""


def install() -> None:
    stand_in_for("_exit", _leaving)


def _leaving(status: object) -> None:
    if -_STATUS <= operator.index(status) < _STATUS:  # type: ignore[arg-type]  # a TypeError is dropped
        # An interrupt meanwhile is too late: without us the process would be gone.
        with contextlib.suppress(BaseException):
            lifecycle.end()
