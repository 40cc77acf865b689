"""The Patterns view: places and times of each pattern, successions, details of one pattern, and limits."""

from __future__ import annotations

import pytest

from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from clew.server.handlers import answer
from clew.server.session.session import Session
from tests.support.runs.records import RunFolder

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


def test_patterns_have_their_calls_times_and_successions(session):
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


def detail(session, method, **params):
    return answer(session, f"clew/{method}", {"run": "loop", **params})


def test_pattern_diagram_counts_moves_inside_the_pattern(session):
    rows = ask(session)["patterns"]
    found = detail(session, "patternDiagram")
    assert found["pattern"] == rows[0]["id"]
    states = found["states"]
    moves = {
        (states[move["source"]]["label"], states[move["target"]]["label"]): (move["count"], move["inside"])
        for move in found["moves"]
        if states[move["target"]]["what"] == "entered"
    }
    assert moves["app:a", "app:retry"] == (20, 0) and moves["app:step", "app:store"] == (100, 80)
    assert [state["label"] for state in states[:4]] == ["app:read", "app:read", "app:step", "app:a"], (
        "as first happened"
    )
    reads = next(state for state in states if (state["label"], state["what"]) == ("app:read", "entered"))
    assert (reads["count"], reads["inside"]) == (100, 80)
    other = detail(session, "patternDiagram", pattern=rows[1]["id"])
    inside = {move["source"]: move["inside"] for move in other["moves"] if states[move["source"]]["what"] == "raised"}
    assert list(inside.values()) == [20]
    assert sum(state["share"] for state in states) == pytest.approx(1)
    ends = [[(move["source"], move["target"]) for move in one["moves"]] for one in (found, other)]
    assert ends[0] == ends[1], "drawn alike, whichever pattern is looked at"


def test_pattern_diagram_over_the_limit_keeps_the_pattern(session, monkeypatch):
    monkeypatch.setattr("clew.server.views.patterns.detail.MAX_STATES", 4)
    monkeypatch.setattr("clew.server.views.patterns.detail.MAX_MOVES", 3)
    found = detail(session, "patternDiagram")
    assert len(found["states"]) == 4 and all(state["inside"] for state in found["states"])
    assert len(found["moves"]) <= 3 and found["hiddenStates"] == 6 and found["hiddenMoves"] > 0
    assert all(0 <= move[end] < 4 for move in found["moves"] for end in ("source", "target"))


def test_pattern_times_of_whole_run_equal_the_patterns(session):
    rows = ask(session)["patterns"]
    found = detail(session, "patternTimes", maxParts=50)
    assert [(one["id"], one["count"], one["ns"]) for one in found["inside"]] == [
        (row["id"], row["count"], row["totalNs"]) for row in rows
    ]
    assert [one["share"] for one in found["inside"]] == pytest.approx([row["share"] for row in rows])
    assert sum(found["whole"]) == sum(sum(lane["ns"]) for lane in found["lanes"]) == rows[0]["totalNs"]
    assert {lane["name"]: sum(lane["begun"]) for lane in found["lanes"]} == {"MainThread": 40, "worker": 40}
    assert all(len(lane["begun"]) == len(lane["ns"]) == 50 for lane in found["lanes"])


def test_pattern_times_of_window_have_the_patterns_inside(session, monkeypatch):
    rows = ask(session)["patterns"]
    stretch = rows[1]["stretches"][0]
    found = detail(session, "patternTimes", fromNs=stretch["fromNs"], toNs=stretch["fromNs"] + 1, maxParts=5000)
    assert [(one["id"], one["count"], one["ns"]) for one in found["inside"]] == [(rows[1]["id"], 1, 1)]
    assert found["lanes"] == [] and len(found["whole"]) <= 1200
    monkeypatch.setattr("clew.server.views.patterns.detail.MAX_LANES", 1)
    found = detail(session, "patternTimes")
    assert len(found["lanes"]) == 1 and found["hiddenLanes"] == 1
    with pytest.raises(ClewError, match="ends"):
        detail(session, "patternTimes", fromNs=10, toNs=10)
    assert detail(session, "patternTimes", calls=99)["lanes"] == []


def test_pattern_occurrence_is_found_by_number_and_by_time(session):
    first = detail(session, "patternOccurrence", number=0)
    last = detail(session, "patternOccurrence", number=79)
    assert first["count"] == 80 and first["occurrence"]["location"]["line"] > 0
    assert first["occurrence"]["fromNs"] < last["occurrence"]["fromNs"]
    one = detail(session, "patternOccurrence", number=17)["occurrence"]
    there = detail(session, "patternOccurrence", strandNumber=one["strand"], atNs=one["toNs"])["occurrence"]
    assert there == one
    with pytest.raises(ClewError, match="no occurrence 81; it occurs 80 times"):
        detail(session, "patternOccurrence", number=80)
    with pytest.raises(ClewError, match="no thread or task number 9"):
        detail(session, "patternOccurrence", strandNumber=9)
    assert detail(session, "patternOccurrence", calls=99, number=0) | {"run": None} == {
        "run": None, "pattern": "", "count": 0, "occurrence": None,
    }  # fmt: skip


def test_patterns_segments_are_bounded_and_inside_the_window(session):
    found = ask(session, maxStretches=4)
    assert all(len(row["stretches"]) <= 4 for row in found["patterns"])
    assert sum(stretch["count"] for stretch in found["patterns"][0]["stretches"]) == 80
    whole = ask(session)["patterns"][0]
    end = whole["stretches"][9]["toNs"]
    part = ask(session, fromNs=0, toNs=end)["patterns"][0]
    assert part["count"] == 80 and len(part["stretches"]) == 10
    with pytest.raises(ClewError, match="ends"):
        ask(session, fromNs=10, toNs=5)


def test_patterns_over_the_limit_are_counted(session):
    found = ask(session, maxPatterns=1)
    assert len(found["patterns"]) == 1 and found["hiddenPatterns"] == 1
    one = ask(session, strand="worker")
    assert one["patterns"][0]["count"] == 40 and len(one["strands"]) == 1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"strand": "nobody"}, "no thread or task has 'nobody'"),
        ({"pattern": "feed"}, "there is no pattern 'feed'"),
        ({"level": "machine"}, "patterns are not available at level"),
        ({"level": "functoin"}, "did you mean 'function'"),
        ({"times": 1}, "'times' is a whole number of at least 2, not 1"),
    ],
)
def test_patterns_unknown_parameter_is_one_sentence(session, params, words):
    with pytest.raises(ClewError, match=words):
        ask(session, **params)


def test_patterns_of_run_without_repetition_say_what_to_do(session):
    found = answer(session, "clew/patterns", {"run": "empty"})
    assert found["patterns"] == [] and found["message"]
    large = ask(session, calls=99)
    assert "--min-calls" in large["message"]
