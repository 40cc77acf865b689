"""Causality through redis: items of lists, messages of channels and entries of streams, by redis-py, also with asyncio.

Channels: "redis.list", "redis.channel", "redis.stream", and "redis.value" for strings, which are states. A value cannot carry a
key that other readers would not see, so the key is a hash of the name and the content; the content itself is not stored. If
equal contents are in flight, the last sender is the source; if this process sent both, the second SEND is marked ambiguous.
Invariant: commands are neither changed nor added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clew.instrument.adapters.databases import redis_keys, stored_accesses
from clew.instrument.adapters.patching import adapter_site, hook, hook_return, when_imported
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import FLAG_AMBIGUOUS, Kind
from clew.records.format.keys import key_of

_SEND, _RECEIVE = int(Kind.SEND), int(Kind.RECEIVE)
_DEFINE, _USE = int(Kind.DEFINE), int(Kind.USE)
_MOST_SENT = 10_000
"""The maximum number of remembered contents, to detect equal ones."""
_MOST_BYTES = 1 << 16
"""The maximum number of bytes of a content in its key; of a longer one, only the beginning and the end are used."""
_POPS = frozenset({"LPOP", "RPOP", "BLPOP", "BRPOP"})
_MOVES = frozenset({"RPOPLPUSH", "BRPOPLPUSH", "LMOVE", "BLMOVE"})
_READS = frozenset({"XREAD", "XREADGROUP"})
_GETS = frozenset({"GET", "GETEX", "GETDEL", "GETSET"})

_sent: dict[int, None] = {}


def install() -> None:
    when_imported("redis.commands.core", _patch_senders)
    for name in ("redis.client", "redis.asyncio.client"):
        when_imported(name, _patch_receivers)


def _patch_senders(module: Any) -> None:
    for name in ("lpush", "lpushx", "rpush", "rpushx"):
        function = getattr(module.ListCommands, name)
        _sending(function, "redis.list", lambda _client, name, values: [(name, each) for each in values])
    _sending(module.PubSubCommands.publish, "redis.channel", lambda _client, name, message: [(name, message)])
    _sending(module.StreamCommands.xadd, "redis.stream", lambda _client, name, fields: [(name, *_flat(fields))])
    strings = module.BasicKeyCommands
    for name in ("set", "setnx", "getset"):
        _defining(getattr(strings, name), lambda _client, name, value: [(name, value)], 3)
    for name in ("setex", "psetex"):
        _defining(getattr(strings, name), lambda _client, name, _time, value: [(name, value)], 4)
    for name in ("mset", "msetnx"):
        _defining(getattr(strings, name), lambda _client, mapping: list(mapping.items()), 2)


def _defining(function: Any, pairs_of: Callable[..., list[tuple[Any, Any]]], parameters: int) -> None:
    """Record what a command writes. A read depends on it only if it finds the same content."""
    function = getattr(function, "__wrapped__", function)  # decorators share their wrapper's code
    if function.__code__.co_argcount < parameters:
        return
    site, channel = adapter_site(function), intern("redis.value")

    def begin(*arguments: Any) -> None:
        if core.active():
            for pair in pairs_of(*arguments):
                core.emit(_DEFINE, site, _key("redis.value", pair), channel)

    hook(function, begin, parameters=parameters)


def _sending(function: Any, channel: str, parts_of: Callable[..., list[tuple[Any, ...]]]) -> None:
    site = adapter_site(function)

    def begin(*arguments: Any) -> None:
        if core.active():
            for parts in parts_of(*arguments):
                _send(channel, site, parts)

    hook(function, begin, parameters=3)


def _patch_receivers(module: Any) -> None:
    execute = module.Redis.execute_command
    site, value = adapter_site(execute), intern("redis.value")

    def returned(result: Any, client: Any, words: tuple[Any, ...]) -> None:
        if stored_accesses.is_on():
            redis_keys.record_command(client, words, result, site)
        if result is not None and core.active():
            command = words[0]
            if command in _POPS:
                for item in _popped(command, words[1], result):
                    _receive("redis.list", site, item)
            elif command in _MOVES:
                _receive("redis.list", site, (words[1], result))
                _send("redis.list", site, (words[2], result))
            elif command in _READS:
                for entry in _entries(result):
                    _receive("redis.stream", site, entry)
            elif command in _GETS:
                core.emit(_USE, site, _key("redis.value", (words[1], result)), value)
            elif command == "MGET":
                for name, each in zip(words[1:], result, strict=True):
                    if each is not None:
                        core.emit(_USE, site, _key("redis.value", (name, each)), value)

    hook_return(execute, returned, parameters=2)

    def sent(results: Any, pipeline: Any, _connection: Any, commands: Any) -> None:
        if stored_accesses.is_on():
            redis_keys.record_pipeline(pipeline, commands, results, site)

    for name in ("_execute_transaction", "_execute_pipeline"):
        function = getattr(module.Pipeline, name, None)  # not in every version
        if function is not None:
            hook_return(function, sent, parameters=3)
    handle = module.PubSub.handle_message
    at_message = adapter_site(handle)

    def message(_pubsub: Any, response: Any) -> None:
        if (
            isinstance(response, list)
            and core.active()
            and _bytes(response[0]) in (b"message", b"smessage", b"pmessage")
        ):
            _receive("redis.channel", at_message, (response[-2], response[-1]))

    hook(handle, message, parameters=2)


def _popped(command: str, name: Any, result: Any) -> list[tuple[Any, Any]]:
    if command in ("BLPOP", "BRPOP"):
        return [(result[0], result[1])]
    return [(name, each) for each in (result if type(result) is list else [result])]


def _entries(found: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the name and the fields of each entry in the result of a stream read, in either form of the protocol."""
    for name, entries in found.items() if type(found) is dict else found:
        yield from ((name, *_flat(fields)) for fields in _fields(entries))


def _fields(entries: Any) -> Iterator[dict[Any, Any]]:
    for entry in entries:
        if len(entry) == 2 and type(entry[1]) is dict:
            yield entry[1]
        elif type(entry) is list:
            yield from _fields(entry)


def _flat(fields: dict[Any, Any]) -> Iterator[Any]:
    for pair in fields.items():
        yield from pair


def _send(channel: str, site: int, parts: tuple[Any, ...]) -> None:
    key = _key(channel, parts)
    flags = FLAG_AMBIGUOUS * (key in _sent)
    core.emit(_SEND, site, key, intern(channel), b"", flags)
    _sent[key] = None
    if len(_sent) > _MOST_SENT:
        _sent.pop(next(iter(_sent)))


def _receive(channel: str, site: int, parts: tuple[Any, ...]) -> None:
    key = _key(channel, parts)
    _sent.pop(key, None)
    core.emit(_RECEIVE, site, key, intern(channel))


def _key(channel: str, parts: tuple[Any, ...]) -> int:
    return key_of(channel, tuple(_bytes(part) for part in parts))


def _bytes(value: Any) -> bytes:
    """Encode a value as redis-py does. Raise `TypeError` for types that redis-py refuses."""
    match value:
        case str():
            content = value.encode("utf-8", "surrogateescape")
        case int() | float():
            content = repr(value).encode()
        case bytes() | bytearray() | memoryview():
            content = bytes(value)
        case _:
            raise TypeError("not a redis value")
    half = _MOST_BYTES // 2
    return content if len(content) <= _MOST_BYTES else b"%d " % len(content) + content[:half] + content[-half:]
