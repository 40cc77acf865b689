"""The recorder in pure Python: what `_core` does, byte for byte, where there is no C compiler. This file is its face.

store.py is the file and its chunks, chunks.py the records in one, turns.py keeps a thread's signal handlers and finalizers
apart from what it is in the middle of, flows.py is sampling, budget.py what recording may cost, counting.py what is counted
instead. Invariants: the same as the C core's; `_store.lock` is never asked for by a thread that holds it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from clew.instrument.recorder.budget import AROUND_NS, Budget
from clew.instrument.recorder.chunks import Chunk
from clew.instrument.recorder.counting import PAUSES, Counting, hottest_site
from clew.instrument.recorder.endings import end_by
from clew.instrument.recorder.flows import DROPPED, Flows
from clew.instrument.recorder.store import Store
from clew.instrument.recorder.turns import Turn, Turns
from clew.records.event import FLAG_OVER, Kind, pack_extension, pack_word
from clew.records.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, ChunkKind
from clew.records.keys import KeySource

_ATTEMPTS = 3

_latch_keys = KeySource()


class _Thread(threading.local):
    """The calling thread's part of the recording numbered `epoch`."""

    epoch = -1
    serial = 0
    chunk: Chunk | None = None
    emitted = 0
    latched: tuple[object, ...] = ()
    """What a Latch recorded last, and where it ended."""


_store = Store()
_flows = Flows()
_budget = Budget()
_counting = Counting(_budget)
_turns = Turns()
_self = _Thread()
_definitions: list[Chunk] = []
"""The chunk that definitions go to, once there is one."""


def start(  # noqa: PLR0917  # as in the C core
    path: str, info: bytes, parent_uid: int, quota: int, budget: float, keep_newest: bool = False
) -> None:
    if _store.active:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
    _store.open(path, info, parent_uid, quota, keep_newest=keep_newest)
    _definitions.clear()
    _counting.forget()
    _budget.start(max(budget, 0.0), calibrate() + AROUND_NS if budget > 0 else 0.0)
    _store.active = True


def stop() -> None:
    _turns.take(_stop)


def _stop(turn: Turn) -> None:
    _store.close()
    # What is mapped goes now: a handler's exception that came while it is unmapped, by a finalizer, would be lost.
    _self.chunk = None
    _definitions.clear()
    _counting.forget()


def active() -> bool:
    return _store.active


def uid() -> int:
    return _store.uid


def problem() -> str:
    return _store.problem


# --- records


def _thread_known() -> bool:
    """Makes the calling thread known to this recording. False when there is none (any more)."""
    if not _store.active:
        return False
    if _self.epoch != _store.epoch:
        with _store.lock:
            epoch = _store.epoch
            _store.serials += 1
            serial = _store.serials
        # Not current_thread(): it would make up an entry for a thread that Python did not start.
        threads: dict[int, threading.Thread] = getattr(threading, "_active", {})
        values = getattr(threads.get(threading.get_ident()), "__dict__", {})
        name, daemon = values.get("_name"), values.get("_daemonic") is True
        text = {"name": name if type(name) is str else "", "native_id": threading.get_native_id(), "daemon": daemon}
        _define(None, Kind.THREAD, serial, json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
        _self.serial = serial
        _self.epoch = epoch
    return _store.active


def _own_chunk() -> Chunk | None:
    """The calling thread's chunk of this recording."""
    chunk = _self.chunk
    return chunk if chunk is not None and chunk.epoch == _store.epoch else None


def _room(words: int) -> Chunk | None:
    """The calling thread's chunk, with room for `words` 8-byte words; None when the record is to be dropped."""
    chunk = _own_chunk()
    if chunk is not None:
        if chunk.storing:
            chunk.recover()
        if chunk.place + words <= chunk.end:
            return chunk
    hot, new = 0, None
    if _thread_known():
        if chunk is not None and _budget.filled((chunk.place - CHUNK_HEADER_SIZE // 8) // 2, chunk.emitted):
            hot = hottest_site(chunk)
        with _store.lock:
            new = _store.claim(ChunkKind.EVENTS, _self.serial, chunk)
    _self.chunk = new
    if new is None:
        _store.drop()
        return None
    if hot:
        _degrade(hot)
    return _self.chunk


def _write(turn: Turn | None, word: int, extension: bytes) -> None:
    if _flows.on:
        admitted = _flows.admits(word, extension, _own_chunk())
        strand, site = _flows.reopened()
        if strand and (chunk := _room(4)) is not None:
            chunk.store(pack_word(Kind.STEP_BEGIN, site, 1), pack_extension(strand))
        if not admitted:
            return
    chunk = _room(2 + len(extension) // 8)
    if chunk is not None:
        chunk.store(word, extension, turn)


def emit(  # noqa: PLR0917  # what a record holds, in the order it is read
    kind: int, site: int, key: int, channel: int = 0, text: bytes = b"", flags: int = 0
) -> None:
    extension = pack_extension(key, channel & 0xFFFF_FFFF, text, flags & 0xFFFF)
    _turns.take(_write, pack_word(kind & 0xFF, site & 0xFFFF_FFFF, len(extension) // 16), extension)
    _self.emitted += 1


def define(kind: int, key: int, text: bytes, /) -> None:
    _turns.take(_define, kind, key, text)


def _define(turn: Turn | None, kind: int, key: int, text: bytes) -> None:
    if not _store.active:
        return
    extension = pack_extension(key, 0, text)
    with _store.lock:
        chunk = _definitions[0] if _definitions and _definitions[0].epoch == _store.epoch else None
        if chunk is not None and chunk.storing:
            chunk.recover()
        if chunk is None or chunk.place + 2 + len(extension) // 8 > chunk.end:
            chunk = _store.claim(ChunkKind.DEFINITIONS, 0, chunk)
            _definitions[:] = [chunk] if chunk is not None else []
        if chunk is not None:
            chunk.store(pack_word(kind & 0xFF, 0, len(extension) // 16), extension, turn)


def _meet_thread(turn: Turn) -> None:
    _thread_known()


def thread() -> int:
    _turns.take(_meet_thread)
    return _self.serial if _store.active and _self.epoch == _store.epoch else 0


class Probe:
    """`~probe` stores a plain record and gives None."""

    __slots__ = ("_word", "kind", "site")

    def __init__(self, site: int, kind: int) -> None:
        if not 0 < kind < 256:
            raise ValueError(f"kind {kind} is not in 1 ... 255")
        self.site = site
        self.kind = kind
        self._word = pack_word(kind, site)
        if kind in PAUSES:
            _counting.pausing.add(site)

    @property
    def counting(self) -> bool:
        return _store.active and _counting.is_counting(self.site)

    @property
    def count(self) -> int:
        counted = _counting.sites.get(self.site) if _store.active else None
        return counted.calls if counted else 0

    def __invert__(self) -> None:
        _turns.take(_count if self.site in _counting.sites else _write, self._word, b"")

    def __contains__(self, error: object) -> bool:
        self(error)
        return False

    def __call__(self, *given: Any) -> None:
        word = self._word
        if self.kind == Kind.UNWIND:
            word += end_by(given[0] if given else None) - Kind.UNWIND
        _turns.take(_count if self.site in _counting.sites else _write, word, b"")

    def __repr__(self) -> str:
        return f"<clew probe, site {self.site}, kind {self.kind}>"


# --- sampling


def to_the_end(function: Callable[[], None], /) -> Callable[[], None]:
    """As in the C core, but that an interrupt is lost: there is no way to have it come after our last instruction."""

    def call() -> None:
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(BaseException):
                function()
                break

    return call


def sample(share: float, /) -> None:
    _flows.start(share, _store.uid, _store.epoch)


def flow() -> int:
    return _flows.state()


def flows() -> tuple[int, int]:
    return _flows.kept, _flows.dropped


def flow_key(key: int, /) -> int:
    return _flows.mark(key)


def flow_known(key: int, state: int, /) -> None:
    if _flows.on:
        _flows.send(key & 0xFFFF_FFFF_FFFF_FFFF, state)


# --- the budget


def calibrate() -> float:
    kept, best = _self.chunk, 1e9
    try:
        for _ in range(4):
            _self.chunk = Chunk(memoryview(bytearray(CHUNK_SIZE)), _store.epoch, 0)
            started = time.monotonic_ns()
            for number in range(250):
                _turns.take(_write, number << 32 | Kind.ENTER, b"")
            best = min(best, (time.monotonic_ns() - started) / 250)
    finally:
        _self.chunk = kept
    return best


def emitted() -> int:
    return _self.emitted


def book(ns: float, emitted: float, /) -> bool:
    return _store.active and _budget.book(ns, emitted)


def pretend(cpu_ns: int, cost: float, /) -> None:
    _budget.pretend(cpu_ns, cost)


def _count(turn: Turn, word: int, extension: bytes) -> None:
    """Stores a record of a site that was switched to counting, or counts it."""
    counted, kind = _counting.sites.get(word >> 32), word & 0xFF
    if counted is None or not _store.active:
        _write(turn, word, extension)
        return
    if kind == Kind.ENTER and counted.counting and _flows.state() != DROPPED:
        for other in _counting.recovered():
            _tell(
                other.site, other.calls - other.before, FLAG_OVER,
                "recording fits the budget again: from here on calls of this function are recorded, but for those inside of "
                "calls that were only counted",
            )  # fmt: skip
    if _counting.is_recorded(counted, kind):
        _write(turn, word, extension)
    else:
        _counting.count(turn, counted, kind, _flows.on and not _flows.admits(word, extension, _own_chunk()))


def _degrade(site: int) -> None:
    """Switches a site to counting and says so, in the thread's stream and to the user."""
    if _counting.is_counting(site):
        return
    if _counting.needs_chunk and site not in _counting.sites:
        with _store.lock:
            chunk = _store.claim(ChunkKind.COUNTERS, 0, _counting.full)
        if chunk is None:
            return
        _counting.has_chunk(chunk)
    _counting.switch_off(site)
    _tell(
        site, 0, 0,
        f"recording would have cost more than the budget of {_budget.share * 100:.3g} %: from here on calls of this function "
        "are counted, not recorded",
    )  # fmt: skip


def _tell(site: int, calls: int, flags: int, text: str) -> None:
    extension = pack_extension(calls, 0, text.encode(), flags)
    _write(None, pack_word(Kind.GAP, site, len(extension) // 16), extension)
    _define(None, Kind.NOTE, site, text.encode())


class Latch:
    """See `clew.instrument.recorder.types.MakeLatch`. Without the GIL's help a thread may come between value and record."""

    def __init__(  # noqa: PLR0917  # what two records hold
        self,
        name: str,
        values: tuple[object, ...],
        channel: int,
        set_kind: int,
        set_site: int,
        get_kind: int,
        get_site: int,
    ) -> None:
        self._name, self._values, self._channel = name, values, channel
        self._set, self._get = (set_kind, set_site), (get_kind, get_site)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = getattr(instance, self._name)
        if self._get[0] and instance._clew_key and value in self._values:
            record = (*self._get, instance._clew_key)
            # Looking twice is looking once.
            if _self.latched != (*record, _self.chunk and _self.chunk.place):
                emit(*record, self._channel)
                _self.latched = (*record, _self.chunk and _self.chunk.place)
        return value

    def __set__(self, instance: Any, value: object) -> None:
        if self._set[0] and value in self._values and getattr(instance, self._name, None) not in self._values:
            instance._clew_key = _latch_keys.fresh()
            emit(*self._set, instance._clew_key, self._channel)
        setattr(instance, self._name, value)


def _forked() -> None:
    _store.forked()
    _counting.forget()
    _definitions.clear()
    _self.chunk = None
    _turns.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
