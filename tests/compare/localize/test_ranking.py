"""Suspects: a planted fault is first, with its numbers and reasons; an unchanged place is not a suspect."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.compare.localize.message_kinds import Kinds, words_of
from clew.compare.localize.ranking import Thresholds, localize
from clew.compare.localize.visits import two_sides
from clew.graph.formats.read_files import read_files
from clew.graph.ops.flows.flows import Flows
from clew.query.api import Run
from clew.records.errors import ClewError
from clew.records.run.directory import RunInfo
from tests.support.runs.spans import changed, period

SHARED = Path(os.environ.get("CLEW_SHARED_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")
TRAINTICKET = SHARED / "trainticket"


def found(tmp_path, **options):
    return period(tmp_path, 2, "bad", **options).requests.localize(period(tmp_path, 1, "good").requests)


def test_localize_two_healthy_periods_has_only_low_scores(tmp_path):
    assert all(suspect.score < 0.2 for suspect in found(tmp_path).suspects)


def test_localize_slow_work_names_callee_not_callers(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=40.0 + chance.normal()))
    first = answer.suspects[0]
    assert (first.service, first.kind, first.method) == ("s2", "method", "s2:op2")
    piece = first.evidence[0]
    assert piece.kind == "work"
    assert (piece.before, piece.after) == (pytest.approx(20e6, rel=0.1), pytest.approx(40e6, rel=0.1))
    assert (piece.samples_before, piece.samples_after) == (40, 40) and piece.p < 1e-6
    assert all(suspect.score < first.score / 4 for suspect in answer.suspects[1:])
    assert "s2:op2 itself takes 20" in answer.sentence()


def test_localize_slow_network_names_edge_to_waited_service(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 2, way=200.0))
    first = answer.suspects[0]
    assert (first.service, first.kind, first.method, first.caller) == ("s3", "edge", "s3:op3", "app:to op3")
    assert first.evidence[0].after == pytest.approx(200e6, rel=0.05)


def test_localize_finds_occasional_stalls_that_leave_median_unchanged(tmp_path):
    answer = found(
        tmp_path, change=lambda number, calls, chance: changed(calls, 0, ms=150.0) if number % 5 == 0 else calls
    )
    assert answer.suspects[0].service == "s1"


def test_localize_with_one_slow_instance_names_it(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=60.0) if number % 2 else calls)
    first = answer.suspects[0]
    assert first.service == "s2" and first.instance == "s2-1"
    assert any(piece.kind == "instance" and piece.instance == "s2-1" for piece in first.evidence)


def test_localize_large_delay_needs_only_six_reference_requests(tmp_path):
    good = period(tmp_path, 1, "good", requests=6)
    bad = period(tmp_path, 2, "bad", requests=8, change=lambda number, calls, chance: changed(calls, 0, way=2000.0))
    assert bad.requests.localize(good.requests).suspects[0].service == "s1"


def test_localize_fault_that_began_late_has_its_start_time(tmp_path):
    def late(number, calls, chance):
        return changed(calls, 1, ms=60.0) if number >= 30 else calls

    first, *others = found(tmp_path, change=late).suspects
    all_along = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=60.0)).suspects[0]
    assert (first.place, all_along.place, all_along.since_ns) == ("s2", "s2", None)
    assert first.since_ns is not None and "starting" in first.sentence().split()
    # Requests are ten seconds apart; localize tests a few instants, and the nearest is at three quarters.
    assert first.since_ns == pytest.approx(300e9, abs=60e9)
    assert first.evidence[0].after > 50e6
    assert all(other.score < first.score / 4 for other in others)


def test_localize_evidence_calls_index_flows_of_all_requests(tmp_path):
    def late(number, calls, chance):
        return changed(calls, 1, ms=60.0) if number >= 30 else calls

    answer = found(tmp_path, change=late)
    piece = answer.suspects[0].evidence[0]
    assert answer.flows.labels[answer.flows.label[piece.call]] == "s2:op2"
    assert answer.flows.total_ns[piece.call] == pytest.approx(60e6, rel=0.1)


def test_localize_missing_call_names_its_caller(tmp_path):
    def without(number, calls, chance):
        return [calls[0], calls[2]]

    first = found(tmp_path, change=without).suspects[0]
    assert first.service == "app"
    piece = first.evidence[0]
    assert (piece.kind, piece.before, piece.after) == ("call", 1.0, 0.0)


def test_localize_occasional_logged_errors_name_service_that_logs_them(tmp_path):
    logs = [(number, 1, f"could not load item {number}", 17) for number in range(0, 40, 4)]
    logs += [(number, 0, f"served {number}", 9) for number in range(40)]
    usual = [(number, 0, f"served {number}", 9) for number in range(40)]
    bad, good = period(tmp_path, 2, "bad", logs=logs), period(tmp_path, 1, "good", logs=usual)
    first = bad.requests.localize(good.requests).suspects[0]
    assert (first.service, first.kind) == ("s2", "log")
    assert any(piece.after == pytest.approx(0.25) for piece in first.evidence)


def test_localize_error_that_disappeared_is_not_a_suspect(tmp_path):
    logs = [(number, 1, f"could not load item {number}", 17) for number in range(0, 40, 4)]
    usual = [(0, 0, "served", 9)]
    bad, good = period(tmp_path, 2, "bad", logs=usual), period(tmp_path, 1, "good", logs=[*usual, *logs])
    assert all(suspect.score < 0.2 for suspect in bad.requests.localize(good.requests).suspects)


def test_localize_compares_failing_visits_with_failing_ones(tmp_path):
    usual = [(number, 1, "could not reach the depot", 17) for number in range(40)]
    bad = period(tmp_path, 2, "bad", logs=[*usual, *((number, 1, "planted answer", 9) for number in range(40))])
    first = bad.requests.localize(period(tmp_path, 1, "good", logs=usual).requests).suspects[0]
    assert (first.service, first.evidence[0].kind, first.evidence[0].text) == ("s2", "log", "planted answer")


def test_localize_stalls_of_all_services_name_only_the_worsened_one(tmp_path):
    def busy(number, calls, chance):
        return changed(calls, number % 3, ms=150.0) if number % 4 == 0 else calls

    def worse(number, calls, chance):
        return (
            changed(busy(number, calls, chance), 0, ms=150.0) if number % 4 in (1, 2) else busy(number, calls, chance)
        )

    nobody = found(tmp_path, change=busy).suspects
    first = found(tmp_path, change=worse).suspects[0]
    assert first.service == "s1" and all(first.score > 4 * suspect.score for suspect in nobody)


def test_localize_new_service_is_suspect_only_if_unusually_slow(tmp_path):
    def adds(took):
        return lambda number, calls, chance: [*calls, ("s4", "op4", took, "s4-0", 2.0)] if number % 5 == 0 else calls

    slow = [it for it in found(tmp_path, change=adds(900.0)).suspects if it.service == "s4"]
    assert slow and slow[0].evidence[0].kind == "work"
    assert (slow[0].evidence[0].before, slow[0].evidence[0].samples_before) == (None, 0)
    assert "s4:op4 itself takes 900 ms" in slow[0].sentence()
    assert not [it for it in found(tmp_path, change=adds(15.0)).suspects if it.service == "s4"]


def test_localize_without_reference_compares_anomalous_requests_with_rest(tmp_path):
    bad = period(
        tmp_path, 2, "bad", change=lambda number, calls, chance: changed(calls, 2, ms=500.0) if number == 9 else calls
    )
    answer = bad.requests.localize()
    assert answer.suspect <= 3 and answer.suspects[0].service == "s3"
    assert answer.residuals is not None and answer.residuals.anomalous[9]
    assert "of 40 requests are anomalous" in answer.sentence()


def test_two_sides_times_add_up_to_response_times(tmp_path):
    flows = period(tmp_path, 3).requests.flows()
    times = two_sides(flows, flows).suspect.times
    assert sum(column.sum() for column in times.values()) == pytest.approx(flows.response_ns.sum())


def test_localize_without_comparable_requests_has_no_suspects(tmp_path):
    flows = period(tmp_path, 1).requests.flows()
    none = flows.take(np.zeros(0, np.int64))
    for sides in ((flows, none), (none, flows), (none, none)):
        answer = localize(*sides)
        assert not answer.suspects and "no place differs noticeably" in answer.sentence()


def test_localize_answer_converts_to_json_and_table(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=40.0))
    data = json.loads(json.dumps(answer.to_json()))
    assert data["suspects"][0]["service"] == "s2" and data["suspects"][0]["evidence"][0]["samples_after"] == 40
    assert answer.table().rows[0].service == "s2"


def test_localize_unknown_threshold_or_run_argument_is_refused(tmp_path):
    run = period(tmp_path, 1)
    assert run.requests.localize(run.requests, half=1.0).thresholds == Thresholds(half=1.0)
    with pytest.raises(ClewError, match="unknown threshold 'halve'; thresholds: time, half"):
        run.requests.localize(run.requests, halve=1.0)
    with pytest.raises(ClewError, match=r"write suspect\.requests\.localize"):
        run.requests.localize(run)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("Order \0 not found", ["Order", "not", "found"]),
        ("route=Berlin to=[Paris, Rome] by train", ["route", "to", "Rome", "by", "train"]),
        ("status: Wrong Mon a\0b", ["status"]),
        ("order \0-acbf-\0 of route-planner fee-\0", ["order", "of", "route", "planner"]),
        ("found [Order(id=\0, by Ann Lee, seats=[a, b]), Order(id=\0, by Bob)] for it", ["found", "for", "it"]),
        ("found [{name Ann}, {name Bo", ["found"]),
        ("found [no orders] (of Ann)", ["found", "no", "orders", "of", "Ann"]),
    ],
)
def test_words_of_template_leaves_out_data(template, words):
    assert list(words_of(template)) == words


def test_kinds_of_one_error_at_several_places_are_equal():
    kinds = Kinds(["ts-seat-service", "ts-basic-service", "app"])
    one, other, third = kinds.of_messages(
        ["no app instance of ts-seat-service \0", "no app instance of ts-basic-service \0", "no instance left"]
    )
    assert one == other != third
    page, same, home = kinds.of_labels(["ts-seat-service:Errors.page", "ts-basic-service:Errors.page", "app:home"])
    assert page == same != home


ERROR = 17


def test_localize_error_of_known_kind_that_moved_ranks_below_delay(tmp_path):
    def unreachable(service, call):
        return [(number, call, f"no instance of {service} found", ERROR) for number in range(8, 20)]

    usual = [(number, 0, "served", 9) for number in range(40)]
    good = period(tmp_path, 1, "good", logs=[*usual, *unreachable("depot", 0)])
    bad = period(tmp_path, 2, "bad", logs=[*usual, *unreachable("depot", 1)],
                 change=lambda number, calls, chance: changed(calls, 2, ms=90.0))  # fmt: skip
    assert bad.requests.localize(good.requests).suspects[0].service == "s3"
    # An error that the reference has nowhere is stronger evidence than the same error elsewhere.
    moved = period(tmp_path, 3, "moved", logs=[*usual, *unreachable("depot", 1)]).requests
    known, unknown = moved.localize(good.requests), moved.localize(period(tmp_path, 4, "calm", logs=usual).requests)
    assert unknown.suspects[0].service == "s2" and known.suspects[0].score < unknown.suspects[0].score / 2
    assert known.suspects[0].score < 3


@pytest.mark.parametrize(("lines", "left"), [(1, 0), (4, 1)])
def test_localize_line_that_is_no_longer_written_names_its_service(tmp_path, lines, left):
    def logs(count):
        # Another line has the same word, so no word is missing.
        return [(number, 1, text, 9) for number in range(40) for text in ("order stored", *["order"] * count)]

    bad, good = period(tmp_path, 2, "bad", logs=logs(left)), period(tmp_path, 1, "good", logs=logs(lines))
    first = bad.requests.localize(good.requests).suspects[0]
    piece = first.evidence[0]
    assert (first.service, piece.kind, piece.before, piece.after) == ("s2", "log", 1.0, 0.0)
    assert piece.text.startswith("order") and first.score > 3


def test_localize_lists_of_objects_in_messages_are_not_evidence(tmp_path):
    def logs(*names):
        return [
            (number, 1, f"found [Order(by {names[number % 2]} Lee), Order(by {names[0]})]", 9) for number in range(40)
        ]

    bad, good = period(tmp_path, 2, "bad", logs=logs("Ann", "Bo")), period(tmp_path, 1, "good", logs=logs("Cy", "Di"))
    assert all(suspect.score < 0.2 for suspect in bad.requests.localize(good.requests).suspects)


def test_localize_waiting_for_a_lock_names_the_lock(make_run):
    def recorded(name, waits):
        run = make_run(name)
        process = run.process("app")
        worker, other = process.thread(), process.thread()
        for number in range(30):
            worker.enter("serve").request("Type")
            if waits:
                run.clock.now += 5_000_000
                other.release(number)
                worker.acquire(number)
            worker.exit("serve")
        return clew.open(run.write())

    answer = recorded("waits", waits=True).requests.localize(recorded("usual", waits=False).requests)
    (piece,) = [piece for piece in answer.suspects[0].evidence if piece.kind == "waiting"]
    assert piece.sentence().startswith("waiting for lock in app:serve")


def trainticket(name):
    files = [
        path for path in (TRAINTICKET / f"{name}.jsonl.gz", TRAINTICKET / f"{name}-logs.jsonl.gz") if path.exists()
    ]
    if not files:
        pytest.skip(f"no real traces: {TRAINTICKET} is not there; CLEW_SHARED_DATA names their folder")
    graph = read_files(RunInfo("20200101-000000-trace", "trace", [], "/", "/", "", 0), files).graph
    return Flows.of(Run(graph.info, TRAINTICKET, [], graph))


@pytest.mark.parametrize(
    ("fault", "healthy", "service", "rank"),
    [
        ("fault-a", "healthy-0130", "ts-contacts-service", 1),
        ("fault-b", "healthy-0130", "ts-verification-code-service", 1),
        ("fault-c", "healthy-0129", "ts-contacts-service", 3),
        ("fault-d", "healthy-0129", "ts-travel-service", 3),
    ],
)
def test_localize_trainticket_fault_ranks_injected_service_high(fault, healthy, service, rank):
    suspects = localize(trainticket(fault), trainticket(healthy)).suspects
    assert service in [suspect.service for suspect in suspects[:rank]]


def test_localize_one_service_names_its_function(make_run):
    def recorded(name, slow):
        run = make_run(name)
        # The process has another name, but it is the same service.
        thread = run.process(f"app {name}").thread()
        for number in range(30):
            thread.enter("serve").request("Type")
            for function, took in (("load", 300_000), ("store", 200_000 * slow)):
                thread.enter(function)
                run.clock.now += int(took) + number % 7 * 1000
                thread.exit(function)
            thread.exit("serve")
        return clew.open(run.write())

    answer = recorded("slow", 1.2).requests.localize(recorded("usual", 1).requests)
    assert [(suspect.kind, suspect.method) for suspect in answer.suspects[:1]] == [("method", "app:store")]


@pytest.mark.parametrize(
    ("faults", "kind", "text", "method"),
    [
        (lambda thread: thread.unwind("check").enter("refuse").exit("refuse"), "error", "", "app:check"),
        (lambda thread: thread.log("out of stock", level=40).exit("check"), "error", "out of stock", "app:check"),
        (lambda thread: thread.log("out of stock").exit("check"), "log", "out of stock", "app:check"),
        (lambda thread: thread.enter("explain").exit("explain").exit("check"), "call", "app:explain", "app:check"),
    ],
)
def test_localize_evidence_names_inner_call_that_changed(make_run, faults, kind, text, method):
    def recorded(name, ends):
        run = make_run(name)
        client, server = run.process("client").thread(), run.process("server").thread()
        for number in range(30):
            client.enter("ask").request("Ask").send(number)
            server.enter("answer").receive(number).log("asked").enter("check")
            ends(server).exit("answer")
            client.exit("ask")
        return clew.open(run.write())

    usual = recorded("usual", lambda thread: thread.exit("check"))
    answer = recorded("faulty", faults).requests.localize(usual.requests)
    piece = answer.suspects[0].evidence[0]
    assert (piece.service, piece.kind, piece.text) == ("server", kind, text)
    assert (piece.method, piece.caller) == (method, "app:answer")
    assert answer.flows.labels[answer.flows.label[piece.call]] == method
