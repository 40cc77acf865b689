"""Receives the events of viewed runs from relays as they happen, and starts missing relays.

Invariant: no request waits for a relay. A missing relay is logged once, and `following` reports the same data with a
delay. The client retries after increasing pauses.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from clew.records.errors import ClewError
from clew.records.run.directory import FOLDER

PAUSE = 2.0
"""Seconds after which the client tries to reach a relay again; each further pause is twice as long."""
LONGEST_PAUSE = 120.0

log = logging.getLogger(__name__)


class Pushes:
    """Calls `pushed` with a run's id, in one thread per run."""

    def __init__(self, pushed: Callable[[str], None], grace: float | None = None) -> None:
        """`grace`: seconds for which a relay that this client starts stays without work; None for the default."""
        self._pushed = pushed
        self._grace = grace
        self._stops: dict[str, threading.Event] = {}
        """The event that ends the thread of a run."""
        self._missing: dict[Path, str] = {}
        """Workspaces without a relay, and the reason."""
        self._logged: set[Path] = set()
        """Workspaces whose missing relay was logged."""

    def watch(self, runs: Mapping[str, Path]) -> None:
        """Watch exactly these runs from now on; maps run ids to folders."""
        for run in [run for run in self._stops if run not in runs]:
            self._stops.pop(run).set()
        for run, folder in runs.items():
            workspace = _workspace(folder)
            if run in self._stops or workspace is None:
                continue
            stop = self._stops[run] = threading.Event()
            threading.Thread(target=self._listen, args=(run, workspace, stop), name="clew-pushes", daemon=True).start()

    def missing_relay(self, folder: Path) -> str:
        """Return the reason why no relay reports the run in a folder; "" if there may be one."""
        workspace = _workspace(folder)
        return self._missing.get(workspace, "") if workspace else "the run is outside a .clew/runs folder"

    def stop(self) -> None:
        self.watch({})

    def _listen(self, run: str, workspace: Path, stop: threading.Event) -> None:
        from clew.server.relay.launch import ensure_relay
        from clew.server.relay.watcher import Events, Newest, watch  # these load numpy and websockets

        pause = PAUSE
        while not stop.is_set():
            try:
                for news in watch(lambda: ensure_relay(workspace, grace=self._grace), run, stop=stop):
                    if isinstance(news, Events | Newest) and not stop.is_set():
                        self._missing.pop(workspace, None)
                        pause = PAUSE
                        self._pushed(run)
                return
            except (ClewError, OSError) as error:
                if not stop.is_set():
                    self._report_missing(workspace, str(error))
            stop.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _report_missing(self, workspace: Path, why: str) -> None:
        self._missing[workspace] = why
        if workspace not in self._logged:
            self._logged.add(workspace)
            log.warning("live data is about 1 s late (no relay): %s", why)


def _workspace(folder: Path) -> Path | None:
    """Return the workspace of a run folder; None for a run outside a `.clew/runs` folder."""
    runs = folder.parent
    return runs.parent.parent if (runs.parent.name, runs.name) == (FOLDER, "runs") else None
