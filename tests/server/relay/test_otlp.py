"""Programs in other languages send spans to the relay, which forwards them and stores a run."""

import gzip
import json
import os
import shutil
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
from clew.records.run.directory import load_run
from clew.server.handlers import answer
from clew.server.relay.launch import running
from clew.server.relay.otlp import QUIET, OtlpIntake
from clew.server.relay.watcher import watch
from clew.server.session.session import Session
from tests.support.editor.relay_programs import Seen, run_folder


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
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_otlp_spans_reach_viewers_and_become_a_run(relay, tmp_path):
    # The called span arrives first, because its caller's span ends later.
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
    for news in watch(lambda: running(tmp_path), max_lag=0):
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


def test_otlp_invalid_request_is_refused_with_a_message(relay, tmp_path):
    for body, status, more in NO_OTLP:
        given, answer = _post(relay, body, **more)
        assert given == status and json.loads(answer)["message"]
        assert b"Traceback" not in answer and relay["token"].encode() not in answer
    assert not (tmp_path / ".clew" / "runs").exists()


def test_otlp_intake_removes_the_partial_line_of_a_killed_relay(tmp_path):
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


def _documents(folder):
    return [json.loads(line) for line in (folder / "otlp.jsonl").read_text().splitlines()]


def _killed(folder):
    """Leave the run as a killed relay leaves it."""
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(info | {"launcher": 4_000_000}))


def test_otlp_intake_stores_a_repeated_request_once_also_after_a_kill(tmp_path):
    first = OtlpIntake(tmp_path)
    documents = [{"resourceSpans": [_spans("web", _span(number))]} for number in range(3)]
    for document in (documents[0], documents[1], documents[0]):
        first.take(document)
    folder = run_folder(tmp_path)
    _killed(folder)
    second = OtlpIntake(tmp_path)
    for document in (documents[1], documents[2], documents[1]):
        second.take(document)
    assert _documents(folder) == documents


def test_otlp_intake_resumes_a_run_until_it_is_quiet_for_a_minute(tmp_path):
    OtlpIntake(tmp_path).take({"resourceSpans": [_spans("web", _span(1))]})
    folder = run_folder(tmp_path)
    _killed(folder)
    second = OtlpIntake(tmp_path)
    second.resume()
    second.look()
    assert second.is_busy and load_run(folder).finished is None
    _killed(folder)
    long_ago = time.time() - QUIET - 1
    os.utime(folder / "otlp.jsonl", (long_ago, long_ago))
    third = OtlpIntake(tmp_path)
    third.resume()
    third.look()
    assert not third.is_busy and load_run(folder).imported
    fourth = OtlpIntake(tmp_path)
    fourth.resume()
    assert not fourth.is_busy


def test_otlp_intake_repeats_an_import_interrupted_by_a_kill(tmp_path):
    first = OtlpIntake(tmp_path)
    first.take({"resourceSpans": [_spans("web", _span(1))]})
    first.end()
    folder = run_folder(tmp_path)
    (folder / "import.json").unlink()
    shutil.rmtree(folder / "store")
    second = OtlpIntake(tmp_path)
    second.resume()
    assert second.is_busy
    second.end()
    assert [process.name for process in clew.open(folder).graph.processes] == ["web"]


def test_otlp_intake_run_without_spans_is_finished_with_a_note(tmp_path):
    intake = OtlpIntake(tmp_path)
    intake.take({"resourceSpans": []})
    intake.end()
    told = load_run(run_folder(tmp_path))
    assert told.finished and not told.imported
    assert "the received data cannot be imported" in told.notes[0] and "no spans and no logs" in told.notes[0]


def test_relay_with_run_of_a_killed_relay_still_ends(tmp_path):
    OtlpIntake(tmp_path).take({"resourceSpans": [_spans("web", _span(1))]})
    folder = run_folder(tmp_path)
    _killed(folder)
    long_ago = time.time() - QUIET - 1
    os.utime(folder / "otlp.jsonl", (long_ago, long_ago))
    words = ["relay", "--workspace", tmp_path, "--grace", 0.2]
    subprocess.run([sys.executable, "-m", "clew", *map(str, words)], timeout=60, check=True, capture_output=True)
    assert load_run(folder).imported


def test_entities_of_live_otlp_run_are_its_services(tmp_path):
    def seen():
        told = answer(session, "clew/entities", {})
        return {box["name"] for box in told["boxes"]}, told["source"], told["moments"], told["run"]["finished"]

    intake, session = OtlpIntake(tmp_path), Session(tmp_path)
    intake.take({"resourceSpans": [_spans("web", _span(1)), _spans("shop", _span(2, parent=1))]})
    # The machine, two services and a call.
    assert seen() == ({"unnamed machine", "web", "shop"}, "strands", 4, False)
    intake.take({"resourceSpans": [_spans("shop", _span(3, parent=1))]})
    assert seen()[2] == 5
    intake.end()
    assert "unnamed machine" in seen()[0] and "this machine" not in seen()[0]
    assert seen()[3] and [process.name for process in clew.open(run_folder(tmp_path)).graph.processes] == [
        "web",
        "shop",
    ]


@pytest.mark.parametrize(
    ("described", "machine"),
    [
        ({"host.name": "north", "k8s.pod.name": "web-7"}, "north"),
        ({"k8s.node.name": "node-3", "k8s.pod.name": "web-7"}, "node-3"),
        ({"container.id": "c0ffee"}, "unnamed machine"),
    ],
)
def test_entities_of_otlp_run_have_the_same_machine_live_and_finished(tmp_path, described, machine):
    def boxes():
        return {box["name"] for box in answer(session, "clew/entities", {})["boxes"]}

    intake, session = OtlpIntake(tmp_path), Session(tmp_path)
    came = _spans("web", _span(1))
    came["resource"]["attributes"] += [
        {"key": key, "value": {"stringValue": value}} for key, value in described.items()
    ]
    intake.take({"resourceSpans": [came]})
    assert machine in boxes()
    intake.end()
    assert machine in boxes()
