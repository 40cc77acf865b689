"""Keeps what was read of a workspace's source between two runs of clew: one SQLite file in the workspace's `.clew`.

Invariant: it is a cache, the user's alone. What is damaged, of another version or another Python is made anew, and where it
cannot be written everything works without.
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

from clew.esl.plain import VERSION
from clew.records.errors import ClewError
from clew.records.run import FOLDER, make_folder

NAME = f"source-{sys.version_info[0]}{sys.version_info[1]}.index"
"""Names of functions differ by Python, so each has its own."""
_WAIT = 2.0
"""Seconds that another process of clew may take to write."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, module TEXT NOT NULL, modified INTEGER NOT NULL, "
    "size INTEGER NOT NULL, digest TEXT NOT NULL, crc INTEGER NOT NULL, contents BLOB NOT NULL) WITHOUT ROWID"
)


class Kept(NamedTuple):
    """A row without its contents."""

    module: str
    stamp: tuple[int, int]
    digest: str


class Row(NamedTuple):
    path: str
    kept: Kept
    contents: bytes


class IndexFile:
    """Of one workspace. Every method does nothing, or finds nothing, where the file cannot be used."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._path = workspace / FOLDER / NAME

    def stamps(self) -> dict[str, Kept]:
        """All rows by path."""
        found: dict[str, Kept] = {}
        with self._opened() as database:
            if database is not None:
                for path, module, *stamp, digest in database.execute(
                    "SELECT path, module, modified, size, digest FROM files"
                ):
                    found[path] = Kept(module, (stamp[0], stamp[1]), digest)
        return found

    def contents(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Those of the files that are there and whole."""
        found: list[tuple[str, int, bytes]] = []
        with self._opened() as database:
            if database is not None:
                for path in paths:
                    found += database.execute("SELECT path, crc, contents FROM files WHERE path = ?", (path,))
        for path, crc, packed in found:
            if zlib.crc32(packed) == crc:
                yield path, packed

    def write(self, rows: Iterable[Row], gone: Iterable[str] = ()) -> None:
        """Adds or replaces rows, and drops those of files that are gone."""
        with self._opened(make=True) as database:
            if database is None:
                return
            database.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        row.path,
                        row.kept.module,
                        *row.kept.stamp,
                        row.kept.digest,
                        zlib.crc32(row.contents),
                        row.contents,
                    )
                    for row in rows
                ),
            )
            database.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone))

    def touch(self, rows: Iterable[tuple[str, Kept]]) -> None:
        """Notes new times of files whose text is what it was."""
        with self._opened(make=True) as database:
            if database is not None:
                database.executemany(
                    "UPDATE files SET modified = ?, size = ? WHERE path = ?",
                    ((*kept.stamp, path) for path, kept in rows),
                )

    @contextlib.contextmanager
    def _opened(self, make: bool = False) -> Iterator[sqlite3.Connection | None]:
        """The database inside of a transaction; None where there is none. One that is damaged is removed."""
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
            pass  # another process writes, or the disk is full or read-only: what is here was read from source anyway
        except (sqlite3.DatabaseError, ValueError, OverflowError, TypeError):
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _open(self, make: bool) -> sqlite3.Connection | None:
        if not self._path.is_file():
            if not make:
                return None
            try:
                make_folder(self._workspace)
                os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))  # before SQLite makes it for everyone
            except (OSError, ClewError):
                return None
        database = sqlite3.connect(self._path, timeout=_WAIT)
        database.execute("PRAGMA synchronous = OFF")  # what a crash of the machine takes is read again
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            database.execute("DROP TABLE IF EXISTS files")
            database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute(_TABLE)
        return database
