"""Read the state of connections of the module `sqlite3` without calling code of the program, whose subclasses may have
attributes of the same names."""

from __future__ import annotations

from typing import Any


class Connections:
    """The connections of the module `_sqlite3`."""

    def __init__(self, module: Any) -> None:
        self._type: type = module.Connection
        self._of_cursor = module.Cursor.connection.__get__
        self._in_transaction = module.Connection.in_transaction.__get__
        autocommit = getattr(module.Connection, "autocommit", None)  # from 3.12 on
        self._autocommit = None if autocommit is None else autocommit.__get__

    def is_one(self, value: Any) -> bool:
        return isinstance(value, self._type)

    def of(self, subject: Any) -> Any:
        """Return the connection of a cursor, or the connection itself."""
        return subject if isinstance(subject, self._type) else self._of_cursor(subject)

    def is_always_in_transaction(self, connection: Any) -> bool:
        """Return whether a transaction follows each other, with `autocommit=False`. Raise `Exception` if it is closed."""
        return self._autocommit is not None and self._autocommit(connection) is False

    def is_in_transaction(self, connection: Any) -> bool:
        """Return whether a transaction goes on. Raise `Exception` if the connection is closed."""
        return bool(self._in_transaction(connection))
