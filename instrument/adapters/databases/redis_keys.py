"""Which keys of a redis server the program's commands read and write, by redis-py, also with asyncio and in pipelines.

Invariant: commands are neither changed nor added, and no code of the program is called.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from clew.instrument.adapters.databases.stored_accesses import record
from clew.instrument.recorder import redaction
from clew.records.format.keys import key_of
from clew.records.format.stored_states import DELETE, FIELD, KEY, MOST_STRING, READ, UNKNOWN, WRITE, Access, value_text

_MOST_KEYS = 50
_READS = frozenset({
    "GET", "GETEX", "GETRANGE", "STRLEN", "EXISTS", "TTL", "PTTL", "TYPE", "DUMP", "BITCOUNT", "GETBIT", "HGETALL", "HKEYS",
    "HVALS", "HLEN", "LRANGE", "LINDEX", "LLEN", "LPOS", "SMEMBERS", "SISMEMBER", "SMISMEMBER", "SCARD", "SRANDMEMBER",
    "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZSCORE", "ZMSCORE", "ZRANK", "ZREVRANK", "ZCARD", "ZCOUNT",
    "MGET", "SINTER", "SUNION", "SDIFF", "PFCOUNT", "HSTRLEN", "HSCAN", "SSCAN", "ZSCAN", "HRANDFIELD",
})  # fmt: skip
_MANY = frozenset({"DEL", "UNLINK", "EXISTS", "MGET", "SINTER", "SUNION", "SDIFF", "PFCOUNT", "TOUCH"})
"""Commands all of whose arguments are keys."""
_VALUE_AT = {
    "SET": 2, "SETNX": 2, "GETSET": 2, "APPEND": 2, "SETEX": 3, "PSETEX": 3, "INCRBY": 2, "DECRBY": 2, "INCRBYFLOAT": 2,
    "LPUSH": 2, "RPUSH": 2, "LPUSHX": 2, "RPUSHX": 2, "SADD": 2, "SREM": 2, "ZREM": 2,
}  # fmt: skip
"""Where the written value is among the words of a command."""
_RESULTS = frozenset({"INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT", "HINCRBY", "HINCRBYFLOAT"})
"""Commands whose result is the new value."""
_CHANGES = frozenset({
    "INCR", "DECR", "LPOP", "RPOP", "BLPOP", "BRPOP", "LREM", "LSET", "LTRIM", "LINSERT", "SPOP", "ZADD", "ZINCRBY", "ZPOPMIN",
    "ZPOPMAX", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "SETRANGE", "SETBIT", "PFADD", "RESTORE", "SINTERSTORE", "SUNIONSTORE",
    "SDIFFSTORE", "ZUNIONSTORE", "ZINTERSTORE", "ZRANGESTORE", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "XADD",
    "XDEL", "XTRIM", "JSON.SET", "JSON.DEL", "JSON.NUMINCRBY", "JSON.MERGE", *_VALUE_AT,
})  # fmt: skip
"""Commands that change their first key."""
_EXPIRE = frozenset({"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"})
_NOTHING_IF_FALSE = frozenset({
    "SET", "SETNX", "HSETNX", "DEL", "UNLINK", "HDEL", "SREM", "ZREM", "LREM", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT",
    "PERSIST", "LPOP", "RPOP", "BLPOP", "BRPOP", "SPOP", "GETDEL", "RENAME", "RENAMENX", "MSETNX", "LPUSHX", "RPUSHX", "SADD",
    "ZPOPMIN", "ZPOPMAX", "LINSERT",
})  # fmt: skip
"""Commands that changed nothing if their result is None, 0, False or empty."""


def record_command(client: Any, words: Sequence[Any], result: Any, site: int) -> None:
    """Record what a command read or wrote, by the line of the program that runs."""
    with contextlib.suppress(Exception):
        command = words[0].upper() if type(words[0]) is str else ""
        # SET … GET gives the old value, which is not a sign of a refusal.
        is_refused = command in _NOTHING_IF_FALSE and not result
        if is_refused and not (command == "SET" and "GET" in words[3:]):
            return
        server, told = _server(client)
        for name, access in _accesses(command, words, result):
            content = _bytes(name)
            if content is not None:
                shown = access._replace(command=command, name=_key_text(content), store=told)
                record(KEY, key_of(KEY, (server, content)), shown, site)


def record_pipeline(client: Any, commands: Any, results: Any, site: int) -> None:
    """Record what the commands of a pipeline read or wrote. Failed ones have an exception as their result."""
    for (words, _options), result in zip(commands, results, strict=False):
        if not isinstance(result, Exception):
            record_command(client, words, result, site)


def _accesses(command: str, words: Sequence[Any], result: Any) -> Iterator[tuple[Any, Access]]:
    """Yield the keys that a command reads or writes, with what is known."""
    names = words[1:_MOST_KEYS] if command in _MANY else words[1:2]
    if command in {"BLPOP", "BRPOP"}:
        names = (result[0],)
    if command in {"HGET", "HMGET", "HEXISTS", "HSTRLEN"}:
        fields = words[2] if type(words[2]) is list else words[2:]  # as HMGET of redis-py may have them
        for field, found in zip(fields[:_MOST_KEYS], result if command == "HMGET" else [result], strict=False):
            yield words[1], _read({FIELD: _value(field, field)}, found, command in {"HGET", "HMGET"}, words[1], field)
    elif command in _READS:
        each = result if command == "MGET" else [result] * len(names)
        for name, found in zip(names, each, strict=False):
            yield name, _read({}, found, command in {"GET", "GETEX", "MGET"}, name)
    elif command in {"HSET", "HMSET", "HSETNX"}:
        for field, value in _pairs(words[2:]):
            yield (
                words[1],
                Access(WRITE, row={FIELD: _value(field, field)}, values={"": _value(value, words[1], field)}),
            )
    elif command in {"HINCRBY", "HINCRBYFLOAT"}:
        yield (
            words[1],
            Access(WRITE, row={FIELD: _value(words[2], words[2])}, values={"": _value(result, words[1], words[2])}),
        )
    elif command == "HDEL":
        for field in words[2:_MOST_KEYS]:
            yield words[1], Access(DELETE, row={FIELD: _value(field, field)})
    elif command in {"MSET", "MSETNX"}:
        for name, value in _pairs(words[1:]):
            yield name, Access(WRITE, values={"": _value(value, name)})
    elif command in {"DEL", "UNLINK", "GETDEL"}:
        for name in names:
            if command == "GETDEL":
                yield name, _read({}, result, True, name)
            # Some keys did not exist, and the result does not say which.
            yield name, Access(DELETE, exact=type(result) is not int or result == len(names))
    elif command in {"RENAME", "RENAMENX"}:
        yield words[1], Access(DELETE)
        yield words[2], Access(WRITE, values={"": UNKNOWN})
    elif command in _CHANGES:
        if command == "GETSET":
            yield words[1], _read({}, result, True, words[1])
        known = result if command in _RESULTS else words[_VALUE_AT[command]] if command in _VALUE_AT else None
        text = _value(known, words[1]) if known is not None else UNKNOWN
        yield names[0], Access(WRITE, values={"": text}, expires=_expires(command, words))


def _read(row: dict[str, str], found: Any, is_value: bool, *names: Any) -> Access:
    """Return a read of a key or field. `found` is its value with `is_value`, else something about it."""
    missing = found is None or (is_value is False and not found)
    values = {"": _value(found, *names)} if is_value and found is not None else {}
    return Access(READ, row=row, values=values, missing=missing)


def _expires(command: str, words: Sequence[Any]) -> bool:
    if command == "SET":
        return any(type(word) is str and word[:1] in {"E", "P"} and word[1:] in {"X", "XAT"} for word in words[3:])
    return command in {"SETEX", "PSETEX", *_EXPIRE}


def _pairs(words: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return list(zip(words[::2], words[1::2], strict=False))[:_MOST_KEYS]


def _server(client: Any) -> tuple[str, str]:
    """Return what identifies the server and its database in all processes, and their name for people."""
    given = client.connection_pool.connection_kwargs
    database = given.get("db") or 0
    path = given.get("path")
    if path:
        return f"{socket.gethostname()}:{path}/{database}", f"{path}/{database}"
    host, port = str(given.get("host", "localhost")), given.get("port", 6379)
    is_own = host in {"localhost", "127.0.0.1", "::1"}
    return f"{socket.gethostname() if is_own else host}:{port}/{database}", f"{host}:{port}/{database}"


def _key_text(content: bytes) -> str:
    redact = redaction.current()
    if redact.on:
        return f"key #{key_of('value', content):x}"
    text = content.decode("utf-8", "backslashreplace")
    return text if len(text) <= 4 * MOST_STRING else f"{text[: 4 * MOST_STRING]}…"


def _value(value: Any, *names: Any) -> str:
    """Return a value as a record has it; values under hidden names are hidden. redis has texts alone."""
    redact = redaction.current()
    hidden = any(redact.hides(name) for name in names)
    content = _bytes(value)
    if content is None:
        return type(value).__name__
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return value_text(content, hidden=hidden)
    number = text.removeprefix("-")
    known = (
        int(text)
        if number.isascii() and number.isdigit() and len(text) < MOST_STRING and text == str(int(text))
        else text
    )
    return value_text(known, hidden=hidden, texts=not redact.on)


def _bytes(value: Any) -> bytes | None:
    """Encode a key or a value as redis-py does, None for another type."""
    kind = type(value)
    if kind is bytes:
        return bytes(value)
    if kind is str:
        return str(value).encode("utf-8", "surrogateescape")
    if kind is int or kind is float:
        return repr(value).encode()
    return None
