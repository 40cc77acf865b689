"""How functions of ours are called unseen by the program: as a constant in rewritten code, or around a function in C.

Invariant: a trace or profile function of the program sees no call of ours, no frame of ours stands in a traceback, and being
out of stack or memory is our loss, not the program's. An interrupt that arrives in there (a signal handler's exception) is
the program's and passes through.

`Quiet(function, kept=-1)` calls `function`; when that is out of stack or memory the result is the argument numbered `kept`,
or None. `Around(function, before, after)` stands for `function`, bound like it as a method: `before` gets the call's
arguments and may give a tuple of others, or a list of such a tuple and a dictionary of named ones; a `TypeError` of its is
dropped, too, as wrong arguments are for `function` to complain of. `after` gets the result (None when the call failed, whose
exception goes before any of `after`'s) and the arguments, and gives the result that the caller sees.
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
            """Without the C module a tracer of the program does see the calls."""

            __slots__ = ("_function", "_kept")

            def __init__(self, function: Callable[..., object], kept: int = -1) -> None:
                self._function, self._kept = function, kept

            def __call__(self, *arguments: object) -> object:
                with contextlib.suppress(RecursionError, MemoryError):
                    return self._function(*arguments)
                return arguments[self._kept] if self._kept >= 0 else None

        class Around:
            """Without the C module the call's own frame stands in tracebacks."""

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
            """Without the C module the call's own frame stands in tracebacks."""

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
