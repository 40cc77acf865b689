"""Replace the C core where it cannot be loaded: define the functions that annotations call, without any effect.

`lifecycle.begin` refuses to start with this module, so no probe is created. Invariant: these functions never raise.
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
