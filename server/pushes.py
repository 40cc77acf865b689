"""Hears from relays what happens in the runs that are watched, when it happens; starts a relay where there is none.

Invariant: nobody waits for a relay, and where none can be had that is said once: `following` tells the same, only later. One is
asked for again after ever longer pauses.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from clew.records.errors import ClewError
from clew.records.run import FOLDER

PAUSE = 2.0
"""Seconds after which a relay is asked for again that could not be had; each further pause is twice as long."""
LONGEST_PAUSE = 120.0

log = logging.getLogger(__name__)


class Pushes:
    """Calls `told` with a run's id, in a thread for each run."""

    def __init__(self, told: Callable[[str], None], grace: float | None = None) -> None:
        """`grace`: seconds for which a relay that is started here stays when nothing is left to do, if not as ever."""
        self._told = told
        self._grace = grace
        self._heard: dict[str, threading.Event] = {}
        """By run what ends it."""
        self._silent: dict[Path, str] = {}
        """Workspaces without a relay, and why they have none now."""
        self._said: set[Path] = set()
        """Workspaces of which the log says that they had none."""

    def watch(self, runs: Mapping[str, Path]) -> None:
        """Those runs from now on, by id, and no others; of each the folder."""
        for run in [run for run in self._heard if run not in runs]:
            self._heard.pop(run).set()
        for run, folder in runs.items():
            workspace = _workspace(folder)
            if run in self._heard or workspace is None:
                continue
            stop = self._heard[run] = threading.Event()
            threading.Thread(target=self._hear, args=(run, workspace, stop), name="clew-pushes", daemon=True).start()

    def silence(self, folder: Path) -> str:
        """Why there is no relay that tells of the run in a folder; "" if there may be one."""
        workspace = _workspace(folder)
        return self._silent.get(workspace, "") if workspace else "it lies elsewhere than runs do"

    def stop(self) -> None:
        self.watch({})

    def _hear(self, run: str, workspace: Path, stop: threading.Event) -> None:
        from clew.server.relay.lifetime import ensure_relay
        from clew.server.relay.watcher import Events, Newest, watch  # which load numpy and websockets

        pause = PAUSE
        while not stop.is_set():
            try:
                for news in watch(lambda: ensure_relay(workspace, grace=self._grace), run, stop=stop):
                    if isinstance(news, Events | Newest) and not stop.is_set():
                        self._silent.pop(workspace, None)
                        pause = PAUSE
                        self._told(run)
                return
            except (ClewError, OSError) as error:
                if not stop.is_set():
                    self._be_silent(workspace, str(error))
            stop.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _be_silent(self, workspace: Path, why: str) -> None:
        self._silent[workspace] = why
        if workspace not in self._said:
            self._said.add(workspace)
            log.warning("what is watched comes about a second late, without a relay: %s", why)


def _workspace(folder: Path) -> Path | None:
    """None for a run that lies elsewhere than runs do."""
    runs = folder.parent
    return runs.parent.parent if (runs.parent.name, runs.name) == (FOLDER, "runs") else None
