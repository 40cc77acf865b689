"""Find the chunks in a process's compressed files by their blocks; a chunk is decompressed on demand, and not cached.

Invariant: at most one compressed file is in memory at a time during the search for blocks.
"""

import contextlib
import os
from collections.abc import Callable, Iterator

from clew.records.compress import block
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format import header
from clew.records.read.trace_chunks import Chunk, Gone, InMemory, OnDisk, Report, Source
from clew.records.run import directory


class CompressedFile(NamedTuple):
    name: str
    whole: Callable[[], bytes]
    source: Callable[[], Source]
    """Source of single blocks. May raise `OSError`."""


class Dropped(NamedTuple):
    """Events dropped to stay within the quota."""

    records: int = 0
    ticks: int = 0
    """Ticks of the last dropped event."""


def compressed_in_memory(name: str, data: bytes) -> CompressedFile:
    return CompressedFile(name, lambda: data, lambda: InMemory(data))


def compressed_files_of(trace: str) -> Iterator[CompressedFile]:
    """Yield the compressed files of a trace file; the first one again if others were removed meanwhile."""
    paths = [os.fspath(path) for path in directory.compressed_files(trace)]
    for path in paths:
        yield _on_disk(path)
    if not all(
        map(os.path.exists, paths)
    ):  # the oldest file was dropped because of the quota; the first file now records that
        yield _on_disk(paths[0])


def _on_disk(path: str) -> CompressedFile:
    def whole() -> bytes:
        with open(path, "rb") as file:
            return file.read()

    return CompressedFile(path, whole, lambda: OnDisk(path))


def find_compressed(file: CompressedFile, report: Report) -> Iterator[Chunk | Dropped]:
    try:
        data = file.whole()
    except FileNotFoundError:
        return
    except OSError as error:
        report("a compressed file cannot be read", f"{file.name}: {error.strerror}", "its contents")
        return
    for offset, found in block.blocks(data):
        if found is None:
            place, version = f"{file.name}@{offset}", block.other_version(memoryview(data), offset)
            if version:
                newer = version > block.VERSION
                reads = f"up to {block.VERSION}; upgrade clew" if newer else f"format {block.VERSION}; record again"
                what = f"compressed in format {version}, but this clew reads {reads}"
                report(what, place, "the following data, up to the next readable block")
            else:
                report("a compressed chunk is damaged", place, "the chunk")
        elif found.kind == block.CHUNK and len(found.header) == header.CHUNK_HEADER_SIZE:
            load = _loader(file, offset, found.size)
            yield Chunk(f"{file.name}@{offset}", found.header, load, raw=False, block_crc=found.crc)
        elif found.kind == block.DROPPED and len(found.body) == block.DROPPED_BODY.size:
            yield Dropped(*block.DROPPED_BODY.unpack(found.body))


def _loader(file: CompressedFile, offset: int, size: int) -> Callable[[], bytes]:
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
        found = block.block_at(memoryview(data), 0)
        if found is None:
            raise Gone
        return found.decompress()

    return load
