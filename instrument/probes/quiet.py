"""The constant that rewritten code calls: runs a function of ours unseen by the program.

Invariant: a trace or profile function of the program sees no call of ours, and being out of stack or memory is our loss,
not the program's. An interrupt that arrives in there (a signal handler's exception) is the program's and passes through.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.instrument.probes._entry import Quiet
else:
    try:
        from clew.instrument.probes._entry import Quiet
    except ImportError:

        class Quiet:
            """Without the C module a tracer of the program does see the calls."""

            __slots__ = ("_function",)

            def __init__(self, function: Callable[..., object]) -> None:
                self._function = function

            def __call__(self, *arguments: object) -> object:
                with contextlib.suppress(RecursionError, MemoryError):
                    return self._function(*arguments)
                return None


__all__ = ["Quiet"]
