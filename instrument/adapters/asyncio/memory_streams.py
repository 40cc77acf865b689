"""Causality of the ends of anyio's memory object streams: who closed a stream, to the calls that see its end.

Channel: "anyio.stream". A receive that raises `EndOfStream` depends on the close of the last sender, and on each send that
was cancelled before it gave its item. A send that raises `BrokenResourceError` depends on the close of the last receiver.
Items have the edges of their wake-ups. Invariant: no hook keeps an object of the program alive.
"""

from __future__ import annotations

import sys
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, hook_end, when_imported
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_MOST_CUT = 16
"""The maximum number of cancelled sends of a stream that are remembered: the last ones."""


def install() -> None:
    when_imported("anyio.streams.memory", _patch)


def _patch(module: Any) -> None:
    sender, receiver = module.MemoryObjectSendStream, module.MemoryObjectReceiveStream
    emit, channel = core.emit, intern("anyio.stream")
    close_site, cut_site = adapter_site(sender.close), adapter_site(sender.send)
    leave_site, receive_site = adapter_site(receiver.close), adapter_site(receiver.receive)
    # Under trio asyncio may not be imported; then no exception is of its class.
    cancelled = getattr(sys.modules.get("asyncio.exceptions"), "CancelledError", None)

    def closing(stream: Any) -> None:
        state = stream._state
        if not stream._closed and state.open_send_channels == 1:
            state._clew_end = fresh_key()
            emit(Kind.SEND, close_site, state._clew_end, channel)

    def leaving(stream: Any) -> None:
        state = stream._state
        if not stream._closed and state.open_receive_channels == 1:
            state._clew_left = fresh_key()
            emit(Kind.SEND, leave_site, state._clew_left, channel)

    def sent(stream: Any, error: BaseException | None) -> None:
        state = stream._state
        if type(error) is cancelled:
            key = fresh_key()
            state._clew_cut = (*getattr(state, "_clew_cut", ())[1 - _MOST_CUT :], key)
            emit(Kind.SEND, cut_site, key, channel)
        elif type(error) is module.BrokenResourceError and hasattr(state, "_clew_left"):
            emit(Kind.JOIN, cut_site, state._clew_left, channel)

    def received(stream: Any, error: BaseException | None) -> None:
        state = stream._state
        if type(error) is module.EndOfStream and hasattr(state, "_clew_end"):
            for key in (*getattr(state, "_clew_cut", ()), state._clew_end):
                emit(Kind.JOIN, receive_site, key, channel)

    hook(sender.close, closing)
    hook(receiver.close, leaving)
    hook_end(sender.send, sent)
    hook_end(receiver.receive, received)
