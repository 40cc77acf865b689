"""The chunks in a process's packed files, found by their frames: one is unpacked when it is wanted, and not kept.

Invariant: no more than one packed file is in memory at a time, while its frames are looked for.
"""

import contextlib
import os
from collections.abc import Callable, Iterator

from clew.records import header, pack, run
from clew.records.chunks import Chunk, Gone, InMemory, OnDisk, Say, Source
from clew.records.tuples import NamedTuple


class PackedFile(NamedTuple):
    name: str
    whole: Callable[[], bytes]
    source: Callable[[], Source]
    """To load single frames from. May raise `OSError`."""


class Dropped(NamedTuple):
    """What was thrown away to stay within the quota."""

    records: int = 0
    ticks: int = 0
    """Of the last of them."""


def packed_in_memory(name: str, data: bytes) -> PackedFile:
    return PackedFile(name, lambda: data, lambda: InMemory(data))


def packed_beside(trace: str) -> Iterator[PackedFile]:
    """Of a trace file, the first one once more if others have gone meanwhile."""
    paths = [os.fspath(path) for path in run.packed_files(trace)]
    for path in paths:
        yield _on_disk(path)
    if not all(map(os.path.exists, paths)):  # it was the oldest, and the quota is reached: the first one says so now
        yield _on_disk(paths[0])


def _on_disk(path: str) -> PackedFile:
    def whole() -> bytes:
        with open(path, "rb") as file:
            return file.read()

    return PackedFile(path, whole, lambda: OnDisk(path))


def find_packed(file: PackedFile, say: Say) -> Iterator[Chunk | Dropped]:
    try:
        data = file.whole()
    except FileNotFoundError:
        return
    except OSError as error:
        say("a packed file cannot be read", f"{file.name}: {error.strerror}", "what it held")
        return
    for offset, frame in pack.frames(data):
        if frame is None:
            place, version = f"{file.name}@{offset}", pack.newer_version(memoryview(data), offset)
            if version:
                what = f"packed in format {version}, this clew reads up to {pack.VERSION}; upgrade clew"
                say(what, place, "what follows, up to what this clew can read")
            else:
                say("a packed chunk is damaged", place, "the chunk")
        elif frame.kind == pack.CHUNK and len(frame.header) == header.CHUNK_HEADER_SIZE:
            load = _loader(file, offset, frame.size)
            yield Chunk(f"{file.name}@{offset}", frame.header, load, raw=False, frame=frame.crc)
        elif frame.kind == pack.DROPPED and len(frame.body) == pack.DROPPED_BODY.size:
            yield Dropped(*pack.DROPPED_BODY.unpack(frame.body))


def _loader(file: PackedFile, offset: int, size: int) -> Callable[[], bytes]:
    def load() -> bytes:
        try:
            source = file.source()
        except OSError:
            raise Gone from None
        try:
            data = source.part(offset, size)
        except OSError:
            raise Gone from None
        finally:
            if isinstance(source, OnDisk):
                with contextlib.suppress(OSError):
                    source.close()
        frame = pack.frame_at(memoryview(data), 0)
        if frame is None:
            raise Gone
        return frame.unpack()

    return load
