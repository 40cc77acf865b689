"""Define what ACCESS records say about states outside of the process: rows of databases, and keys of servers.

The `key` of a read or write identifies the table, or the key of the server; it is equal in all processes. The channel is the
kind of the store. The text is a JSON object with the fields of `Access`, without those that have their default. A value in
it is written as in a WRITE (see `clew.records.format.states`); a long string is its type and, after " #", a hash.

A write in a transaction that goes on takes effect at its end: a record with `do` END or UNDONE, whose key is the connection.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.keys import key_of
from clew.records.format.states import HIDDEN

ROW = "sqlite.row"
KEY = "redis.key"
READ = "read"
WRITE = "write"
DELETE = "delete"
DEFINE = "define"
END = "end"
UNDONE = "undone"
UNKNOWN = "…"
"""A value that the program did not compute itself, such as that of `n = n + 1` in a statement."""
MOST_STRING = 24
FIELD = "field"
"""The column of a hash's field."""


_NOTHING: Mapping[str, str] = MappingProxyType({})


class Access(NamedTuple):
    """One access to a stored state."""

    do: str
    """READ, WRITE or DELETE; DEFINE for the columns of a table; END or UNDONE for the end of a transaction."""
    command: str = ""
    """`UPDATE`, `HSET`."""
    name: str = ""
    """The table, or the text of the server's key."""
    store: str = ""
    """The name of the database's file, or the server."""
    row: Mapping[str, str] = _NOTHING
    """Which row, by column; of a hash, the field by FIELD. Empty for all rows, or if it is not known which."""
    exact: bool = True
    """Every row that `row` describes is meant. Otherwise the statement has further conditions, or it is not known which."""
    values: Mapping[str, str] = _NOTHING
    """The written values by column, or by its number from 1 if the statement does not name it; by "" for a key. Of a key, also
    the value that was read, if it is a single one."""
    columns: tuple[str, ...] = ()
    """The columns that a read depends on, empty if it may be all; of DEFINE, the table's columns."""
    connection: int = 0
    """The key of the connection, 0 without transactions."""
    open: bool = False
    """The transaction goes on."""
    missing: bool = False
    """A read found that the key or field does not exist, or is empty."""
    expires: bool = False
    """The key will be removed by the server after some time."""


def dumped(access: Access) -> bytes:
    """Return the text of a record."""
    pairs = zip(Access._fields, access, strict=True)
    told = {name: value for name, value in pairs if value != _DEFAULTS.get(name)}
    return json.dumps(told, separators=(",", ":")).encode()


def loaded(text: str) -> Access | None:
    """Return the access of a record's text, None for a text that is cut or of another form."""
    try:
        found = json.loads(text)
        found["columns"] = tuple(found.get("columns", ()))
        access = Access(**found)
    except (ValueError, TypeError):
        return None
    texts = (access.do, access.command, access.name, access.store)
    maps = (access.row, access.values)
    is_sound = (
        all(type(each) is str for each in texts)
        and all(isinstance(each, Mapping) and all(type(value) is str for value in each.values()) for each in maps)
        and all(type(each) is str for each in access.columns)
        and type(access.connection) is int
    )
    return access if is_sound else None


def value_text(value: Any, *, hidden: bool = False, texts: bool = True) -> str:
    """Return a value as a record has it. `hidden`: by its type alone; without `texts`, strings are hashed.

    No code of the program runs: only exact builtin types are read.
    """
    kind = type(value)
    if hidden:
        return HIDDEN
    if value is None or kind is bool or kind is int or kind is float:
        return repr(value)
    if kind is str:
        plain = texts and len(value) <= MOST_STRING and value.isascii() and value.isprintable()
        if plain and "'" not in value and "\\" not in value:
            return f"'{value}'"
        return f"str #{key_of('value', value):x}"
    if kind is bytes:
        return f"bytes #{key_of('value', value):x}"
    return kind.__name__


_DEFAULTS: dict[str, Any] = dict(Access("")._asdict())
