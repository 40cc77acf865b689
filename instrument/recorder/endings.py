"""How a call ended that an exception left: failed, or through with what it was to do, which some exceptions say.

So it is with an iterator at its end (`StopIteration`, `StopAsyncIteration`), a generator that is closed (`GeneratorExit`), and
a task that was cancelled: asyncio's `CancelledError`, trio's `Cancelled`, greenlet's `GreenletExit`, none of which is an
`Exception` (the `CancelledError` of `concurrent.futures` is one, and a failure). Such a call's end is an EXIT. A generator that
is left by a `StopIteration` has failed. The C core has a twin of this.
"""

from __future__ import annotations

from clew.records.event import Kind

_COROUTINES, _ASYNC_GENERATORS = 0x20 | 0x80 | 0x200, 0x200
"""Flags of code, generators among the former. `inspect` has these too, and takes several milliseconds to load."""
_NAMES = frozenset({"CancelledError", "Cancelled", "GreenletExit"})
"""Not asked of the classes themselves: their libraries may be none that is loaded."""


def end_by(error: BaseException | None) -> Kind:
    """The kind of the end of a call that `error` left."""
    if isinstance(error, StopIteration):
        plain = not _flags(error) & _COROUTINES
    elif isinstance(error, StopAsyncIteration):
        plain = not _flags(error) & _ASYNC_GENERATORS
    else:
        kind = type(error)
        plain = not issubclass(kind, Exception) and any(
            base is GeneratorExit or base.__name__ in _NAMES for base in kind.__mro__
        )
    return Kind.EXIT if plain else Kind.UNWIND


def _flags(error: BaseException) -> int:
    """Of the code that it leaves: out of a generator it comes as a RuntimeError."""
    return error.__traceback__.tb_frame.f_code.co_flags if error.__traceback__ else 0
