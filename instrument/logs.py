"""Captures log lines: every record that a logger hands to its handlers becomes a LOG event where it was logged.

Invariants: a line's site is the logging call, defined once; filters of the logger have run, so what they redact is not
recorded; a message that cannot be made is recorded as failed, and the program finds out as without us.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from clew.instrument.adapters.patching import hook, surround, when_imported
from clew.instrument.probes.sites import register
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import FLAG_FAILED, Kind
from clew.records.plan import LogCapture

_LOG = int(Kind.LOG)


def install(capture: LogCapture) -> None:
    when_imported("logging", lambda logging: _patch(logging, capture))


def _patch(logging: Any, capture: LogCapture) -> None:
    emit = core.emit
    sites: dict[tuple[str, int, str], int] = {}
    wanted: dict[str, bool] = {}
    level = capture.level
    count = _Count() if capture.ids else None

    def handled(logger: Any, record: Any) -> None:
        name = record.name
        if record.levelno < level or not core.active():
            return
        if name not in wanted:
            wanted[name] = _is_wanted(name, capture.loggers)
        if not wanted[name]:
            return
        place = record.pathname, record.lineno, record.funcName
        site = sites.get(place)
        if site is None:
            site = sites[place] = _register(record)
        flags = 0
        try:
            text = record.getMessage()
        except Exception as error:
            text, flags = f"{record.msg!r} ({type(error).__name__}: its arguments do not fit)", FLAG_FAILED
        if count is not None:
            record.clew_id = count.next_id()
        emit(_LOG, site, record.levelno, intern(name), text.encode("utf-8", "backslashreplace"), flags)

    hook(logging.Logger.callHandlers, handled, parameters=2)
    if capture.ids:
        surround(logging.Formatter, "formatMessage", after=_append_id)


def _is_wanted(name: str, prefixes: tuple[str, ...]) -> bool:
    return not prefixes or any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def _register(record: Any) -> int:
    module, qualname = record.module, record.funcName
    frame = sys._getframe(1)
    while frame is not None:  # a record that was made elsewhere has no frame here, and keeps its own words
        if frame.f_lineno == record.lineno and frame.f_code.co_name == record.funcName:
            module, qualname = _module_of(frame.f_globals, module), frame.f_code.co_qualname
            break
        frame = frame.f_back  # type: ignore[assignment]  # the last one's is None
    return register(module, qualname, record.pathname, record.lineno, record.lineno, "log")


def _module_of(namespace: dict[str, Any], stem: str) -> str:
    """A module's name as patterns say it: `python -m package.module` is that, a script its file's stem."""
    name = namespace.get("__name__", stem)
    if name == "__main__":
        return getattr(namespace.get("__spec__"), "name", None) or stem
    return str(name)


class _Count(threading.local):
    """Numbers the LOG events of each thread's stream, from 1: with the process and the thread that names the event."""

    uid = 0
    number = 0

    def next_id(self) -> str:
        if self.uid != core.uid():
            self.uid, self.number = core.uid(), 0
        self.number += 1
        return f"{self.uid:016x}.{core.thread()}.{self.number}"


def _append_id(text: Any, _formatter: Any, record: Any) -> Any:
    event = getattr(record, "clew_id", None)
    # A queue handler formats a line that its listener formats again.
    return text if text is None or event is None or event in text else f"{text} [clew {event}]"
