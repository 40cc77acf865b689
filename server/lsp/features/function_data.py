"""Reads the selected run in the background to compute the costs of its functions and what-if estimates.

Invariant: no request waits for it: lenses, hints and hovers show the available data and are refreshed when there is
more.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from clew.records.errors import ClewError
from clew.server.session.session import Cancelled, Session, Task

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer

log = logging.getLogger(__name__)


class FunctionData:
    def __init__(self, server: ClewServer) -> None:
        self._server = server
        self._work: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        """Start again if another run is selected or a setting has changed."""
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
                "clew: function statistics", lambda task: _functions(server.session, task), apart=True
            ):
                server.refresh_lenses()
            if percent and await server.work(
                "clew: what-if estimates",
                lambda task: _savings(server.session, percent, task),
                apart=True,
            ):
                server.refresh_lenses()
        except Cancelled:
            pass  # cancelled by the user: the next change starts it again
        except ClewError as error:
            log.info("no function statistics: %s", error)  # a request for the statistics reports the error
        except Exception:
            log.exception("computing function statistics failed")
            server.show_once(
                "clew could not compute the function statistics; this is a bug in clew; see the language server's "
                "output"
            )


def _functions(session: Session, task: Task) -> bool:
    """Return whether new functions were computed."""
    if not session.has_runs() or session.cached_functions(task) is not None:
        return False
    session.functions("", task)
    return True


def _savings(session: Session, percent: float, task: Task) -> bool:
    """Return whether new savings were computed. Only a finished run has savings."""
    run = session.compared()
    if not run or session.cached_savings(run, percent) is not None:
        return False
    return bool(session.savings(run, percent, task).by_label)
