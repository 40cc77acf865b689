"""Read OTLP traces and logs as JSON (documents, lines) or protobuf (a message, or the collector's sequence of messages).

Protobuf is converted to the plain objects of the JSON form. Invariant: at most one resource (in JSON: one span) is in memory,
for a file of any size.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clew.graph.formats.format import Format, begins_json, json_reader
from clew.graph.formats.json_stream import JsonStream
from clew.graph.formats.readers import otlp_protobuf
from clew.graph.formats.source import Source, as_text, dicts
from clew.graph.formats.spans import attribute_names
from clew.graph.formats.spans.collector import EXPLICIT, FAILED, MISSING, Collector
from clew.records.format.event import CALLS, EdgeKind, Kind

RESOURCES = {"resourceSpans": "scopeSpans", "resourceLogs": "scopeLogs", "batches": "scopeSpans"}
"""The top-level keys; Tempo uses `batches` for `resourceSpans`."""
_SCOPES = {
    "scopeSpans": "spans", "instrumentationLibrarySpans": "spans", "scopeLogs": "logRecords",
    "instrumentationLibraryLogs": "logRecords",
}  # fmt: skip
_WRAPPED = ("result", "trace")
_SEVERITIES = (5, 10, 20, 30, 40, 50)
"""The levels of TRACE to FATAL, which have four severity numbers each."""
OWN_EDGES, OWN_STRAND, OWN_EVENT, OWN_LINK = "clew.edges", "clew.strand", "clew.event", "clew.edge"
OWN_LOST = "clew.lost"
"""The attributes in exports of clew; see `graph/formats/writers/otlp.py`."""


def attributes_of(pairs: object) -> dict[str, Any]:
    return {as_text(pair.get("key")): any_value(pair.get("value")) for pair in dicts(pairs)}


def any_value(value: object) -> Any:
    """Convert an AnyValue to plain data."""
    if not isinstance(value, dict) or not value:
        return None
    name, held = next(iter(value.items()))
    if name == "intValue":
        text = str(held)
        return int(text) if text.lstrip("-").isdecimal() and len(text) < 25 else text
    if name == "arrayValue":
        return [any_value(item) for item in dicts(held.get("values") if isinstance(held, dict) else None)]
    if name == "kvlistValue":
        return attributes_of(held.get("values") if isinstance(held, dict) else None)
    return held


class Reader:
    """Adds the spans and logs of resources to a collector."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._process: int | None = None
        self._resource: Mapping[str, Any] = {}
        self.service = ""
        self._strands: dict[int, int] = {}
        self.explicit, self.logger = 0, ""

    def json(self, stream: JsonStream) -> None:
        for _ in stream.documents():
            self._document(stream)

    def _document(self, stream: JsonStream) -> None:
        if stream.peek() == "[":
            for _ in stream.items():
                self._document(stream)
            return
        if stream.peek() != "{":
            stream.value()
            self.collector.count_odd("value", "not an object; left out")
            return
        for key in stream.members():
            if key in RESOURCES and stream.peek() == "[":
                for _ in stream.items():
                    self._object(stream, "resource", self.resource, dict.fromkeys(_SCOPES, self._scopes_of))
            elif key in _WRAPPED and stream.peek() == "{":
                self._document(stream)
            else:
                stream.value()
                self.collector.unknown([key], "at the top")

    def _object(
        self,
        stream: JsonStream,
        head: str,
        begin: Callable[[Mapping[str, Any]], None],
        parts: Mapping[str, Callable[[JsonStream, str], None]],
    ) -> None:
        """Read an object whose member `head` describes its parts; parts that precede the head wait for it."""
        if stream.peek() != "{":
            stream.value()
            return
        begin({})
        waiting: list[tuple[str, Any]] = []
        seen = False
        for key in stream.members():
            if key == head or (key == "instrumentationLibrary" and head == "scope"):
                value = stream.value()
                begin(value if isinstance(value, dict) else {})
                seen = True
            elif key in parts and stream.peek() == "[":
                # Spans do not need their scope, but scopes need their resource, and log records need their logger.
                if seen or key == "spans":
                    parts[key](stream, key)
                else:
                    waiting.append((key, stream.value()))
            else:
                stream.value()
        for key, values in waiting:
            for value in dicts(values):
                self._part(key, value)

    def _scopes_of(self, stream: JsonStream, _key: str) -> None:
        for _ in stream.items():
            self._object(stream, "scope", self.scope, {"spans": self._records, "logRecords": self._records})

    def _records(self, stream: JsonStream, key: str) -> None:
        for value in stream.array():
            self._part(key, value)

    def _part(self, key: str, value: Any) -> None:
        if not isinstance(value, dict):
            self.collector.count_odd("value", "not an object; left out")
        elif key == "spans":
            self.span(value)
        elif key == "logRecords":
            self.log(value)
        else:
            self.scope(value.get("scope") or value.get("instrumentationLibrary") or {})
            for one in dicts(value.get(_SCOPES[key])):
                self._part(_SCOPES[key], one)

    def resource(self, resource: Mapping[str, Any]) -> None:
        self._resource, self._process = attributes_of(resource.get("attributes")), None
        self.service = attribute_names.first(self._resource, ("service.name",)) or "unnamed"
        self.scope({})

    @property
    def process(self) -> int:
        if self._process is None:
            self._process = attribute_names.process_of(self.collector, self._resource, self.service)
        return self._process

    def scope(self, scope: Mapping[str, Any]) -> None:
        attributes = attributes_of(scope.get("attributes")) if isinstance(scope, dict) else {}
        self.explicit = EXPLICIT if OWN_EDGES in attributes else 0
        self.logger = as_text(scope.get("name")) if isinstance(scope, dict) else ""

    def span(self, span: Mapping[str, Any]) -> None:
        collector = self.collector
        self._count_unusual(span, _SPAN, "in a span")
        attributes = attributes_of(span.get("attributes"))
        status = span.get("status")
        status = status if isinstance(status, dict) else {}
        flags = self.explicit | attribute_names.KINDS.get(str(span.get("kind", "")).lower(), 0)
        if str(status.get("code", "")) in ("2", "STATUS_CODE_ERROR"):
            flags |= FAILED
        if status.get("message"):
            attributes["otel.status_description"] = status["message"]
        place = attribute_names.place_of(self.service, as_text(span.get("name")), attributes)
        trace = collector.trace(self._id(span.get("traceId"), 16))
        start, end = collector.ns(span.get("startTimeUnixNano")), collector.ns(span.get("endTimeUnixNano"))
        id_ = collector.span_id(self._id(span.get("spanId"), 8))
        if not self.explicit:
            # In the protocol, 0 means no time; in exports of clew, every event has a time.
            start, end = start or MISSING, end or MISSING
        if OWN_STRAND in attributes:
            row = self._strand(attribute_names.thread_name(attributes), trace, id_)
        else:
            row = collector.span(
                trace=trace,
                id_=id_,
                parent_id=collector.span_id(self._id(span.get("parentSpanId"), 8)),
                start=start,
                end=end,
                site=collector.site(place, self.service),
                process=self.process,
                thread=collector.thread(self.process, attribute_names.thread_name(attributes)),
                flags=flags,
                attributes=attribute_names.plain(attributes, without=_STORED_PLACE if self.explicit else _KNOWN),
            )
        if trace < 0:
            collector.count_odd("span", "it has no trace id")
        for event in dicts(span.get("events")):
            self._event(row, event)
        for link in dicts(span.get("links")):
            self._link(row, link)

    def _count_unusual(self, part: Mapping[str, Any], known: frozenset[str], where: str) -> None:
        if unknown := part.keys() - known:
            self.collector.unknown(unknown, where)
        for name, noun in _DROPPED.items():
            count = part.get(name)
            if count and isinstance(count, int):
                self.collector.count_odd(noun, "dropped by the writer of the file", count)

    def _strand(self, name: str, trace: int, id_: int) -> int:
        """Return the row of a strand of an export of clew, which can consist of several spans."""
        thread = self.collector.thread(self.process, name or "thread")
        if thread not in self._strands:
            self._strands[thread] = self.collector.pseudo(self.process, thread, trace, id_)
        return self._strands[thread]

    def _event(self, row: int, event: Mapping[str, Any]) -> None:
        attributes = attributes_of(event.get("attributes"))
        time = self.collector.ns(event.get("timeUnixNano"))
        name = as_text(event.get("name"))
        if OWN_EVENT in attributes:
            kind = Kind.__members__.get(str(attributes[OWN_EVENT]).upper(), Kind.MARK)
            if kind in CALLS:
                kind = Kind.MARK
            lost = attributes.get(OWN_LOST)
            key = lost if kind == Kind.GAP and isinstance(lost, int) and 0 < lost < 1 << 63 else 0
            text = as_text(attributes.get("text"))
            self.collector.point(row, time, kind, channel="" if kind == Kind.GAP else name, text=text, key=key)
            return
        text, level, logger = attribute_names.event_words(name, attributes)
        self.collector.log(
            time,
            text,
            owner=row,
            level=level,
            logger=logger,
            site=attribute_names.log_site(self.collector, self.service, attributes),
            attributes=attribute_names.plain(attributes, without=_LOGGED),
        )

    def _link(self, row: int, link: Mapping[str, Any]) -> None:
        collector = self.collector
        attributes = attributes_of(link.get("attributes"))
        trace, id_ = (
            collector.trace(self._id(link.get("traceId"), 16)),
            collector.span_id(self._id(link.get("spanId"), 8)),
        )
        if OWN_LINK not in attributes:
            collector.link(row, trace=trace, id_=id_)
            return
        kinds = {kind.name.lower(): int(kind) for kind in (*EdgeKind, *Kind)}
        collector.link(
            row,
            trace=trace,
            id_=id_,
            source_time=collector.ns(attributes.get("clew.sent")),
            target_time=collector.ns(attributes.get("clew.came")),
            source_kind=kinds.get(str(attributes.get("clew.by")), int(Kind.SEND)),
            target_kind=kinds.get(str(attributes.get("clew.as")), int(Kind.JOIN)),
            kind=int(EdgeKind[str(attributes[OWN_LINK]).upper()])
            if str(attributes[OWN_LINK]).upper() in EdgeKind.__members__
            else int(EdgeKind.USE),
            channel=as_text(attributes.get("clew.channel")),
            text=as_text(attributes.get("clew.key")),
        )

    def log(self, record: Mapping[str, Any]) -> None:
        collector = self.collector
        self._count_unusual(record, _RECORD, "in a log")
        attributes = attributes_of(record.get("attributes"))
        time = collector.ns(record.get("timeUnixNano"))
        if time in (MISSING, 0):
            time = collector.ns(record.get("observedTimeUnixNano"))
        number = record.get("severityNumber")
        if isinstance(number, str) and number.upper().startswith("SEVERITY_NUMBER_"):
            level = attribute_names.level_number(number.upper().removeprefix("SEVERITY_NUMBER_"))
        elif isinstance(number, int) and 0 < number <= 24:
            level = _SEVERITIES[(number - 1) // 4]
        else:
            level = attribute_names.level_number(record.get("severityText") or "")
        body = any_value(record.get("body"))
        collector.log(
            time or MISSING,
            as_text(body) or as_text(record.get("eventName")),
            trace=collector.trace(self._id(record.get("traceId"), 16)),
            id_=collector.span_id(self._id(record.get("spanId"), 8)),
            process=self.process,
            level=level,
            logger=attribute_names.first(attributes, ("logger.name", "log.logger")) or self.logger,
            site=attribute_names.log_site(collector, self.service, attributes),
            attributes=attributes,
        )

    def _id(self, written: object, size: int) -> object:
        """Return an id in hexadecimal; protobuf's JSON printers write base64."""
        if isinstance(written, str) and len(written) == (24 if size == 16 else 12) and written.endswith("="):
            try:
                decoded = base64.b64decode(written, validate=True)
            except (binascii.Error, ValueError):
                return written
            self.collector.count_odd("id", "base64 instead of hexadecimal; decoded")
            return decoded.hex()
        return written


_DROPPED = {
    "droppedAttributesCount": "attribute", "droppedEventsCount": "log", "droppedLinksCount": "link",
}  # fmt: skip
_SPAN = frozenset(_DROPPED) | {
    "traceId", "spanId", "traceState", "parentSpanId", "flags", "name", "kind", "startTimeUnixNano", "endTimeUnixNano",
    "attributes", "events", "links", "status",
}  # fmt: skip
_RECORD = frozenset({
    "timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText", "body", "attributes",
    "droppedAttributesCount", "flags", "traceId", "spanId", "eventName",
})  # fmt: skip
_KNOWN = ("thread.name", "thread.id")
_STORED_PLACE = (*_KNOWN, "code.file.path", "code.line.number", "code.function.name", "code.namespace")
_LOGGED = ("message", "level", "logger", "code.file.path", "code.line.number", "code.function.name", "code.namespace")


def read_json(stream: JsonStream, collector: Collector) -> None:
    Reader(collector).json(stream)


def messages(parts: Iterator[tuple[str, Mapping[str, Any]]], collector: Collector) -> None:
    """Add resources as plain objects of the JSON form, each with the name of its list."""
    reader = Reader(collector)
    for key, resource in parts:
        if key not in RESOURCES:
            collector.unknown([key], "at the top")
            continue
        reader.resource(resource.get("resource") or {})
        scopes = RESOURCES[key]
        for scope in dicts(resource.get(scopes)):
            reader._part(scopes, scope)


_read_json = json_reader(read_json)


def _read(source: Source, collector: Collector, pattern: str) -> None:
    if source.start(1) in (b"\x0a", b"\x00") and otlp_protobuf.looks_like(source.start(64)):
        messages(otlp_protobuf.read(source), collector)
    else:
        _read_json(source, collector, pattern)


FORMAT = Format(
    name="otlp",
    title="OTLP (JSON, JSON lines, protobuf)",
    suffixes=(".json", ".jsonl", ".ndjson", ".pb", ".bin"),
    json_sign=rb'"(?:resourceSpans|resourceLogs|scopeSpans|scopeLogs|instrumentationLibrarySpans)"\s*:',
    looks_like=lambda start: not begins_json(start) and otlp_protobuf.looks_like(start),
    read=_read,
)
