"""Forwards runs to another relay, file by file, chunk by chunk, from the ends that the other relay reports for its
files.

Invariant: the sender stores no state about sent data. The receiver's files are the only state, so that a broken
connection, or a kill on either side, loses and duplicates nothing. The token is never sent unencrypted to another
machine.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import logging
import ssl
import time
import urllib.parse
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Any, Protocol

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from clew.graph.entities.live.from_spans import lines_from
from clew.records.errors import ClewError
from clew.records.format.header import HEADER_SIZE
from clew.records.read.tail import Place, ProcessTail, Segment
from clew.records.run import directory as runs
from clew.records.run import source_snapshots
from clew.server.relay import wire
from clew.server.relay.connect_errors import reason
from clew.server.relay.launch import Address
from clew.server.relay.mirror import own_origin
from clew.server.relay.stream import Stream

BUSY, IDLE = 0.02, 0.1
TEXTS_EVERY = 15.0
"""Seconds between two searches for source texts: files are imported throughout a run, and a search costs more than
reading the new records."""
RETRY_SECONDS = 0.5
GIVE_UP = 60.0
"""Seconds for which a relay waits, at the end, for an unreachable relay."""

log = logging.getLogger(__name__)


class ForwardError(ClewError):
    """The run cannot be forwarded to this address."""


class _Send(Protocol):
    def __call__(self, kind: str, **fields: Any) -> Awaitable[None]: ...


class Forward:
    """Forwards to one other relay."""

    def __init__(self, to: Address) -> None:
        """Raises `ForwardError` for an address that is not safe."""
        parts = urllib.parse.urlsplit(to.url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname or parts.query or parts.username or parts.password:
            raise ForwardError(f"{_shown(to.url)}: expected wss://HOST:PORT without a token")
        if parts.scheme == "ws" and not _is_loopback(parts.hostname):
            raise ForwardError(f"{to.url}: the token would be sent unencrypted to another machine; use wss://")
        self._to = to
        self._done: set[str] = set()
        """Runs that are over and completely forwarded."""
        self._reached = time.monotonic()
        self._answers: dict[str, asyncio.Queue[dict[str, Any]]] = {}

    def is_done(self, run: str) -> bool:
        return run in self._done

    @property
    def is_unreachable(self) -> bool:
        """Whether the other relay has been unreachable for so long that the relay no longer waits for it."""
        return time.monotonic() - self._reached > GIVE_UP

    async def run(self, streams: dict[str, Stream]) -> None:
        """Forward until cancelled."""
        last_error = ""
        while True:
            try:
                async with connect(
                    self._to.url, additional_headers={"Authorization": f"Bearer {self._to.token}"}, compression=None,
                    ssl=_tls(self._to), max_size=wire.MOST_MESSAGE, proxy=None,
                ) as connection:  # fmt: skip
                    self._reached, last_error = time.monotonic(), ""
                    await self._connected(connection, streams)
            except (OSError, ConnectionClosed, InvalidHandshake, TimeoutError, wire.WireError) as error:
                what = reason(error, self._to.url)
                if what != last_error:
                    log.warning("%s: cannot forward runs: %s; retrying", self._to.url, what)
                    last_error = what
            await asyncio.sleep(RETRY_SECONDS)

    async def _connected(self, connection: ClientConnection, streams: dict[str, Stream]) -> None:
        receiving = asyncio.ensure_future(self._receive(connection))
        under_way: dict[str, asyncio.Task[None]] = {}
        try:
            while not receiving.done():
                self._reached = time.monotonic()
                for name, stream in list(streams.items()):
                    if name not in under_way and name not in self._done:
                        self._answers[name] = asyncio.Queue()
                        under_way[name] = asyncio.ensure_future(self._forward_run(connection, stream))
                for name, task in list(under_way.items()):
                    if task.done():
                        task.result()
                        self._done.add(name)
                await asyncio.wait([receiving], timeout=IDLE)
            receiving.result()
        finally:
            for task in (receiving, *under_way.values()):
                task.cancel()
            await asyncio.gather(receiving, *under_way.values(), return_exceptions=True)

    async def _receive(self, connection: ClientConnection) -> None:
        async for data in connection:
            message = wire.decode(data)
            if message["type"] == "hello" and message.get("version") != wire.VERSION:
                raise wire.WireError(f"the relay speaks version {message.get('version')}, this clew {wire.VERSION}")
            if (answers := self._answers.get(str(message.get("run")))) is not None:
                answers.put_nowait(message)

    async def _forward_run(self, connection: ClientConnection, stream: Stream) -> None:
        name, folder = stream.run, stream.folder
        answers = self._answers[name]

        async def send_message(kind: str, **fields: Any) -> None:
            await connection.send(wire.encode({"type": kind, "run": name, **fields}))

        await send_message("mirror", origin=own_origin(folder), source=stream.source, **_description(folder))
        answer = await answers.get()
        if answer["type"] != "mirrored":
            if answer["type"] == "refused":
                log.warning("%s: rejected run %s: %s", self._to.url, name, answer.get("message"))
            return
        if stream.source == "spans" and "spans" not in answer.get("takes", ()):
            log.warning("%s: rejected run %s, which was received over OTLP; upgrade clew there", self._to.url, name)
            return
        have = {
            str(file): {int(serial): Place(int(number)) for serial, number in threads.items()}
            for file, threads in answer["have"].items()
        }
        reading = _Reading(folder, have, int(answer.get("spans", 0)))
        texts = _Texts(folder) if "sources" in answer.get("takes", ()) else None
        try:
            quiet = 0
            while quiet < 3:
                was_over = stream.is_over
                sent = False
                for fields in await asyncio.to_thread(reading.poll):
                    await send_message(**fields)
                    sent = True
                if not answers.empty() and answers.get_nowait()["type"] == "refused":
                    log.warning("%s: stopped accepting run %s", self._to.url, name)
                    return
                quiet = 0 if sent or not was_over else quiet + 1
                if texts and not sent and time.monotonic() - texts.polled > TEXTS_EVERY:
                    await self._forward_texts(texts, send_message, answers)
                await asyncio.sleep(BUSY if sent else IDLE)
            if texts:
                await self._forward_texts(texts, send_message, answers)
            for fields in await asyncio.to_thread(reading.last):
                await send_message(**fields)
            await send_message("info", **_description(folder))
            await send_message("sync")
            while (await answers.get())["type"] not in ("synced", "refused"):
                pass
        finally:
            reading.close()

    @staticmethod
    async def _forward_texts(texts: _Texts, send_message: _Send, answers: asyncio.Queue[dict[str, Any]]) -> None:
        named = await asyncio.to_thread(texts.poll)
        if named is None:
            return
        await send_message("sources", files=named)
        answer = await answers.get()
        if answer["type"] != "wanted":
            answers.put_nowait(answer)  # it rejects more of the run
            return
        for digest in answer["digests"]:
            text = await asyncio.to_thread(texts.packed, str(digest))
            if text is not None:
                await send_message("text", digest=digest, data=base64.b64encode(text).decode())


class _Texts:
    """The source texts of a run. Texts that the receiver has are only named, and a text is sent once, whichever runs
    have it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._named: dict[str, source_snapshots.Source] = {}
        self.polled = -TEXTS_EVERY

    def poll(self) -> dict[str, source_snapshots.Source] | None:
        """Return all texts known so far; None if there are no new ones."""
        self.polled = time.monotonic()
        source_snapshots.keep(self._folder)
        named = source_snapshots.index(self._folder)
        if named == self._named:
            return None
        self._named = named
        return named

    def packed(self, digest: str) -> bytes | None:
        """Return the compressed text of one of these sources; None for any other digest."""
        is_named = any(source.digest == digest for source in self._named.values())
        return source_snapshots.compressed_text(self._folder, digest) if is_named else None


class _Reading:
    """A run's files as messages."""

    def __init__(self, folder: Path, have: dict[str, dict[int, Place]], spans: int) -> None:
        """`have` is the state of the other side: its chunks by file and thread; `spans` is its number of OTLP bytes."""
        self._folder = folder
        self._spans = spans
        self._have = have
        self._tails: dict[str, ProcessTail] = {}
        self._pages: dict[str, bytes] = {}

    def poll(self) -> list[dict[str, Any]]:
        """Return the messages about new data; none for a run that was removed."""
        found: list[dict[str, Any]] = []
        for path in runs.trace_files(self._folder) if self._folder.is_dir() else ():
            if path.name not in self._tails:
                places = self._have.get(path.name, {})
                threads = {serial: place for serial, place in places.items() if serial}
                self._tails[path.name] = ProcessTail(path, threads)
        for name, tail in self._tails.items():
            new = tail.poll()
            page = _page(tail.path)
            if page and (new or tail.defined or name not in self._pages):
                if self._pages.get(name) != page:
                    found.append({"kind": "page", "file": name, "page": wire.packed(page), "over": False})
                self._pages[name] = page
                # Definitions must arrive before the records that refer to them.
                found += _pieces(name, (*tail.defined, *new))
        return found + self._received_spans()

    def _received_spans(self) -> list[dict[str, Any]]:
        """Return data received over OTLP: lines as in the file, which never change once they are whole."""
        data = b""
        with contextlib.suppress(OSError):  # the run is a recording, or was removed
            data, _ = lines_from(self._folder, self._spans)
        begin, self._spans = self._spans, self._spans + len(data)
        return [
            {"kind": "spans", "offset": begin + at, "data": wire.packed(data[at : at + wire.MOST_SPANS])}
            for at in range(0, len(data), wire.MOST_SPANS)
        ]

    def last(self) -> list[dict[str, Any]]:
        """Return the final messages, after all new data."""
        found: list[dict[str, Any]] = []
        for name, tail in self._tails.items():
            found += _pieces(name, tail.counters())
            if page := _page(tail.path):
                found.append({"kind": "page", "file": name, "page": wire.packed(page), "over": True})
        return found

    def close(self) -> None:
        for tail in self._tails.values():
            tail.close()


def _pieces(name: str, segments: Iterable[Segment]) -> list[dict[str, Any]]:
    return [
        {
            "kind": "piece", "file": name, "head": wire.packed(one.head), "offset": one.begin.offset,
            "data": wire.packed(one.records), "whole": one.end.number > one.begin.number,
        }
        for one in segments
    ]  # fmt: skip


def _page(path: Path) -> bytes:
    with contextlib.suppress(OSError), path.open("rb") as file:
        page = file.read(HEADER_SIZE)
        return page if len(page) == HEADER_SIZE else b""
    return b""


def _description(folder: Path) -> dict[str, str]:
    found = {"info": "", "plan": ""}
    for name, file in (("info", runs.RUN_FILE), ("plan", runs.PLAN_FILE)):
        with contextlib.suppress(OSError, ValueError):
            found[name] = (folder / file).read_text(encoding="utf-8")
    return found


def _tls(to: Address) -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=to.certificate or None) if to.url.startswith("wss:") else None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(url: str) -> str:
    """Return the address without parts that may be a token."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}"
