"""Receives runs that other relays forward, and stores each as a mirror in this relay's first workspace.

Invariant: one connection has a run at a time, the newest that claims it, because an older one may be broken without an
error so far. Data that cannot be stored is answered with an error, which affects only its run.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from clew.records.errors import ClewError
from clew.records.format.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE
from clew.records.run.directory import FOLDER, host_name
from clew.records.run.liveness import STAYS_AWAY
from clew.server.relay import wire
from clew.server.relay.mirror import Mirror, MirrorError

KINDS = ("mirror", "page", "piece", "spans", "sources", "text", "info", "sync")

MARK_EVERY = STAYS_AWAY / 6


class Intake:
    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._mirrors: dict[tuple[ServerConnection, str], Mirror] = {}
        self._beginning = threading.Lock()
        """Held while a mirror is created."""
        self._finishing: set[asyncio.Task[None]] = set()
        self._marked = 0.0

    async def take(self, connection: ServerConnection, message: dict[str, Any]) -> None:
        """Handle a message of one of `KINDS`."""
        if message["type"] != "sync":
            await self._take(connection, message)
            return
        # Importing OTLP data takes time; the connection's other runs do not wait for it.
        task = asyncio.ensure_future(self._take(connection, message))
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)

    async def _take(self, connection: ServerConnection, message: dict[str, Any]) -> None:
        run = str(message.get("run", ""))
        try:
            answer = await asyncio.to_thread(self._taken, connection, run, message)
        except (ClewError, OSError, KeyError, TypeError, ValueError) as error:
            await asyncio.to_thread(self._closed, connection, run)
            answer = {"type": "refused", "run": run, "message": str(error)}
        if answer is not None:
            with contextlib.suppress(ConnectionClosed):  # the next read from it reports the error
                await connection.send(wire.encode(answer))

    def keep_alive(self) -> None:
        """Mark the mirrors as fed; to be called periodically while their senders may send more."""
        now = time.monotonic()
        if now - self._marked > MARK_EVERY:
            self._marked = now
            for mirror in list(self._mirrors.values()):
                mirror.mark()

    def gone(self, connection: ServerConnection) -> None:
        """Handle the end of a connection."""
        for one, run in [key for key in list(self._mirrors) if key[0] is connection]:
            # Another thread may still use it.
            asyncio.get_running_loop().run_in_executor(None, self._closed, one, run)

    def _closed(self, connection: ServerConnection, run: str) -> None:
        mirror = self._mirrors.pop((connection, run), None)
        if mirror is not None:
            with mirror.lock:
                mirror.close()

    def _begun(self, connection: ServerConnection, run: str, message: dict[str, Any]) -> Mirror:
        origin = str(message["origin"])
        with self._beginning:
            for one, other in list(self._mirrors.items()):
                if one[1] == run and other.origin == origin:
                    self._closed(*one)
            mirror = Mirror(self._workspace, run, origin, str(message.get("source", "")))
            try:
                mirror.describe(str(message["info"]), str(message["plan"]), is_whole=False)
            except BaseException:
                mirror.close()
                raise
            self._mirrors[connection, run] = mirror
        return mirror

    def _taken(self, connection: ServerConnection, run: str, message: dict[str, Any]) -> dict[str, Any] | None:
        kind = message["type"]
        if kind == "mirror":
            self._closed(connection, run)
            if _is_own(self._workspace, str(message["origin"])):
                return {"type": "own", "run": run}
            mirror = self._begun(connection, run, message)
            spans = mirror.spans.size if mirror.spans else 0
            return {
                "type": "mirrored",
                "run": run,
                "have": mirror.have(),
                "takes": ["sources", "spans"],
                "spans": spans,
            }
        known = self._mirrors.get((connection, run))
        if known is None:
            raise MirrorError(f"this connection does not forward run {run}")
        with known.lock:
            if known.is_closed:
                raise MirrorError(f"another connection now forwards run {run}")
            return self._put(known, run, kind, message)

    @staticmethod
    def _put(known: Mirror, run: str, kind: str, message: dict[str, Any]) -> dict[str, Any] | None:
        if kind == "piece":
            head, data = wire.unpacked(message["head"], CHUNK_HEADER_SIZE), wire.unpacked(message["data"], CHUNK_SIZE)
            known.piece(str(message["file"]), head, int(message["offset"]), data, is_whole=bool(message["whole"]))
        elif kind == "page":
            known.page(str(message["file"]), wire.unpacked(message["page"], HEADER_SIZE), is_over=bool(message["over"]))
        elif kind == "spans":
            if known.spans is None:
                raise MirrorError(f"run {run} was not received over OTLP")
            known.spans.add(int(message["offset"]), wire.unpacked(message["data"], wire.MOST_SPANS))
        elif kind == "sources":
            return {"type": "wanted", "run": run, "digests": known.sources(message["files"])}
        elif kind == "text":
            known.text(str(message["digest"]), str(message["data"]))
        elif kind == "info":
            known.describe(str(message["info"]), str(message["plan"]), is_whole=True)
        else:
            known.finish()
            return {"type": "synced", "run": run}
        return None


def _is_own(workspace: Path, origin: str) -> bool:
    """Return whether the run has come back to the workspace where it was recorded or first received."""

    return origin.startswith(f"{host_name()}:{workspace / FOLDER}/")
