"""The relay: finds runs, reads them in turn, serves viewers, and ends when it has nothing left to do.

Invariant: an error of one run (it was removed, its disk is full, its files are garbage) ends only that run's stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from websockets.asyncio.server import Server, serve

from clew.records.errors import ClewError
from clew.server.relay import wire
from clew.server.relay.discovery import Finder
from clew.server.relay.forward import Forward
from clew.server.relay.journal import Taken
from clew.server.relay.launch import Address
from clew.server.relay.listen_config import Listening
from clew.server.relay.otlp import OtlpIntake, OtlpServer
from clew.server.relay.receive import Intake
from clew.server.relay.stream import Stream
from clew.server.relay.viewers import Viewers

FIND_EVERY = 0.5
BUSY, IDLE = 0.04, 0.1
"""Seconds between two reads of the files."""
AT_ONCE = 128 << 10
"""Bytes of a process that are read while viewers wait; a stream with more unread data is read in a worker thread."""
LINGER = 10.0
"""Seconds for which a finished run stays available to viewers that reconnect."""

log = logging.getLogger(__name__)


class Relay:
    def __init__(
        self,
        workspaces: Sequence[Path],
        listening: Listening,
        *,
        everywhere: bool = False,
        grace: float = 30.0,
        to: Sequence[Address] = (),
        otlp: int | None = None,
    ) -> None:
        """Raises `ForwardError` for a forwarding address that is not safe."""
        self.listening = listening
        self.streams: dict[str, Stream] = {}
        self.viewers = Viewers(listening.token, self.streams)
        self._intake = Intake(workspaces[0])
        self.viewers.also_takes(self._intake)
        self._forwards = [Forward(one) for one in to]
        self._spans = OtlpIntake(workspaces[0])
        self._ending: asyncio.Task[None] | None = None
        """The check whether the OTLP run is over. It may import the run, which takes time."""
        self._otlp_port = otlp
        self.otlp: OtlpServer | None = None
        self._finder = Finder(workspaces, everywhere=everywhere)
        self._grace = grace
        self._ended: dict[str, float] = {}
        """When a run was seen to be over."""
        self._skipped: set[Path] = set()
        """Runs that cannot be forwarded, or not by this relay."""
        self._busy_at = time.monotonic()
        self._stopped = asyncio.Event()
        self.port = 0

    def stop(self) -> None:
        self._stopped.set()

    async def run(self, ready: asyncio.Future[int] | None = None) -> None:
        """Run until `stop`, or until the relay had nothing to do for the grace period. Raises `ListenError`."""
        server = await self._listen()
        try:
            await asyncio.to_thread(self._spans.resume)
        except (OSError, ClewError) as error:
            log.warning("cannot continue a run that was received over OTLP: %s", error)
        self._listen_to_spans()
        forwarding = [asyncio.ensure_future(one.run(self.streams)) for one in self._forwards]
        try:
            if ready is not None:
                ready.set_result(self.port)
            await self._work()
        finally:
            for task in forwarding:
                task.cancel()
            await asyncio.gather(*forwarding, return_exceptions=True)
            if self.otlp is not None:
                await asyncio.to_thread(self.otlp.close)
            if self._ending is not None:
                await asyncio.gather(self._ending, return_exceptions=True)
            await asyncio.to_thread(self._spans.end)
            for stream in self.streams.values():
                while stream.source == "spans" and await self._step(stream):
                    pass
            server.close(close_connections=True)
            await server.wait_closed()
            for stream in self.streams.values():
                stream.close(remove=self._is_done(stream))

    async def _listen(self) -> Server:
        with self.listening.refusing():
            server = await serve(
                self.viewers.serve, self.listening.host, self.listening.port, ssl=self.listening.tls(),
                process_request=self.viewers.check, compression=None, max_size=wire.MOST_MESSAGE,
            )  # fmt: skip
        self.port = next(iter(server.sockets)).getsockname()[1]
        return server

    def _listen_to_spans(self) -> None:
        if self._otlp_port is not None:
            self.otlp = OtlpServer(replace(self.listening, port=self._otlp_port), self._spans)
            threading.Thread(target=self.otlp.serve_forever, name="clew-otlp", daemon=True).start()

    async def _work(self) -> None:
        looked = -FIND_EVERY
        while not self._stopped.is_set():
            began = time.monotonic()
            if began - looked >= FIND_EVERY:
                looked = began
                await self._find()
                self._look_after_spans()
                self._intake.keep_alive()
                self._release()
            has_news = False
            for stream in list(self.streams.values()):
                has_news |= await self._step(stream)
            if self.viewers.count or self._spans.is_busy or any(map(self._is_waited_for, self.streams.values())):
                self._busy_at = began
            if began - self._busy_at > self._grace:
                return
            pause = 0.0 if any(one.is_behind for one in self.streams.values()) else BUSY if has_news else IDLE
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), max(pause, 0.001))

    def _look_after_spans(self) -> None:
        if self._ending is None or self._ending.done():
            self._ending = asyncio.ensure_future(asyncio.to_thread(self._spans.look))

    async def _find(self) -> None:
        changed = False
        known = {stream.folder for stream in self.streams.values()} | self._skipped
        for folder in await asyncio.to_thread(self._finder.runs):
            if folder in known:
                continue
            try:
                stream = await asyncio.to_thread(Stream, folder)
            except Taken as error:
                log.info("%s", error)
                continue  # the relay that has it may end
            except (ClewError, OSError) as error:
                log.warning("cannot forward %s: %s", folder, error)
                self._skipped.add(folder)
                continue
            self.streams[stream.run] = stream
            changed = True
        if changed:
            await self.viewers.listed()

    async def _step(self, stream: Stream) -> bool:
        if stream.is_over:
            return False
        try:
            # On a busy machine a thread switch may take longer than the work itself.
            batch, is_over = await asyncio.to_thread(stream.step) if stream.is_behind else stream.step(AT_ONCE)
        except (OSError, ClewError) as error:
            log.info("run %s ends here: %s", stream.run, error)
            batch, is_over = None, True
        if batch is not None:
            stream.tell(batch)
        if is_over:
            stream.is_over = True
            stream.wake()
            self._ended[stream.run] = time.monotonic()
            self._finder.done(stream.folder)
            await self.viewers.listed()
        return batch is not None

    def _is_done(self, stream: Stream) -> bool:
        """Return whether all data of the stream was sent to viewers and forwarded."""
        return stream.is_over and all(one.is_done(stream.run) for one in self._forwards)

    def _is_waited_for(self, stream: Stream) -> bool:
        """Return whether the relay waits for the stream. Data for unreachable relays is left to the next relay."""
        return not stream.is_over or any(not (one.is_unreachable or one.is_done(stream.run)) for one in self._forwards)

    def _release(self) -> None:
        for run, at in list(self._ended.items()):
            if time.monotonic() - at <= LINGER:
                continue
            if self._is_done(self.streams[run]):
                del self._ended[run]
                self.streams.pop(run).close(remove=True)
            else:
                self.streams[run].forget()
