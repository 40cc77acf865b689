"""Cache the parsed source of a workspace between processes, in one SQLite file in the workspace's `.clew`.

Invariant: the file is a cache, private to the user. A damaged file, or one of another version or Python, is rebuilt.
Everything works without it when it cannot be written.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from clew.esl.index.serialise import VERSION
from clew.records.errors import ClewError
from clew.records.run.directory import FOLDER, make_folder

NAME = f"source-{sys.version_info[0]}{sys.version_info[1]}.index"
"""One file per Python version, because qualified names of functions differ between versions."""
_WAIT = 2.0
"""Maximum seconds to wait for another process that writes."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, module TEXT NOT NULL, modified INTEGER NOT NULL, "
    "size INTEGER NOT NULL, digest TEXT NOT NULL, crc INTEGER NOT NULL, contents BLOB NOT NULL) WITHOUT ROWID"
)


class FileStamp(NamedTuple):
    """A row without its contents."""

    module: str
    stamp: tuple[int, int]
    digest: str


class Row(NamedTuple):
    path: str
    file: FileStamp
    contents: bytes


class IndexFile:
    """The cache of one workspace. When the file is unusable, writes do nothing and reads return nothing."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._path = workspace / FOLDER / NAME

    def stamps(self) -> dict[str, FileStamp]:
        """Return all rows by path."""
        found: dict[str, FileStamp] = {}
        with self._opened() as database:
            if database is not None:
                for path, module, *stamp, digest in database.execute(
                    "SELECT path, module, modified, size, digest FROM files"
                ):
                    found[path] = FileStamp(module, (stamp[0], stamp[1]), digest)
        return found

    def contents(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of the files that are stored intact."""
        found: list[tuple[str, int, bytes]] = []
        with self._opened() as database:
            if database is not None:
                for path in paths:
                    found += database.execute("SELECT path, crc, contents FROM files WHERE path = ?", (path,))
        for path, crc, packed in found:
            if zlib.crc32(packed) == crc:
                yield path, packed

    def write(self, rows: Iterable[Row], gone: Iterable[str] = ()) -> None:
        """Add or replace rows, and delete those of removed files."""
        with self._opened(make=True) as database:
            if database is None:
                return
            database.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        row.path,
                        row.file.module,
                        *row.file.stamp,
                        row.file.digest,
                        zlib.crc32(row.contents),
                        row.contents,
                    )
                    for row in rows
                ),
            )
            database.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone))

    def touch(self, rows: Iterable[tuple[str, FileStamp]]) -> None:
        """Store new times of files with unchanged text."""
        with self._opened(make=True) as database:
            if database is not None:
                database.executemany(
                    "UPDATE files SET modified = ?, size = ? WHERE path = ?",
                    ((*cached.stamp, path) for path, cached in rows),
                )

    @contextlib.contextmanager
    def _opened(self, make: bool = False) -> Iterator[sqlite3.Connection | None]:
        """Open the database in a transaction; yield None if it is unavailable. A damaged database is removed."""
        database = None
        with self._forgiving():
            database = self._open(make)
        with self._forgiving():
            try:
                yield database
                if database is not None:
                    database.commit()
            finally:
                if database is not None:
                    database.close()

    @contextlib.contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError:
            pass  # another process writes, or the disk is full or read-only: all of this was read from source anyway
        except (sqlite3.DatabaseError, ValueError, OverflowError, TypeError):
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _open(self, make: bool) -> sqlite3.Connection | None:
        if not self._path.is_file():
            if not make:
                return None
            try:
                make_folder(self._workspace)
                os.close(
                    os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
                )  # before SQLite creates it with default permissions
            except (OSError, ClewError):
                return None
        database = sqlite3.connect(self._path, timeout=_WAIT)
        database.execute("PRAGMA synchronous = OFF")  # a crash of the machine only costs reading again
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            database.execute("DROP TABLE IF EXISTS files")
            database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute(_TABLE)
        return database
