"""The patterns view: bounded, with where and when each pattern is, what follows it, and the diagram of moves."""

from __future__ import annotations

import pytest

from clew.records.errors import ClewError
from clew.records.plan import Plan, dump
from clew.records.run import create_run, save_run
from clew.server.handlers import answer
from clew.server.session import Session
from tests.graph.conftest import RunFolder

RETRIED = (3, 4, 9, 17, 19, 20, 21, 30, 43, 46)


def record(workspace, name, rounds):
    folder, info = create_run(workspace, name=name, command=["app"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info)
    run = RunFolder(folder, info)
    process = run.process()
    for thread in (process.thread("MainThread"), process.thread("worker")):
        for number in range(rounds):
            thread.enter("read").exit("read").enter("step").enter("a").exit("a")
            if number in RETRIED:
                thread.enter("retry").unwind("retry")
            thread.exit("step").enter("store").exit("store")
    return run.write()


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("patterns")
    record(workspace, "loop", 50)
    record(workspace, "empty", 0)
    return Session(workspace)


def ask(session, **params):
    return answer(session, "clew/patterns", {"run": "loop", **params})


def test_patterns_come_with_their_calls_and_times(session):
    found = ask(session)
    first = found["patterns"][0]
    assert (first["title"], first["count"], first["strands"], first["calls"]) == ("read, step(a), store", 80, 2, 4)
    assert [(line["depth"], line["label"]) for line in first["outline"]] == [
        (0, "app:read"), (0, "app:step"), (1, "app:a"), (0, "app:store"),
    ]  # fmt: skip
    assert sum(stretch["count"] for stretch in first["stretches"]) == 80
    assert {stretch["strand"] for stretch in first["stretches"]} == {0, 1}
    assert first["totalNs"] == first["meanNs"] * 80 and 0 < first["share"] < 1
    assert first["location"]["line"] > 0
    second = found["patterns"][1]
    assert second["title"] == "read, step(a, retry raised), store" and second["raised"] == 1
    steps = {(step["before"], step["after"]): step["count"] for step in found["successions"]}
    assert steps[second["id"], first["id"]] == 14
    assert [strand["strand"] for strand in found["strands"]] == ["MainThread", "worker"]


def test_the_diagram_tells_the_moves_of_one_pattern_apart(session):
    found = ask(session)
    assert found["pattern"] == found["patterns"][0]["id"]
    states = found["states"]
    moves = {
        (states[move["source"]]["label"], states[move["target"]]["label"]): (move["count"], move["inside"])
        for move in found["moves"]
        if states[move["target"]]["what"] == "entered"
    }
    assert moves["app:a", "app:retry"] == (20, 0) and moves["app:step", "app:store"] == (100, 80)
    other = ask(session, pattern=found["patterns"][1]["id"])
    inside = {move["source"]: move["inside"] for move in other["moves"] if states[move["source"]]["what"] == "raised"}
    assert list(inside.values()) == [20]
    assert sum(state["share"] for state in states) == pytest.approx(1)


def test_stretches_are_bounded_and_of_the_time_that_is_asked_for(session):
    found = ask(session, maxStretches=4)
    assert all(len(row["stretches"]) <= 4 for row in found["patterns"])
    assert sum(stretch["count"] for stretch in found["patterns"][0]["stretches"]) == 80
    whole = ask(session)["patterns"][0]
    end = whole["stretches"][9]["toNs"]
    part = ask(session, fromNs=0, toNs=end)["patterns"][0]
    assert part["count"] == 80 and len(part["stretches"]) == 10
    with pytest.raises(ClewError, match="ends"):
        ask(session, fromNs=10, toNs=5)


def test_patterns_are_limited_and_the_rest_is_counted(session):
    found = ask(session, maxPatterns=1)
    assert len(found["patterns"]) == 1 and found["hiddenPatterns"] == 1
    one = ask(session, strand="worker")
    assert one["patterns"][0]["count"] == 40 and len(one["strands"]) == 1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"strand": "nobody"}, "no thread or task has 'nobody'"),
        ({"pattern": "feed"}, "there is no pattern 'feed'"),
        ({"level": "machine"}, "patterns are of code"),
        ({"level": "functoin"}, "did you mean 'function'"),
        ({"times": 1}, "times is 1; give 2 or more"),
    ],
)
def test_what_is_not_there_is_one_sentence(session, params, words):
    with pytest.raises(ClewError, match=words):
        ask(session, **params)


def test_a_run_without_repetitions_says_what_to_do(session):
    found = answer(session, "clew/patterns", {"run": "empty"})
    assert found["patterns"] == [] and found["message"]
    large = ask(session, calls=99)
    assert "fewer calls" in large["message"]
