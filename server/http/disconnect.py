"""Cancels the work for an HTTP request as soon as its client disconnects, which is how a browser cancels a request."""

from __future__ import annotations

import selectors
import socket
import threading
from types import TracebackType

from clew.server.session.session import Task

PAUSE = 0.05
"""Seconds after which the listening thread notices that the work is done."""


class Hangup:
    """Context manager that cancels the task when the client closes the connection. It leaves received bytes unread."""

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
                        # Other data is the next request, which may wait.
                        if not self._connection.recv(1, socket.MSG_PEEK):
                            self._task.cancel()
                        return
        except (OSError, ValueError):
            self._task.cancel()  # the connection is closed, or was reset
