"""Suspects: what was planted is first, with its numbers and reasons; what did not change is no suspect."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.compare.localize.behaviour_evidence import words_of
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


def test_two_healthy_periods_have_next_to_no_suspect(tmp_path):
    assert all(suspect.score < 0.2 for suspect in found(tmp_path).suspects)


def test_slow_work_is_the_callees_not_its_callers(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=40.0 + chance.normal()))
    first = answer.suspects[0]
    assert (first.service, first.kind, first.method) == ("s2", "method", "s2:op2")
    piece = first.evidence[0]
    assert piece.kind == "work"
    assert (piece.before, piece.after) == (pytest.approx(20e6, rel=0.1), pytest.approx(40e6, rel=0.1))
    assert (piece.samples_before, piece.samples_after) == (40, 40) and piece.p < 1e-6
    assert all(suspect.score < first.score / 4 for suspect in answer.suspects[1:])
    assert "s2:op2 itself takes 20" in answer.sentence()


def test_a_slow_way_is_an_edge_to_the_service_that_all_wait_for(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 2, way=200.0))
    first = answer.suspects[0]
    assert (first.service, first.kind, first.method, first.caller) == ("s3", "edge", "s3:op3", "app:to op3")
    assert first.evidence[0].after == pytest.approx(200e6, rel=0.05)


def test_stalls_now_and_then_move_no_median_and_are_found(tmp_path):
    answer = found(
        tmp_path, change=lambda number, calls, chance: changed(calls, 0, ms=150.0) if number % 5 == 0 else calls
    )
    assert answer.suspects[0].service == "s1"


def test_localize_with_one_slow_instance_names_it(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=60.0) if number % 2 else calls)
    first = answer.suspects[0]
    assert first.service == "s2" and first.instance == "s2-1"
    assert any(piece.kind == "instance" and piece.instance == "s2-1" for piece in first.evidence)


def test_two_seconds_more_in_six_healthy_samples_are_first(tmp_path):
    good = period(tmp_path, 1, "good", requests=6)
    bad = period(tmp_path, 2, "bad", requests=8, change=lambda number, calls, chance: changed(calls, 0, way=2000.0))
    assert bad.requests.localize(good.requests).suspects[0].service == "s1"


def test_a_fault_that_began_late_is_told_since_when_by_what_came_after(tmp_path):
    def late(number, calls, chance):
        return changed(calls, 1, ms=60.0) if number >= 30 else calls

    first, *others = found(tmp_path, change=late).suspects
    all_along = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=60.0)).suspects[0]
    assert (first.place, all_along.place, all_along.since_ns) == ("s2", "s2", None)
    assert first.since_ns is not None and "starting" in first.sentence().split()
    # Ten seconds from request to request; some instants are looked at, of which the next is at three quarters.
    assert first.since_ns == pytest.approx(300e9, abs=60e9)
    assert first.evidence[0].after > 50e6
    assert all(other.score < first.score / 4 for other in others)


def test_what_speaks_against_a_suspect_names_calls_of_all_requests(tmp_path):
    def late(number, calls, chance):
        return changed(calls, 1, ms=60.0) if number >= 30 else calls

    answer = found(tmp_path, change=late)
    piece = answer.suspects[0].evidence[0]
    assert answer.flows.labels[answer.flows.label[piece.call]] == "s2:op2"
    assert answer.flows.total_ns[piece.call] == pytest.approx(60e6, rel=0.1)


def test_a_missing_call_is_its_callers(tmp_path):
    def without(number, calls, chance):
        return [calls[0], calls[2]]

    first = found(tmp_path, change=without).suspects[0]
    assert first.service == "app"
    piece = first.evidence[0]
    assert (piece.kind, piece.before, piece.after) == ("call", 1.0, 0.0)


def test_errors_that_one_request_in_four_logs_are_found_where_they_are_logged(tmp_path):
    logs = [(number, 1, f"could not load item {number}", 17) for number in range(0, 40, 4)]
    logs += [(number, 0, f"served {number}", 9) for number in range(40)]
    usual = [(number, 0, f"served {number}", 9) for number in range(40)]
    bad, good = period(tmp_path, 2, "bad", logs=logs), period(tmp_path, 1, "good", logs=usual)
    first = bad.requests.localize(good.requests).suspects[0]
    assert (first.service, first.kind) == ("s2", "log")
    assert any(piece.after == pytest.approx(0.25) for piece in first.evidence)


def test_an_error_that_is_gone_is_no_suspect(tmp_path):
    logs = [(number, 1, f"could not load item {number}", 17) for number in range(0, 40, 4)]
    usual = [(0, 0, "served", 9)]
    bad, good = period(tmp_path, 2, "bad", logs=usual), period(tmp_path, 1, "good", logs=[*usual, *logs])
    assert all(suspect.score < 0.2 for suspect in bad.requests.localize(good.requests).suspects)


def test_visits_that_mostly_fail_anyway_are_compared_with_each_other(tmp_path):
    usual = [(number, 1, "could not reach the depot", 17) for number in range(40)]
    bad = period(tmp_path, 2, "bad", logs=[*usual, *((number, 1, "planted answer", 9) for number in range(40))])
    first = bad.requests.localize(period(tmp_path, 1, "good", logs=usual).requests).suspects[0]
    assert (first.service, first.evidence[0].kind, first.evidence[0].text) == ("s2", "log", "planted answer")


def test_stalls_that_all_services_have_are_nobodys(tmp_path):
    def busy(number, calls, chance):
        return changed(calls, number % 3, ms=150.0) if number % 4 == 0 else calls

    def worse(number, calls, chance):
        return (
            changed(busy(number, calls, chance), 0, ms=150.0) if number % 4 in (1, 2) else busy(number, calls, chance)
        )

    nobody = found(tmp_path, change=busy).suspects
    first = found(tmp_path, change=worse).suspects[0]
    assert first.service == "s1" and all(first.score > 4 * suspect.score for suspect in nobody)


def test_a_service_that_the_reference_has_not_is_a_suspect_if_it_is_slower_than_nearly_all_that_is_known(tmp_path):
    def adds(took):
        return lambda number, calls, chance: [*calls, ("s4", "op4", took, "s4-0", 2.0)] if number % 5 == 0 else calls

    slow = [it for it in found(tmp_path, change=adds(900.0)).suspects if it.service == "s4"]
    assert slow and slow[0].evidence[0].kind == "work"
    assert (slow[0].evidence[0].before, slow[0].evidence[0].samples_before) == (None, 0)
    assert "s4:op4 itself takes 900 ms" in slow[0].sentence()
    assert not [it for it in found(tmp_path, change=adds(15.0)).suspects if it.service == "s4"]


def test_without_a_reference_unusual_requests_are_compared_with_the_rest(tmp_path):
    bad = period(
        tmp_path, 2, "bad", change=lambda number, calls, chance: changed(calls, 2, ms=500.0) if number == 9 else calls
    )
    answer = bad.requests.localize()
    assert answer.suspect <= 3 and answer.suspects[0].service == "s3"
    assert answer.residuals is not None and answer.residuals.anomalous[9]
    assert "of 40 requests are anomalous" in answer.sentence()


def test_times_of_spans_add_up_to_the_responses(tmp_path):
    flows = period(tmp_path, 3).requests.flows()
    times = two_sides(flows, flows).suspect.times
    assert sum(column.sum() for column in times.values()) == pytest.approx(flows.response_ns.sum())


def test_localize_without_comparable_requests_has_no_suspects(tmp_path):
    flows = period(tmp_path, 1).requests.flows()
    none = flows.take(np.zeros(0, np.int64))
    for sides in ((flows, none), (none, flows), (none, none)):
        answer = localize(*sides)
        assert not answer.suspects and "no place differs noticeably" in answer.sentence()


def test_answers_are_data(tmp_path):
    answer = found(tmp_path, change=lambda number, calls, chance: changed(calls, 1, ms=40.0))
    data = json.loads(json.dumps(answer.to_json()))
    assert data["suspects"][0]["service"] == "s2" and data["suspects"][0]["evidence"][0]["samples_after"] == 40
    assert answer.table().rows[0].service == "s2"


def test_thresholds_are_options_and_unknown_ones_are_refused(tmp_path):
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
    ],
)
def test_words_are_the_programs_not_the_data(template, words):
    assert list(words_of(template)) == words


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
def test_real_faults_are_where_they_were_injected(fault, healthy, service, rank):
    suspects = localize(trainticket(fault), trainticket(healthy)).suspects
    assert service in [suspect.service for suspect in suspects[:rank]]


def test_suspects_of_one_service_are_its_functions(make_run):
    def recorded(name, slow):
        run = make_run(name)
        # Called otherwise, it is the same service still.
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
        (lambda thread: thread.log("out of stock", level=40).exit("check"), "error", "an error is logged", "app:check"),
        (lambda thread: thread.log("out of stock").exit("check"), "log", "out of stock", "app:check"),
        (lambda thread: thread.enter("explain").exit("explain").exit("check"), "call", "app:explain", "app:check"),
    ],
)
def test_what_a_service_does_is_told_of_the_call_in_it_that_does_it(make_run, faults, kind, text, method):
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
