"""Hooks around the functions that `os` has from C, whose stand-ins look like the originals.

Invariant: what a hook raises is dropped; the program's call is made with the program's arguments unless a hook gives others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.patching import Tokens

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_standing: set[str] = set()


def stand_in_for(
    name: str,
    before: Callable[..., tuple[Any, Arguments | None] | None],
    after: Callable[[Any, Any], None] | None = None,
) -> None:
    """Calls `before` with the arguments of every call of `os.NAME`, then `after`, as `hook` calls its hooks.

    `before` gives a token and the arguments to call it with, None for those that there are; `after` gets the token and the
    result, None when the call failed, unless `before` gave nothing. Does nothing where there is no such function, or no C
    module of ours, and when done again.
    """
    try:
        from clew.instrument.probes._entry import stand_in
    except ImportError:
        return
    original = getattr(os, name, None)
    if original is None or name in _standing:
        return
    tokens = Tokens()

    def start(*arguments: Any, **options: Any) -> Any:
        token = changed = None
        try:
            found = before(*arguments, **options)
            if found is not None:
                token, changed = found
        except Exception:
            token = None
        if after is not None:
            tokens.stack.append(token)
        return None if changed is None else list(changed)

    def finish(result: Any, *_arguments: Any, **_options: Any) -> Any:
        token = tokens.stack.pop() if tokens.stack else None
        if token is not None and after is not None:
            with contextlib.suppress(Exception):
                after(token, result)
        return result

    made = stand_in(name, start, finish if after is not None else None)
    _standing.add(name)
    setattr(os, name, made)
    # os tells by these what a function can do.
    for able in (os.supports_fd, os.supports_dir_fd, os.supports_effective_ids, os.supports_follow_symlinks):
        if original in able:
            able.add(made)
