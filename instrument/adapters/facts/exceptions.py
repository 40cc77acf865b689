"""Exceptions as facts: each exception that leaves a recorded call, was being handled when a line was written, or ended a
thread, a task or the process.

The recorder's core writes the facts (`csrc/facts/exceptions.c`); this module tells it how to redact messages, and observes
exceptions that nobody catches. Invariant: no code of the program runs, not even the `str` of an exception.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from clew.instrument.adapters.patching import hook, hook_nested, when_imported
from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.recorder import lifecycle, redaction
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern

_NEVER_RETRIEVED = "exception was never retrieved"

_GAPS = "exceptions"
"""The name of the gaps where there were too many."""


def install() -> None:
    core.watch_exceptions(Quiet(_redacted), Quiet(intern), intern(_GAPS))
    redaction.at_change(core.exceptions_over)
    lifecycle.at_end(_at_end)
    when_imported("threading", _patch_threads)
    when_imported("asyncio.base_events", _patch_loop)


def _redacted(text: str) -> str:
    return redaction.current().text(text)


def _patch_threads(module: Any) -> None:
    """Observe exceptions that end a thread, whatever `threading.excepthook` the program has set."""

    def uncaught(_thread: Any) -> None:
        core.exception_record(sys.exc_info()[1], "ended")

    hook_nested(module._make_invoke_excepthook, "invoke_excepthook", uncaught)


def _patch_loop(base_events: Any) -> None:
    def unretrieved(_loop: Any, context: Any) -> None:
        if type(context) is not dict:
            return
        error, message = context.get("exception"), context.get("message")
        if isinstance(error, BaseException) and type(message) is str and message.endswith(_NEVER_RETRIEVED):
            core.exception_record(error, "unretrieved")

    hook(base_events.BaseEventLoop.call_exception_handler, unretrieved, parameters=2)


def _at_end() -> None:
    """Record the exception that ended the main thread: the interpreter has reported it, by the program's hook or its own."""
    error = getattr(sys, "last_value", None)
    interactive = bool(getattr(sys, "ps1", "")) or sys.flags.interactive
    if isinstance(error, BaseException) and not interactive and threading.current_thread() is threading.main_thread():
        core.exception_record(error, "ended")
    core.exceptions_over()
