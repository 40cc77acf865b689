"""Read OTLP in protobuf as plain objects of the JSON form: one message, or messages prefixed by their lengths.

This module splits the top level of a file, so that only one resource is decoded at a time; the protocol's library decodes the
resources. Invariant: bytes that are not OTLP raise one `FormatError` with an offset.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clew.graph.formats.source import FormatError, Source

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

RESOURCES_TAG = 0x0A
"""The tag of field 1 with a length, the only field of all top-level messages."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def looks_like(start: bytes) -> bool:
    """Return whether these are the first bytes of OTLP in protobuf, with or without a length prefix of four bytes."""
    return _is_message(start) or (len(start) > 8 and start[0] == 0 and _is_message(start[4:]))


def _is_message(start: bytes) -> bool:
    if not start or start[0] != RESOURCES_TAG:
        return False
    length, at = _varint(start, 1)
    # The content begins with a resource (field 1), scopes (2) or a schema URL (3).
    return at > 0 and length > 1 and len(start) > at and start[at] in (0x0A, 0x12, 0x1A)


def read(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each resource with the name of its list. Raises `FormatError`."""
    library(source)
    framed = source.start(1) == b"\0"
    at = 0
    while True:
        if framed:
            head = _exactly(source, 4, at, may_end=True)
            if not head:
                return
            size = int.from_bytes(head, "big")
            message = _exactly(source, size, at + 4)
            yield from _message(source, message, at + 4)
            at += 4 + size
            continue
        tag = _exactly(source, 1, at, may_end=True)
        if not tag:
            return
        if tag[0] != RESOURCES_TAG:
            raise _damaged(source, at, f"expected a resource, found field {tag[0] >> 3}")
        size, width = _length(source, at + 1)
        yield _resource(source, _exactly(source, size, at + 1 + width), at)
        at += 1 + width + size


def of_message(message: bytes, where: Path) -> dict[str, list[Mapping[str, Any]]]:
    """Return a message as a document of the JSON form. `where` is its source, for errors. Raises `FormatError`."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    named = _Named(where)
    library(named)
    for key, resource in _message(named, message, 0):
        found.setdefault(key, []).append(resource)
    return found


class Named(Protocol):
    """The source of bytes, for errors."""

    @property
    def path(self) -> Path: ...


class _Named(NamedTuple):
    path: Path


def library(source: Named) -> None:
    """Raise `FormatError` if the protocol's library is not installed."""
    try:
        import opentelemetry.proto.trace.v1.trace_pb2  # noqa: F401  # check that it is installed
    except ImportError:
        raise FormatError(
            f"{source.path}: OTLP in protobuf; run `pip install 'clew[otlp]'` to read it, or export it as JSON"
        ) from None


def _message(source: Named, message: bytes, at: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    place = 0
    while place < len(message):
        if message[place] != RESOURCES_TAG:
            raise _damaged(source, at + place, f"expected a resource, found field {message[place] >> 3}")
        size, begin = _varint(message, place + 1)
        if not begin or begin + size > len(message):
            raise _damaged(source, at + place, "it ends inside a message")
        yield _resource(source, message[begin : begin + size], at + place)
        place = begin + size


def _exactly(source: Source, count: int, at: int, *, may_end: bool = False) -> bytes:
    parts, have = [], 0
    while have < count:
        part = source.read(min(count - have, 1 << 20))
        if not part:
            if may_end and not have:
                return b""
            raise _damaged(source, at, "it ends inside a message")
        parts.append(part)
        have += len(part)
    return b"".join(parts)


def _length(source: Source, at: int) -> tuple[int, int]:
    value = width = 0
    while True:
        byte = _exactly(source, 1, at + width)[0]
        value |= (byte & 0x7F) << (7 * width)
        width += 1
        if byte < 0x80:
            return value, width
        if width > 9:
            raise _damaged(source, at, "invalid length")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and its end offset, or an offset of 0 if it is cut off or too long."""
    value = 0
    for width in range(10):
        if at + width >= len(data):
            return 0, 0
        value |= (data[at + width] & 0x7F) << (7 * width)
        if data[at + width] < 0x80:
            return value, at + width + 1
    return 0, 0


def _damaged(source: Named, at: int, what: str) -> FormatError:
    return FormatError(f"{source.path}: not OTLP, or damaged, at byte {at:,}: {what}; write or copy the file again")


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, wire type and content (of fields with a length) of a message's fields, up to the first invalid one."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        content = b""
        if not at:
            return
        if wire == _VARINT:
            _, at = _varint(data, at)
        elif wire == _BYTES:
            size, at = _varint(data, at)
            content, at = data[at : at + size], at + size
        else:
            at += {_FIXED64: 8, _FIXED32: 4}.get(wire, len(data))
        if not at:
            return
        yield tag >> 3, wire, content


def _has_logs(data: bytes) -> bool:
    """Return whether a resource has logs. Spans and logs have the same field number; a span begins with its trace id,
    and a log with a time of eight bytes.
    """
    for number, _, scope in _fields(data):
        for inner, _, record in _fields(scope) if number == 2 else ():
            for field, wire, _ in _fields(record) if inner == 2 else ():
                if field in (1, 2):
                    return (field, wire) in ((1, _FIXED64), (2, _VARINT))
                return field in (5, 6, 11, 12) and wire != _FIXED64
    return False


def _has_metrics(data: bytes) -> bool:
    """Return whether a resource has metrics, which have the same field number as spans.

    A span has times of eight bytes. A metric's name and description are not ids, and its data is a message.
    """
    for number, _, scope in _fields(data):
        for inner, _, record in _fields(scope) if number == 2 else ():
            fields = {field: (wire, content) for field, wire, content in _fields(record) if inner == 2}
            if not fields:
                continue
            timed = any(fields.get(field, (0,))[0] == _FIXED64 for field in (7, 8))
            ids = len(fields.get(1, (0, b""))[1]) == 16 and len(fields.get(2, (0, b""))[1]) == 8
            measures = any(fields.get(field, (0,))[0] == _BYTES for field in (5, 9, 10, 11))
            return fields.get(7, (0,))[0] == _BYTES or (measures and not timed and not ids)
    return False


def _resource(source: Named, data: bytes, at: int) -> tuple[str, Mapping[str, Any]]:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

    try:
        if _has_logs(data):
            logs = ResourceLogs.FromString(data)
            scopes = [
                {"scope": _scope(part.scope), "logRecords": [_log(record) for record in part.log_records]}
                for part in logs.scope_logs
            ]
            return "resourceLogs", {
                "resource": {"attributes": _pairs(logs.resource.attributes)},
                "scopeLogs": scopes,
            }
        if _has_metrics(data):
            return "resourceMetrics", {}
        spans = ResourceSpans.FromString(data)
    except DecodeError as error:
        raise _damaged(source, at, str(error)) from None
    parts = [{"scope": _scope(part.scope), "spans": [_span(span) for span in part.spans]} for part in spans.scope_spans]
    return "resourceSpans", {"resource": {"attributes": _pairs(spans.resource.attributes)}, "scopeSpans": parts}


def _scope(scope: Any) -> dict[str, Any]:
    return {"name": scope.name, "attributes": _pairs(scope.attributes)}


def _pairs(pairs: Any) -> list[dict[str, Any]]:
    return [_pair(pair) for pair in pairs]


def _pair(pair: KeyValue) -> dict[str, Any]:
    return {"key": pair.key, "value": _value(pair.value)}


def _value(value: AnyValue) -> dict[str, Any]:
    match value.WhichOneof("value"):
        case "string_value":
            return {"stringValue": value.string_value}
        case "bool_value":
            return {"boolValue": value.bool_value}
        case "int_value":
            return {"intValue": value.int_value}
        case "double_value":
            return {"doubleValue": value.double_value}
        case "array_value":
            return {"arrayValue": {"values": [_value(item) for item in value.array_value.values]}}
        case "kvlist_value":
            return {"kvlistValue": {"values": _pairs(value.kvlist_value.values)}}
        case "bytes_value":
            return {"bytesValue": base64.b64encode(value.bytes_value).decode()}
    return {}


def _span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": _pairs(span.attributes),
        "status": {"code": span.status.code, "message": span.status.message},
        "events": [
            {"timeUnixNano": event.time_unix_nano, "name": event.name, "attributes": _pairs(event.attributes)}
            for event in span.events
        ],
        "links": [
            {"traceId": link.trace_id.hex(), "spanId": link.span_id.hex(), "attributes": _pairs(link.attributes)}
            for link in span.links
        ],
        "droppedAttributesCount": span.dropped_attributes_count,
        "droppedEventsCount": span.dropped_events_count,
        "droppedLinksCount": span.dropped_links_count,
    }


def _log(record: LogRecord) -> dict[str, Any]:
    return {
        "timeUnixNano": record.time_unix_nano,
        "observedTimeUnixNano": record.observed_time_unix_nano,
        "severityNumber": record.severity_number,
        "severityText": record.severity_text,
        "body": _value(record.body),
        "attributes": _pairs(record.attributes),
        "traceId": record.trace_id.hex(),
        "spanId": record.span_id.hex(),
        "droppedAttributesCount": record.dropped_attributes_count,
        # Libraries for versions of the protocol before 1.5 lack the field.
        "eventName": getattr(record, "event_name", ""),
    }
