"""Who has the write lock of an SQLite database, and which statements of this process wait for it, by the module `sqlite3`.

Channel: "sqlite.lock". The resource is the file. A connection has its lock from a statement that writes inside a transaction
to the transaction's end. A statement that writes has a WAIT only if another connection of this process
has the lock, or is about to take it.

Invariant: no statement is changed or added, and no code of the program is called. A connection that can also write elsewhere
(to a temporary table, to an attached database) is left out, because what its transaction locks is not known.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from typing import Any

from clew.instrument.adapters.databases.sqlite_connections import Connections
from clew.instrument.adapters.patching import adapter_site, around, when_imported
from clew.instrument.recorder import redaction
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import Kind
from clew.records.format.keys import key_of

CHANNEL = "sqlite.lock"
_TIMEOUT = 5.0
"""The default `timeout` of `sqlite3.connect`: the seconds for which a statement waits for a lock."""
_SPACE = r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_WRITES = re.compile(
    rf"{_SPACE}(?:(?:INSERT|UPDATE|DELETE|REPLACE)\b|(?:CREATE|DROP|ALTER)\b(?!.*\bIF\b)|BEGIN\s+(?:IMMEDIATE|EXCLUSIVE)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Statements that take the lock whatever the database contains; `CREATE … IF NOT EXISTS` may do nothing."""
_READS = ("SELECT", "select")
"""The beginnings of most statements that neither write nor end a transaction."""
_ADDS_ANOTHER = re.compile(rf"{_SPACE}(?:ATTACH\b|CREATE\s+TEMP)", re.IGNORECASE | re.DOTALL)
"""Statements after which a connection can write to more than its file."""
_IN_SCRIPT = re.compile(r"\bATTACH\b|\bTEMP", re.IGNORECASE)


class Database(NamedTuple):
    """What a connection is connected to."""

    key: int
    about: bytes
    """Members of a WAIT's text."""
    limit: float | None
    file: tuple[int, int]
    """Its device and its inode."""
    name: str
    """The file's name, redacted."""


databases: dict[int, Database] = {}
"""The databases of the open connections, by the addresses of these."""
_writers: dict[int, int] = {}
"""The address of the connection that has a database's lock, by the key of the database."""
_writing: dict[int, set[int]] = {}
"""The addresses of the connections that execute a statement that writes, by the key of their database."""
_waits: dict[tuple[int, int], tuple[int, int, int, int]] = {}
"""The waits that last, by thread and connection."""


_installed: list[bool] = []


def install() -> None:
    """Install the hooks once."""
    if not _installed:
        _installed.append(True)
        when_imported("_sqlite3", _patch)


def _patch(module: Any) -> None:
    try:
        from clew.instrument.probes._entry import put_method, stand_in
    except ImportError:
        return
    hooks, original = _Hooks(module), module.connect
    connect = stand_in(module, "connect", None, _after(hooks.connected))
    for name in ("sqlite3.dbapi2", "sqlite3"):
        importing: Any = sys.modules.get(name)
        if getattr(importing, "connect", None) is original:
            importing.connect = connect

    def put(owner: type, name: str, after: Callable[..., Any], before: Callable[..., None] | None = None) -> None:
        put_method(owner, name, around(vars(owner)[name], before, after))

    before, executed = _unless_reading_before(hooks.before), _unless_reading_after(hooks.executed)
    for owner in (module.Connection, module.Cursor):
        for name in ("execute", "executemany"):
            put(owner, name, executed, before)
        put(owner, "executescript", _after(hooks.script_executed))
    for name in ("commit", "rollback", "close", "__exit__"):
        put(module.Connection, name, _after(hooks.maybe_over))
    os.register_at_fork(after_in_child=_forget_all)


def _after(function: Callable[..., None]) -> Callable[..., Any]:
    def call(result: Any, *arguments: Any, **options: Any) -> Any:
        with contextlib.suppress(Exception):
            function(result, *arguments, **options)
        return result

    return call


def _unless_reading_after(function: Callable[..., None]) -> Callable[..., Any]:
    """Return a hook that is quick for statements that change nothing, which are most."""

    def call(result: Any, subject: Any, sql: Any = None, *_others: Any) -> Any:
        if type(sql) is not str or not sql.startswith(_READS):
            with contextlib.suppress(Exception):
                function(result, subject, sql)
        return result

    return call


def _unless_reading_before(function: Callable[..., None]) -> Callable[..., None]:
    def call(subject: Any, sql: Any = None, *_others: Any) -> None:
        if type(sql) is not str or not sql.startswith(_READS):
            with contextlib.suppress(Exception):
                function(subject, sql)

    return call


def _forget_all() -> None:
    """A child must not use the connections of its parent."""
    for known in (databases, _writers, _writing, _waits):
        known.clear()


class _Hooks:
    """What is called around the functions of the module `_sqlite3`."""

    def __init__(self, module: Any) -> None:
        self._connections = Connections(module)
        self._channel = intern(CHANNEL)
        self._site = adapter_site(module.Connection.commit)

    def connected(self, connection: Any, database: Any, timeout: Any = _TIMEOUT, *others: Any, **options: Any) -> None:
        if not self._connections.is_one(connection):
            return
        address = id(connection)
        self._forget(address)  # that of one that was dropped without being closed
        name = _file(database, options.get("uri", len(others) > 5 and others[5]))
        if name and core.active():
            found = os.stat(name)
            file = (found.st_dev, found.st_ino)
            shown = redaction.current().text(os.path.basename(name))
            limit = float(timeout) if type(timeout) in (int, float) else None
            about = f'"name":{encode_basestring_ascii(shown)},"capacity":1,'.encode()
            databases[address] = Database(key_of(CHANNEL, file), about, limit, file, shown)

    def before(self, subject: Any, sql: Any) -> None:
        address, database = self._of(subject)
        if database is None or not core.active() or not _is_write(sql):
            return
        writing = _writing.setdefault(database.key, set())
        writer = _writers.get(database.key)
        may_wait = writer != address if writer is not None else len(writing) > 0
        writing.add(address)
        if may_wait:
            wait = core.wait(self._channel, database.key, database.limit, database.about)
            if wait is not None:
                _waits[threading.get_ident(), address] = wait

    def executed(self, result: Any, subject: Any, sql: Any) -> None:
        address, database = self._of(subject)
        if database is None:
            return
        if database.key in _writing:
            _writing[database.key].discard(address)
        wait = _waits.pop((threading.get_ident(), address), None) if _waits else None
        if wait is not None:
            # While another one still has the lock, a statement can only have failed for that.
            core.wake(wait, "" if result is not None else "timeout" if database.key in _writers else "failed")
        if type(sql) is str and _ADDS_ANOTHER.match(sql):
            self._forget(address)
        elif self._has_no_lock(self._connections.of(subject)):
            self._release(address, database)
        elif result is not None and _writers.get(database.key) != address and _is_write(sql):
            self._take(address, database)

    def script_executed(self, _result: Any, subject: Any, script: Any = None) -> None:
        """A script ends the transaction before it begins; what it does itself is not followed."""
        address, database = self._of(subject)
        if database is not None:
            self._release(address, database)
            if type(script) is not str or _IN_SCRIPT.search(script):
                self._forget(address)

    def maybe_over(self, _result: Any, connection: Any, *_others: Any) -> None:
        address, database = self._of(connection)
        if database is not None and _writers.get(database.key) == address and self._has_no_lock(connection):
            self._release(address, database)

    def _of(self, subject: Any) -> tuple[int, Database | None]:
        """Return the address of the connection of a call, and its database if that is known."""
        address = id(self._connections.of(subject))
        return address, databases.get(address)

    def _has_no_lock(self, connection: Any) -> bool:
        """Return whether a connection certainly has no lock. With `autocommit=False`, a transaction follows each other."""
        try:
            return self._connections.is_always_in_transaction(connection) or not self._connections.is_in_transaction(
                connection
            )
        except Exception:  # it is closed
            return True

    def _take(self, address: int, database: Database) -> None:
        writer = _writers.get(database.key)
        if writer is not None:
            self._give(writer, database)  # it has just given the lock back, or was dropped
        _writers[database.key] = address
        core.hold(self._channel, database.key, self._site, f',"capacity":1,"item":{address}'.encode())

    def _release(self, address: int, database: Database) -> None:
        if _writers.get(database.key) == address:
            del _writers[database.key]
            self._give(address, database)

    def _give(self, address: int, database: Database) -> None:
        core.emit(Kind.RETURN, self._site, database.key, self._channel, f'{{"item":{address}}}'.encode())

    def _forget(self, address: int) -> None:
        database = databases.pop(address, None)
        if database is not None:
            self._release(address, database)


def _is_write(sql: Any) -> bool:
    return type(sql) is str and _WRITES.match(sql) is not None


def _file(database: Any, uri: object) -> str:
    """Return the file of a database, "" if there is none or it is not known."""
    if type(database) is bytes or type(database).__module__.startswith("pathlib"):
        database = os.fsdecode(database)
    if type(database) is not str or database == ":memory:":
        return ""
    # The parameters of an address may say that it is in memory, or that connections share it.
    return "" if uri and database.startswith("file:") else database
