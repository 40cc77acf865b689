"""Read Zipkin's JSON, version 2: a list of spans, a list of traces, or one span per line.

Caller and callee share a span's id, and each reports its own half. Invariant: a missing time of one half is taken from the
other half only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.graph.formats.format import Format, json_reader
from clew.graph.formats.json_stream import JsonStream
from clew.graph.formats.source import FormatError, as_text, dicts
from clew.graph.formats.spans import attribute_names
from clew.graph.formats.spans.collector import MISSING, SERVER, Collector

MICROSECOND = 1000


def read_json(stream: JsonStream, collector: Collector) -> None:
    collector.resolution = max(collector.resolution, MICROSECOND)
    for _ in stream.documents():
        _document(stream, collector)


def _document(stream: JsonStream, collector: Collector) -> None:
    if stream.peek() == "[":
        for _ in stream.items():
            _document(stream, collector)
        return
    value = stream.value()
    if isinstance(value, dict):
        if "binaryAnnotations" in value:
            raise FormatError(
                f"{stream.source.path}: Zipkin JSON version 1 is not supported; request /api/v2/trace/… from the server"
            )
        _span(value, collector)
    else:
        collector.count_odd("value", "not an object; left out")


_SPAN = frozenset({
    "traceId", "id", "parentId", "kind", "name", "timestamp", "duration", "localEndpoint", "remoteEndpoint", "annotations",
    "tags", "debug", "shared",
})  # fmt: skip


def _span(span: Mapping[str, Any], collector: Collector) -> None:
    if unknown := span.keys() - _SPAN:
        collector.unknown(unknown, "in a span")
    local = span.get("localEndpoint")
    endpoint: Mapping[str, Any] = local if isinstance(local, dict) else {}
    service = as_text(endpoint.get("serviceName")) or "unnamed"
    process = collector.process(
        service, attribute_names.first(endpoint, ("ipv4", "ipv6")), attribute_names.first(endpoint, ("port",))
    )
    tags = span.get("tags")
    tags = tags if isinstance(tags, dict) else {}
    start = collector.ns(span.get("timestamp"), MICROSECOND)
    duration = collector.ns(span.get("duration"), MICROSECOND)
    flags = attribute_names.KINDS.get(str(span.get("kind", "")).lower(), 0) | attribute_names.failed(tags)
    if span.get("shared") is True:
        flags |= SERVER
    place = attribute_names.place_of(service, as_text(span.get("name")), tags)
    row = collector.span(
        trace=collector.trace(span.get("traceId")),
        id_=collector.span_id(span.get("id")),
        parent_id=collector.span_id(span.get("parentId")),
        start=start or MISSING,
        end=MISSING if not start or MISSING in (start, duration) else start + duration,
        site=collector.site(place, service),
        process=process,
        thread=collector.thread(process, attribute_names.thread_name(tags)),
        flags=flags,
        attributes=attribute_names.plain(tags, without=("thread.name", "thread.id")),
    )
    for annotation in dicts(span.get("annotations")):
        time = collector.ns(annotation.get("timestamp"), MICROSECOND)
        text = as_text(annotation.get("value"))
        collector.log(time, text, owner=row, level=attribute_names.ERROR if text == "error" else attribute_names.INFO)


FORMAT = Format(
    name="zipkin",
    title="Zipkin v2 JSON",
    suffixes=(".json", ".jsonl", ".ndjson"),
    json_sign=rb'"(?:localEndpoint|binaryAnnotations)"\s*:|"traceId"\s*:',
    read=json_reader(read_json),
)
