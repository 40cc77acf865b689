"""Work that is cancelled while another thread waits for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


class NotWanted(Exception):
    """Of work that somebody stopped."""


class SoonUnwanted:
    """Work that somebody stops as soon as they wait for it; `asked` counts the looks at whether it is wanted."""

    def __init__(self) -> None:
        self.gone = False
        self.asked = 0

    def check(self) -> None:
        self.asked += 1
        if self.gone:
            raise NotWanted

    @contextlib.contextmanager
    def when_unwanted(self, tell: Callable[[], None]) -> Iterator[None]:
        def stop() -> None:
            self.gone = True
            tell()

        stopping = threading.Timer(0.05, stop)
        stopping.start()
        yield
        stopping.join()
