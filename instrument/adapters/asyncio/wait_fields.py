"""What a WAIT tells: the object behind a future."""

from __future__ import annotations

from clew.instrument.recorder.core import core


def blocking(name: str, channel: int, waiters: str) -> dict[str, tuple[object, tuple[str, ...]]]:
    """Return `stores` for a method that blocks on a new future, which it stores into the local `name`.

    `waiters` is the attribute with the futures of those that wait already. An object that belongs to another one (a queue's
    event) is waited for on behalf of that.
    """
    return {name: (core.blocking(channel, waiters), (name, "self"))}
