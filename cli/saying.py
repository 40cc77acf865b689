"""What commands say on stderr, and the ways in which they end early.

Invariant: nothing is loaded for it: `clew run` stands between a user and the program.
"""

from __future__ import annotations

import contextlib
import sys

from clew.records.errors import ClewError


class Mistake(ClewError):
    """A command line that cannot be; with `command`, whose help tells how it is meant."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(f"{message}\n`{command} --help` tells how it is used" if command else message)


class ReaderIsGone(Exception):
    """Whoever read stdout has closed it."""


def say(text: str) -> None:
    write(f"clew: {text}\n")


def write(text: str) -> None:
    """On stderr. Perhaps nobody reads it; a program's exit code is the answer all the same."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
