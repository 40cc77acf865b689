"""Interpret the attributes of foreign traces: the process and code place of a span, and the level of a log line.

The names are OpenTelemetry's semantic conventions, current and older, and those of Jaeger's and Zipkin's libraries.
Invariant: only texts and numbers are read from attributes; other values are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from clew.graph.formats.spans.collector import CLIENT, CONSUMER, FAILED, PRODUCER, SERVER, Collector, Place

KINDS = {
    "server": SERVER, "client": CLIENT, "producer": PRODUCER, "consumer": CONSUMER,
    "span_kind_server": SERVER, "span_kind_client": CLIENT, "span_kind_producer": PRODUCER,
    "span_kind_consumer": CONSUMER, "2": SERVER, "3": CLIENT, "4": PRODUCER, "5": CONSUMER,
}  # fmt: skip
_HOSTS = ("host.name", "hostname", "host.id", "k8s.node.name", "k8s.pod.name", "ip")
_INSTANCES = ("service.instance.id", "k8s.pod.name", "container.id", "client-uuid")
_THREADS = ("thread.name", "thread.id", "thread")
_FILES = ("code.file.path", "code.filepath")
_LINES = ("code.line.number", "code.lineno")
_FUNCTIONS = ("code.function.name", "code.function")
_MESSAGES = ("message", "log.message", "exception.message", "event")
_LEVELS = ("level", "severity", "log.level", "log.severity")
_LOGGERS = ("logger", "logger.name", "log.logger")
_LEVEL_NUMBERS = {
    "TRACE": 5, "FINEST": 5, "DEBUG": 10, "FINE": 10, "INFO": 20, "INFORMATION": 20, "NOTICE": 20, "WARN": 30,
    "WARNING": 30, "ERROR": 40, "SEVERE": 40, "FATAL": 50, "CRITICAL": 50, "ALERT": 50, "EMERGENCY": 50,
}  # fmt: skip
INFO, ERROR = 20, 40
_PLAIN = (str, int, float)


def first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of these attributes that is not empty, as a text."""
    for name in names:
        value = attributes.get(name)
        if value and isinstance(value, _PLAIN):
            return str(value)
    return ""


class Process(NamedTuple):
    """The description of a process."""

    service: str
    host: str
    instance: str
    pid: int
    """The process id, 0 if unknown."""


def described(resource: Mapping[str, Any], service: str = "") -> Process:
    """Return the process that a resource (Jaeger: the tags of a process) describes; unknown texts are ""."""
    pid = first(resource, ("process.pid", "pid"))
    return Process(
        service or first(resource, ("service.name",)),
        first(resource, _HOSTS),
        first(resource, _INSTANCES),
        int(pid) if pid.isdecimal() and len(pid) < 10 else 0,
    )


def process_of(collector: Collector, resource: Mapping[str, Any], service: str = "") -> int:
    return collector.process(*described(resource, service))


def thread_name(attributes: Mapping[str, Any]) -> str:
    return first(attributes, _THREADS)


def place_of(service: str, name: str, attributes: Mapping[str, Any]) -> Place:
    """Return the code place of a span. Its module is that of its function if the span has the function's name,
    else the service.
    """
    if not attributes:
        return service, name, "", 0
    line = first(attributes, _LINES)
    number = int(line) if line.isdecimal() and len(line) < 10 else 0
    module, function = first(attributes, ("code.namespace",)), first(attributes, _FUNCTIONS)
    function = function.removeprefix(module + ".") if module else function
    named = module and name in (function, f"{module}.{function}", f"{module}:{function}")
    where = (module, function) if named else (service, name)
    return *where, first(attributes, _FILES), number


def log_site(collector: Collector, service: str, attributes: Mapping[str, Any]) -> int:
    file = first(attributes, _FILES) if attributes else ""
    if not file:
        return 0
    module, name, _, line = place_of(service, "", attributes)
    function = first(attributes, _FUNCTIONS) or name
    module = first(attributes, ("code.namespace",)) or module
    return collector.site((module, function, file, line), service, "log")


def failed(attributes: Mapping[str, Any]) -> int:
    """Return `FAILED` if the tags of a span report an error, else 0."""
    error = attributes.get("error")
    wrong = (error not in (None, False, "", 0) and str(error).lower() != "false") or (
        str(attributes.get("otel.status_code", "")).upper() == "ERROR"
    )
    return FAILED if wrong else 0


def level_number(text: object) -> int:
    """Return the number of a level by name, INFO for an unknown one."""
    return _LEVEL_NUMBERS.get(str(text).strip().upper().rstrip("0123456789"), INFO)


def event_words(name: str, attributes: Mapping[str, Any]) -> tuple[str, int, str]:
    """Return text, level and logger of an event inside a span."""
    message = first(attributes, _MESSAGES) or name
    kind = first(attributes, ("exception.type", "error.kind"))
    if kind and kind not in message:
        message = f"{kind}: {message}"
    level = first(attributes, _LEVELS)
    bad = name in ("exception", "error") or attributes.get("event") == "error" or "exception.type" in attributes
    bad = bad or "error.object" in attributes or bool(failed(attributes))
    number = level_number(level) if level else ERROR if bad else INFO
    return message, number, first(attributes, _LOGGERS)


def plain(attributes: Mapping[str, Any], *, without: tuple[str, ...]) -> dict[str, Any]:
    """Return the attributes without some names."""
    return {name: value for name, value in attributes.items() if name not in without}
