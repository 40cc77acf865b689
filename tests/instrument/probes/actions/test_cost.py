"""Costly payloads are left out when the budget is exceeded, edges never, and the trace has a gap from there on."""

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


def test_payload_action_over_budget_is_left_out_with_gap_and_count(workshop):
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


def test_send_action_over_budget_is_recorded_with_one_note(workshop):
    send = Action("send", "start", "m", key=["const", 7])
    process, events = recorded(workshop, send, budget=1e-6)
    assert len(of(events, Kind.SEND)) == CALLS
    assert [note.text for note in process.notes if "still recorded" in note.text] == [
        "the actions of the spec exceed the budget; they are still recorded, because edges depend on them"
    ]


@given(st.integers(1, 1000))
def test_meter_books_time_of_all_evaluations(evaluations):
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


def test_payload_action_within_budget_is_recorded_for_every_call(workshop):
    payload = Action("payload", "start", "rows", key=ROWS, limit=2000)
    for budget in (None, 1000.0):
        process, events = recorded(workshop, payload, budget=budget)
        assert len(of(events, Kind.PAYLOAD)) == CALLS
        assert not of(events, Kind.GAP) and not process.notes
