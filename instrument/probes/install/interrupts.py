"""Distinguish an interrupt from a failure of clew's own work.

An exception that a signal causes during clew's work belongs to the program.

Invariant: an interrupt passes through. Any other exception from an expression of a spec is recorded and suppressed,
even one that would end the program (`SystemExit`, `KeyboardInterrupt`). This module never runs code of the program.
"""

from __future__ import annotations

import functools
import opcode
import sys
from types import CodeType, FunctionType, MethodType, TracebackType

from clew.instrument.probes.actions import values
from clew.instrument.probes.install.hidden_calls import Around

_RAISE = opcode.opmap["RAISE_VARARGS"]
_MAX_WRAPPED = 8


def is_interrupt(error: BaseException, *, runs_user_code: bool) -> bool:
    """Return whether `error`, raised during clew's work, is an interrupt.

    `runs_user_code`: a spec ran code of the program during this work.
    """
    frames = _frames(error.__traceback__)
    if not frames:
        return not isinstance(error, Exception)
    last = frames[-1]
    if _is_ours(last):
        return not isinstance(error, Exception)
    if not runs_user_code:
        return True
    if isinstance(error, KeyboardInterrupt) and last.tb_frame.f_code.co_code[last.tb_lasti] != _RAISE:
        return True  # not raised by a statement, so caused by Ctrl-C
    handlers = _signal_handlers()
    return any(frame.tb_frame.f_code in handlers for frame in frames)


def _frames(traceback: TracebackType | None) -> list[TracebackType]:
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    return frames


def _is_ours(frame: TracebackType) -> bool:
    module = frame.tb_frame.f_globals.get("__name__", "")
    return type(module) is str and module.startswith("clew.")


def _signal_handlers() -> set[CodeType]:
    """Return the code of the program's signal handlers."""
    # Module `signal` searches for handlers among its constants by hash, which may run code of the program.
    signal = sys.modules["_signal"]
    found = (_code(signal.getsignal(number)) for number in signal.valid_signals())
    return {code for code in found if code is not None}


def _code(function: object) -> CodeType | None:
    """Return the code of a function, method, `partial` object or callable object; None if it is not found."""
    for _ in range(_MAX_WRAPPED):
        if type(function) is FunctionType:
            return function.__code__
        if type(function) is MethodType:
            function = function.__func__
        elif type(function) is functools.partial:
            function = function.func
        elif type(function) is Around:
            function = function.__dict__.get("_clew_handler")
        else:
            function = values.method(function, "__call__")
    return None
