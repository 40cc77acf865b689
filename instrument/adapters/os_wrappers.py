"""Wrap C functions of `os` with hooks; the wrappers look like the originals.

Invariant: exceptions of a hook are dropped. The original gets the program's arguments unless a hook replaces them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.patching import Tokens

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_wrapped: set[str] = set()


def wrap_os_function(
    name: str,
    before: Callable[..., tuple[Any, Arguments | None] | None],
    after: Callable[[Any, Any], None] | None = None,
) -> None:
    """Call `before` with the arguments of every call of `os.NAME`, then `after`, as `hook` calls its hooks.

    `before` returns None, or a token and replacement arguments (None for the original ones). If it returned a token,
    `after` gets the token and the result, or None if the call failed. No effect if the function or clew's C module is
    missing, or if the function is already wrapped.
    """
    try:
        import posix

        from clew.instrument.probes._entry import stand_in
    except ImportError:
        return
    original = getattr(os, name, None)
    if original is None or name in _wrapped:
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

    wrapper = stand_in(posix, name, start, finish if after is not None else None)
    _wrapped.add(name)
    setattr(os, name, wrapper)
    # These sets of `os` list the functions that support a feature.
    for supporting in (os.supports_fd, os.supports_dir_fd, os.supports_effective_ids, os.supports_follow_symlinks):
        if original in supporting:
            supporting.add(wrapper)
