"""Cancels the work for an HTTP request as soon as its client hangs up, which is how a browser says that it gives up."""

from __future__ import annotations

import selectors
import socket
import threading
from types import TracebackType

from clew.server.session import Task

PAUSE = 0.05
"""Seconds after which the thread that listens sees that the work is done."""


class Hangup:
    """Cancels the task when the other end closes the connection, as long as it is entered; what is sent there is left alone."""

    def __init__(self, connection: socket.socket, task: Task) -> None:
        self._connection = connection
        self._task = task
        self._done = threading.Event()

    def __enter__(self) -> None:
        threading.Thread(target=self._listen, name="clew-hangup", daemon=True).start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()

    def _listen(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, selectors.EVENT_READ)
                while not self._done.is_set():
                    if selector.select(PAUSE):
                        # Something else than the end is the next request, which may wait.
                        if not self._connection.recv(1, socket.MSG_PEEK):
                            self._task.cancel()
                        return
        except (OSError, ValueError):
            self._task.cancel()  # the connection is closed, or was reset
