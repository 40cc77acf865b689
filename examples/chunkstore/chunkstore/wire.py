"""Messages, the connections that carry them, and the nodes that exchange them.

A message is length-prefixed JSON on a loopback TCP stream. Every message, request or reply, has an id that no other
message of the run has ("client-1:17"); a reply also names its request in `reply_to`.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

JSON = dict[str, Any]


class Refused(Exception):
    """The peer received the request and would not do what it asks."""


class PeerUnavailable(Exception):
    """The peer is not online, or went away before it answered."""


@dataclass(frozen=True)
class Message:
    """`kind` is what a request asks for, or "done" or "refused" in a reply."""

    id: str
    kind: str
    body: JSON
    reply_to: str | None = None


class Connection:
    """One TCP stream between two nodes; both may send requests on it, any number at a time."""

    def __init__(self, node: "Node", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.is_open = True
        self._node, self._reader, self._writer = node, reader, writer
        self._waiting: dict[str, asyncio.Future[Message]] = {}
        self._answers: set[asyncio.Task[None]] = set()
        self._receiver = asyncio.create_task(self._receive_all())

    async def call(self, kind: str, body: JSON) -> JSON:
        """Sends a request and returns the body of its reply; raises Refused or PeerUnavailable."""
        request = Message(self._node.next_id(), kind, body)
        waiting = self._waiting[request.id] = asyncio.get_running_loop().create_future()
        try:
            await self.send(request)
        except ConnectionError:
            self.close()
        reply: Message = await waiting
        if reply.kind == "refused":
            raise Refused(reply.body["reason"])
        return reply.body

    async def send(self, message: Message) -> None:
        """Every message that leaves this process leaves it here."""
        payload = json.dumps(vars(message)).encode()
        self._writer.write(len(payload).to_bytes(4, "big") + payload)
        await self._writer.drain()

    def deliver(self, message: Message) -> None:
        """Every message that reaches this process arrives here: a reply wakes the call that waits for it, a request
        starts a task that answers it."""
        if message.reply_to is None:
            answer = asyncio.create_task(self._answer(message))
            self._answers.add(answer)
            answer.add_done_callback(self._answers.discard)
        else:
            self._waiting.pop(message.reply_to).set_result(message)

    def close(self) -> None:
        self.is_open = False
        self._receiver.cancel()
        self._writer.close()
        while self._waiting:
            self._waiting.popitem()[1].set_exception(PeerUnavailable("the connection was lost"))

    async def _receive_all(self) -> None:
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                self.deliver(Message(**json.loads(await self._reader.readexactly(size))))
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()  # the peer hung up

    async def _answer(self, request: Message) -> None:
        try:
            kind, body = "done", await self._node.handle(request)
        except (Refused, PeerUnavailable) as problem:
            kind, body = "refused", {"reason": str(problem)}
        except Exception as problem:
            log.exception("request %s (%s) broke its handler", request.id, request.kind)
            kind, body = "refused", {"reason": repr(problem)}
        try:
            await self.send(Message(self._node.next_id(), kind, body, reply_to=request.id))
        except ConnectionError:
            log.info("the sender of %s is gone", request.id)


class Node:
    """A named process. It publishes its port in the data directory and finds its peers' ports there. `generation`
    counts the processes there have been of that name, so that a restarted server uses new message ids."""

    def __init__(self, name: str, data: Path, generation: int) -> None:
        self.name, self.data = name, data
        self._id_prefix = name if generation == 1 else f"{name}.{generation}"
        self._last_id = 0
        self._connecting = asyncio.Lock()
        self._peers: dict[str, Connection] = {}
        self._accepted: list[Connection] = []

    def next_id(self) -> str:
        self._last_id += 1
        return f"{self._id_prefix}:{self._last_id}"

    async def start(self) -> None:
        """Listens on a free port, then publishes it: a port file says that its process is ready."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        unpublished = self.data / f"{self.name}.port.new"
        unpublished.write_text(str(server.sockets[0].getsockname()[1]))
        unpublished.rename(port_file(self.data, self.name))

    async def stop(self) -> None:
        port_file(self.data, self.name).unlink(missing_ok=True)
        for connection in (*self._accepted, *self._peers.values()):
            connection.close()

    async def handle(self, message: Message) -> JSON:
        """Has the method `on_KIND` do what a request asks, and returns the body of the reply."""
        handler: Callable[[Message], Awaitable[JSON]] = getattr(self, f"on_{message.kind}")
        return await handler(message)

    async def call(self, peer: str, kind: str, body: JSON) -> JSON:
        """Asks a peer, connecting to it first if need be; raises Refused or PeerUnavailable."""
        async with self._connecting:
            if peer not in self._peers or not self._peers[peer].is_open:
                try:
                    port = int(port_file(self.data, peer).read_text())
                    self._peers[peer] = Connection(self, *await asyncio.open_connection("127.0.0.1", port))
                except OSError:
                    raise PeerUnavailable(f"{peer} is offline") from None
        return await self._peers[peer].call(kind, body)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._accepted.append(Connection(self, reader, writer))


def port_file(data: Path, name: str) -> Path:
    return data / f"{name}.port"
