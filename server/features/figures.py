"""Looks at all of the selected run in the background, for what its functions cost and what faster ones would save.

Invariant: nothing waits for it: lenses, hints and hovers tell what there is at hand, and are asked for again when there is
more.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from clew.records.errors import ClewError
from clew.server.session import Cancelled, Session, Task

if TYPE_CHECKING:
    from clew.server.server import ClewServer

log = logging.getLogger(__name__)


class Figures:
    def __init__(self, server: ClewServer) -> None:
        self._server = server
        self._work: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        """Begins anew where another run is looked at, or another setting holds."""
        self.stop()
        if self._server.settings.code_lens or self._server.settings.inlay_hints:
            self._work = asyncio.get_running_loop().create_task(self._find())

    def stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _find(self) -> None:
        server, percent = self._server, self._server.settings.what_if_percent
        try:
            if await server.work(
                "clew: figures of functions", lambda task: _functions(server.session, task), apart=True
            ):
                server.refresh_lenses()
            if percent and await server.work(
                "clew: what faster functions would save",
                lambda task: _savings(server.session, percent, task),
                apart=True,
            ):
                server.refresh_lenses()
        except Cancelled:
            pass  # by the user: it is begun again when something changes
        except ClewError as error:
            log.info("no figures of functions: %s", error)  # whoever asks for one is told
        except Exception:
            log.exception("looking at functions failed")
            server.tell_once(
                "clew could not find the figures of functions; this is a mistake in clew, and the language server's "
                "output shows where"
            )


def _functions(session: Session, task: Task) -> bool:
    """Whether there are some that were not at hand."""
    if not session.has_runs() or session.functions_at_hand(task) is not None:
        return False
    session.functions("", task)
    return True


def _savings(session: Session, percent: float, task: Task) -> bool:
    """Whether there are some that were not at hand. Only a run that is over is looked at."""
    run = session.compared()
    if not run or session.savings_at_hand(run, percent) is not None:
        return False
    return bool(session.savings(run, percent, task).by_label)
