"""Causality of threads: `start` to the thread's first step, and the thread's end to the threads that join it.

Channels: "thread.start", "thread.join".
"""

from __future__ import annotations

import json
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, object_keys, when_imported
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)


def install() -> None:
    when_imported("threading", _patch)


def _patch(threading: Any) -> None:
    thread_class = threading.Thread
    emit = core.emit
    start_key, end_key = object_keys(), object_keys()
    start_channel, join_channel = intern("thread.start"), intern("thread.join")
    body = thread_class._bootstrap_inner
    start_site, body_site, join_site = map(adapter_site, (thread_class.start, body, thread_class.join))
    native_id = getattr(threading, "get_native_id", int)
    is_alive = thread_class.is_alive

    def start(thread: Any) -> None:
        emit(_SEND, start_site, start_key(thread), start_channel)

    def begin(thread: Any) -> Any:
        # The recorder's own definition lacks the name, because the thread is not yet in the list of threads.
        text = {"name": thread._name, "native_id": native_id(), "daemon": thread._daemonic}
        core.define(Kind.THREAD, core.thread(), json.dumps(text).encode())
        emit(_JOIN, body_site, start_key(thread), start_channel)
        return thread

    def end(thread: Any, _result: None) -> None:
        emit(_SEND, body_site, end_key(thread), join_channel)

    def joined(thread: Any, _result: None) -> None:
        if not is_alive(thread):
            emit(_JOIN, join_site, end_key(thread), join_channel)

    hook(thread_class.start, start)
    hook(body, begin, end)
    hook(thread_class.join, lambda thread: thread, joined)
