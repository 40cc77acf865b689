"""Caches the records that were read of a live run in `growing/` in its folder, so that the next reader continues after them.

Columns are in immutable files that are mapped into memory. The file `state` assigns them to threads, and records how far each
thread was read and split. Invariants: the cache is used only if every byte has its original checksum, and for a thread only if
its stream still begins with the same records. A process that is killed while writing leaves the old state or the new one. Only
one process writes at a time; others only read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.build.read_columns import Piece, ProcessRead, Taken, ThreadRead
from clew.graph.build.split_strands import Steps
from clew.graph.store.parquet_read import sums_of
from clew.graph.store.sidecar import Sidecar, private_file
from clew.records.format.event import SiteInfo
from clew.records.read.process_records import Definitions, Note, ProcessRecords, StrandInfo
from clew.records.read.scan_cache import Known

GROWING_FOLDER = "growing"
FORMAT = 2
"""The version of the cache; increment it with every change of its contents or of how records are read."""
_STATE = "state"
_COLUMNS = ".columns"
_DEFINITIONS = ".definitions"
_RATIO = 4
"""New records are merged with the last file unless that has this many times as many records. So there are few files, and each
record is rewritten only a few times."""
_MORE = 1.25
"""Definitions are rewritten when their number of chunks has grown by this factor; until then the older ones suffice."""

_ROWS, _EXTENSIONS, _TEXTS = range(3)
_LAYOUT: dict[str, tuple[type[np.generic], int]] = {
    "ticks": (np.uint64, _ROWS),
    "key": (np.uint64, _EXTENSIONS),
    "site": (np.uint32, _ROWS),
    "strand": (np.uint32, _ROWS),
    "ext": (np.int32, _ROWS),
    "channel": (np.uint32, _EXTENSIONS),
    "flags": (np.uint16, _EXTENSIONS),
    "length": (np.uint16, _EXTENSIONS),
    "kind": (np.uint8, _ROWS),
    "texts": (np.uint8, _TEXTS),
}
"""The columns of a file, with their type and whether they have an entry per row, extension or byte of text. Each begins at
a multiple of 8 bytes."""
_NAME = 41
"""The length of a part's name in bytes."""

_STATE_TYPES: dict[str, type[np.generic]] = {"keys": np.uint64, "names": np.uint8}
"""The types of the state's arrays; all others are 64-bit integers."""

_Thread = tuple[str, int]
"""A trace file's name and a thread's serial."""


class _Stale(Exception):
    """Raised when the cache is missing or not what was written."""


@dataclass
class _File:
    """A file with the columns of pieces of some threads, one after the other."""

    name: str
    sums: list[int]
    pieces: list[tuple[_Thread, tuple[int, int, int]]]
    """The thread of each piece, and its numbers of records, extensions and bytes of texts."""

    @property
    def records(self) -> int:
        return sum(sizes[_ROWS] for _, sizes in self.pieces)


@dataclass
class Growing:
    """The cache of one live run. After reading on from `threads`, pass everything that was read to `keep`."""

    folder: Path | None
    """The cache's folder; None when this process does not write."""
    threads: dict[str, dict[int, ThreadRead]] = field(default_factory=dict)
    """The cached threads, by trace file and serial."""
    definitions: dict[str, Definitions] = field(default_factory=dict)
    """The cached definitions, by trace file."""
    _files: list[_File] = field(default_factory=list)
    _defined: tuple[str, list[int]] | None = None
    """The file of definitions, and its checksums."""

    @property
    def known(self) -> dict[str, Known]:
        """The parts and definitions of each trace file that the reader need not scan again."""
        ends = {
            file: {
                taken.name[:-1]: (taken.block_crc, taken.size)
                for thread in threads.values()
                for taken in thread.taken or ()
                if taken.block_crc
            }
            for file, threads in self.threads.items()
        }
        files = ends.keys() | self.definitions.keys()
        return {file: Known(ends.get(file, {}), self.definitions.get(file)) for file in files}

    @property
    def writes(self) -> bool:
        return self.folder is not None

    def keep(self, processes: Sequence[ProcessRead]) -> None:
        """Write the new records. If the disk refuses them, the old cache stays."""
        if self.folder is None:
            return
        now = {
            (os.path.basename(process.records.path), serial): thread
            for process in processes
            for serial, thread in process.threads.items()
            if thread.taken is not None
        }
        with contextlib.suppress(OSError):
            self._write(self.folder, now, [process.records for process in processes])

    def _write(self, folder: Path, now: Mapping[_Thread, ThreadRead], processes: Iterable[ProcessRecords]) -> None:
        before = {
            (file, serial): thread for file, threads in self.threads.items() for serial, thread in threads.items()
        }
        if {name: thread.taken for name, thread in before.items()} == {name: one.taken for name, one in now.items()}:
            return
        followed = {
            name
            for name, thread in before.items()
            if thread.pieces and name in now and now[name].pieces and now[name].pieces[0] is thread.pieces[0]
        }
        # A file with pieces of a reread thread cannot be used, and cannot be dropped alone: it has pieces of other threads.
        reusable = all(name in followed for file in self._files for name, _ in file.pieces)
        files = list(self._files) if reusable else []
        stored = Counter(name for file in files for name, _ in file.pieces)
        size = sum(len(piece.ticks) for name, thread in now.items() for piece in thread.pieces[stored[name] :])
        while size and files and files[-1].records < _RATIO * size:
            size += files[-1].records
            stored.subtract(name for name, _ in files.pop().pieces)
        number = 1 + max((int(path.stem) for path in folder.iterdir() if path.stem.isdigit()), default=0)
        if size:
            added = {name: thread.pieces[stored[name] :] for name, thread in now.items()}
            files.append(_write_columns(folder / f"{number}{_COLUMNS}", added))
        found = {os.path.basename(one.path): one.definitions for one in processes if one.definitions}
        if self._defined is None or _chunks(found) > _MORE * _chunks(self.definitions):
            self._defined = _write_definitions(folder / f"{number}{_DEFINITIONS}", found)
        _write_state(folder, files, self._defined, now)
        _remove_others(folder, {_STATE, self._defined[0], *(file.name for file in files)})


@contextlib.contextmanager
def growing(run: Path, *, write: bool) -> Iterator[Growing]:
    """Open the cache of a run. With `write`, lock it until the end, if no other process has."""
    folder, lock = run / GROWING_FOLDER, None
    if write:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            lock = _lock(folder)
    try:
        found = Growing(folder if lock is not None else None)
        with contextlib.suppress(_Stale):
            _load(folder, found)
        yield found
    finally:
        if lock is not None:
            os.close(lock)


def discard(run: Path) -> None:
    """Remove the cache of a run, unless another process writes it."""
    folder = run / GROWING_FOLDER
    if not folder.exists():
        return
    with contextlib.suppress(OSError):
        lock = _lock(folder)
        try:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _lock(folder: Path) -> int:
    """Lock the folder and return the descriptor. Raises OSError, also when another descriptor holds the lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


# Columns


def _places(sizes: Sequence[int]) -> tuple[dict[str, int], int]:
    """Return the offset of each column, and the size of the file."""
    places, at = {}, 0
    for name, (kind, of) in _LAYOUT.items():
        places[name] = at
        at += (sizes[of] * np.dtype(kind).itemsize + 7) // 8 * 8
    return places, at


def _sizes(piece: Piece) -> tuple[int, int, int]:
    return len(piece.ticks), len(piece.key), len(piece.texts)


def _write_columns(path: Path, threads: Mapping[_Thread, Sequence[Piece]]) -> _File:
    """Write a file of columns, with the pieces of each thread joined to one. Raises OSError."""
    with_pieces = {name: pieces for name, pieces in threads.items() if pieces}
    try:
        with private_file(path) as file:
            for column, (kind, _) in _LAYOUT.items():
                written = 0
                for pieces in with_pieces.values():
                    extensions = 0
                    for piece in pieces:
                        values: npt.NDArray[Any] = getattr(piece, column)
                        if column == "ext" and extensions:
                            values = np.where(values >= 0, values + np.int32(extensions), np.int32(-1))
                        extensions += len(piece.key)
                        file.write(np.ascontiguousarray(values, kind).data)
                        written += values.nbytes
                file.write(bytes(-written % 8))
        sums = sums_of(_map(path))
    except OSError:
        path.unlink(missing_ok=True)
        raise
    sizes = []
    for name, pieces in with_pieces.items():
        rows, extensions, texts = (sum(counts) for counts in zip(*map(_sizes, pieces), strict=True))
        sizes.append((name, (rows, extensions, texts)))
    return _File(path.name, sums, sizes)


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _pieces(folder: Path, file: _File) -> Iterator[tuple[_Thread, Piece]]:
    data = _map(folder / file.name)
    if sums_of(data) != file.sums:
        raise _Stale
    places, _ = _places([sum(sizes[of] for _, sizes in file.pieces) for of in range(3)])
    columns = {name: np.frombuffer(data, np.uint8)[place:] for name, place in places.items()}
    at = [0, 0, 0]
    for thread, sizes in file.pieces:
        found = {}
        for name, (kind, of) in _LAYOUT.items():
            width = np.dtype(kind).itemsize
            found[name] = columns[name][at[of] * width : (at[of] + sizes[of]) * width].view(kind)
        yield thread, Piece(**found)
        at = [first + size for first, size in zip(at, sizes, strict=True)]


# Definitions


def _chunks(definitions: Mapping[str, Definitions]) -> int:
    return sum(len(one.chunks) for one in definitions.values())


def _write_definitions(path: Path, definitions: Mapping[str, Definitions]) -> tuple[str, list[int]]:
    """Write the definitions of each trace file. Return the file's name and checksums. Raises OSError."""
    text = {
        file: {
            "chunks": [(identity.hex(), frame) for identity, frame in one.chunks],
            "threads": [(serial, *thread) for serial, thread in one.threads.items()],
            "sites": [*one.sites.values()],
            "strings": [*one.strings.items()],
            "strands": [(key, *strand) for key, strand in one.strands.items()],
            "notes": one.notes,
        }
        for file, one in definitions.items()
    }
    data = json.dumps(text).encode()
    with private_file(path) as file_:
        file_.write(data)
    return path.name, sums_of(data)


def _read_definitions(path: Path, sums: list[int]) -> dict[str, Definitions]:
    data = path.read_bytes()
    if sums_of(data) != sums:
        raise _Stale
    return {
        file: Definitions(
            tuple((bytes.fromhex(identity), frame) for identity, frame in one["chunks"]),
            {serial: (native_id, name, daemon) for serial, native_id, name, daemon in one["threads"]},
            {fields[0]: SiteInfo(*fields) for fields in one["sites"]},
            {number: text for number, text in one["strings"]},  # noqa: C416  # mypy knows no dict of lists
            {key: StrandInfo(kind, name, thread) for key, kind, name, thread in one["strands"]},
            tuple(Note(key, text) for key, text in one["notes"]),
        )
        for file, one in json.loads(data).items()
    }


# The state


def _write_state(
    folder: Path, files: Sequence[_File], defined: tuple[str, list[int]], threads: Mapping[_Thread, ThreadRead]
) -> None:
    number = {name: place for place, name in enumerate(threads)}
    taken = [one for thread in threads.values() for one in thread.taken or ()]
    arrays: dict[str, Any] = {
        "pieces": np.array([(number[name], *sizes) for file in files for name, sizes in file.pieces], np.int64),
        "ends": np.concatenate([thread.ends for thread in threads.values()] or [np.zeros((0, 2), np.int64)]),
        "keys": np.concatenate([thread.steps.keys for thread in threads.values()] or [np.zeros(0, np.uint64)]),
        "counts": np.concatenate([thread.steps.counts for thread in threads.values()] or [np.zeros(0, np.int64)]),
        "names": np.frombuffer(b"".join(one.name for one in taken), np.uint8),
        "taken": np.array([(one.block_crc, one.size, one.crc) for one in taken], np.int64),
    }
    about = {
        "definitions": defined,
        "files": [(file.name, file.sums, len(file.pieces)) for file in files],
        "threads": [
            (
                *name, len(thread.ends), len(thread.steps.keys), len(thread.taken or ()), thread.steps.since,
                thread.steps.stack, thread.steps.unmatched, thread.steps.dropped,
            )
            for name, thread in threads.items()
        ],
    }  # fmt: skip
    _state(folder).write(about, arrays, place=folder)


def _state(folder: Path) -> Sidecar:
    return Sidecar(folder / _STATE, FORMAT, None)


def _load(folder: Path, to: Growing) -> None:
    """Load the cache into `to`, completely or not at all. Raises `_Stale`."""
    saved = _state(folder).read(lambda name: _STATE_TYPES.get(name, np.int64))
    if saved is None:
        raise _Stale
    try:
        about = saved.about
        found = {name: array.copy() for name, array in saved.arrays.items()}
        name, sums = about["definitions"]
        definitions = _read_definitions(folder / name, sums)
        to._files, to.threads = _threads(folder, about, found)
        to._defined, to.definitions = (name, sums), definitions
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise _Stale from error


def _threads(
    folder: Path, about: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> tuple[list[_File], dict[str, dict[int, ThreadRead]]]:
    names = [(str(file), int(serial)) for file, serial, *_ in about["threads"]]
    sizes, files = iter(arrays["pieces"].reshape(-1, 4).tolist()), []
    for name, sums, count in about["files"]:
        pieces = [next(sizes) for _ in range(count)]
        files.append(_File(name, sums, [(names[thread], (rows, ext, texts)) for thread, rows, ext, texts in pieces]))
    pieces_of: dict[_Thread, list[Piece]] = {name: [] for name in names}
    for file in files:
        for thread, piece in _pieces(folder, file):
            pieces_of[thread].append(piece)
    parts = zip(arrays["names"].reshape(-1, _NAME), arrays["taken"].reshape(-1, 3).tolist(), strict=True)
    taken = iter([Taken(name.tobytes(), frame, size, crc) for name, (frame, size, crc) in parts])
    found: dict[str, dict[int, ThreadRead]] = {}
    all_ends = arrays["ends"].reshape(-1, 2)
    end = key = 0
    for (file_name, serial), (_, _, ends, keys, count, since, stack, unmatched, dropped) in zip(
        names, about["threads"], strict=True
    ):
        steps = Steps(
            arrays["keys"][key : key + keys],
            arrays["counts"][key : key + keys],
            since,
            tuple(stack),
            unmatched,
            dropped,
        )
        found.setdefault(file_name, {})[serial] = ThreadRead(
            tuple(pieces_of[file_name, serial]),
            all_ends[end : end + ends],
            steps,
            tuple(next(taken) for _ in range(count)),
        )
        end, key = end + ends, key + keys
    return files, found


def _remove_others(folder: Path, used: set[str]) -> None:
    for path in folder.iterdir():
        if path.name not in used:
            path.unlink(missing_ok=True)
