"""Causality of messages between multiprocessing's processes: pipes, queues, managers' proxies.

Channels: "multiprocessing.pipe", "multiprocessing.queue", "multiprocessing.pool", "multiprocessing.manager". A receiver that
must wait for a message of the program has a wait of the first two channels; `locks` has the other waits for queues.

The key of a message is appended to its pickle. Unpickling ignores bytes after the end of the pickle, so a receiver that is
not recorded gets the same object. A recorded receiver removes the key when it has read the bytes. Invariant: bytes that
the program itself sends (`send_bytes`) are never changed, and have no edge. A pickle is never copied.
"""

import contextlib
import functools
import os
import select
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.patching import adapter_site, around, hook, when_imported
from clew.instrument.probes.install.hidden_calls import Around
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.instrument.recorder.lifecycle import run_folder
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import Kind
from clew.records.format.keys import key_of

_SEND, _RECEIVE, _JOIN = int(Kind.SEND), int(Kind.RECEIVE), int(Kind.JOIN)
_TRAILER = struct.Struct("<7sBQ")
"""The run's mark, the kind of message, the key."""

NOTHING, PIPE, QUEUE, POOL, MANAGER = range(5)
"""The kinds of messages; a message of kind NOTHING has no edge."""
CHANNELS = {
    PIPE: "multiprocessing.pipe",
    QUEUE: "multiprocessing.queue",
    POOL: "multiprocessing.pool",
    MANAGER: "multiprocessing.manager",
}


class _Here(threading.local):
    """The calling thread's state."""

    message: tuple[int, int] | None = None
    """The kind and the key of the message that the thread pickles next."""
    calls = 0
    """The number of active calls through a proxy that wait for their reply."""
    silent = 0
    """The number of active calls that manage a manager's objects, which are internal to the library."""


_here = _Here()


class Sites(NamedTuple):
    """The sites at which messages of a kind are sent and received."""

    send: int
    receive: int


sites: dict[int, Sites] = {}


@functools.lru_cache(maxsize=1)
def _mark_of(folder: str | None) -> bytes:
    """Return the mark of keys in the run of that folder, with which payloads of the program practically never end."""
    return key_of("message", os.path.basename(folder or "")).to_bytes(8, "little")[:7]


def install() -> None:
    when_imported("multiprocessing.reduction", _patch_pickler)
    when_imported("multiprocessing.connection", _patch_connections)
    when_imported("multiprocessing.queues", _patch_queues)
    when_imported("multiprocessing.managers", _patch_managers)


def send(kind: int, key: int = 0) -> None:
    """Append a key to the next object that the calling thread pickles. Without `key`, record a SEND with a fresh key."""
    if kind == NOTHING or not core.active():
        _here.message = None
        return
    if not key:
        key = fresh_key()
        core.emit(_SEND, sites[kind].send, key, intern(CHANNELS[kind]))
    _here.message = kind, key


def label(pipe: Any, kind: int | Callable[[Any], tuple[int, int]]) -> None:
    """Set the kind of messages through a connection or a queue; the defaults are PIPE and QUEUE.

    For a connection, `kind` may be a function that returns the kind and the key of each object that is sent.
    """
    pipe._clew_kind = kind
    if hasattr(pipe, "_reader"):
        pipe._reader._clew_wait = None


def _begin_wait(connection: Any, limit: object) -> Any:
    """Record that the thread begins to wait for a message of the program; return None if it does not."""
    what, handle = getattr(connection, "_clew_wait", ()), connection._handle
    if (
        _here.calls
        or what is None
        or handle is None
        or getattr(connection, "_clew_kind", PIPE) != PIPE
        or not core.active()
    ):
        return None
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if poll.poll(0):
        return None
    channel, key = what or (intern(CHANNELS[PIPE]), core.object_key(connection))
    return core.wait(channel, key, limit, b"")


def _patch_pickler(module: Any) -> None:
    pickler_class = module.ForkingPickler

    def made(pickler: Any, arguments: tuple[Any, ...]) -> None:
        message, _here.message = _here.message, None
        if message is not None:
            pickler._clew_message = arguments[0], message

    def dumped(result: None, pickler: Any, *_arguments: Any) -> None:
        found = pickler.__dict__.pop("_clew_message", None)
        if found is not None:
            stream, (kind, key) = found
            with contextlib.suppress(Exception):  # the program's own stream may raise any exception
                stream.write(_TRAILER.pack(_mark_of(run_folder()), kind, key))
        return result

    hook(pickler_class.__init__, made, parameters=2)
    if type(pickler_class.dump) is not Around:
        pickler_class.dump = around(pickler_class.dump, None, dumped)


def _patch_connections(module: Any) -> None:
    base_class = module._ConnectionBase
    sites[PIPE] = Sites(adapter_site(base_class.send), adapter_site(base_class.recv))
    emit = core.emit

    def sending(connection: Any, item: Any) -> bool:
        kind = MANAGER if _here.calls else getattr(connection, "_clew_kind", PIPE)
        if _here.silent:
            send(NOTHING)
        elif callable(kind):
            send(*kind(item))
        else:
            send(kind)
        return True

    def sent(_token: bool, _result: None) -> None:
        _here.message = None

    def receiving(connection: Any) -> Any:
        return _begin_wait(connection, None) or True

    def polling(connection: Any, limit: Any) -> Any:
        return _begin_wait(connection, limit) if limit is None or limit > 0 else None

    def polled(wait: Any, is_there: bool | None) -> None:
        core.wake(wait, "failed" if is_there is None else "" if is_there else "timeout")

    def received(token: Any, buffer: Any) -> None:
        if token is not True:
            core.wake(token, "failed" if buffer is None else "")
        size = buffer.tell() - _TRAILER.size if buffer is not None else -1
        if size < 0:
            return
        buffer.seek(size)
        mark, kind, key = _TRAILER.unpack(buffer.read(_TRAILER.size))
        if mark != _mark_of(run_folder()):
            return
        buffer.seek(size)
        buffer.truncate()
        site = (sites.get(kind) or sites[PIPE]).receive
        emit(_JOIN if _here.calls else _RECEIVE, site, key, intern(CHANNELS.get(kind, CHANNELS[PIPE])))

    hook(base_class.send, sending, sent, parameters=2)
    for name in ("Connection", "PipeConnection"):
        connection_class = getattr(module, name, None)
        if connection_class is not None:
            hook(connection_class._recv_bytes, receiving, received)
    hook(base_class.poll, polling, polled, parameters=2)


class _Buffer(deque[Any]):
    """The objects that wait for the queue's writer thread, with their keys in a parallel deque."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: deque[int] = deque()


def _patch_queues(module: Any) -> None:
    queue_class = module.Queue
    simple_class = module.SimpleQueue
    put_site = adapter_site(queue_class.put)
    sites[QUEUE] = Sites(put_site, adapter_site(queue_class.get))
    emit, channel = core.emit, intern(CHANNELS[QUEUE])

    # `append` is called with the queue's lock held, `popped` by the only thread that takes from the buffer.
    def append(buffer: _Buffer, item: Any) -> None:
        key = 0
        if item is not module._sentinel and core.active():
            key = fresh_key()
            emit(_SEND, put_site, key, channel)
        buffer.keys.append(key)

    def popped(item: Any, buffer: _Buffer) -> Any:
        if buffer.keys:
            key = buffer.keys.popleft()
            _here.message = (QUEUE, key) if key else None
        return item

    def cleared(result: None, buffer: _Buffer) -> None:
        buffer.keys.clear()
        return result

    _Buffer.append = around(deque.append, append)  # type: ignore[method-assign]  # typed as deque's
    _Buffer.popleft = around(deque.popleft, None, popped)  # type: ignore[method-assign]  # typed as deque's
    _Buffer.clear = around(deque.clear, None, cleared)  # type: ignore[method-assign]  # typed as deque's

    def reset(queue: Any, _result: None) -> None:
        if type(queue._buffer) is deque and getattr(queue, "_clew_kind", QUEUE) != NOTHING:
            queue._buffer = _Buffer()

    def putting(queue: Any) -> bool:
        send(getattr(queue, "_clew_kind", QUEUE))
        return True

    def put(_token: bool, _result: None) -> None:
        _here.message = None

    hook(queue_class._reset, lambda queue: queue, reset)
    hook(simple_class.put, putting, put)


def _patch_managers(module: Any) -> None:
    """Hook calls through a proxy. A call is a round trip: the reply is a cause, but does not begin a new region."""
    sites[MANAGER] = Sites(adapter_site(module.BaseProxy._callmethod), adapter_site(module.Server.serve_client))

    def calling(_proxy: Any) -> bool:
        _here.calls += 1
        return True

    def called(_token: bool, _result: Any) -> None:
        _here.calls -= 1

    def managing(_connection: Any) -> bool:
        _here.silent += 1
        return True

    def managed(_token: bool, _result: Any) -> None:
        _here.silent -= 1

    hook(module.BaseProxy._callmethod, calling, called)
    hook(module.dispatch, managing, managed)
    hook(module.Server.handle_request, lambda _server, connection: label(connection, NOTHING), parameters=2)
    hook(module.Server.serve_client, lambda _server, connection: label(connection, MANAGER), parameters=2)
