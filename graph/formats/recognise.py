"""Tells the format of a foreign file by its first bytes. Invariant: the file's name counts for nothing."""

from __future__ import annotations

import re
from pathlib import Path

from clew.graph.formats import otlp_protobuf, vector_clock
from clew.graph.formats.source import FormatError, Source

FORMATS = ("otlp", "jaeger", "zipkin", "chrome", "vector-clock")
START = 1 << 16
_TITLES = (
    "OTLP (JSON, JSON lines, protobuf), Jaeger JSON, Zipkin v2 JSON, Chrome or Perfetto JSON, a log with vector clocks"
)
_SIGNS = (
    ("otlp", rb'"(?:resourceSpans|resourceLogs|scopeSpans|scopeLogs|instrumentationLibrarySpans)"\s*:'),
    ("chrome", rb'"traceEvents"\s*:|"ph"\s*:\s*"[A-Za-z()]"'),
    ("jaeger", rb'"(?:spanID|operationName|traceID)"\s*:'),
    ("zipkin", rb'"(?:localEndpoint|binaryAnnotations)"\s*:|"traceId"\s*:'),
)


def recognise(path: Path) -> str:
    """One of `FORMATS`. Raises `FormatError`."""
    with Source(path) as source:
        start = source.start(START)
    stripped = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if stripped[:1] in (b"{", b"["):
        # The sign that comes first: an attribute further on may be called anything.
        found = [(match.start(), name) for name, sign in _SIGNS if (match := re.search(sign, stripped))]
        if found:
            return min(found)[1]
        if stripped[1:].strip() in (b"", b"]", b"}"):
            raise FormatError(f"{path}: an empty JSON document: there is no trace in it")
    elif otlp_protobuf.looks_like(start):
        return "otlp"
    if vector_clock.looks_like(start.decode("utf-8", "replace")):
        return "vector-clock"
    if start.startswith((b"CLEW", b"PAR1", b"SQLite format")):
        raise FormatError(f"{path}: no trace that others wrote; a run of clew's own is opened by its folder")
    what = "JSON, but of none of the formats" if stripped[:1] in (b"{", b"[") else "of no format"
    raise FormatError(
        f"{path}: {what} that clew knows: {_TITLES}. Where it is a log with vector clocks in a form of its own, "
        "`clew import --pattern REGEX` says how its events are written"
    )
