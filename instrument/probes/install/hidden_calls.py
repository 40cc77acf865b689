"""Call clew's functions invisibly to the program: from a constant in rewritten code, or around a function in C.

Invariant: trace and profile functions of the program never see clew's calls, and tracebacks never contain clew's
frames. If stack or memory runs out during such a call, only clew loses data and the program continues. An interrupt
during such a call (the exception of a signal handler) belongs to the program and passes through.

`Quiet(function, kept=-1, drops_all=False)` calls `function`. If stack or memory runs out, or with `drops_all` at any
Exception, the result is argument number `kept`, or None. `Around(function, before, after)` replaces `function` and
binds as a method like it. `before` gets the arguments of the call. It may return a tuple of other arguments, or a list
of such a tuple and a dict of keyword arguments. A `TypeError` of `before` is also dropped, because `function` itself
reports wrong arguments. `after` gets the result and the arguments, and returns the result for the caller. If the call
failed, `after` gets None as the result, and the exception of the call takes precedence over any exception of `after`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.instrument.probes._entry import Around, Bracket, Quiet
else:
    try:
        from clew.instrument.probes._entry import Around, Bracket, Quiet
    except ImportError:

        class Quiet:
            """Fallback without the C module: a tracer of the program sees the calls."""

            __slots__ = ("_dropped", "_function", "_kept")

            def __init__(self, function: Callable[..., object], kept: int = -1, drops_all: bool = False) -> None:
                self._function, self._kept = function, kept
                self._dropped = (Exception,) if drops_all else (RecursionError, MemoryError)

            def __call__(self, *arguments: object) -> object:
                with contextlib.suppress(*self._dropped):
                    return self._function(*arguments)
                return arguments[self._kept] if self._kept >= 0 else None

        class Around:
            """Fallback without the C module: tracebacks contain the frame of the call."""

            def __init__(
                self,
                function: Callable[..., object],
                before: Callable[..., object] | None = None,
                after: Callable[..., object] | None = None,
            ) -> None:
                self._function, self._before, self._after = function, before, after

            def __repr__(self) -> str:
                return repr(self._function)

            def __get__(self, instance: object, owner: type | None = None) -> object:
                return self if instance is None else MethodType(self, instance)

            def __call__(self, *arguments: object, **options: object) -> object:
                changed = None
                if self._before is not None:
                    with contextlib.suppress(RecursionError, MemoryError, TypeError):
                        changed = self._before(*arguments, **options)
                if type(changed) is list:
                    call = partial(self._function, *changed[0], **changed[1])
                elif type(changed) is tuple:
                    call = partial(self._function, *changed)
                else:
                    call = partial(self._function, *arguments, **options)
                after = self._after
                if after is None:
                    return call()
                try:
                    result = call()
                except BaseException:
                    with contextlib.suppress(Exception):
                        after(None, *arguments, **options)
                    raise
                return after(result, *arguments, **options)

        class Bracket:
            """Fallback without the C module: tracebacks contain the frame of the call."""

            def __init__(self, *parts: Callable[..., object] | None) -> None:
                self._parts = parts

            def __call__(self, function: Any, instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                enter, leave, unwind, start, before_exit, after_exit, before_unwind, after_unwind = self._parts
                call = (instance, args, kwargs)
                enter()
                try:
                    if start is not None:
                        start(*call)
                    result = function(*args, **kwargs)
                except BaseException as error:
                    if before_unwind is not None:
                        before_unwind(error, *call)
                    unwind(error)
                    if after_unwind is not None:
                        after_unwind(error, *call)
                    raise
                if before_exit is not None:
                    before_exit(result, *call)
                leave()
                if after_exit is not None:
                    after_exit(result, *call)
                return result


__all__ = ["Around", "Bracket", "Quiet"]
