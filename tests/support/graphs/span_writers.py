"""Writers of the same spans in each format, from its specification and independent of clew."""

from dataclasses import dataclass, field


@dataclass
class Span:
    """A span; times are in microseconds since 1970, and `parent` is the number of a span in the list."""

    name: str
    start: int
    end: int
    parent: int | None = None
    service: str = "shop"
    kind: str = "internal"
    failed: bool = False
    tags: dict = field(default_factory=dict)
    logs: list = field(default_factory=list)
    """Log lines as (time, text)."""


KINDS = ("internal", "server", "client", "producer", "consumer")


def span_id(number):
    return f"{number + 1:016x}"


def roots(spans):
    """Return the number of the root of each span; the parents must not form a cycle."""

    def root(number):
        while spans[number].parent is not None:
            number = spans[number].parent
        return number

    return [root(number) for number in range(len(spans))]


def otlp(spans):
    tops = roots(spans)
    resources = []
    for service in dict.fromkeys(span.service for span in spans):
        written = []
        for number, span in enumerate(spans):
            if span.service == service:
                written.append(
                    {
                        "traceId": f"{tops[number] + 1:032x}",
                        "spanId": span_id(number),
                        **({"parentSpanId": span_id(span.parent)} if span.parent is not None else {}),
                        "name": span.name,
                        "kind": KINDS.index(span.kind) + 1,
                        "startTimeUnixNano": str(span.start * 1000),
                        "endTimeUnixNano": str(span.end * 1000),
                        "attributes": pairs(span.tags),
                        "events": [{"timeUnixNano": str(time * 1000), "name": text} for time, text in span.logs],
                        "status": {"code": 2} if span.failed else {},
                    }
                )
        attributes = pairs({"service.name": service})
        resources.append({"resource": {"attributes": attributes}, "scopeSpans": [{"spans": written}]})
    return {"resourceSpans": resources}


def pairs(tags):
    return [{"key": key, "value": {"stringValue": value}} for key, value in tags.items()]


def otlp_protobuf(spans):
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    data = otlp(spans)
    import base64

    for resource in data["resourceSpans"]:
        for span in resource["scopeSpans"][0]["spans"]:
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in span:
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return ParseDict(data, TracesData()).SerializeToString()


def jaeger(spans):
    tops = roots(spans)
    services = {service: f"p{number}" for number, service in enumerate(dict.fromkeys(span.service for span in spans))}
    traces = []
    for top in dict.fromkeys(tops):
        written = []
        for number, span in enumerate(spans):
            if tops[number] != top:
                continue
            trace = f"{top + 1:016x}"
            reference = {"refType": "CHILD_OF", "traceID": trace, "spanID": span_id(span.parent or 0)}
            tags = [{"key": key, "type": "string", "value": value} for key, value in span.tags.items()]
            tags.append({"key": "span.kind", "type": "string", "value": span.kind})
            if span.failed:
                tags.append({"key": "error", "type": "bool", "value": True})
            written.append(
                {
                    "traceID": trace,
                    "spanID": span_id(number),
                    "operationName": span.name,
                    "references": [reference] if span.parent is not None else [],
                    "startTime": span.start,
                    "duration": span.end - span.start,
                    "tags": tags,
                    "logs": [
                        {"timestamp": time, "fields": [{"key": "event", "type": "string", "value": text}]}
                        for time, text in span.logs
                    ],
                    "processID": services[span.service],
                }
            )
        processes = {number: {"serviceName": service, "tags": []} for service, number in services.items()}
        traces.append({"traceID": f"{top + 1:016x}", "spans": written, "processes": processes})
    return {"data": traces, "total": 0, "limit": 0, "offset": 0, "errors": None}


def zipkin(spans):
    tops = roots(spans)
    written = []
    for number, span in enumerate(spans):
        one = {
            "traceId": f"{tops[number] + 1:016x}",
            "id": span_id(number),
            "name": span.name,
            "timestamp": span.start,
            "duration": span.end - span.start,
            "localEndpoint": {"serviceName": span.service},
            "tags": span.tags | ({"error": "yes"} if span.failed else {}),
            "annotations": [{"timestamp": time, "value": text} for time, text in span.logs],
        }
        if span.kind != "internal":
            one["kind"] = span.kind.upper()
        if span.parent is not None:
            one["parentId"] = span_id(span.parent)
        written.append(one)
    return written


ALL = {"otlp": otlp, "otlp-protobuf": otlp_protobuf, "jaeger": jaeger, "zipkin": zipkin}
