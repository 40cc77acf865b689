"""Ends the recording of a process that leaves by `os._exit`, past `atexit`: forked children do, multiprocessing's among them.

Without it the file would look like that of a process that was killed.
"""

from __future__ import annotations

import contextlib
import operator

from clew.instrument.adapters.stand_ins import stand_in_for
from clew.instrument.recorder import lifecycle

_STATUS = 1 << 31
"""What is no C int is no status: the original says so, and the process goes on."""


def install() -> None:
    stand_in_for("_exit", _leaving)


def _leaving(status: object) -> None:
    if -_STATUS <= operator.index(status) < _STATUS:  # type: ignore[arg-type]  # a TypeError is dropped
        # An interrupt meanwhile is too late: without us the process would be gone.
        with contextlib.suppress(BaseException):
            lifecycle.end()
