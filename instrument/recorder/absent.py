"""Stands in for the C core where it cannot be loaded: the functions that a program's annotations call, recording nothing.

`lifecycle.begin` refuses to start there, so that no probe is ever made. Invariant: nothing here raises.
"""

from __future__ import annotations

from collections.abc import Callable


def active() -> bool:
    return False


def stop() -> None:
    """Do nothing."""


def uid() -> int:
    return 0


def problem() -> str:
    return ""


def emit(kind: int, site: int, key: int, channel: int = 0, text: bytes = b"", flags: int = 0) -> None:  # noqa: PLR0917
    """Do nothing."""


def define(kind: int, key: int, text: bytes, /) -> None:
    """Do nothing."""


def thread() -> int:
    return 0


def to_the_end(function: Callable[[], None], /) -> Callable[[], None]:
    return function


def flow() -> int:
    return 0


def flows() -> tuple[int, int]:
    return 0, 0


def flow_key(key: int, /) -> int:
    return key


def flow_known(key: int, state: int, /) -> None:
    """Do nothing."""
