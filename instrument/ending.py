"""Ends the recording of a process that leaves by `os._exit`, past `atexit`: forked children do, multiprocessing's among them.

Without it the file would look like that of a process that was killed.
"""

from __future__ import annotations

import os

from clew.instrument.recorder import lifecycle


def install() -> None:
    try:
        from clew.instrument.probes._entry import exiting
    except ImportError:
        return  # the file is cut short all the same, by its reader
    os._exit = exiting(lifecycle.end)
