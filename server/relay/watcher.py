"""Watches runs through a relay, for clients in Python: puts its messages together to states.

for news in watch(lambda: ensure_relay(workspace)): ...

A broken connection is opened again and continues after the last received event. Invariant: an event comes once; missing
events are reported (`State.missed`).
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect

from clew.graph.entities.live.state import Batch, LiveState
from clew.server.relay import wire
from clew.server.relay.connect_errors import UNAUTHORIZED, reason
from clew.server.relay.launch import Address, RelayError

_POLL = 0.2
"""Seconds after which a stop is noticed."""
_AGAIN = 0.2
"""Seconds between two tries to connect."""
_OPEN = 20.0
"""Seconds for the relay's first answer, which a busy machine delays; a relay that is not there refuses at once."""


@dataclass(frozen=True)
class LiveRun:
    """A run that the relay forwards."""

    run: str
    name: str
    workspace: str
    folder: str
    host: str
    started: int
    """Wall-clock nanoseconds at the zero of events' `ns`."""
    source: str
    """The source of its entities: "spec" or "strands"."""
    moment: int
    over: bool


@dataclass(frozen=True)
class Runs:
    """All live runs."""

    runs: tuple[LiveRun, ...]


@dataclass(frozen=True)
class Events:
    """The next events of a run; `state` includes them, and is the same object for the whole run."""

    run: str
    batch: Batch
    state: LiveState


@dataclass(frozen=True)
class Newest:
    """The newest state of a run: the first message, or the replacement of `missed` events (-1: unknown number)."""

    run: str
    state: LiveState
    missed: int


@dataclass(frozen=True)
class Over:
    """The end of a run: no further events follow."""

    run: str


News = Runs | Events | Newest | Over


@dataclass
class _Watched:
    state: LiveState
    journal: str
    over: bool = False


def watch(
    address: Callable[[], Address],
    run: str = "",
    *,
    stop: threading.Event | None = None,
    max_lag: float | None = None,
    again_for: float = 10.0,
) -> Iterator[News]:
    """Yield the news of all runs, or of one. Ends when `stop` is set, or when that one run is over. `address` is called
    for each connection.

    `max_lag`: seconds that the client may be behind before the relay skips to the newest state; 0 for no limit. Raises
    `RelayError` when the token is wrong, or no connection succeeds for `again_for` seconds, and `WireError` for a relay
    with another protocol version.
    """
    stop = stop or threading.Event()
    watched: dict[str, _Watched] = {}
    lost = time.monotonic()
    while not stop.is_set():
        where: Address | None = None
        try:
            where = address()
            with _connected(where) as connection:
                for news in _from(connection, run, watched, stop, max_lag):
                    yield news
                    if isinstance(news, Over) and news.run == run:
                        return
                    lost = time.monotonic()
        except InvalidStatus as error:
            if error.response.status_code == UNAUTHORIZED:
                raise RelayError(f"{where and where.url}: {reason(error, '')}") from None
        except InvalidURI:
            raise RelayError(
                f"{where and where.url}: not the address of a relay, which begins with ws:// or wss://"
            ) from None
        except (OSError, ConnectionClosed, InvalidHandshake, EOFError, TimeoutError) as error:
            why = reason(error, where.url if where else "")
            if time.monotonic() - lost > again_for:
                raise RelayError(f"{where and where.url}: the relay does not answer ({why})") from None
        stop.wait(_AGAIN)


def _connected(address: Address) -> ClientConnection:
    tls = ssl.create_default_context(cafile=address.certificate or None) if address.url.startswith("wss:") else None
    return connect(
        address.url, additional_headers={"Authorization": f"Bearer {address.token}"}, compression=None, ssl=tls,
        max_size=wire.MOST_MESSAGE, proxy=None, open_timeout=_OPEN, close_timeout=1.0,
    )  # fmt: skip


def _from(
    connection: ClientConnection, run: str, watched: dict[str, _Watched], stop: threading.Event, max_lag: float | None
) -> Iterator[News]:
    asked: set[str] = set()
    while not stop.is_set():
        try:
            data = connection.recv(timeout=_POLL)
        except TimeoutError:
            continue
        if isinstance(data, bytes):
            which, batch = wire.decode_events(data)
            known = watched[which]
            if batch.begin != known.state.moment:
                raise wire.WireError(f"events from {batch.begin} came after {known.state.moment}")
            known.state.apply(batch)
            yield Events(which, batch, known.state)
            continue
        message = wire.decode(data)
        kind, which = message["type"], str(message.get("run", ""))
        if kind == "hello" and message.get("version") != wire.VERSION:
            raise wire.WireError(f"the relay speaks version {message.get('version')}, this clew {wire.VERSION}")
        if kind == "runs":
            runs = tuple(_run(entry) for entry in message["runs"])
            yield Runs(runs)
            for one in runs:
                known_one = watched.get(one.run)
                if one.run in asked or (run and one.run != run) or (known_one and known_one.over):
                    continue
                asked.add(one.run)
                connection.send(wire.encode(_question(one.run, known_one, max_lag)))
        elif kind == "state":
            missed, state = int(message.get("missed", -1)), wire.state_of(message)
            watched[which] = _Watched(state, str(message["journal"]))
            yield Newest(which, state, missed)
        elif kind == "over":
            watched[which].over = True
            yield Over(which)
        elif kind == "error":
            raise RelayError(str(message.get("message")))


def _question(run: str, known: _Watched | None, max_lag: float | None) -> dict[str, Any]:
    question: dict[str, Any] = {"type": "watch", "run": run}
    if known is not None:
        question |= {"journal": known.journal, "since": known.state.moment}
    return question | ({"patience": max_lag} if max_lag is not None else {})


def _run(entry: Any) -> LiveRun:
    try:
        return LiveRun(**{name: entry[name] for name in LiveRun.__dataclass_fields__})
    except (KeyError, TypeError) as error:
        raise wire.WireError(f"not an entry of a relay's list of runs: {error}") from None


__all__ = ["Events", "LiveRun", "Newest", "News", "Over", "Runs", "watch"]
