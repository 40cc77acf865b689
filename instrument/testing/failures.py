"""Describe a failed phase of a test: its exception, and those behind it, with their frames.

Invariant: no code of the program runs here. Messages come from arguments of built-in types, or from pytest's own report.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import _pytest
import pluggy
import pytest

from clew.instrument.recorder.redaction import LOOKAHEAD, current
from clew.records.format.failed_phase import (
    MESSAGE_LENGTH,
    MOST_EXCEPTIONS,
    MOST_INNER,
    MOST_OUTER,
    FailedPhase,
    Frame,
    Raised,
    dump,
)

_PLAIN = frozenset({str, int, float, bool, type(None)})
_MOST_LINES = 6
"""The most lines of a message; pytest explains a comparison in more."""
_MOST_FOLLOWED = 100
"""The most exceptions that are looked at."""
_FRAMEWORK = tuple(os.path.dirname(module.__file__ or "-") + os.sep for module in (_pytest, pluggy))
_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""clew's own functions in the program: adapters of the standard library, and handlers of timeouts."""
_CALLERS = frozenset({"pytest_pyfunc_call", "call_fixture_func", "_teardown_yield_fixture"})
"""The functions of pytest that call a test or a fixture."""


def described(call: pytest.CallInfo[Any], report: pytest.TestReport) -> str | None:
    """Return the text of a failed phase; None if no exception failed it."""
    info = call.excinfo
    if info is None:
        return None
    raised: list[Raised] = []
    behind = list(_behind(info.value))
    for error, link in behind[:MOST_EXCEPTIONS]:
        message = _reported(report) if not raised else ""
        traceback = info.tb if not raised else _slot(error, "__traceback__")
        raised.append(Raised(_name(type(error)), _bounded(message or _message(error)), link, _frames(traceback)))
    return dump(FailedPhase(call.when, tuple(raised), len(behind) - len(raised)))


def _behind(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """Yield an exception and those behind it, nearest first: groups' members, causes, and contexts that Python shows."""
    seen = {id(error)}
    queue = [(error, "")]
    while queue and len(seen) < _MOST_FOLLOWED:
        error, link = queue.pop(0)
        yield error, link
        cause, context = _slot(error, "__cause__"), _slot(error, "__context__")
        linked: list[tuple[Any, str]] = [(member, "member") for member in _members(error)]
        if cause is not None:
            linked.append((cause, "cause"))
        elif context is not None and not _slot(error, "__suppress_context__"):
            linked.append((context, "context"))
        for other, how in linked:
            if isinstance(other, BaseException) and id(other) not in seen:
                seen.add(id(other))
                queue.append((other, how))


def _slot(error: BaseException, name: str) -> Any:
    """Return an attribute that every exception has, without the code of its class."""
    return BaseException.__dict__[name].__get__(error, type(error))


def _members(error: BaseException) -> tuple[Any, ...]:
    if not isinstance(error, BaseExceptionGroup):
        return ()
    return tuple(BaseExceptionGroup.exceptions.__get__(error, type(error)))


def _name(kind: type) -> str:
    module = type.__dict__["__module__"].__get__(kind, type(kind))
    name = type.__dict__["__qualname__"].__get__(kind, type(kind))
    return f"{module}.{name}" if type(module) is str and module != "builtins" else str(name)


def _reported(report: pytest.TestReport) -> str:
    """Return the message that pytest reports, without the type before it."""
    message = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
    if type(message) is not str:
        return ""
    kind, colon, rest = message.partition(": ")
    return rest if colon and kind.replace(".", "").replace("_", "").isalnum() else message


def _message(error: BaseException) -> str:
    arguments = _slot(error, "args")
    if len(arguments) == 1 and type(arguments[0]) is str:
        return str(arguments[0])
    if arguments and all(type(argument) in _PLAIN for argument in arguments):
        return repr(arguments[0]) if len(arguments) == 1 else repr(arguments)
    return ""


def _bounded(message: str) -> str:
    lines = current().text(message[: MESSAGE_LENGTH + LOOKAHEAD]).splitlines()
    return "\n".join(lines[:_MOST_LINES])[:MESSAGE_LENGTH]


def _frames(traceback: TracebackType | None) -> tuple[Frame, ...]:
    """Return the frames of a traceback, innermost first."""
    found: list[Frame] = []
    begun = False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        # The frames around the test and its fixtures are those of pytest and of its plugins.
        if code.co_name in _CALLERS and code.co_filename.startswith(_FRAMEWORK) and not begun:
            found, begun = [], True
        elif not code.co_filename.startswith(_OWN) and (found or not code.co_filename.startswith(_FRAMEWORK)):
            line = traceback.tb_lineno or code.co_firstlineno
            found.append(Frame(code.co_filename, line, code.co_qualname, code.co_firstlineno))
        traceback = traceback.tb_next
    found.reverse()
    if len(found) > MOST_INNER + MOST_OUTER:
        found = found[:MOST_INNER] + found[-MOST_OUTER:]
    return tuple(found)
