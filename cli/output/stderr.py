"""Print messages of commands on stderr, and define the exceptions that end a command early.

Invariant: this module imports nothing heavy, because `clew run` delays the user's program.
"""

from __future__ import annotations

import contextlib
import sys

from clew.records.errors import ClewError


class Mistake(ClewError):
    """An invalid command line. With `command`, the message points to the help of that command."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(f"{message}\nrun `{command} --help` for usage" if command else message)


class ReaderIsGone(Exception):
    """The reader of stdout has closed it."""


def say(text: str) -> None:
    write(f"clew: {text}\n")


def write(text: str) -> None:
    """Write to stderr and ignore errors, because the exit code must stay correct without a reader."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
