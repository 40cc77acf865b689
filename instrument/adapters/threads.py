"""Causality of threads: `start` to the thread's first step, and the thread's end to the threads that join it.

Channels: "thread.start", "thread.join".
"""

from __future__ import annotations

import json
import time
from typing import Any

from clew.instrument.adapters.facts.waits import waits_in
from clew.instrument.adapters.patching import adapter_site, hook, object_keys, when_imported
from clew.instrument.propagation.traceparent import fresh_key
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
    is_alive, current = thread_class.is_alive, threading.current_thread

    def start(thread: Any) -> None:
        emit(_SEND, start_site, start_key(thread), start_channel)

    def begin(thread: Any) -> Any:
        # The recorder's own definition lacks the name, because the thread is not yet in the list of threads.
        text = {"name": thread._name, "native_id": native_id(), "daemon": thread._daemonic}
        core.define(Kind.THREAD, core.thread(), json.dumps(text).encode())
        thread.__dict__["_clew_serial"] = core.uid(), core.thread()
        emit(_JOIN, body_site, start_key(thread), start_channel)
        return thread

    def end(thread: Any, _result: None) -> None:
        emit(_SEND, body_site, end_key(thread), join_channel)

    def joins(thread: Any, limit: Any) -> tuple[Any, Any, Any, float]:
        wait = None
        waits = limit is None or (type(limit) in (int, float) and limit > 0)
        if waits and thread._started.is_set() and is_alive(thread) and thread is not current():
            wait = core.wait(join_channel, core.object_key(thread), limit, fields_of(thread))
        return thread, wait, limit, time.monotonic()

    def joined(token: tuple[Any, Any, Any, float], _result: None) -> None:
        thread, wait, limit, since = token
        alive = is_alive(thread)
        if wait is not None:
            over = limit is not None and time.monotonic() - since >= limit
            core.wake(wait, "" if not alive else "timeout" if over else "failed")
        if not alive:
            emit(_JOIN, join_site, end_key(thread), join_channel)

    hook(thread_class.start, start)
    hook(body, begin, end)
    hook(thread_class.join, joins, joined, parameters=2)
    if hasattr(thread_class, "_wait_for_tstate_lock"):  # until Python 3.12; `join` waits by this lock
        waits_in(thread_class._wait_for_tstate_lock, "", plain=True)

        def awaited_at_exit(lock: Any) -> tuple[int, bytes]:
            for thread in list(threading._active.values()):
                if thread.__dict__.get("_tstate_lock") is lock:
                    return core.object_key(thread), fields_of(thread)
            return fresh_key(), b""

        # The main thread has ended; the interpreter waits for the others.
        waits_in(threading._shutdown, "thread.join", "lock", "", describe=awaited_at_exit, plain=True)


def fields_of(thread: Any) -> bytes:
    """Return the fields of a WAIT for the end of a thread: its name and its serial, if they are known."""
    process, serial = thread.__dict__.get("_clew_serial", (0, 0))
    fields = {"name": thread._name, "target": serial if process == core.uid() else 0}
    text = "".join(f"{json.dumps(name)}:{json.dumps(value)}," for name, value in fields.items() if value)
    return text.encode("utf-8", "replace")
