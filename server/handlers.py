"""Find the function that answers a method and run it; the language server and HTTP both go through `answer`.

Invariant: `answer` takes and returns plain JSON data.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, cast

from clew.server.protocol.codec import RequestError, decode, encode
from clew.server.protocol.registry import METHODS
from clew.server.session.session import Session, Task

Handler = Callable[[Session, Any, Task], object]


def handler(method: str) -> Handler:
    """Load the function that answers a method. Raises `RequestError` for an unknown method."""
    if method not in METHODS:
        raise RequestError(f"unknown method {method!r}; expected one of {', '.join(sorted(METHODS))}")
    module, _, name = METHODS[method].handler.partition(":")
    return cast(Handler, getattr(importlib.import_module(f"clew.server.{module}"), name))


def answer(session: Session, method: str, params: object, task: Task | None = None) -> Any:
    """Return the result as JSON data. Raises `ClewError` with a sentence for the user, `RequestError` for a request
    that is malformed or unknown, `Cancelled` when `task` was cancelled."""
    handle = handler(method)
    request = METHODS[method].params
    found = encode(handle(session, decode(request, params if params is not None else {}), task or Task()))
    # Skip cancelled requests, so that the worker is free for others.
    session.release_memory()
    return found
