"""A file with any value in the wrong place is read, or refused in one line."""

import io
import json
import random

import pytest

from clew.graph.formats.source import FormatError
from clew.graph.formats.writers.chrome import write_chrome
from clew.graph.formats.writers.otlp import write_json
from tests.support.graphs import span_writers as writers

JUNK = (
    None,
    True,
    0,
    -1,
    7,
    1 << 70,
    1.5,
    "",
    "x",
    "7",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    {"values": 3},
    "0" * 40,
)
SPANS = [
    writers.Span(f"s{n}", 1000 + n, 1050 - n, n - 1 if n else None, "ab"[n % 2], writers.KINDS[n % 5], n == 2, {"k": "v"},
                 [(1001 + n, "line")])
    for n in range(4)
]  # fmt: skip
CHROME = {"traceEvents": [
    {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "main"}},
    {"ph": "X", "pid": 1, "tid": 2, "ts": 1, "dur": 9, "name": "f (a.py:3)", "cat": "fee", "args": {"a": 1}},
    {"ph": "B", "pid": 1, "tid": 2, "ts": 2, "name": "g"}, {"ph": "E", "pid": 1, "tid": 2, "ts": 3},
    {"ph": "b", "pid": 1, "tid": 2, "ts": 2, "name": "h", "cat": "c", "id": 1},
    {"ph": "e", "pid": 1, "tid": 2, "ts": 4, "name": "h", "cat": "c", "id2": {"local": 1}},
    {"ph": "s", "pid": 1, "tid": 2, "ts": 2, "name": "q", "cat": "c", "id": 1},
    {"ph": "f", "pid": 1, "tid": 2, "ts": 5, "name": "q", "cat": "c", "id": 1, "bp": "e"},
    {"ph": "i", "pid": 1, "tid": 2, "ts": 6, "name": "n", "s": "t", "args": {"level": "INFO", "message": "m"}},
]}  # fmt: skip


def places(value, way=()):
    """Yield the path of every value in a document."""
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))


def changed(document, way, junk):
    document = json.loads(json.dumps(document))
    if not way:
        return junk
    inside = document
    for key in way[:-1]:
        inside = inside[key]
    inside[way[-1]] = junk
    return document


def own(import_trace, write):
    file = io.BytesIO()
    write(import_trace(writers.otlp(SPANS)).graph, file)
    return json.loads(file.getvalue())


@pytest.mark.parametrize("format_", ["otlp", "jaeger", "zipkin", "chrome", "own otlp", "own chrome"])
def test_formats_junk_in_any_place_is_read_or_refused(import_trace, format_):
    if format_ == "chrome":
        document = CHROME
    elif format_.startswith("own"):
        document = own(import_trace, write_json if format_ == "own otlp" else write_chrome)
    else:
        document = writers.ALL[format_](SPANS)
    chance = random.Random(format_)
    every = list(places(document))
    name = format_.removeprefix("own ")
    for way in chance.sample(every, min(len(every), 40)):
        for junk in chance.sample(JUNK, 3):
            try:
                graph = import_trace(changed(document, way, junk), format_=name).graph
                # All texts can be encoded and printed.
                repr((graph.strings, graph.sites, graph.strands, graph.processes)).encode()
                "".join([*graph.strings, *(site.label for site in graph.sites)]).encode()
            except FormatError as error:
                assert "trace0" in str(error) and "\n" not in str(error), (way, junk)


@pytest.mark.parametrize("format_", ["jaeger", "zipkin", "chrome"])
def test_formats_truncated_or_corrupted_file_is_read_or_refused(import_trace, format_):
    whole = json.dumps(CHROME if format_ == "chrome" else writers.ALL[format_](SPANS)).encode()
    for at in range(1, len(whole), 17):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            try:
                import_trace(data)
            except FormatError as error:
                assert "trace0" in str(error)
