"""The trace file of the recorder written in Python: its header page, the segments that map it, and the chunks in it.

The twin of `csrc/store.h`, `chunks.h` and `opening.h`, but for recycling: it marks chunks as finished, for the collector to
pack, and takes none back from it, so the file grows, and a thread's last chunk is finished with the process only. At the quota
it drops its own oldest one, if the newest are to be kept (`oldest.py`). Invariants: space is allocated before it is mapped; no
descriptor of ours is open while the program runs; a forked child forgets the parent's file.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import mmap
import os
import secrets
import threading
import time
from collections.abc import Iterator

from clew.instrument.recorder import complaint
from clew.instrument.recorder.chunks import Chunk, ticks
from clew.instrument.recorder.mapping import map_file
from clew.instrument.recorder.oldest import Oldest
from clew.records.header import (
    CHUNK_HEADER,
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
from clew.records.tuples import NamedTuple

_FIRST_CHUNKS, _FULL_CHUNKS = 16, 1024
_MASK = 0xFFFF_FFFF_FFFF_FFFF


class _Segment(NamedTuple):
    """The last chunks that were mapped, from number `first` to before `stop`."""

    first: int
    stop: int
    view: memoryview


class Store:
    """This process's recording. `claim`, `finish` and `drop` are called with `lock` held."""

    def __init__(self) -> None:
        self.active = False
        self.epoch = 0
        """Number of the recording: what belongs to an earlier one is stale."""
        self.uid = _new_uid()
        self.problem = ""
        self.forget()

    def forget(self) -> None:
        self.lock = threading.Lock()
        self.serials = 0
        self._pid = os.getpid()
        self._path = ""
        self._identity = (0, 0)
        """Device and inode: which file it is, whatever has its name now."""
        self._header: memoryview | None = None
        self._segment = _Segment(0, 0, memoryview(b""))
        self._claims = itertools.count()
        self._claimed = 0
        self._oldest: Oldest | None = None
        self._finished = 0
        self._limit = 0
        self._dropped = 0

    def forked(self) -> None:
        """The child has inherited the mappings: it drops them all and writes into none."""
        self.active = False
        self.epoch += 1
        self.problem = ""
        self.forget()
        self.uid = _new_uid()

    def open(self, path: str, info: bytes, parent_uid: int, quota: int, *, keep_newest: bool) -> None:
        """Begins a recording; `active` is the caller's to set. Raises `OSError`, and leaves nothing behind then."""
        if len(info) > INFO_MAX:
            raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE), path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))
        self.forget()
        self.problem = ""
        complaint.start()
        try:
            made = os.stat(path)
            self._path, self._identity = path, (made.st_dev, made.st_ino)
            with self._opened() as file:
                _allocate(file, 0, HEADER_SIZE)
                self._header = header = _map(file, 0, HEADER_SIZE)
            self._oldest = Oldest(header, _map) if keep_newest else None
            self._limit = max(quota - HEADER_SIZE, 0) // CHUNK_SIZE
            if self._limit:
                self._grow()
        except (OSError, ValueError, MemoryError) as error:
            self.forget()
            os.unlink(path)
            raise OSError(getattr(error, "errno", errno.ENOMEM), getattr(error, "strerror", str(error)), path) from None
        now = ticks()
        # The magic comes last: until then a reader sees a file that was never begun.
        HEADER.pack_into(
            header, 0, b"", VERSION, HEADER_SIZE, CHUNK_SIZE, os.getpid(), os.getppid(), Clock.MONOTONIC,
            State.RECORDING, 0, 0, now, now, time.time_ns(), now, now, 0, 0, self.uid, parent_uid & _MASK,
        )  # fmt: skip
        header[INFO_OFFSET : INFO_OFFSET + 4 + len(info)] = len(info).to_bytes(4, "little") + info
        self._put_header(0, int.from_bytes(MAGIC, "little"))
        self.epoch += 1

    def close(self) -> None:
        """Ends the recording; does nothing when there is none."""
        with self.lock:
            if self.active:
                self.finish(State.CLOSED)
            if self._header is not None:
                self._header = None
                self.uid = _new_uid()

    def claim(self, kind: ChunkKind, serial: int, last: Chunk | None) -> Chunk | None:
        """The chunk after `last`, its header complete; None when recording had to stop.

        A signal handler's exception may come out of it: then the chunk stays empty, and the next one has its number.
        """
        if not self.active or self._pid != os.getpid():
            return None
        number = 0
        if last is not None and last.epoch == self.epoch:
            number = last.number + 1
            if kind != ChunkKind.COUNTERS:  # whose numbers still grow
                if self._oldest is not None and kind == ChunkKind.EVENTS:
                    self._oldest.enter(last)
                last.finish()
                self._finished += 1
                self._put_header(FINISHED_OFFSET, self._finished)
        dropped = None
        try:
            if self._claimed >= self._allowed():
                dropped = self._drop_oldest()
                if dropped is None:
                    raise OSError(0, "quota")
            else:
                claim = next(self._claims)
                while claim >= self._segment.stop:
                    self._grow()
        except (OSError, ValueError, MemoryError) as error:
            self._give_up(error)
            return None
        if dropped is not None:
            claim, view = dropped
        else:
            start = (claim - self._segment.first) * CHUNK_SIZE
            view = self._segment.view[start : start + CHUNK_SIZE]
            self._claimed = claim + 1
            self._put_header(CHUNKS_OFFSET, self._claimed)
        chunk = Chunk(view, self.epoch, number, claim)
        now = self._clock_pair()
        native = threading.get_native_id() if serial else 0
        CHUNK_HEADER.pack_into(chunk.bytes, 0, CHUNK_MAGIC if dropped else 0, kind, 0, native, serial, number, now, now)
        chunk.put(0, CHUNK_MAGIC)
        chunk.put(CHUNK_STATE_OFFSET, ChunkState.IN_USE)
        if dropped is not None and self._oldest is not None:
            self._oldest.taken(claim)
        return chunk

    def drop(self) -> None:
        """Counts a record that came after an early stop."""
        if self._header is not None:
            self._dropped += 1
            self._put_header(DROPPED_OFFSET, self._dropped)

    def finish(self, state: State) -> None:
        """Ends the recording: every chunk becomes stale."""
        self.active = False
        self.epoch += 1
        self._clock_pair()
        if self._header is not None:
            self._header[STATE_OFFSET] = state
        with (
            contextlib.suppress(OSError),
            self._opened() as file,
        ):  # one that can't be cut ends in zeros, which readers skip
            os.ftruncate(file, HEADER_SIZE + self._claimed * CHUNK_SIZE)
        self._segment = _Segment(0, 0, memoryview(b""))
        self._oldest = None

    def _give_up(self, error: Exception) -> None:
        """Recording can't go on: says so once and keeps the reason for `problem()`."""
        if isinstance(error, OSError) and error.errno == 0:
            state = State.QUOTA
            size = (HEADER_SIZE + self._limit * CHUNK_SIZE) / (1 << 20)
            why, kept = f"its quota of {size:.1f} MB is used up", True
        else:
            state = State.FAILED
            kept = not isinstance(error, FileNotFoundError | NotADirectoryError)
            what = "cannot grow" if kept else "was moved or removed"
            why = f"{self._path[:300]} {what} ({getattr(error, 'strerror', None) or error})"
        told = f"recording of process {self._pid} stopped: {why}"
        self.problem = f"{told}; what was recorded until now is kept" if kept else told
        self.finish(state)
        complaint.complain(self.problem)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """A descriptor of the process's own file; none is open while the program runs, so that its own have the numbers that
        they have without us. Raises `OSError`, with ENOENT when the file was moved or removed."""
        file = _above_stderr(os.open(self._path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0)))
        try:
            found = os.fstat(file)
            if (found.st_dev, found.st_ino) != self._identity:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._path)
            yield file
        finally:
            os.close(file)

    def _allowed(self) -> int:
        """How many chunks the file may have: what was packed counts against the quota, what became a hole does not."""
        if self._header is None:
            return 0
        with self._header.cast("Q") as words:
            return self._limit + words[RETIRED_OFFSET // 8] - words[PACKED_BYTES_OFFSET // 8] // CHUNK_SIZE

    def _drop_oldest(self) -> tuple[int, memoryview] | None:
        """Number and bytes of the oldest finished chunk, if the newest are to be kept. Raises `OSError`."""
        if self._oldest is None:
            return None
        with self._opened() as file:
            return self._oldest.drop(file)

    def _grow(self) -> None:
        """Adds a segment. Raises `OSError`, with errno 0 for the quota."""
        first = self._segment.stop
        doubled = 2 * (first - self._segment.first) or _FIRST_CHUNKS
        count = min(doubled, _FULL_CHUNKS, self._allowed() - first)
        if count <= 0:
            raise OSError(0, "quota")
        offset = HEADER_SIZE + first * CHUNK_SIZE
        with self._opened() as file:
            while True:
                try:
                    _allocate(file, offset, count * CHUNK_SIZE)
                    view = _map(file, offset, count * CHUNK_SIZE)
                    break
                except OSError:
                    if count == 1:
                        raise
                    count //= 2
            self._segment = _Segment(first, first + count, view)

    def _put_header(self, offset: int, value: int) -> None:
        if self._header is not None:
            with self._header.cast("Q") as words:
                words[offset // 8] = value

    def _clock_pair(self) -> int:
        """A pair whose nanoseconds are 0 is half-written, should the process be killed in here."""
        now = ticks()
        for offset, value in ((LAST_TICKS_OFFSET + 8, 0), (LAST_TICKS_OFFSET, now), (LAST_TICKS_OFFSET + 8, now)):
            self._put_header(offset, value)
        return now


def _new_uid() -> int:
    return secrets.randbits(64) or 1


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


def _above_stderr(file: int) -> int:
    """The same file under a number that no thread prints to meanwhile, should the program have closed 0, 1 or 2."""
    if file > complaint.STDERR:
        return file
    try:
        return _above_stderr(os.dup(file))
    finally:
        os.close(file)
