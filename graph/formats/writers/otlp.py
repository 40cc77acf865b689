"""Write a run as OTLP, in JSON or protobuf: calls as spans, edges as links, log lines as events in their spans.

Information that OTLP lacks is in attributes named `clew.…`, so that the reader restores the same scopes, edges and log lines;
other readers see spans with links. Invariant: a file is written incrementally, and is one message of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from clew.graph.formats.readers.otlp import OWN_EDGES, OWN_EVENT, OWN_LINK, OWN_LOST, OWN_STRAND
from clew.graph.formats.source import FormatError, to_json
from clew.graph.formats.writers.spans import Link, SpansOf
from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.gaps import gaps
from clew.graph.model.graph import ExecutionGraph, Gap
from clew.records.format.event import EdgeKind, Kind

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

BATCH = 1000
_INTERNAL = 1
_EXPORTED = (Kind.MARK, Kind.REQUEST, Kind.PAYLOAD, Kind.ENTITY, Kind.SCOPE_END, Kind.SCOPE_BEGIN)


def write_json(graph: ExecutionGraph, file: IO[bytes]) -> None:
    """Write a run in the JSON form."""
    file.write(b'{"resourceSpans":[')
    for number, resource in enumerate(resources(graph)):
        file.write((b",\n" if number else b"\n") + to_json(resource).encode("utf-8", "replace"))
    file.write(b"\n]}\n")


def write_protobuf(graph: ExecutionGraph, file: IO[bytes]) -> None:
    """Write a run in protobuf. Raises `FormatError` if the protocol's library is not installed."""
    try:
        import opentelemetry.proto.trace.v1.trace_pb2  # noqa: F401  # check that it is installed
    except ImportError:
        raise FormatError(
            "OTLP in protobuf needs the protocol's library; run `pip install 'clew[otlp]'`, or export as otlp (JSON)"
        ) from None
    for resource in resources(graph):
        data = _message(resource).SerializeToString()
        # The file is one message, and every resource is its field 1.
        file.write(b"\x0a" + _varint(len(data)) + data)


def resources(graph: ExecutionGraph) -> Iterator[dict[str, Any]]:
    """Yield ResourceSpans in the JSON form, with up to `BATCH` spans each."""
    spans = SpansOf(graph)
    writer = _Writer(spans)
    for process, numbers in spans.by_process():
        info = graph.processes[process]
        resource = _pairs(
            {
                "service.name": info.name,
                "service.instance.id": f"{info.uid:x}",
                "process.pid": info.pid,
                "process.command_args": list(info.argv),
                "process.executable.path": info.executable,
                "host.name": info.host,
                "telemetry.sdk.name": "clew",
                "telemetry.sdk.language": "python",
            }
        )
        for batch in _batches(part for number in numbers.tolist() for part in writer.parts(number)):
            yield {
                "resource": {"attributes": resource},
                "scopeSpans": [{"scope": {"name": "clew", "attributes": _pairs({OWN_EDGES: "told"})}, "spans": batch}],
            }


def _batches(parts: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for part in parts:
        batch.append(part)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _gaps(spans: SpansOf) -> dict[int, list[tuple[int, Gap]]]:
    """Return the gaps of each span, with the row at the end of each gap: the next event, else the strand's last."""
    graph = spans.graph
    found: dict[int, list[tuple[int, Gap]]] = {}
    for gap in gaps(graph):
        strand = graph.strands[gap.strand]
        row = gap.before if gap.before >= 0 else strand.stop - 1
        if strand.stop > strand.start:
            found.setdefault(int(spans.event_span[row]), []).append((row, gap))
    return found


class _Writer:
    def __init__(self, spans: SpansOf) -> None:
        self.spans, self.graph = spans, spans.graph
        self.links = spans.links()
        received = set(self.graph.edge_dst.tolist())
        self.lines = spans.events((Kind.LOG,))
        # Events that receive an edge are exported with the edge.
        self.gaps = _gaps(spans)
        self.others = {
            span: [row for row in rows if row not in received] for span, rows in spans.events(_EXPORTED).items()
        }

    def parts(self, span: int) -> Iterator[dict[str, Any]]:
        """Yield a span, or for a large strand several spans of moderate size."""
        spans, graph = self.spans, self.graph
        first, last = spans.bounds(span)
        if last < first:
            return
        rows = sorted(self.lines.get(span, []) + self.others.get(span, []))
        events = [self._event(row) for row in rows] + [self._lost(row, gap) for row, gap in self.gaps.get(span, [])]
        links = self.links.get(span, [])
        rounds = 1 if span < spans.calls else max(1, -(-max(len(events), len(links)) // BATCH))
        size = max(len(events), len(links), 1) if rounds == 1 else BATCH
        for number in range(rounds):
            part = slice(number * size, (number + 1) * size)
            parent = int(spans.parent[span])
            yield {
                "traceId": spans.trace(span),
                "spanId": f"{spans.id(span):016x}",
                **({"parentSpanId": f"{spans.id(parent):016x}"} if parent >= 0 else {}),
                "name": self._name(span),
                "kind": _INTERNAL,
                "startTimeUnixNano": str(max(graph.wall_ns(first), 0)),
                "endTimeUnixNano": str(max(graph.wall_ns(last), 0)),
                "attributes": _pairs(self._attributes(span)),
                "events": events[part],
                "links": [self._link(link) for link in links[part]],
                "status": {"code": 2} if spans.failed(span) else {},
            }

    def _name(self, span: int) -> str:
        if span >= self.spans.calls:
            return self.spans.strand_names[span - self.spans.calls]
        site = self.graph.sites[int(self.graph.site[self.graph.calls.enter[span]])]
        return site.qualname or site.module or "call"

    def _attributes(self, span: int) -> dict[str, Any]:
        graph = self.graph
        if span >= self.spans.calls:
            strand = graph.strands[span - self.spans.calls]
            return {"thread.name": self.spans.strand_names[strand.index], OWN_STRAND: strand.kind}
        row = int(graph.calls.enter[span])
        return {"thread.name": self.spans.strand_names[int(graph.strand[row])], **self._place(int(graph.site[row]))}

    def _place(self, number: int) -> dict[str, Any]:
        site = self.graph.sites[number]
        return {
            "code.namespace": site.module,
            "code.function.name": site.qualname,
            "code.file.path": site.file,
            "code.line.number": site.line if site.file else "",
        }

    def _event(self, row: int) -> dict[str, Any]:
        graph = self.graph
        kind = int(graph.kind[row])
        time = str(max(graph.wall_ns(row), 0))
        if kind == Kind.LOG:
            number = graph.key(row)
            place = self._place(int(graph.site[row]))
            attributes = {
                "message": graph.text(row),
                "level": LEVEL_NAMES.get(number, str(number)),
                "logger": graph.channel(row),
            }
            return {"timeUnixNano": time, "name": "log", "attributes": _pairs(attributes | place)}
        attributes = {OWN_EVENT: Kind(kind).name.lower(), "text": graph.text(row)}
        return {"timeUnixNano": time, "name": graph.channel(row), "attributes": _pairs(attributes)}

    def _lost(self, row: int, gap: Gap) -> dict[str, Any]:
        attributes = {OWN_EVENT: Kind.GAP.name.lower(), "text": gap.why, OWN_LOST: gap.lost}
        time = str(max(self.graph.wall_ns(row), 0))
        return {"timeUnixNano": time, "name": "lost records", "attributes": _pairs(attributes)}

    def _link(self, link: Link) -> dict[str, Any]:
        graph, spans = self.graph, self.spans
        source, target = int(graph.edge_src[link.edge]), int(graph.edge_dst[link.edge])
        attributes = {
            OWN_LINK: EdgeKind(int(graph.edge_kind[link.edge])).name.lower(),
            "clew.by": graph.event(source).kind,
            "clew.as": graph.event(target).kind,
            "clew.sent": graph.wall_ns(source),
            "clew.came": graph.wall_ns(target),
            "clew.channel": graph.strings[int(graph.edge_channel[link.edge])],
            "clew.key": graph.key_text(target),
        }
        return {
            "traceId": spans.trace(link.source),
            "spanId": f"{spans.id(link.source):016x}",
            "attributes": _pairs(attributes),
        }


def _pairs(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Encode attributes, without empty ones."""
    return [{"key": name, "value": _value(value)} for name, value in values.items() if value not in ("", [], None)]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


def _message(resource: dict[str, Any]) -> ResourceSpans:
    """Convert the JSON form to the protocol's message."""
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

    made = ResourceSpans()
    _fill(made.resource.attributes, resource["resource"]["attributes"])
    for part in resource["scopeSpans"]:
        scope = made.scope_spans.add()
        scope.scope.name = part["scope"]["name"]
        _fill(scope.scope.attributes, part["scope"]["attributes"])
        for span in part["spans"]:
            one = scope.spans.add(
                trace_id=bytes.fromhex(span["traceId"]),
                span_id=bytes.fromhex(span["spanId"]),
                parent_span_id=bytes.fromhex(span.get("parentSpanId", "")),
                name=span["name"],
                kind=span["kind"],
                start_time_unix_nano=int(span["startTimeUnixNano"]),
                end_time_unix_nano=int(span["endTimeUnixNano"]),
            )
            one.status.code = span["status"].get("code", 0)
            _fill(one.attributes, span["attributes"])
            for event in span["events"]:
                added = one.events.add(time_unix_nano=int(event["timeUnixNano"]), name=event["name"])
                _fill(added.attributes, event["attributes"])
            for link in span["links"]:
                added_link = one.links.add(
                    trace_id=bytes.fromhex(link["traceId"]), span_id=bytes.fromhex(link["spanId"])
                )
                _fill(added_link.attributes, link["attributes"])
    return made


def _fill(attributes: Any, pairs: Sequence[dict[str, Any]]) -> None:
    for pair in pairs:
        _set(attributes.add(key=pair["key"]).value, pair["value"])


def _set(target: Any, value: dict[str, Any]) -> None:
    if "intValue" in value:
        target.int_value = int(value["intValue"])
    elif "arrayValue" in value:
        for item in value["arrayValue"]["values"]:
            _set(target.array_value.values.add(), item)
    else:
        target.string_value = value["stringValue"].encode("utf-8", "replace").decode()


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
