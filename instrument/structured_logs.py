"""Capture the log events of structlog: each becomes a LOG event and, with ids, has the event's id as its field `clew`.

Invariants: clew's processor is the last one before the renderer, so data that other processors drop or redact is not
recorded. An event that structlog passes to the standard library's logging is recorded there, once, with the text and the
id that it got here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from clew.instrument.adapters.patching import hook, rename_in
from clew.instrument.logs import Lines
from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.probes.select.module_names import module_name

_LEVELS = {
    "notset": 0,
    "debug": 10,
    "info": 20,
    "warn": 30,
    "warning": 30,
    "err": 40,
    "error": 40,
    "exception": 40,
    "fatal": 50,
    "critical": 50,
}
_OTHERS = 20
"""The level of a method with another name: `msg`, `log`."""
_EVENT = 2
"""The index of the event among a processor's arguments."""


def patch_loggers(base: Any, lines: Lines) -> None:
    """Patch `structlog._base`: insert clew's processor before the last one of every chain."""
    process = Quiet(_recorder(lines), _EVENT)
    logger_class = base.BoundLoggerBase

    def chain(logger: Any) -> Any:
        processors = logger._processors
        return [*processors[:-1], process, *processors[-1:]] if processors else processors

    def withdraw(_token: bool, _result: Any) -> None:
        lines.announced.name = ""

    if "_clew_processors" not in vars(logger_class):
        logger_class._clew_processors = property(chain)
        rename_in(logger_class._process_event, "_processors", "_clew_processors")
        hook(logger_class._proxy_to_logger, lambda _logger: True, withdraw)


def patch_formatter(stdlib: Any) -> None:
    """Patch `structlog.stdlib`: add the id as a field to lines of standard loggers that structlog renders."""
    formatter_class = stdlib.ProcessorFormatter
    process = Quiet(_with_id_of_record, _EVENT)
    if "_clew_processors" not in vars(formatter_class):
        formatter_class._clew_processors = property(lambda formatter: [process, *formatter.processors])
        rename_in(formatter_class.format, "processors", "_clew_processors")


def _with_id_of_record(_logger: Any, _method: str, event: Any) -> Any:
    if type(event) is dict:
        found = getattr(event.get("_record"), "clew", None)
        if type(found) is str:
            event.setdefault("clew", found)
    return event


def _recorder(lines: Lines) -> Callable[[Any, Any, Any], Any]:
    announced = lines.announced

    def process(logger: Any, method: Any, event: Any) -> Any:
        try:
            record(logger, method, event)
        except Exception:  # other processors may return an event of any type
            announced.name = ""
        return event

    def record(logger: Any, method: Any, event: Any) -> None:
        level = _LEVELS.get(method, _OTHERS)
        message = event.get("event")
        text = message if type(message) is str else ""
        logging = sys.modules.get("logging")
        if logging is not None and isinstance(logger, logging.Logger):
            name = logger.name
            if logger.isEnabledFor(level) and lines.selects(level, name):
                announced.name, announced.text, announced.id = name, text, lines.next_id() if lines.ids else ""
                if lines.ids:
                    event["clew"] = announced.id
            return
        frame = _caller()
        logger_name = event.get("logger")
        module = module_name(frame.f_globals, frame.f_code.co_filename) if frame else "structlog"
        name = logger_name if type(logger_name) is str else module if frame else ""
        if not lines.selects(level, name):
            return
        place = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) if frame else ("", 0, "structlog")
        site = lines.site(place, module, frame)
        if not lines.admits(site):
            return
        if lines.ids:
            event["clew"] = lines.next_id()
        lines.emit(site, level, name, text)

    return process


def _caller() -> FrameType | None:
    """Return the innermost frame outside of structlog and clew."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if type(module) is not str or not module.startswith(("structlog.", "clew.instrument.")):
            return frame
        frame = frame.f_back
    return None
