"""A run that a relay receives by OTLP is forwarded like any other run."""

import json
import os
import random
import threading
import time
from collections import Counter

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import set_span_in_context
from websockets.sync.client import connect

import clew
from clew.graph.entities.source import entities_of
from clew.records.run import source_snapshots
from clew.records.run.directory import ORIGIN_FILE, load_run
from clew.records.run.liveness import STAYS_AWAY
from clew.server.relay import wire
from clew.server.relay.launch import ensure_relay, running
from clew.server.relay.mirror import Mirror, MirrorError
from clew.server.relay.otlp import QUIET, OtlpIntake
from clew.server.relay.watcher import Events, Newest, Over, watch
from clew.server.session.session import run_ref
from tests.support.editor.relay_programs import Seen, run_folder

pytestmark = pytest.mark.slow


class _StoredSpans(SpanExporter):
    def __init__(self):
        self.spans = []

    def export(self, spans):
        self.spans += spans
        return SpanExportResult.SUCCESS


class Services:
    """A web service that calls a shop; each has an exporter of OpenTelemetry."""

    def __init__(self, relays):
        self.calls = 0
        self._kept, self._tracers, self._exporters = {}, {}, {}
        certificate = {"certificate_file": str(relays.tls[1])} if relays.tls else {}
        for name in ("web", "shop"):
            provider = TracerProvider(resource=Resource({"service.name": name}), shutdown_on_exit=False)
            self._kept[name] = _StoredSpans()
            provider.add_span_processor(SimpleSpanProcessor(self._kept[name]))
            self._tracers[name] = provider.get_tracer("test")
            self._exporters[name] = OTLPSpanExporter(
                endpoint=f"{relays.otlp}/v1/traces",
                headers={"authorization": f"Bearer {relays.token(0)}"},
                timeout=2,
                **certificate,
            )

    def call(self):
        with self._tracers["web"].start_as_current_span("order") as order:
            self._tracers["shop"].start_span("sell", context=set_span_in_context(order)).end()
        self.calls += 1

    def send(self):
        """Send all spans; repeat until a killed relay is back."""
        for name, exporter in self._exporters.items():
            spans, self._kept[name].spans = self._kept[name].spans, []
            while exporter.export(spans) != SpanExportResult.SUCCESS:
                time.sleep(0.05)


def _finish_first(relays):
    """Let the first relay find that the run was quiet for a minute."""
    relays.stop(0)
    long_ago = time.time() - QUIET - 1
    os.utime(run_folder(relays.workspaces[0]) / "otlp.jsonl", (long_ago, long_ago))
    relays.start(0)


def _seen_all(relays, services, seen, *, again_for=60):
    """Return the events that a viewer of the last relay gets until the run is finished there."""
    last, ended = relays.workspaces[-1], False
    for news in watch(lambda: ensure_relay(last), max_lag=0, again_for=again_for):
        seen.take(news)
        if not ended and seen.state is not None and seen.sent() == {"web": services.calls}:
            ended = True
            _finish_first(relays)
        if seen.over:
            return seen


def _assert_once(seen, services):
    assert seen.missed == [-1]
    begins = [begin for begin, _ in seen.batches] + [seen.state.moment]
    assert begins == [seen.first] + [end for _, end in seen.batches]
    # The machine, two services, and each call.
    assert seen.state.moment == 3 + services.calls
    assert seen.sent() == {"web": services.calls}


def _same_runs(one, other):
    def contents(workspace):
        graph = clew.open(run_folder(workspace)).graph
        events, _ = entities_of(graph)
        names = Counter(events.names[number] for number in events.first.tolist())
        return len(graph), sorted(process.name for process in graph.processes), sorted(graph.ts.tolist()), names

    assert contents(one) == contents(other)
    assert (run_folder(one) / "otlp.jsonl").read_bytes() == (run_folder(other) / "otlp.jsonl").read_bytes()


def test_forward_of_otlp_over_two_relays_keeps_the_run_identical(chain):
    relays = chain(3, otlp=True)
    services = Services(relays)
    for _ in range(20):
        services.call()
        services.send()
    seen = _seen_all(relays, services, Seen())
    _assert_once(seen, services)
    for workspace in relays.workspaces[1:]:
        _same_runs(relays.workspaces[0], workspace)
        assert load_run(run_folder(workspace)).workspace == str(workspace)


def test_forward_of_otlp_with_random_kills_loses_and_doubles_nothing(chain):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance, relays = random.Random(seed), chain(2, otlp=True)
    services, killed = Services(relays), 0
    stop = threading.Event()

    def send():
        while not stop.is_set():
            for _ in range(chance.randrange(1, 8)):
                services.call()
            services.send()

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    seen = Seen()
    for news in watch(lambda: ensure_relay(relays.workspaces[1]), max_lag=0, again_for=60):
        seen.take(news)
        if isinstance(news, Events):
            time.sleep(chance.uniform(0, 0.2))
            relays.kill(killed % 2)
            killed += 1
        if killed == 6:
            break
    stop.set()
    sending.join()
    # A new viewer gets every event.
    seen = _seen_all(relays, services, Seen())
    _assert_once(seen, services)
    _same_runs(*relays.workspaces)


def test_viewer_of_forwarded_otlp_continues_after_kills_of_both_relays(chain):
    relays = chain(2, otlp=True)
    services, seen, last = Services(relays), Seen(), relays.workspaces[1]
    services.call()
    services.send()
    for news in watch(lambda: ensure_relay(last), max_lag=0, again_for=60):
        seen.take(news)
        if seen.state is None or seen.sent() != {"web": services.calls}:
            continue
        if services.calls == 5:
            break
        relays.kill(services.calls % 2)
        services.call()
        services.send()
    _assert_once(seen, services)


def test_forward_of_otlp_over_tls_keeps_the_run_identical(chain, certified, monkeypatch):
    # A session of requests prefers these to the certificate that it was given.
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    relays = chain(2, otlp=True, tls=certified)
    assert relays.otlp.startswith("https://") and running(relays.workspaces[1]).url.startswith("wss://")
    services = Services(relays)
    for _ in range(3):
        services.call()
    services.send()
    _assert_once(_seen_all(relays, services, Seen()), services)
    _same_runs(*relays.workspaces)


def test_otlp_mirror_of_silent_machine_is_finished_until_it_comes_back(chain):
    relays = chain(2, otlp=True)
    services, last = Services(relays), relays.workspaces[1]
    services.call()
    services.send()
    seen = Seen()
    for news in watch(lambda: ensure_relay(last), max_lag=0):
        seen.take(news)
        if seen.state is not None and seen.sent() == {"web": 1}:
            break
    mirrored = run_folder(last)
    relays.stop(0)
    silent = time.time() - STAYS_AWAY - 1
    os.utime(mirrored / ORIGIN_FILE, (silent, silent))
    told = run_ref(mirrored, load_run(mirrored))
    assert told.finished and told.problems == [
        f"stopped: no word from {load_run(mirrored).host} since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(silent))}"
    ]
    assert any(isinstance(news, Over) for news in watch(lambda: ensure_relay(last), mirrored.name, max_lag=0))
    relays.start(0)
    services.call()
    services.send()
    while run_ref(mirrored, load_run(mirrored)).finished:
        time.sleep(0.05)
    for news in watch(lambda: ensure_relay(last), mirrored.name, max_lag=0):
        if isinstance(news, Newest | Events) and sum(one.sent for one in news.state.standing.values()) == 2:
            break
    assert run_ref(mirrored, load_run(mirrored)).problems == []


def _line(number):
    span = {"traceId": "1" * 32, "spanId": f"{number:016x}", "name": "x", "startTimeUnixNano": str(time.time_ns())}
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span]}]}]}


def test_mirror_spans_continue_at_their_offset_and_refuse_gaps(tmp_path):
    mirror = Mirror(tmp_path, "run", "host:/there", "spans")
    mirror.spans.add(0, b"one\n")
    mirror.spans.add(0, b"one\ntwo\n")
    mirror.spans.add(2, b"e\n")
    for offset in (9, 1 << 70, -1):
        with pytest.raises(MirrorError, match="the OTLP stream continues"):
            mirror.spans.add(offset, b"x")
    assert (mirror.folder / "otlp.jsonl").read_bytes() == b"one\ntwo\n"
    mirror.close()


def test_relay_second_mirror_connection_replaces_the_first(workspace):
    there = ensure_relay(workspace)
    token = {"Authorization": f"Bearer {there.token}"}
    info = json.dumps(load_run(_begun(workspace / "elsewhere"))._replace(id="run")._asdict())
    question = {"type": "mirror", "run": "run", "origin": "far:/away", "source": "spans", "info": info, "plan": "{}"}
    data = json.dumps(_line(1)).encode() + b"\n"

    def said(connection, message):
        connection.send(wire.encode({"run": "run", **message}))
        while (answer := wire.decode(connection.recv()))["type"] in ("hello", "runs"):
            pass
        return answer

    with connect(there.url, additional_headers=token) as first, connect(there.url, additional_headers=token) as second:
        assert said(first, question)["spans"] == 0
        first.send(wire.encode({"type": "spans", "run": "run", "offset": 0, "data": wire.packed(data)}))
        while not (workspace / ".clew" / "runs" / "run" / "otlp.jsonl").stat().st_size:
            time.sleep(0.01)
        assert said(second, question)["spans"] == len(data)
        assert said(first, {"type": "spans", "offset": 0, "data": ""})["type"] == "refused"
        assert said(second, {"type": "sync"})["type"] == "synced"
    assert load_run(workspace / ".clew" / "runs" / "run").imported


def _begun(workspace):
    workspace.mkdir()
    intake = OtlpIntake(workspace)
    intake.take(_line(1))
    return run_folder(workspace)


def test_otlp_intake_does_not_resume_a_mirrored_run(tmp_path):
    mirror = Mirror(tmp_path, "run", "host:/there", "spans")
    mirror.describe(
        json.dumps(load_run(_begun(tmp_path / "other"))._replace(launcher=4_000_000)._asdict()), "{}", is_whole=False
    )
    intake = OtlpIntake(tmp_path)
    intake.resume()
    assert not intake.is_busy
    intake.take(_line(2))
    assert mirror.spans.size == 0
    mirror.close()


def test_mirror_saves_no_local_source_texts_for_a_remote_run(tmp_path):
    program = tmp_path / "shop.py"
    program.write_text("here = True\n")
    os.utime(program, (1, 1))
    line = _line(1)
    line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"] = [
        {"key": "code.filepath", "value": {"stringValue": str(program)}},
        {"key": "code.lineno", "value": {"intValue": "1"}},
    ]
    data = json.dumps(line).encode() + b"\n"
    kept = {}
    for workspace, origin in (("one", "host:/there"), ("two", "")):
        (tmp_path / workspace).mkdir()
        mirror = Mirror(tmp_path / workspace, "run", origin, "spans")
        mirror.describe(json.dumps(load_run(_begun(tmp_path / f"{workspace}-else"))._asdict()), "{}", is_whole=False)
        mirror.spans.add(0, data)
        if not origin:
            (mirror.folder / ORIGIN_FILE).unlink()
        mirror.finish()
        kept[workspace] = list(source_snapshots.index(mirror.folder))
        mirror.close()
    assert kept == {"one": [], "two": [str(program)]}
