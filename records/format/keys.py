"""Compute the identity of an object as a 64-bit key: equal values give equal keys in every process, independent of the
hash seed."""

from __future__ import annotations

import itertools
import os
import weakref

try:
    # hashlib also loads OpenSSL, which costs every recorded process some milliseconds.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

_DECIMAL_BITS = 2000
"""Longer ints use hexadecimal digits, which no process limits; 640 is the lowest possible limit for decimal digits."""


class NotAKey(TypeError):
    """The value has no identity that another process could compute; the message names its type."""


def _encode(value: object) -> bytes:
    # Exact types only: a subclass could run user code when its value is read.
    kind = type(value)
    if value is None:
        return b"n"
    if kind is str:
        return b"s" + str.encode(value, "utf-8", "surrogatepass")  # type: ignore[arg-type]  # kind is str
    if kind is int and int.bit_length(value) > _DECIMAL_BITS:  # type: ignore[arg-type]  # kind is int
        return b"i" + hex(value).encode()  # type: ignore[arg-type]  # kind is int
    if kind is bool or kind is int or kind is float:
        return b"i" + repr(value).encode()
    if kind is bytes:
        return b"b" + value  # type: ignore[operator]  # kind is bytes
    if kind is tuple:
        parts = [_encode(item) for item in value]  # type: ignore[attr-defined]  # kind is tuple
        return b"t" + b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    raise NotAKey(f"a key must be a str, int, float, bool, bytes, None or a tuple of these, not {kind.__name__}")


def key_of(channel: str, value: object) -> int:
    """Return the key of `value` on `channel`; never 0. Raises `NotAKey`."""
    try:
        encoded = _encode(value)
    except (RecursionError, OverflowError):
        raise NotAKey("a key must not be nested deeply or be larger than 4 GB") from None
    name = channel.encode("utf-8", "surrogatepass")
    digest = blake2b(name + b"\0" + encoded, digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def process_end(start: int) -> int:
    """Return the key of a process's end on "process.end", derived from the key that started it, so that it needs no
    transmission."""
    return key_of("process.end", start)


_sources: weakref.WeakSet[KeySource] = weakref.WeakSet()


def _rebase_all() -> None:
    for source in list(_sources):
        source._rebase()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rebase_all)


class KeySource:
    """Fresh keys for objects that live in this process only: unique within the run with overwhelming probability.

    A forked child uses a new source, otherwise it would repeat its parent's next keys.
    """

    def __init__(self) -> None:
        self._count = itertools.count(1)
        self._rebase()
        _sources.add(self)

    def _rebase(self) -> None:
        self._base = int.from_bytes(os.urandom(8), "little")

    def fresh(self) -> int:
        return (self._base + next(self._count) * 0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_FFFF_FFFF or 1
