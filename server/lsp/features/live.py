"""Live data of a recorded program: lenses with running counts, and notifications for viewers.

Invariant: this never builds a run's graph. The editor is asked to refresh lenses only if a lens has changed, and after
it has shown the last ones.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.server import protocol
from clew.server.locations.line_mapping import places
from clew.server.locations.paths import same_file_key
from clew.server.lsp.positions import line_range
from clew.server.protocol.codec import encode
from clew.server.protocol.live import RunGrew
from clew.server.protocol.shared import Target
from clew.server.protocol.views.slice import SliceParams
from clew.server.session.live_runs import Following
from clew.server.session.session import Session
from clew.server.text import units

if TYPE_CHECKING:
    from clew.graph.ops.profile.live_counts import Counts, FunctionCount
    from clew.server.lsp.server import ClewServer


@dataclass(frozen=True)
class Counted:
    """The selected run while it is live."""

    folder: Path
    counts: Counts | None
    """None before the first read."""


class Live:
    def __init__(self, server: ClewServer) -> None:
        self._server = server
        self._following: Following | None = None
        self._refreshing: asyncio.Future[None] | None = None
        self._shown: tuple[FunctionCount, ...] = ()
        """The counts in the lenses of the last refresh."""

    def begin(self) -> None:
        loop = asyncio.get_running_loop()

        def grew(growth: RunGrew) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._grew, growth)

        self._following = Following(self._server.session, grew, relayed=lambda: self._server.settings.watch_relay)
        self._following.start()

    def stop(self) -> None:
        if self._following is not None:
            self._following.stop()

    def counted(self) -> Counted | None:
        """Return the counts; None if lenses are switched off or would not change, or the selected run is over."""
        server = self._server
        if not (server.settings.watch_code_lens and server.asks_again_for_lenses and self._following):
            return None
        run = self._server.session.selected_live_run()
        return Counted(run, self._following.counts(run.name)) if run else None

    def _grew(self, growth: RunGrew) -> None:
        if self._server.options.panel:
            self._server.protocol.notify(protocol.RUN_GREW, encode(growth))
        if growth.finished:
            self._server.runs_changed()
        if growth.finished or growth.pushed:
            return
        if (run := self._server.session.selected_live_run()) and run.name == growth.run:
            self._refresh()

    def _refresh(self) -> None:
        counted = self.counted()
        functions = counted.counts.functions if counted and counted.counts else ()
        if functions == self._shown or (self._refreshing and not self._refreshing.done()):
            return
        self._shown = functions
        self._refreshing = self._server.refresh_code_lenses()
        if self._refreshing:
            self._refreshing.add_done_callback(self._refreshed)

    def _refreshed(self, answer: asyncio.Future[None]) -> None:
        # Counts that changed while the editor was asked.
        if not answer.cancelled() and answer.exception() is None:
            self._refresh()


def lenses(session: Session, counted: Counted, path: str, text: str) -> list[types.CodeLens]:
    """Return a lens for each function of the file that was called so far."""
    key = same_file_key(path)
    found = (
        [one for one in counted.counts.functions if one.file and same_file_key(one.file) == key]
        if counted.counts
        else []
    )
    if not found:
        return []
    there = places(session, counted.folder, path, text)
    made = []
    for function in sorted(found, key=lambda function: function.line):
        place = there.function(function.qualname, function.line)
        caption = title(function)
        if place.state == "stale":
            caption = f"stale: {units.short_label(function.label)} · {caption}"
        params = SliceParams(Target(function=function.label), run=counted.folder.name)
        command = types.Command(title=caption, command="clew.openSlice", arguments=[encode(params)])
        made.append(types.CodeLens(range=line_range(place.line), command=command))
    return made


def title(function: FunctionCount) -> str:
    """Return the title: `● 812 calls so far · 3 under way · 2 raised`."""
    parts = [f"● {units.count(function.calls, 'call')} so far"]
    if function.under_way:
        parts.append(f"{function.under_way:,} under way")
    if function.raised:
        parts.append(f"{function.raised:,} raised")
    return " · ".join(parts)
