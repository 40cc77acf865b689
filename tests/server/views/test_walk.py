"""Walks through a recorded program: the meaning of each step, the directions around an event, and the ends."""

import pytest

from clew.graph.ops.causes.why import why
from clew.query.api import open_run
from clew.server.handlers import answer
from clew.server.protocol.codec import decode, encode
from clew.server.protocol.views.walk import WalkParams
from clew.server.session.session import Session, Task
from clew.server.session.walk import Walker
from clew.server.views.walk import MOST, walk
from tests.support.runs.damaged_runs import empty_run, write_torn_run


@pytest.fixture
def run(tmp_path):
    return empty_run(tmp_path, "run")


@pytest.fixture
def walker(session):
    return Walker(session)


def start(walker, **given):
    return walker.start(decode(WalkParams, {"run": "before", **given}), Task())


def steps(walker, *names):
    return [walker.step(name, Task()) for name in names]


def way(result, name):
    return next(way for way in result.ways if way.step == name)


def test_walk_causes_of_error_equal_the_chain_of_why(walker, session):
    first = start(walker, target={"text": "Order failed"})
    assert first.card.title == "ERROR Order failed: item 17 is sold out" and first.sentence == ""
    graph = session.open("before").graph
    chain = [step.event for step in why(graph, first.card.event)]
    visited = [first.card.event]
    while (result := walker.step("cause", Task())).moved:
        visited.append(result.card.event)
    assert visited == chain
    assert result.sentence.startswith("no cause of it was recorded: thread MainThread of shop.app began")
    assert result.card.event == chain[-1]


def test_walk_step_names_its_mechanism_and_time(walker):
    start(walker, target={"text": "Order failed"})
    state, thread = steps(walker, "cause", "cause")
    assert state.sentence.startswith("through the state item 17: set by Stock.mark_sold, ")
    assert " earlier; used here " in state.sentence
    assert thread.sentence.startswith("through the start of a thread: started by app.main, ")
    (back,) = steps(walker, "effect")
    assert back.sentence.startswith("through the start of a thread: run by Sweeper.run, ") and " later" in back.sentence
    # Other effects of the same event are ends of the same direction.
    assert {"through the start of a process"} <= {end.sentence.partition(":")[0] for end in back.ends}
    assert back.ends[back.choice].event == back.card.event


def test_walk_step_with_choice_takes_that_end(walker):
    start(walker, target={"text": "Order failed"})
    steps(walker, "cause", "cause")
    first = walker.step("effect", Task())
    steps(walker, "back")
    second = walker.step("effect", Task(), 1)
    assert second.card.event == first.ends[1].event != first.card.event


def test_walk_out_and_in_lead_through_the_calls_around_an_event(walker):
    start(walker, target={"text": "Order failed"})
    (call,) = steps(walker, "out")
    assert call.card.function == "shop.app:order" and call.sentence.startswith("out to ")
    (inside,) = steps(walker, "in")
    assert way(inside, "out").ends[0].event == call.card.event


def test_walk_back_and_forward_follow_the_visited_events(walker):
    first = start(walker, target={"text": "Order failed"})
    (cause,) = steps(walker, "cause")
    (back,) = steps(walker, "back")
    assert back.card == first.card
    assert steps(walker, "back")[0].sentence == "the walk starts here"
    assert steps(walker, "forward")[0].card == cause.card
    steps(walker, "back", "next")
    assert steps(walker, "forward")[0].sentence == "this is the last visited event"


@pytest.mark.parametrize(("pick", "said"), [("first", "the first one"), ("slowest", "the slowest one")])
def test_walk_start_picks_a_call_of_the_function(walker, session, pick, said):
    result = start(walker, target={"function": "shop.stock:Stock.lookup"}, pick=pick)
    assert result.message == f"20 calls of Stock.lookup; this is {said}."
    graph = session.open("before").graph
    calls = graph.calls
    mine = [
        row for row in range(len(calls.enter)) if graph.function(int(calls.enter[row])) == "shop.stock:Stock.lookup"
    ]
    best = min(mine, key=lambda row: graph.ts[calls.enter[row]] if pick == "first" else -calls.total_ns[row])
    assert result.card.event == calls.enter[best]
    assert result.card.durationNs == calls.total_ns[best]


def test_walk_start_at_failed_call_or_a_message_without_one(walker):
    failed = start(walker, target={"function": "shop.app:check"}, pick="failed")
    assert "ended by an exception" in failed.card.facts[0].value
    none = start(walker, target={"function": "shop.stock:Stock.lookup"}, pick="failed")
    assert none.card is None and none.message == "None of the 20 calls of Stock.lookup failed"
    # The previous walk is still open.
    assert walker.step("in", Task()).moved


def test_walk_card_has_the_recorded_values_of_its_event(run):
    from clew.records.format.event import Kind

    thread = run.process().thread()
    thread.put(Kind.ENTER, thread.process.site("f"))
    for name, value in (("x", "1"), ("y", "'two'")):
        thread.put(Kind.PAYLOAD, thread.process.site("f"), channel=name, text=value)
    thread.log("beside").exit("f")
    found = open_run(run.write())
    session = Session(found.folder.parents[2])
    card = walk(session, found, 0, "here").card
    assert [(fact.name, fact.value) for fact in card.facts][1:] == [("x", "1"), ("y", "'two'")]
    assert [(fact.name, fact.value) for fact in walk(session, found, 4, "here").card.facts] == [
        ("lasted", "40 ns"),
    ]


def test_walk_direction_over_the_limit_is_counted(run):
    process = run.process()
    main = process.thread()
    main.enter("main")
    for number in range(3 * MOST):
        main.send(number)
        process.thread(f"t{number}").join(number)
    main.log("end")
    found = open_run(run.write())
    result = walk(Session(found.folder.parents[2]), found, 0, "effect")
    effects = way(walk(Session(found.folder.parents[2]), found, 0, "here"), "effect")
    assert (len(effects.ends), effects.count, len(result.ends)) == (MOST, 3 * MOST, MOST)


def test_walk_step_over_a_gap_names_the_missing_events(tmp_path):
    write_torn_run(tmp_path)
    session = Session(tmp_path)
    graph = session.open().graph
    texts = [
        gap["text"]
        for row in range(len(graph))
        for step in ("next", "previous")
        for gap in answer(session, "clew/walk", {"target": {"event": row}, "step": step})["gaps"]
    ]
    assert any("41 calls of store.look_up" in text for text in texts)


def test_walk_step_between_machines_names_the_clock_correction(tmp_path):
    write_torn_run(tmp_path)
    session = Session(tmp_path)
    answers = [
        answer(session, "clew/walk", {"target": {"event": row}, "step": "effect"})
        for row in range(len(session.open().graph))
    ]
    assert any("clock of south" in one["clock"] for one in answers)


def test_walk_unknown_event_is_a_message(session):
    result = answer(session, "clew/walk", {"run": "before", "target": {"event": 10**9}})
    assert result["card"] is None and "has no event 1000000000; its events are 0 to" in result["message"]


def test_walk_every_event_has_a_card_and_a_sentence_per_direction(session):
    run = session.open("before")
    for row in range(len(run.graph)):
        result = walk(session, run, row, "here")
        assert result.card.title and len(result.ways) == 6
        for one in result.ways:
            assert bool(one.ends) != bool(one.stop) and all(end.sentence and end.title for end in one.ends)
        assert encode(result)
