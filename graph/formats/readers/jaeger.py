"""Read Jaeger's JSON: answers of its query service, downloads of its UI, and spans from its storage.

The processes of a trace follow after its spans. Invariant: only one span of a trace is decoded at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from clew.graph.formats.format import Format, json_reader
from clew.graph.formats.json_stream import JsonStream
from clew.graph.formats.source import as_text, dicts
from clew.graph.formats.spans import attribute_names
from clew.graph.formats.spans.collector import ASYNC, MISSING, Collector, Place

MICROSECOND = 1000


_SPAN = frozenset({
    "traceID", "spanID", "parentSpanID", "flags", "operationName", "references", "startTime", "startTimeMillis",
    "duration", "tags", "tag", "logs", "processID", "process", "warnings",
    # Fields that the UI adds.
    "hasChildren", "childSpanIds", "childSpanCount", "childSpans", "depth", "relativeStartTime", "subsidiarilyReferencedBy",
})  # fmt: skip


def tags_of(tags: object) -> dict[str, Any]:
    if isinstance(tags, dict):
        return {as_text(key): value for key, value in tags.items()}
    return {as_text(tag.get("key")): tag.get("value") for tag in dicts(tags)}


def read_json(stream: JsonStream, collector: Collector) -> None:
    collector.resolution = max(collector.resolution, MICROSECOND)
    for _ in stream.documents():
        _document(stream, collector)


def _document(stream: JsonStream, collector: Collector) -> None:
    """Read a trace, a list of traces, or an answer with either as `data`."""
    if stream.peek() == "[":
        for _ in stream.items():
            _document(stream, collector)
        return
    if stream.peek() != "{":
        stream.value()
        collector.count_odd("value", "not an object; left out")
        return
    trace = _Trace(collector)
    alone: dict[str, Any] = {}
    for key in stream.members():
        if key == "data" and not trace.names and stream.peek() in ("[", "{"):
            _document(stream, collector)
        elif key == "spans" and stream.peek() == "[":
            for span in stream.array():
                trace.span(span)
        elif key == "processes":
            trace.processes(stream.value())
        else:
            alone[key] = stream.value()
    if "spanID" in alone and "operationName" in alone:
        trace.span(alone)  # a single span, as stored in Elasticsearch
    elif isinstance(alone.get("errors"), list) and alone["errors"]:
        collector.count_odd("error", f"reported by Jaeger: {as_text(alone['errors'])[:200]}")
    trace.settle()


class _Trace:
    """The spans of a trace, with local numbers of processes and places until `settle`."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.begin = 0
        self.known: dict[str, Mapping[str, Any]] = {}
        self.names: dict[str, int] = {}
        self.places: dict[tuple[int, Place], int] = {}
        self.threads: dict[int, str] = {}

    def processes(self, value: object) -> None:
        if isinstance(value, dict):
            self.known |= {name: info for name, info in value.items() if isinstance(info, dict)}

    def span(self, span: object) -> None:
        collector = self.collector
        if not isinstance(span, dict):
            collector.count_odd("value", "not an object; left out")
            return
        name = as_text(span.get("processID"))
        if isinstance(span.get("process"), dict):
            name = name or f"{len(self.known)}"
            self.known.setdefault(name, span["process"])
            if self.known[name] != span["process"]:
                name = f"{name} of {span['process']}"
                self.known[name] = span["process"]
        if not self.names:
            self.begin = len(collector.spans)
        process = self.names.setdefault(name, len(self.names))
        if unknown := span.keys() - _SPAN:
            collector.unknown(unknown, "in a span")
        # In Elasticsearch, tags can be a separate object.
        tags = tags_of(span.get("tags")) | tags_of(span.get("tag"))
        parent, follows, others = _parents(span)
        flags = attribute_names.KINDS.get(str(tags.get("span.kind", "")).lower(), 0) | attribute_names.failed(tags)
        place = attribute_names.place_of("", as_text(span.get("operationName")), tags)
        start = collector.ns(span.get("startTime"), MICROSECOND)
        duration = collector.ns(span.get("duration"), MICROSECOND)
        row = collector.span(
            trace=collector.trace(span.get("traceID")),
            id_=collector.span_id(span.get("spanID")),
            parent_id=collector.span_id(parent),
            start=start,
            end=MISSING if MISSING in (start, duration) else start + duration,
            site=self.places.setdefault((process, place), len(self.places)),
            process=process,
            flags=flags | (ASYNC if follows else 0),
            attributes=attribute_names.plain(tags, without=("span.kind", "internal.span.format")),
        )
        if thread := attribute_names.thread_name(tags):
            self.threads[row] = thread
        for trace, id_ in others:
            collector.link(row, trace=collector.trace(trace), id_=collector.span_id(id_))
        for log in dicts(span.get("logs")):
            fields = tags_of(log.get("fields"))
            text, level, logger = attribute_names.event_words(as_text(fields.get("event")), fields)
            collector.log(
                collector.ns(log.get("timestamp"), MICROSECOND),
                text or as_text(fields),
                owner=row,
                level=level,
                logger=logger,
                attributes=attribute_names.plain(fields, without=("message", "level", "logger")) if fields else None,
            )
        if span.get("warnings"):
            collector.count_odd("span", "it has warnings by Jaeger", 1)

    def settle(self) -> None:
        """Replace the local numbers by those of the run."""
        collector = self.collector
        if not self.names:
            return
        numbers, services = [], []
        for name in self.names:
            info = self.known.get(name)
            if info is None:
                collector.count_odd("process", "named by spans, but not described")
                info = {}
            service = as_text(info.get("serviceName")) or name or "unnamed"
            services.append(service)
            numbers.append(attribute_names.process_of(collector, tags_of(info.get("tags")), service))
        sites = [
            collector.site((module or services[process], name, file, line), services[process])
            for process, (module, name, file, line) in self.places
        ]
        columns, rows = collector.spans.columns, slice(self.begin, len(collector.spans))
        for name, run_wide in (("process", numbers), ("site", sites)):
            own = np.array(columns[name][rows], np.uint32)
            columns[name][rows] = array("I", np.array(run_wide, np.uint32)[own].tobytes())
        for row, thread in self.threads.items():
            columns["thread"][row] = collector.thread(columns["process"][row], thread)


def _parents(span: Mapping[str, Any]) -> tuple[object, bool, list[tuple[object, object]]]:
    """Return the parent's id, whether the span follows from it, and the (trace, id) of the other references."""
    inside: list[dict[str, Any]] = []
    outside: list[dict[str, Any]] = []
    for reference in dicts(span.get("references")):
        same = reference.get("traceID", span.get("traceID")) == span.get("traceID")
        (inside if same else outside).append(reference)
    kinds = [reference.get("refType") for reference in inside]
    if not inside:
        others = [(reference.get("traceID"), reference.get("spanID")) for reference in outside]
        return span.get("parentSpanID"), False, others
    place = kinds.index("CHILD_OF") if "CHILD_OF" in kinds else 0
    rest = [*inside[:place], *inside[place + 1 :], *outside]
    others = [(reference.get("traceID", span.get("traceID")), reference.get("spanID")) for reference in rest]
    return inside[place].get("spanID"), kinds[place] == "FOLLOWS_FROM", others


FORMAT = Format(
    name="jaeger",
    title="Jaeger JSON",
    suffixes=(".json",),
    json_sign=rb'"(?:spanID|operationName|traceID)"\s*:',
    read=json_reader(read_json),
)
