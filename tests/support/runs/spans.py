"""Requests as imported traces, given by their calls."""

from __future__ import annotations

import json

import numpy as np

import clew
from clew.graph.formats.read_files import read_files
from clew.records.run.directory import RunInfo

START = 1_700_000_000_000_000_000


def spans_run(folder, requests, *, service="app", name="run", logs=()):
    """Write requests, each a list of sequential calls (service, name, ms, host) made by a span of the request's service. A call
    to another service goes through a client span and has its travel time as last number: (service, name, ms, host, ms).
    `logs` are (request, call, text, level)."""
    lines, entries = [], []
    by_call = {}
    for request, call, text, level in logs:
        by_call.setdefault((request, call), []).append((text, level))
    for number, calls in enumerate(requests):
        trace, clock = f"{number + 1:032x}", START + number * 10_000_000_000
        spans, begin = [], clock

        def span(of, title, host, start, end, parent, number=number, spans=spans):
            identity = f"{number * 1000 + len(spans) + 1:016x}"
            made = {"traceId": f"{number + 1:032x}", "spanId": identity, "name": title, "kind": 1,
                    "startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}  # fmt: skip
            if parent:
                made["parentSpanId"] = parent
            spans.append((of, host, made))
            return identity

        root = span(service, "serve", "root-host", begin, begin, "")
        clock += 1_000_000
        for place, (of, title, ms, host, *way) in enumerate(calls):
            took, gap = round(ms * 1e6), round((way[0] if way else 0.0) * 1e6)
            parent = root
            if way:
                parent = span(service, f"to {title}", "root-host", clock, clock + took + gap, root)
            called = span(of, title, host, clock + gap // 2, clock + gap // 2 + took, parent)
            for text, level in by_call.get((number, place), ()):
                record = {"timeUnixNano": str(clock + gap // 2 + took // 2), "body": {"stringValue": text},
                          "severityNumber": level, "traceId": trace, "spanId": called}  # fmt: skip
                entries.append({"resource": _resource(of, host), "scopeLogs": [{"logRecords": [record]}]})
            clock += took + gap + 10_000
        spans[0][2]["endTimeUnixNano"] = str(clock + 1_000_000)
        lines.append(
            {
                "resourceSpans": [
                    {"resource": _resource(of, host), "scopeSpans": [{"spans": [made]}]} for of, host, made in spans
                ]
            }
        )
    files = [folder / f"{name}.jsonl"]
    files[0].write_text("".join(json.dumps(line) + "\n" for line in lines))
    if entries:
        files.append(folder / f"{name}-logs.jsonl")
        files[1].write_text(json.dumps({"resourceLogs": entries}) + "\n")
    graph = read_files(RunInfo(f"20200101-000000-{name}", name, [], "/", "/", "", 0), files).graph
    return clew.Run(graph.info, folder, [], graph)


def _resource(service, host):
    attributes = (("service.name", service), ("host.name", host))
    return {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes]}


def period(folder, seed, name="run", requests=40, change=None, logs=()):
    """Write sequential requests to three services; `change(request, calls, chance)` returns their actual calls."""
    chance, made = np.random.default_rng(seed), []
    for number in range(requests):
        calls = [
            (f"s{service}", f"op{service}", chance.normal(10 * service, 0.5), f"s{service}-{number % 2}", 2.0)
            for service in (1, 2, 3)
        ]
        made.append(change(number, calls, chance) if change else calls)
    return spans_run(folder, made, name=name, logs=logs)


def changed(calls, place, **new):
    service, name, ms, host, way = calls[place]
    calls[place] = (service, name, new.get("ms", ms), host, new.get("way", way))
    return calls
