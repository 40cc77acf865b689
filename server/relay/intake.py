"""Takes runs that other relays pass on, and keeps each as a mirror in the first workspace of this one.

Invariant: one connection has a run at a time, the newest that wants it: an older one may be broken without that being known
yet. What a connection sends that cannot be kept is answered, and costs that run only.
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

from clew.records.alive import STAYS_AWAY
from clew.records.errors import ClewError
from clew.records.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE
from clew.records.run import FOLDER, host_name
from clew.server.relay import wire
from clew.server.relay.mirror import Mirror, MirrorError

KINDS = ("mirror", "page", "piece", "spans", "sources", "text", "info", "sync")

MARK_EVERY = STAYS_AWAY / 6


class Intake:
    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._mirrors: dict[tuple[ServerConnection, str], Mirror] = {}
        self._beginning = threading.Lock()
        """Of who makes a mirror."""
        self._finishing: set[asyncio.Task[None]] = set()
        self._marked = 0.0

    async def take(self, connection: ServerConnection, message: dict[str, Any]) -> None:
        """One of `KINDS`."""
        if message["type"] != "sync":
            await self._take(connection, message)
            return
        # To import what came by OTLP takes time, for which the connection's other runs do not wait.
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
            with contextlib.suppress(ConnectionClosed):  # who reads next from it is told
                await connection.send(wire.encode(answer))

    def keep_alive(self) -> None:
        """To be called now and then, as long as who passes runs on may say more."""
        now = time.monotonic()
        if now - self._marked > MARK_EVERY:
            self._marked = now
            for mirror in list(self._mirrors.values()):
                mirror.mark()

    def gone(self, connection: ServerConnection) -> None:
        """It will not say any more."""
        for one, run in [key for key in list(self._mirrors) if key[0] is connection]:
            # Somebody may still be busy with it.
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
            raise MirrorError(f"run {run} is not passed on by this connection")
        with known.lock:
            if known.is_closed:
                raise MirrorError(f"run {run} is passed on by another connection now")
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
                raise MirrorError(f"run {run} is no run of what comes by OTLP")
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
    """Has the run come back to where it was recorded, or first came to?"""

    return origin.startswith(f"{host_name()}:{workspace / FOLDER}/")
