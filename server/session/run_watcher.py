"""Detects changes in `.clew/runs` by checking its `run.json` files every second, which works on any file system."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from clew.server.session.session import Session

INTERVAL = 1.0
"""In seconds."""

log = logging.getLogger(__name__)


class Watcher:
    """Calls `changed` in its own thread until `stop`."""

    def __init__(self, session: Session, changed: Callable[[], None], interval: float = INTERVAL) -> None:
        self._session = session
        self._changed = changed
        self._interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="clew-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _watch(self) -> None:
        before = self._session.state()
        while not self._stopped.wait(self._interval):
            try:
                now = self._session.state()
                if now != before:
                    before = now
                    self._changed()
            except OSError as error:
                # A folder that is being removed, or an unmounted disk: it may be back the next time.
                log.info("cannot watch the runs now: %s", error)
