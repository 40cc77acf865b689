"""Serves viewers over WebSocket: each at its own pace, from the cached events of the runs that it watches.

Invariants: a connection that does not show the token within some seconds gets no data and is closed. The only state of
a viewer is its position, so that a slow, dead or lying viewer costs the others nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from clew.server.relay import wire
from clew.server.relay.receive import KINDS, Intake
from clew.server.relay.stream import Stream

TOKEN_SECONDS = 5.0
PATIENCE = 2.0
"""Seconds by which a viewer may be behind before it skips to the newest state, unless it requests another limit."""
TRY_AGAIN_LATER = 1013
POLICY = 1008

log = logging.getLogger(__name__)


class Viewers:
    def __init__(self, token: str, streams: dict[str, Stream]) -> None:
        self._token = token
        self._streams = streams
        """Streams by run; a caller that changes it calls `listed`."""
        self._connections: dict[ServerConnection, None] = {}
        self._listing: dict[ServerConnection, asyncio.Future[None]] = {}
        """Connections to which the list of runs is being sent;"""
        self._stale: set[ServerConnection] = set()
        """and those for which the list changed meanwhile."""
        self._intake: Intake | None = None

    @property
    def count(self) -> int:
        """Number of connections that have shown the token."""
        return len(self._connections)

    def also_takes(self, intake: Intake) -> None:
        """Also accept messages of other relays, which connect like viewers."""
        self._intake = intake

    def check(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse a request with a wrong token. A client without one has to send it as the first message."""
        given = request.headers.get("Authorization")
        if given is not None and not self._is_token(given.partition(" ")[2].strip()):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "the token is wrong\n")
        return None

    async def serve(self, connection: ServerConnection) -> None:
        request = connection.request
        if request is None or "Authorization" not in request.headers:
            try:
                async with asyncio.timeout(TOKEN_SECONDS):
                    first = wire.decode(await connection.recv())
                is_known = first["type"] == "token" and self._is_token(str(first.get("token", "")))
            except (TimeoutError, wire.WireError, ConnectionClosed):
                is_known = False
            if not is_known:
                await connection.close(POLICY, "the token is missing or wrong")
                return
        await self._serve(connection)

    async def listed(self) -> None:
        """Send all viewers the list of runs. A viewer that does not read gets the newest list when it reads again."""
        for connection in list(self._connections):
            self._stale.add(connection)
            if connection not in self._listing:
                self._listing[connection] = asyncio.ensure_future(self._list(connection))

    async def _list(self, connection: ServerConnection) -> None:
        try:
            while connection in self._stale:
                self._stale.discard(connection)
                await self._send(connection, self._runs())
        finally:
            del self._listing[connection]

    def _runs(self) -> str:
        return wire.encode({"type": "runs", "runs": [stream.about() for stream in self._streams.values()]})

    async def _send(self, connection: ServerConnection, message: str) -> None:
        with contextlib.suppress(ConnectionClosed):
            await connection.send(message)

    async def _serve(self, connection: ServerConnection) -> None:
        watched: dict[str, asyncio.Task[None]] = {}
        self._connections[connection] = None
        try:
            await connection.send(wire.encode({"type": "hello", "version": wire.VERSION}))
            await connection.send(self._runs())
            async for data in connection:
                await self._answer(connection, wire.decode(data), watched)
        except wire.WireError as error:
            await self._send(connection, wire.encode({"type": "error", "message": str(error)}))
            await connection.close(POLICY, "the message is invalid")
        except ConnectionClosed:
            pass
        finally:
            del self._connections[connection]
            self._stale.discard(connection)
            for task in watched.values():
                task.cancel()
            if self._intake is not None:
                self._intake.gone(connection)

    async def _answer(
        self, connection: ServerConnection, message: dict[str, Any], watched: dict[str, asyncio.Task[None]]
    ) -> None:
        kind, run = message["type"], message.get("run", "")
        if kind in KINDS and self._intake is not None:
            await self._intake.take(connection, message)
        elif kind == "watch":
            stream = self._streams.get(run) if isinstance(run, str) else None
            if stream is None:
                await self._send(connection, wire.encode({"type": "unknown", "run": str(run)}))
                return
            if run in watched:
                watched[run].cancel()
            watched[run] = asyncio.ensure_future(self._watch(connection, stream, message))
        elif kind == "leave" and run in watched:
            watched.pop(run).cancel()
        elif kind != "leave":
            raise wire.WireError(f"unknown message {kind!r}; a viewer sends token, watch or leave")

    async def _watch(self, connection: ServerConnection, stream: Stream, message: dict[str, Any]) -> None:
        """Send events from the viewer's last position if that is valid and cached; else from the newest state."""
        max_lag = message.get("patience", PATIENCE)
        max_lag = float(max_lag) if isinstance(max_lag, int | float) else PATIENCE
        moment, since = -1, message.get("since")
        if message.get("journal") == stream.journal and type(since) is int and 0 <= since <= stream.end:
            moment = since
        known, may_be_behind = moment >= 0, 0.0  # a viewer that reconnects takes whatever is cached
        try:
            while True:
                batches = stream.after(moment, may_be_behind) if moment >= 0 else None
                may_be_behind = max_lag
                if batches is None:
                    newest, state = await asyncio.to_thread(stream.state)
                    state["missed"] = newest - moment if known else -1
                    await connection.send(wire.encode(state))
                    moment, known = newest, True
                    continue
                for batch in batches:
                    await connection.send(batch.message)
                    moment = batch.end
                if moment >= stream.end:
                    if stream.is_over:
                        await connection.send(wire.encode({"type": "over", "run": stream.run, "moment": moment}))
                        return
                    await stream.change()
        except ConnectionClosed:
            pass

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode())
