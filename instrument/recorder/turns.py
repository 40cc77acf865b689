"""What the recorder written in Python does for a thread, one thing at a time and each exactly once.

A signal handler or a finalizer may run between any two of our instructions, record something itself, and raise. Invariants:
what they record waits until the thread is done with what it does, so no lock of ours is asked for by a thread that holds it;
what an exception of theirs came out of is done again by the thread's next turn; an error of ours goes no further, theirs does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

_OURS = os.path.dirname(__file__) + os.sep


class Turn:
    """Something to be done. Who does it sets `over` in the same breath as its last step."""

    __slots__ = ("arguments", "operation", "over")

    def __init__(self, operation: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.operation = operation
        self.arguments = arguments
        self.over = False


class Turns(threading.local):
    """The calling thread's."""

    def __init__(self) -> None:
        self._waiting: list[Turn] = []
        self._busy = False

    def take(self, operation: Callable[..., None], *arguments: Any) -> None:
        """Has `operation(turn, *arguments)` done now, or after what this thread is in the middle of. An operation that does
        not set `turn.over` must be one that may be done twice."""
        # It is in the list before it is begun, and out of it only when it is over: nothing that is raised in here loses it.
        self._waiting.append(Turn(operation, arguments))
        # Between two of them nobody is busy: a trace function, which runs at each of our lines and records, does what has
        # piled up because of it by itself there, untraced. Else it would pile up for ever.
        while self._waiting and not self._busy:
            self._take_first()

    def _take_first(self) -> None:
        self._busy = True
        try:
            if self._waiting:
                turn = self._waiting[0]
                if not turn.over:
                    _do(turn)
                del self._waiting[0]
        finally:
            self._busy = False

    def forget(self) -> None:
        """In a forked child: what the parent was in the middle of is the parent's."""
        self._busy = False
        self._waiting.clear()


def _do(turn: Turn) -> None:
    try:
        turn.operation(turn, *turn.arguments)
    except Exception as error:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        if at is None or not at.tb_frame.f_code.co_filename.startswith(_OURS):
            raise
