"""Which rows of SQLite tables the program's statements read and write, by the module `sqlite3`.

The text of the statement and its parameters say which rows that are (`statements.py`). Invariant: no
statement is changed or added, and no code of the program is called.
"""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any

from clew.instrument.adapters.databases import sqlite_locks
from clew.instrument.adapters.databases.sqlite_connections import Connections
from clew.instrument.adapters.databases.sqlite_locks import Database
from clew.instrument.adapters.databases.statements import MOST_ROWS, Statement, Value, statements_of
from clew.instrument.adapters.databases.stored_accesses import is_on, record
from clew.instrument.adapters.patching import adapter_site, around, object_keys, when_imported
from clew.instrument.recorder import redaction
from clew.records.format.keys import key_of
from clew.records.format.stored_states import (
    DEFINE,
    END,
    READ,
    ROW,
    UNDONE,
    UNKNOWN,
    WRITE,
    Access,
    value_text,
)

_MOST_STATEMENTS = 512
_installed: list[bool] = []


def install() -> None:
    """Install the hooks once, outside of those that know the databases of the connections."""
    if not _installed:
        _installed.append(True)
        sqlite_locks.install()
        when_imported("_sqlite3", _patch)


def _patch(module: Any) -> None:
    try:
        from clew.instrument.probes._entry import put_method
    except ImportError:
        return
    hooks = _Hooks(module)
    for owner, name, after in (
        *((owner, "execute", hooks.executed) for owner in (module.Cursor, module.Connection)),
        *((owner, "executemany", hooks.many_executed) for owner in (module.Cursor, module.Connection)),
        *((owner, "executescript", hooks.script_executed) for owner in (module.Cursor, module.Connection)),
        (module.Connection, "commit", hooks.committed),
        (module.Connection, "rollback", hooks.rolled_back),
        (module.Connection, "close", hooks.rolled_back),
        (module.Connection, "__exit__", hooks.left),
    ):
        put_method(owner, name, around(vars(owner)[name], None, _quiet(after)))


def _quiet(function: Any) -> Any:
    def call(result: Any, *arguments: Any, **options: Any) -> Any:
        if is_on():
            with contextlib.suppress(Exception):
                function(result, *arguments, **options)
        return result

    return call


@lru_cache(_MOST_STATEMENTS)
def _known(sql: str) -> tuple[Statement, ...]:
    return statements_of(sql)


class _Hooks:
    """What is called after the methods of the module `_sqlite3`."""

    def __init__(self, module: Any) -> None:
        self._connections = Connections(module)
        self._rowcount = module.Cursor.rowcount.__get__
        self._site = adapter_site(module.Cursor.execute)
        self._key_of_connection = object_keys()
        self._unfinished: dict[int, int] = {}
        """The keys of the connections whose transaction wrote, by their addresses."""

    def executed(self, cursor: Any, subject: Any, sql: Any, parameters: Any = ()) -> None:
        connection = self._connections.of(subject)
        if cursor is not None:
            self._record(cursor, connection, sql, [parameters])
        self._maybe_over(connection, undone=cursor is None or sql.lstrip()[:8].upper() == "ROLLBACK")

    def many_executed(self, cursor: Any, subject: Any, sql: Any, rows: Any) -> None:
        connection = self._connections.of(subject)
        if cursor is not None:
            # An iterator is used up.
            known = list(rows) if type(rows) in {list, tuple} and len(rows) <= MOST_ROWS else [None]
            self._record(cursor, connection, sql, known)
        self._maybe_over(connection, undone=cursor is None)

    def script_executed(self, _result: Any, subject: Any, script: Any) -> None:
        """What a script does is not followed statement by statement: some rows of its tables are written."""
        connection = self._connections.of(subject)
        self._maybe_over(connection, undone=False)
        for sql in script.split(";"):
            for statement in _known(sql.strip()):
                if statement.do != READ:
                    self._statement(connection, statement, [None])

    def committed(self, _result: Any, connection: Any) -> None:
        self._maybe_over(connection, undone=False, always=self._connections.is_always_in_transaction(connection))

    def rolled_back(self, _result: Any, connection: Any) -> None:
        self._over(connection, undone=True)

    def left(self, _result: Any, connection: Any, error: Any = None, *_others: Any) -> None:
        always = self._connections.is_always_in_transaction(connection)
        self._maybe_over(connection, undone=error is not None, always=always)

    def _record(self, cursor: Any, connection: Any, sql: Any, given: list[Any]) -> None:
        """Record what a statement did, for each set of parameters; None for parameters that are not known."""
        for statement in _known(sql) if type(sql) is str else ():
            if statement.do in {READ, DEFINE} or self._rowcount(cursor) != 0:
                self._statement(connection, statement, given)

    def _statement(self, connection: Any, statement: Statement, given: list[Any]) -> None:
        database = sqlite_locks.databases.get(id(connection))
        if database is None:
            return
        for parameters in given:
            for row in statement.rows or ({},):
                self._access(connection, database, statement, row, parameters)

    def _access(
        self, connection: Any, database: Database, statement: Statement, row: dict[str, Value], parameters: Any
    ) -> None:
        redact = redaction.current()
        where, exact = dict[str, str](), statement.exact
        for column, value in statement.where.items():
            text = _text(value, parameters, hidden=redact.hides(column), texts=not redact.on)
            if text == UNKNOWN:
                exact = False
            else:
                where[column] = text
        values = {
            column: _text(value, parameters, hidden=redact.hides(column), texts=not redact.on)
            for column, value in row.items()
        }
        if statement.do == WRITE and parameters is None:
            exact = False
        address, is_open = id(connection), False
        if statement.do not in {READ, DEFINE}:
            is_open = self._connections.is_in_transaction(connection)
            if is_open:
                self._unfinished[address] = self._key_of_connection(connection)
        access = Access(
            statement.do, statement.command, redact.text(statement.table), database.name, where, exact, values,
            statement.columns, self._key_of_connection(connection) & (1 << 64) - 1, is_open,
        )  # fmt: skip
        record(ROW, key_of(ROW, (*database.file, statement.table)), access, self._site)

    def _maybe_over(self, connection: Any, *, undone: bool, always: bool = False) -> None:
        if id(connection) in self._unfinished and (always or not self._connections.is_in_transaction(connection)):
            self._over(connection, undone=undone)

    def _over(self, connection: Any, *, undone: bool) -> None:
        key = self._unfinished.pop(id(connection), 0)
        if key:
            record(ROW, key, Access(UNDONE if undone else END), self._site)


def _text(value: Value, parameters: Any, *, hidden: bool, texts: bool) -> str:
    """Return a value of a statement as a record has it, UNKNOWN if the parameters do not tell it."""
    if not value.is_known:
        return UNKNOWN
    if not value.parameter:
        return value_text(value.literal, hidden=hidden, texts=texts)
    name = value.parameter
    if name.isdigit() and isinstance(parameters, tuple):
        given = tuple.__getitem__(parameters, int(name) - 1)
    elif name.isdigit() and type(parameters) is list:
        given = parameters[int(name) - 1]
    elif type(parameters) is dict and name in parameters:
        given = parameters[name]
    else:
        return UNKNOWN
    text = value_text(given, hidden=hidden, texts=texts)
    # An adapter of the program turns an object of another type into a value.
    return text if hidden or type(given) in {str, int, float, bytes, bool, type(None)} else UNKNOWN
