"""The recorder in pure Python: what `_core` does, byte for byte, where there is no C compiler.

It marks chunks as finished, for the collector to pack, but takes none back: the ring stays full and the file grows, and a
thread's last chunk is finished with the process only.

Invariants: the same as the C core's. Space is allocated before it is mapped; ticks are stored last and at once; a forked
child forgets the parent's file. What a signal handler or a finalizer records while its thread is storing a record waits
until that one is done (`_run`), so `_store.lock` is never asked for by a thread that holds it.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import mmap
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from clew.instrument.recorder import complaint
from clew.instrument.recorder.flows import Flows
from clew.instrument.recorder.mapping import map_file
from clew.records.event import CALLS, RECORD_SIZE, Kind, pack_extension, pack_word
from clew.records.header import (
    CHUNK_HEADER,
    CHUNK_HEADER_SIZE,
    CHUNK_MAGIC,
    CHUNK_SIZE,
    CHUNK_STATE_OFFSET,
    CHUNKS_OFFSET,
    DROPPED_OFFSET,
    FINISHED_OFFSET,
    HEADER,
    HEADER_SIZE,
    INFO_MAX,
    INFO_OFFSET,
    LAST_TICKS_OFFSET,
    MAGIC,
    PACKED_BYTES_OFFSET,
    RETIRED_OFFSET,
    STATE_OFFSET,
    VERSION,
    ChunkKind,
    ChunkState,
    Clock,
    State,
)
from clew.records.keys import KeySource

_FIRST_CHUNKS, _FULL_CHUNKS = 16, 1024
_MASK = 0xFFFF_FFFF_FFFF_FFFF

# What the recorder costs beyond the store itself, in ns; see csrc/probes.h.
_AROUND_NS = 10.0
_EMITTED_NS = 700.0
_CREDIT_NS = 1e9
_FIRST_CREDIT_NS = 1e8

_ATTEMPTS = 3

_ticks = time.monotonic_ns
_latch_keys = KeySource()


class _Chunk:
    """Where one writer stores: a chunk as bytes and as 8-byte words, the next free word, and the words there are."""

    __slots__ = ("bytes", "end", "epoch", "extended", "number", "place", "storing", "words")

    def __init__(self, data: memoryview, epoch: int, number: int) -> None:
        self.bytes = data
        self.number = number
        self.words = data.cast("Q")
        self.place = CHUNK_HEADER_SIZE // 8
        self.end = CHUNK_SIZE // 8
        self.epoch = epoch
        self.extended = 0
        self.storing = False

    def store(self, word: int, extension: bytes) -> None:
        place, size = self.place, len(extension)
        self.storing = True
        self.words[place + 1] = word
        if size:
            self.bytes[place * 8 + RECORD_SIZE : place * 8 + RECORD_SIZE + size] = extension
            self.extended += 1
        self.words[place] = _ticks()
        self.place = place + 2 + size // 8
        self.storing = False

    def finish(self) -> None:
        """Nothing more will be stored in it."""
        with self.bytes[CHUNK_STATE_OFFSET : CHUNK_STATE_OFFSET + 4] as state, state.cast("I") as word:
            word[0] = ChunkState.FINISHED

    def recover(self) -> None:
        """A signal handler's exception (Ctrl-C, say) came out of `store`: keeps the record if it was whole, else wipes it."""
        place = self.place
        word = self.words[place + 1] if place < self.end else 0
        size = 2 + 2 * (word >> 8 & 0xFF)
        if word and self.words[place]:
            self.place = place + size
        elif word:
            self.bytes[place * 8 : (place + size) * 8] = bytes(size * 8)
        self.storing = False


class _Thread(threading.local):
    """The calling thread's part of the recording numbered `epoch`."""

    epoch = -1
    serial = 0
    chunk: _Chunk | None = None
    busy = False
    emitted = 0
    latched: tuple[object, ...] = ()
    """What a Latch recorded last, and where it ended."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[..., None], tuple[Any, ...]]] = []


class _Segment(NamedTuple):
    """The last chunks that were mapped, from number `first` to before `stop`."""

    first: int
    stop: int
    view: memoryview


class _Store:
    """The state of this process's recording."""

    def __init__(self) -> None:
        self.active = False
        self.epoch = 0
        self.uid = _new_uid()
        self.problem = ""
        self.forget()

    def forget(self) -> None:
        self.lock = threading.Lock()
        self.pid = os.getpid()
        self.path = ""
        self.identity = (0, 0)
        """Device and inode: which file it is, whatever has its name now."""
        self.header: memoryview | None = None
        self.segment = _Segment(0, 0, memoryview(b""))
        self.claims = itertools.count()
        self.claimed = 0
        self.finished = 0
        self.limit = 0
        self.serials = 0
        self.dropped = 0
        self.definitions: _Chunk | None = None
        self.counters: _Chunk | None = None
        self.counted: dict[int, tuple[_Chunk, int]] = {}
        """For every site that is counted, where its number is."""
        self.share = 0.0
        self.cost = 0.0
        self.credit = 0.0
        self.clock = 0
        self.records = 0.0
        """Ns that were spent on records since a site was last judged, and on actions."""
        self.actions = 0.0


def _new_uid() -> int:
    return secrets.randbits(64) or 1


_store = _Store()
_flows = Flows()
_self = _Thread()


def _run(operation: Callable[..., None], *arguments: Any) -> None:
    """Runs it now, or after what this thread is in the middle of. No error of its own comes out, but a signal handler's does:
    the program's timeouts and Ctrl-C pass through here like through any other code."""
    if _self.busy:
        _self.waiting.append((operation, arguments))
        return
    _self.busy = True
    try:
        operation(*arguments)
    except Exception as error:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        if at is None or at.tb_frame.f_code.co_filename != _run.__code__.co_filename:
            raise
    finally:
        _self.busy = False
    while _self.waiting:
        try:
            operation, arguments = _self.waiting.pop(0)
        except IndexError:  # a signal handler was faster
            return
        _run(operation, *arguments)


# --- the file


def _allocate(file: int, offset: int, length: int) -> None:
    """Disk space for `length` bytes at `offset`. Raises `OSError` where there is none; never leaves it to a page fault."""
    try:
        import resource
    except ImportError:
        pass
    else:
        # Beyond the limit the kernel sends a signal that kills, unless it is ignored.
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and offset + length > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, offset, length)
        return
    os.lseek(file, offset, os.SEEK_SET)
    while length:
        length -= os.write(file, bytes(min(length, 1 << 20)))


def _map(file: int, offset: int, length: int) -> memoryview:
    """Unmapped when its last view is gone."""
    lead = offset % mmap.ALLOCATIONGRANULARITY
    return memoryview(map_file(file, offset - lead, length + lead))[lead:]


@contextlib.contextmanager
def _opened() -> Iterator[int]:
    """A descriptor of the process's own file; none is open while the program runs, so that its own have the numbers that
    they have without us. Raises `OSError`, with ENOENT when the file was moved or removed."""
    file = _above_stderr(os.open(_store.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0)))
    try:
        found = os.fstat(file)
        if (found.st_dev, found.st_ino) != _store.identity:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), _store.path)
        yield file
    finally:
        os.close(file)


def _above_stderr(file: int) -> int:
    """The same file under a number that no thread prints to meanwhile, should the program have closed 0, 1 or 2."""
    if file > complaint.STDERR:
        return file
    try:
        return _above_stderr(os.dup(file))
    finally:
        os.close(file)


def _allowed() -> int:
    """How many chunks the file may have: what was packed counts against the quota, what became a hole does not."""
    if _store.header is None:
        return 0
    with _store.header.cast("Q") as words:
        return _store.limit + words[RETIRED_OFFSET // 8] - words[PACKED_BYTES_OFFSET // 8] // CHUNK_SIZE


def _grow() -> None:
    """Adds a segment. Raises `OSError`, with errno 0 for the quota."""
    first = _store.segment.stop
    doubled = 2 * (first - _store.segment.first) or _FIRST_CHUNKS
    count = min(doubled, _FULL_CHUNKS, _allowed() - first)
    if count <= 0:
        raise OSError(0, "quota")
    offset = HEADER_SIZE + first * CHUNK_SIZE
    with _opened() as file:
        while True:
            try:
                _allocate(file, offset, count * CHUNK_SIZE)
                view = _map(file, offset, count * CHUNK_SIZE)
                break
            except OSError:
                if count == 1:
                    raise
                count //= 2
        _store.segment = _Segment(first, first + count, view)


def _put_header(offset: int, value: int) -> None:
    if _store.header is not None:
        with _store.header.cast("Q") as words:
            words[offset // 8] = value


def _clock_pair() -> int:
    """A pair whose nanoseconds are 0 is half-written, should the process be killed in here."""
    now = _ticks()
    for offset, value in ((LAST_TICKS_OFFSET + 8, 0), (LAST_TICKS_OFFSET, now), (LAST_TICKS_OFFSET + 8, now)):
        _put_header(offset, value)
    return now


def _claim(kind: ChunkKind, serial: int, last: _Chunk | None) -> _Chunk | None:
    """The chunk after `last`, its header complete; None when recording had to stop. Call with `_store.lock` held.

    A signal handler's exception may come out of it: then the chunk stays empty, and the next one has its number.
    """
    if not _store.active or _store.pid != os.getpid():
        return None
    number = 0
    if last is not None and last.epoch == _store.epoch:
        number = last.number + 1
        if kind != ChunkKind.COUNTERS:  # whose numbers still grow
            last.finish()
            _store.finished += 1
            _put_header(FINISHED_OFFSET, _store.finished)
    try:
        if _store.claimed >= _allowed():
            raise OSError(0, "quota")
        claim = next(_store.claims)
        while claim >= _store.segment.stop:
            _grow()
    except (OSError, ValueError, MemoryError) as error:
        _give_up(error)
        return None
    start = (claim - _store.segment.first) * CHUNK_SIZE
    chunk = _Chunk(_store.segment.view[start : start + CHUNK_SIZE], _store.epoch, number)
    _store.claimed = claim + 1
    _put_header(CHUNKS_OFFSET, _store.claimed)
    now = _clock_pair()
    native = threading.get_native_id() if serial else 0
    CHUNK_HEADER.pack_into(chunk.bytes, 0, 0, kind, 0, native, serial, number, now, now)
    with chunk.bytes[:4] as magic, magic.cast("I") as word:
        word[0] = CHUNK_MAGIC
    return chunk


def _give_up(error: Exception) -> None:
    """Recording can't go on: says so once and keeps the reason for `problem()`. Call with `_store.lock` held."""
    if isinstance(error, OSError) and error.errno == 0:
        state = State.QUOTA
        size = (HEADER_SIZE + _store.limit * CHUNK_SIZE) / (1 << 20)
        why, kept = f"its quota of {size:.1f} MB is used up", True
    else:
        state = State.FAILED
        kept = not isinstance(error, FileNotFoundError | NotADirectoryError)
        what = "cannot grow" if kept else "was moved or removed"
        why = f"{_store.path[:300]} {what} ({getattr(error, 'strerror', None) or error})"
    told = f"recording of process {_store.pid} stopped: {why}"
    _store.problem = f"{told}; what was recorded until now is kept" if kept else told
    _finish(state)
    complaint.complain(_store.problem)


def _finish(state: State) -> None:
    """Ends the recording: every chunk becomes stale. Call with `_store.lock` held."""
    _store.active = False
    _store.epoch += 1
    _clock_pair()
    if _store.header is not None:
        _store.header[STATE_OFFSET] = state
    with contextlib.suppress(OSError), _opened() as file:  # a file that can't be cut ends in zeros, which readers skip
        os.ftruncate(file, HEADER_SIZE + _store.claimed * CHUNK_SIZE)
    _store.segment = _Segment(0, 0, memoryview(b""))
    _store.definitions = _store.counters = None
    _store.counted = {}


def start(path: str, info: bytes, parent_uid: int, quota: int, budget: float) -> None:
    if _store.active:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
    if len(info) > INFO_MAX:
        raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE), path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))
    _store.forget()
    _store.problem = ""
    complaint.start()
    try:
        made = os.stat(path)
        _store.path, _store.identity = path, (made.st_dev, made.st_ino)
        with _opened() as file:
            _allocate(file, 0, HEADER_SIZE)
            _store.header = header = _map(file, 0, HEADER_SIZE)
        _store.limit = max(quota - HEADER_SIZE, 0) // CHUNK_SIZE
        if _store.limit:
            _grow()
    except (OSError, ValueError, MemoryError) as error:
        _store.forget()
        os.unlink(path)
        raise OSError(getattr(error, "errno", errno.ENOMEM), getattr(error, "strerror", str(error)), path) from None
    now = _ticks()
    # The magic comes last: until then a reader sees a file that was never begun.
    HEADER.pack_into(
        header, 0, b"", VERSION, HEADER_SIZE, CHUNK_SIZE, os.getpid(), os.getppid(), Clock.MONOTONIC,
        State.RECORDING, 0, 0, now, now, time.time_ns(), now, now, 0, 0, _store.uid, parent_uid & _MASK,
    )  # fmt: skip
    header[INFO_OFFSET : INFO_OFFSET + 4 + len(info)] = len(info).to_bytes(4, "little") + info
    _put_header(0, int.from_bytes(MAGIC, "little"))
    _store.epoch += 1
    _store.share = max(budget, 0.0)
    if _store.share:
        _store.cost = calibrate() + _AROUND_NS
        _store.credit = _store.share * _FIRST_CREDIT_NS
        _store.clock = time.process_time_ns()
    _store.active = True


def stop() -> None:
    _run(_stop)


def _stop() -> None:
    with _store.lock:
        if _store.active:
            _finish(State.CLOSED)
        if _store.header is not None:
            _store.header = None
            _store.uid = _new_uid()


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
        _define(Kind.THREAD, serial, json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
        _self.serial = serial
        _self.epoch = epoch
    return _store.active


def _room(words: int) -> _Chunk | None:
    """The calling thread's chunk, with room for `words` 8-byte words; None when the record is to be dropped."""
    chunk = _self.chunk
    if chunk is not None and chunk.storing:
        chunk.recover()
    if chunk is not None and chunk.epoch == _store.epoch and chunk.place + words <= chunk.end:
        return chunk
    hot, new = 0, None
    if _thread_known():
        if chunk is not None and chunk.epoch == _store.epoch:
            hot = _filled(chunk)
        with _store.lock:
            new = _claim(ChunkKind.EVENTS, _self.serial, chunk)
    _self.chunk = new
    if new is None:
        if _store.header is not None:
            _store.dropped += 1
            _put_header(DROPPED_OFFSET, _store.dropped)
        return None
    if hot:
        _degrade(hot)
    return _self.chunk


def _write(word: int, extension: bytes) -> None:
    if _flows.on:
        own = _self.chunk
        admitted = _flows.admits(word, extension, own if own is not None and own.epoch == _store.epoch else None)
        strand, site = _flows.reopened()
        if strand and (chunk := _room(4)) is not None:
            chunk.store(pack_word(Kind.STEP_BEGIN, site, 1), pack_extension(strand))
        if not admitted:
            return
    chunk = _room(2 + len(extension) // 8)
    if chunk is not None:
        chunk.store(word, extension)


def emit(  # noqa: PLR0917  # what a record holds, in the order it is read
    kind: int, site: int, key: int, channel: int = 0, text: bytes = b"", flags: int = 0
) -> None:
    extension = pack_extension(key, channel & 0xFFFF_FFFF, text, flags & 0xFFFF)
    _run(_write, pack_word(kind & 0xFF, site & 0xFFFF_FFFF, len(extension) // 16), extension)
    _self.emitted += 1


def define(kind: int, key: int, text: bytes, /) -> None:
    _run(_define, kind, key, text)


def _define(kind: int, key: int, text: bytes) -> None:
    if not _store.active:
        return
    extension = pack_extension(key, 0, text)
    with _store.lock:
        chunk = _store.definitions
        if chunk is not None and chunk.storing:
            chunk.recover()
        if chunk is None or chunk.place + 2 + len(extension) // 8 > chunk.end:
            chunk = _store.definitions = _claim(ChunkKind.DEFINITIONS, 0, chunk)
        if chunk is not None:
            chunk.store(pack_word(kind & 0xFF, 0, len(extension) // 16), extension)


def _meet_thread() -> None:
    _thread_known()


def thread() -> int:
    _run(_meet_thread)
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

    @property
    def counting(self) -> bool:
        return self.site in _store.counted

    @property
    def count(self) -> int:
        counted = _store.counted.get(self.site)
        return counted[0].words[counted[1]] if counted else 0

    def __invert__(self) -> None:
        if self.site not in _store.counted:
            _run(_write, self._word, b"")
        elif self.kind == Kind.ENTER:
            _run(_count, self.site)

    def __call__(self, *ignored: object) -> None:
        self.__invert__()

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
            _self.chunk = _Chunk(memoryview(bytearray(CHUNK_SIZE)), _store.epoch, 0)
            started = time.monotonic_ns()
            for number in range(250):
                _run(_write, number << 32 | Kind.ENTER, b"")
            best = min(best, (time.monotonic_ns() - started) / 250)
    finally:
        _self.chunk = kept
    return best


def _filled(chunk: _Chunk) -> int:
    """Books what the full chunk cost. Gives the site to switch off when the budget is overdrawn, else 0."""
    if not _store.share:
        return 0
    units = (chunk.place - CHUNK_HEADER_SIZE // 8) / 2
    cost = units * _store.cost + chunk.extended * _EMITTED_NS  # there are no native hooks here
    _earn()
    _store.credit -= cost
    _store.records += cost
    if _store.credit >= 0 or _store.actions > _store.records:
        return 0
    _judged()
    return _hottest_site(chunk)


def _earn() -> None:
    clock = time.process_time_ns()
    _store.credit = min(_store.credit + _store.share * (clock - _store.clock), _store.share * _CREDIT_NS)
    _store.clock = clock


def _judged() -> None:
    _store.credit = _store.share * _FIRST_CREDIT_NS
    _store.records = _store.actions = 0.0


def emitted() -> int:
    return _self.emitted


def book(ns: float, emitted: float, /) -> bool:
    if not _store.share or not _store.active:
        return False
    _earn()
    _store.credit -= ns - emitted * _EMITTED_NS
    _store.actions += ns
    _store.records -= emitted * _EMITTED_NS
    if _store.credit >= 0 or _store.actions <= _store.records:
        return False
    _judged()
    return True


def _hottest_site(chunk: _Chunk) -> int:
    """The site with the most plain call records in the chunk, or 0."""
    seen: Counter[int] = Counter()
    place = CHUNK_HEADER_SIZE // 8
    while place < chunk.place:
        word = chunk.words[place + 1]
        if word & 0xFF in CALLS and word >> 32:
            seen[word >> 32] += 1
        place += 2 + 2 * (word >> 8 & 0xFF)
    return seen.most_common(1)[0][0] if seen else 0


def _count(site: int) -> None:
    with _store.lock:
        counted = _store.counted.get(site)
        if counted:
            chunk, place = counted
            chunk.words[place] += 1


def _degrade(site: int) -> None:
    """Switches a site to counting and says so, in the thread's stream and to the user."""
    with _store.lock:
        chunk = _store.counters
        if chunk is None or chunk.place == chunk.end:
            chunk = _store.counters = _claim(ChunkKind.COUNTERS, 0, chunk)
        if chunk is None:
            return
        chunk.words[chunk.place] = site
        _store.counted = {**_store.counted, site: (chunk, chunk.place + 1)}
        chunk.place += 2
    text = (
        f"recording would have cost more than the budget of {_store.share * 100:.3g} %: from here on calls of this "
        "function are counted, not recorded"
    ).encode()
    extension = pack_extension(0, 0, text)
    _write(pack_word(Kind.GAP, site, len(extension) // 16), extension)
    _define(Kind.NOTE, site, text)


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
    """The child has inherited the mappings: it drops them all and writes into none."""
    _store.active = False
    _store.epoch += 1
    _store.problem = ""
    _store.forget()
    _store.uid = _new_uid()
    _self.chunk = None
    _self.busy = False
    _self.waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
