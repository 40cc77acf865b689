"""Tasks for tests of work that is cancelled."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


class WorkCancelled(Exception):
    """Raised by work that was cancelled."""


class SoonCancelled:
    """A cancellation that happens soon after the wait begins; `asked` counts the checks for it."""

    def __init__(self) -> None:
        self.gone = False
        self.asked = 0

    def check(self) -> None:
        self.asked += 1
        if self.gone:
            raise WorkCancelled

    @contextlib.contextmanager
    def on_cancel(self, notify: Callable[[], None]) -> Iterator[None]:
        def stop() -> None:
            self.gone = True
            notify()

        stopping = threading.Timer(0.05, stop)
        stopping.start()
        yield
        stopping.join()
