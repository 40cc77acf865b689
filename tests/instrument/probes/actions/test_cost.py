"""Dear payloads are left out where the budget is overdrawn, edges never, and the trace says from where on."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.instrument.probes.actions import cost
from clew.records.format.event import Kind
from clew.records.plan.plan import Action, Plan, Rule, Target, dump
from clew.records.read.reader import read_run
from clew.records.run.directory import RUN_VARIABLE, create_run
from tests.support.programs.recording import STARTUP

CALLS = 3000
PROGRAM = f"""\
def dear(rows): pass
def main():
    rows = [["x" * 40] * 40] * 40
    for _ in range({CALLS}): dear(rows)
main()
"""
ROWS = ["name", "rows"]


def recorded(workshop, *actions, budget):
    workshop.write(program=PROGRAM)
    rule = Rule(Target("program", "dear"), actions=actions, origin="test.esl:1")
    plan = dump(Plan(rules=(rule,), budget=budget))
    run, _ = create_run(workshop.folder, name="test", command=["program.py"], spec="", plan=plan)
    environment = {RUN_VARIABLE: str(run), "PYTHONPATH": str(STARTUP)}
    done = workshop._run([sys.executable, "program.py"], environment, {})
    assert done.returncode == 0 and not done.stderr
    (process,) = read_run(run).processes
    return process, list(process.events(1))


def of(events, kind):
    return [event for event in events if event.kind is kind]


def test_a_dear_payload_is_left_out_and_what_was_left_out_is_known(workshop):
    payload = Action("payload", "start", "rows", key=ROWS, limit=2000)
    process, events = recorded(workshop, payload, Action("send", "start", "m", key=["const", 7]), budget=1e-6)
    (gap,) = [event for event in of(events, Kind.GAP) if "payloads" in event.extension.text]
    assert process.sites[gap.site].qualname == "dear"
    assert (gap.site, gap.extension.text) in [(note.key, note.text) for note in process.notes]
    place = events.index(gap)
    assert not of(events[place:], Kind.PAYLOAD)
    counted = process.counters.get(gap.site, 0)
    payloads = len(of(events, Kind.PAYLOAD))
    assert 0 < payloads < CALLS
    assert payloads + len(of(events[place:], Kind.ENTER)) + counted == CALLS
    assert len(of(events, Kind.SEND)) == CALLS


def test_edges_alone_are_recorded_beyond_the_budget_and_that_is_said_once(workshop):
    send = Action("send", "start", "m", key=["const", 7])
    process, events = recorded(workshop, send, budget=1e-6)
    assert len(of(events, Kind.SEND)) == CALLS
    assert [note.text for note in process.notes if "all the same" in note.text] == [
        "recording what the spec asks for costs more than the budget; edges depend on it, it is recorded all the same"
    ]


@given(st.integers(1, 1000))
def test_what_is_booked_was_evaluated(evaluations):
    booked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "core", SimpleNamespace(book=lambda ns, emitted: booked.append((ns, emitted))))
        measured = cost.Meter(1)
        for _ in range(evaluations):
            timed = measured.left <= 0
            measured.left -= 1
            if timed:
                measured.book(10, 2)
    ns, emitted = (sum(column) for column in zip(*booked, strict=True))
    assert emitted == ns / 10 * 2 and evaluations - 64 < ns / 10 <= evaluations
    assert len(booked) <= 7 + evaluations / 64


def test_payloads_within_the_budget_are_all_recorded(workshop):
    payload = Action("payload", "start", "rows", key=ROWS, limit=2000)
    for budget in (None, 1000.0):
        process, events = recorded(workshop, payload, budget=budget)
        assert len(of(events, Kind.PAYLOAD)) == CALLS
        assert not of(events, Kind.GAP) and not process.notes
