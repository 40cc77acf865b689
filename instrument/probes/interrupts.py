"""Tells an interrupt from a failure: an exception that a signal brought the program in the middle of our work is the program's.

Invariant: an interrupt passes through; what else an expression of a spec raises is recorded and goes no further, also what
would end the program (`SystemExit`, `KeyboardInterrupt`). Nothing here runs code of the program's.
"""

from __future__ import annotations

import functools
import opcode
import sys
from types import CodeType, FunctionType, MethodType, TracebackType

from clew.instrument.probes import values
from clew.instrument.probes.quiet import Around

_RAISE = opcode.opmap["RAISE_VARARGS"]
_MAX_WRAPPED = 8


def is_interrupt(error: BaseException, *, runs_user_code: bool) -> bool:
    """`error` came out of our work. `runs_user_code`: a spec had the program's own code run in it."""
    frames = _frames(error.__traceback__)
    if not frames:
        return not isinstance(error, Exception)
    last = frames[-1]
    if _is_ours(last):
        return not isinstance(error, Exception)
    if not runs_user_code:
        return True
    if isinstance(error, KeyboardInterrupt) and last.tb_frame.f_code.co_code[last.tb_lasti] != _RAISE:
        return True  # no statement raised it: it is Ctrl-C
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
    """The code of what the program has called on signals."""
    # Module `signal` looks handlers up among its constants, by their hash, which may be the program's code.
    signal = sys.modules["_signal"]
    found = (_code(signal.getsignal(number)) for number in signal.valid_signals())
    return {code for code in found if code is not None}


def _code(function: object) -> CodeType | None:
    """The code of a function, a method, a part of either, or an object that is called."""
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
