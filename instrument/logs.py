"""Capture log lines: every record that a logger passes to its handlers becomes a LOG event at the logging call.

Invariants: the site of a line is the logging call, and is defined once. The logger's filters have run, so text that they
redact is not recorded. A message that cannot be formatted is recorded as failed, and the program gets the same error as
without clew. With ids, the event's id is the record's attribute `clew`: JSON formatters write it as a field, and we append
it once to plain text. What a stream handler writes for a recorded line is no output line as well.
"""

from __future__ import annotations

import re
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

from clew.instrument.adapters.patching import hook, surround, when_imported
from clew.instrument.probes.select.module_names import module_name
from clew.instrument.probes.sites import register
from clew.instrument.recorder import redaction
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import FLAG_FAILED, Kind
from clew.records.plan.plan import LogCapture

if TYPE_CHECKING:
    from clew.instrument.probes.actions.rate_limit import Rate

_DROPPED = 2
"""The value of `core.flow` in a request flow that the sampling leaves out."""
_ID = re.compile(r"[0-9a-f]{16}\.\d+\.\d+")


_lines: Lines | None = None


def install(capture: LogCapture) -> None:
    """Capture log lines as `capture` configures from now on."""
    global _lines
    if _lines is not None:
        _lines.choose(capture)
        return
    _lines = lines = Lines(capture)
    when_imported("logging", lambda logging: _patch(logging, lines))
    when_imported("logging.handlers", _patch_handlers)
    when_imported("structlog._base", lambda base: _structlog().patch_loggers(base, lines))
    when_imported("structlog.stdlib", lambda stdlib: _structlog().patch_formatter(stdlib))


def _structlog() -> Any:
    from clew.instrument import structured_logs

    return structured_logs


class Lines:
    """The log lines that the plan selects, and the function that records them."""

    def __init__(self, capture: LogCapture) -> None:
        self._sites: dict[tuple[str, int, str], int] = {}
        self._count = _Count()
        self.announced = Announced()
        self.choose(capture)

    def choose(self, capture: LogCapture) -> None:
        self._capture = capture
        self._rate = _rate_of(capture)
        self._selected: dict[str, bool] = {}
        self.ids = capture.ids

    def selects(self, level: int, name: str) -> bool:
        if level < self._capture.level or not core.active() or core.flow() == _DROPPED:
            return False
        if name not in self._selected:
            self._selected[name] = _matches(name, self._capture.loggers)
        return self._selected[name]

    def site(self, place: tuple[str, int, str], module: str, frame: FrameType | None) -> int:
        """Return the site of a call at (file, line, function). Its frame, if it is on the stack, has the exact names."""
        site = self._sites.get(place)
        if site is None:
            file, line, qualname = place
            if frame is not None:
                module, qualname = module_name(frame.f_globals, file), frame.f_code.co_qualname
            site = self._sites[place] = register(module, qualname, file, line, line, "log")
        return site

    def next_id(self) -> str:
        """Return the id of the event that the calling thread's next `emit` records."""
        return f"{core.uid():016x}.{core.thread()}.{self._count.so_far() + 1}"

    def admits(self, site: int) -> bool:
        """Return whether the rate limit admits one more of the selected lines."""
        return self._rate is None or self._rate.admits(site)

    def emit(
        self, site: int, level: int, name: str, text: str, flags: int = 0, *, error: BaseException | None = None
    ) -> None:
        """Record a line, after the exception that it reports: `error`, or the one that the thread handles now."""
        text = redaction.current().text(text)
        if error is None:
            error = sys.exc_info()[1]
        if error is not None:
            core.exception_record(error, "handled")
        self._count.number = self._count.so_far() + 1
        core.emit(Kind.LOG, site, level, intern(name), text.encode("utf-8", "backslashreplace"), flags)


def _rate_of(capture: LogCapture) -> Rate | None:
    if not capture.most:
        return None
    from clew.instrument.probes.actions.rate_limit import rate_of  # few plans need it

    return rate_of("logs", capture.most, capture.per, intern("log lines"), "log lines")


class Announced(threading.local):
    """The log line that another library is about to pass to a logger of the standard library, on the calling thread."""

    name = ""
    """The name of the logger; empty if no line is announced."""
    text = ""
    id = ""


def _patch(logging: Any, lines: Lines) -> None:
    announced = lines.announced

    def handled(logger: Any, record: Any) -> None:
        name = record.name
        if not lines.selects(record.levelno, name):
            return
        place = _place_of(record)
        site = lines.site(place, record.module, _frame_of(record))
        if not lines.admits(site):
            return
        flags, event = 0, ""
        if announced.name == name:
            text, event = announced.text, announced.id
            announced.name = ""
        else:
            try:
                text = record.getMessage()
            except Exception as error:
                text, flags = f"{record.msg!r} ({type(error).__name__}: its arguments do not fit)", FLAG_FAILED
        if lines.ids and "clew" not in record.__dict__:
            record.clew = event or lines.next_id()
        lines.emit(site, record.levelno, name, text, flags, error=_error_of(record))

    def stream_begins(_handler: Any, record: Any) -> bool | None:
        if not lines.selects(record.levelno, record.name):
            return None
        core.mute_outputs(True)
        return True

    hook(logging.Logger.callHandlers, handled, parameters=2)
    hook(logging.StreamHandler.emit, stream_begins, lambda _token, _result: core.mute_outputs(False), parameters=2)
    surround(logging.Formatter, "formatMessage", after=_append_id)


def _patch_handlers(handlers: Any) -> None:
    """Hide the id from a queue handler's formatter, because the listener formats the line again and appends the id then."""

    def prepare(_handler: Any, record: Any) -> tuple[Any, str] | None:
        event = _own_id(record)
        if not event:
            return None
        del record.clew
        return record, event

    def restore(token: tuple[Any, str], result: Any) -> None:
        for record in (token[0], result):
            if hasattr(record, "__dict__"):
                record.clew = token[1]

    hook(handlers.QueueHandler.prepare, prepare, restore, parameters=2)


def _error_of(record: Any) -> BaseException | None:
    """Return the exception that the logging call was given, if any."""
    given = record.exc_info
    error = given[1] if type(given) is tuple and len(given) == 3 else None
    return error if isinstance(error, BaseException) else None


def _matches(name: str, prefixes: tuple[str, ...]) -> bool:
    return not prefixes or any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def _place_of(record: Any) -> tuple[str, int, str]:
    """Return the call site of a record. A record from `makeLogRecord` may lack it or hold values of other types."""
    file, line, function = record.pathname, record.lineno, record.funcName
    return (
        file if type(file) is str else "",
        line if type(line) is int and line >= 0 else 0,
        function if type(function) is str else "(unknown function)",
    )


def _frame_of(record: Any) -> FrameType | None:
    """Return the frame of the logging call, or None for a record that was created in another thread or process."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not (frame.f_lineno == record.lineno and frame.f_code.co_name == record.funcName):
        frame = frame.f_back
    return frame


class _Count(threading.local):
    """The number of LOG events in each thread's stream; with the process and the thread it identifies an event."""

    uid = 0
    number = 0

    def so_far(self) -> int:
        if self.uid != core.uid():
            self.uid, self.number = core.uid(), 0
        return self.number


def _own_id(record: Any) -> str:
    """Return the id that clew gave a record, or "". The program may use the same attribute for another value."""
    event = getattr(record, "clew", "")
    return event if type(event) is str and _ID.fullmatch(event) else ""


def _append_id(text: Any, _formatter: Any, record: Any) -> Any:
    event = _own_id(record)
    if type(text) is not str or not event or event in text:
        return text
    if text.startswith('{"') and text.endswith("}"):  # a format string that makes JSON
        return f'{text[:-1]}, "clew": "{event}"}}'
    return f"{text} [clew {event}]"
