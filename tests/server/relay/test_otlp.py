"""Programs in other languages send spans to the relay, which passes them on and makes a run of them."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import clew
from clew.graph.entities.events import Happening
from clew.records.run import load_run
from clew.server.relay.lifetime import running
from clew.server.relay.otlp import OtlpIntake
from clew.server.relay.watcher import watch
from tests.server.relay.programs import Seen, run_folder


def _spans(service, *spans):
    return {
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"spans": list(spans)}],
    }


def _span(number, parent=0, at=None):
    now = at or time.time_ns()
    found = {"traceId": "0" * 31 + "1", "spanId": f"{number:016x}", "name": f"work {number}", "kind": 2}
    found |= {"startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 1000)}
    return found | ({"parentSpanId": f"{parent:016x}"} if parent else {})


@pytest.fixture
def relay(tmp_path):
    words = ["relay", "--workspace", tmp_path, "--otlp", 0, "--json", "--grace", 300]
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    said = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
    yield said
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def _post(said, body, token=None, path="/v1/traces", kind="application/json", **headers):
    request = urllib.request.Request(
        said["otlp"] + path,
        body,
        {"Authorization": f"Bearer {token or said['token']}", "Content-Type": kind, **headers},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_spans_are_told_as_they_come_and_make_a_run_in_the_end(relay, tmp_path):
    # The called span comes first: its caller's ends later.
    called = {"resourceSpans": [_spans("shop", _span(2, parent=1), _span(3, parent=2))]}
    caller = gzip.compress(json.dumps({"resourceSpans": [_spans("web", _span(1))]}).encode())
    answers = [_post(relay, json.dumps(called).encode()), _post(relay, caller, **{"Content-Encoding": "gzip"})]
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "bank"
    span = resource.scope_spans.add().spans.add(name="pay", start_time_unix_nano=time.time_ns())
    span.trace_id, span.span_id, span.parent_span_id = bytes(15) + b"\1", bytes(7) + b"\4", bytes(7) + b"\3"
    answers.append(_post(relay, message.SerializeToString(), kind="application/x-protobuf"))
    assert answers == [(200, b"{}"), (200, b"{}"), (200, b"")]
    seen, wanted = Seen(), Counter({"web": 1, "shop": 1})
    for news in watch(lambda: running(tmp_path), patience=0):
        seen.take(news)
        if seen.state is not None and seen.sent() == wanted:
            break
    os.kill(relay["pid"], signal.SIGTERM)
    deadline = time.monotonic() + 60
    while not load_run(run_folder(tmp_path)).imported:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    graph = clew.open(run_folder(tmp_path)).graph
    assert {process.name for process in graph.processes} == {"web", "shop", "bank"}
    calls = seen.events
    assert all(kind in (Happening.POSITION, Happening.COMMUNICATION) for kind, *_ in calls)


NO_OTLP = [
    (b"{}", 401, {"token": "a wrong one"}),
    (b"{}", 404, {"path": "/"}),
    (b"{}", 400, {}),
    (b"nonsense", 400, {}),
    (b"[" * 100_000, 400, {}),
    (b"\xff\xfe", 400, {"kind": "application/x-protobuf"}),
    (b"{}", 400, {"kind": "text/plain"}),
    (b"{}", 400, {"Content-Encoding": "gzip"}),
    (gzip.compress(bytes(20 << 20)), 400, {"Content-Encoding": "gzip"}),
]


def test_what_is_no_otlp_is_refused(relay, tmp_path):
    for body, status, more in NO_OTLP:
        given, answer = _post(relay, body, **more)
        assert given == status and json.loads(answer)["message"]
        assert b"Traceback" not in answer and relay["token"].encode() not in answer
    assert not (tmp_path / ".clew" / "runs").exists()


def test_what_a_killed_relay_began_to_write_is_taken_away_and_its_run_goes_on(tmp_path):
    first = OtlpIntake(tmp_path)
    first.take({"resourceSpans": [_spans("web", _span(1))]})
    folder = run_folder(tmp_path)
    info = json.loads((folder / "run.json").read_text())
    with (folder / "otlp.jsonl").open("ab") as file:
        file.write(b'{"resourceSpans": [{"half')
    (folder / "run.json").write_text(json.dumps(info | {"launcher": 4_000_000}))
    second = OtlpIntake(tmp_path)
    second.take({"resourceSpans": [_spans("web", _span(2))]})
    second.end()
    assert run_folder(tmp_path) == folder
    assert load_run(folder).imported
    assert len([line for line in (folder / "otlp.jsonl").read_text().splitlines() if json.loads(line)]) == 2
