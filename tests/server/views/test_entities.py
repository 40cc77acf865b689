"""The answers about entities equal an oracle that follows the events one by one."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from clew.server.handlers import answer
from clew.server.session.session import Session
from clew.server.text.units import duration
from tests.support.runs.records import RunFolder

SIZE = 400


def story(seed):
    """Yield (event, first, other) by names: actors move between theaters, talk, and end; some too early or twice."""
    choose = random.Random(seed)
    actors, theaters = [f"actor {number}" for number in range(30)], [f"theater {number}" for number in range(4)]
    for _ in range(SIZE):
        actor = choose.choice(actors)
        match choose.choice(("position", "position", "deletion", "communication", "communication", "communication")):
            case "position":
                yield "position", actor, choose.choice([*theaters, None])
            case "deletion":
                yield "deletion", choose.choice([actor, theaters[0]]), None
            case talk:
                yield talk, actor, choose.choice(actors)


STORY = list(story(5))


def record(workspace, name, fill):
    folder, info = create_run(workspace, name=name, command=["app"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info)
    run = RunFolder(folder, info)
    fill(run)
    return run.write()


def tell(run):
    thread = run.process().thread()
    for event, first, other in STORY:
        thread.enter("act")
        text = json.dumps({"event": event, "entity": "Actor", "values": [first] + [other] * (other is not None)})
        thread.put(Kind.ENTITY, run.processes[0].site("act"), key=0, channel="Actor", text=text)
        thread.exit("act")


def plain(run):
    process = run.process()
    main, other = process.thread(), process.thread("worker")
    main.enter("main").send("x", "queue")
    other.receive("x", "queue").exit("work")
    main.exit("main")


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("entities")
    record(workspace, "plain", plain)
    record(workspace, "empty", lambda run: None)
    record(workspace, "told", tell)
    return Session(workspace)


def at(session, moment, **params):
    return answer(session, "clew/entities", {"run": "told", "moment": moment, **params})


def naive(moment):
    """Return the container of each entity, the presence of each shown entity, and the messages that each sent."""
    place, gone, sent, talked = {}, set(), Counter(), set()
    for event, first, other in STORY[:moment]:
        if event == "position":
            place[first] = other
            gone.discard(first)
        elif event == "deletion":
            place.pop(first, None)
            gone.add(first)
        else:
            sent[first] += 1
            talked |= {first, other}
    holders = set(place.values()) - {None} - set(place)
    shown = dict.fromkeys(place, "there")
    shown |= {name: "gone" if name in gone else "unplaced" for name in holders}
    shown |= dict.fromkeys(talked - set(place) - gone, "unplaced")
    return place, shown, sent


@pytest.mark.parametrize("moment", [0, 1, 7, 50, 133, 399, 400])
def test_entities_at_moment_equal_the_oracle(session, moment):
    found = at(session, moment)
    place, shown, sent = naive(moment)
    names = {box["entity"]: box["name"] for box in found["boxes"]} | {-1: None}
    assert {box["name"]: box["presence"] for box in found["boxes"]} == shown
    assert {box["name"]: names[box["container"]] for box in found["boxes"] if box["presence"] == "there"} == place
    assert all(box["sent"] == sent[box["name"]] for box in found["boxes"])
    assert all(box["hidden"] == 0 for box in found["boxes"])
    assert found["entities"] == len(shown) and found["hidden"] == 0
    assert (found["moment"], found["moments"], found["source"]) == (moment, SIZE, "spec")


def test_entities_over_the_limit_are_the_largest_containers(session):
    everything, few = at(session, SIZE), at(session, SIZE, most=6)
    assert len(few["boxes"]) == 6 and few["entities"] == everything["entities"]
    by_entity = {box["entity"]: box for box in everything["boxes"]}
    for box in few["boxes"]:
        right_in = [one for one in by_entity.values() if one["container"] == box["entity"]]
        shown = [one for one in few["boxes"] if one["container"] == box["entity"]]
        assert box["holds"] == len(right_in) and box["hidden"] == len(right_in) - len(shown)
    largest = max(everything["boxes"], key=lambda box: box["holds"])
    assert largest["entity"] in [box["entity"] for box in few["boxes"]]
    inside = at(session, SIZE, inside=largest["entity"])
    assert inside["entities"] == largest["holds"] == len(inside["boxes"])
    assert {box["container"] for box in inside["boxes"]} == {largest["entity"]}


@pytest.mark.parametrize("most", [5, 300])
@pytest.mark.parametrize(("begin", "end"), [(0, 400), (400, 0), (120, 121), (121, 120), (60, 350), (200, 200)])
def test_entity_events_turn_one_moment_into_the_other(session, begin, end, most):
    found = answer(
        session, "clew/entityEvents", {"run": "told", "fromMoment": begin, "toMoment": end, "most": most}
    )  # fmt: skip
    boxes = {box["entity"]: box for box in at(session, begin, most=most)["boxes"]}
    for entity in found["removed"]:
        del boxes[entity]
    boxes |= {box["entity"]: box for box in found["changed"]}
    expected = {box["entity"]: box for box in at(session, end, most=most)["boxes"]}
    assert boxes == expected
    assert {line[side] for line in found["lines"] for side in ("source", "target")} <= set(expected)
    talks = [event for event in STORY[min(begin, end) : max(begin, end)] if event[0] == "communication"]
    assert sum(line["count"] for line in found["lines"]) + found["unseen"] == len(talks)
    if most == 300:
        names = {box["entity"]: box["name"] for box in expected.values()}
        pairs = Counter((first, other) for _, first, other in talks if first != other)
        for line in found["lines"]:
            assert line["count"] == pairs[names[line["source"]], names[line["target"]]]


def test_entity_events_lines_over_the_limit_are_counted(session):
    asked = {"run": "told", "fromMoment": 0, "toMoment": 400, "mostLines": 3}
    found = answer(session, "clew/entityEvents", asked)
    everything = answer(session, "clew/entityEvents", asked | {"mostLines": 1000})
    assert len(found["lines"]) == 3 and found["hiddenLines"] == len(everything["lines"]) - 3
    assert (
        sorted(line["count"] for line in found["lines"]) == sorted(line["count"] for line in everything["lines"])[-3:]
    )


def test_entity_has_its_last_events_and_the_start_of_a_walk(session):
    box = next(box for box in at(session, 300)["boxes"] if box["name"] == "actor 3")
    found = answer(session, "clew/entity", {"run": "told", "entity": box["entity"], "moment": 300, "most": 5})
    expected = [place for place in range(300) if "actor 3" in STORY[place][1:]][::-1][:5]
    assert [one["moment"] for one in found["happenings"]] == [place + 1 for place in expected]
    assert [(one["what"], one["name"], one["otherName"] or None) for one in found["happenings"]] == [
        STORY[place] for place in expected
    ]
    assert found["box"] == box and found["name"] == "actor 3"
    own = next(one for one in found["happenings"] if one["name"] == "actor 3")
    assert found["event"] == own["event"] and found["location"]["path"] == "/src/app.py"
    walk = answer(session, "clew/walk", {"run": "told", "target": {"event": found["event"]}})
    assert walk["card"]["event"] == found["event"]
    # Before its first event it does not exist.
    early = answer(session, "clew/entity", {"run": "told", "entity": box["entity"], "moment": 0})
    assert early["box"] is None and early["happenings"] == [] and early["event"] == -1


def test_entities_at_time_are_those_of_its_last_moment(session):
    times = at(session, 200)["ns"]
    assert answer(session, "clew/entities", {"run": "told", "ns": times})["moment"] == 200
    assert answer(session, "clew/entities", {"run": "told", "ns": times - 1})["moment"] == 199
    assert answer(session, "clew/entities", {"run": "told"})["moment"] == SIZE


def test_entities_of_run_without_spec_are_its_threads(session):
    found = answer(session, "clew/entities", {"run": "plain", "moment": 4})
    assert found["source"] == "strands"
    assert [(box["name"], box["kind"]) for box in found["boxes"]] == [
        ("host", "machine"), ("server", "process"), ("MainThread", "thread"), ("worker", "thread"),
    ]  # fmt: skip
    found = answer(session, "clew/entityEvents", {"run": "plain", "fromMoment": 4, "toMoment": 5})
    assert [(line["count"], line["channel"]) for line in found["lines"]] == [(1, "queue")]


def test_entities_of_run_without_events_have_a_message(session):
    found = answer(session, "clew/entities", {"run": "empty"})
    assert found["boxes"] == [] and "recorded no event" in found["message"]


def test_entities_unknown_entity_or_source_is_named(session):
    for method, params, words in (
        ("clew/entity", {"run": "told", "entity": 999}, "no entity number 999; the run has 34"),
        ("clew/entities", {"run": "told", "inside": 999}, "no entity number 999"),
        ("clew/entities", {"run": "plain", "source": "spec"}, "recorded no event of an entity"),
    ):
        with pytest.raises(ClewError, match=words):
            answer(session, method, params)


def test_entities_fullest_moment_is_the_last_with_most_present(session):
    numbers = [len(naive(moment)[0]) for moment in range(SIZE + 1)]
    found = at(session, 0, fullest=True)
    assert found["moment"] == max(moment for moment in range(SIZE + 1) if numbers[moment] == max(numbers))
    assert answer(session, "clew/entities", {"run": "empty", "fullest": True})["moment"] == 0


def test_entities_before_end_include_those_that_end_with_the_run(session):
    end = answer(session, "clew/entities", {"run": "plain"})
    found = answer(session, "clew/entities", {"run": "plain", "beforeEnd": True})
    assert [box["name"] for box in end["boxes"]] == ["host"]
    assert [box["name"] for box in found["boxes"]] == ["host", "server", "MainThread", "worker"]
    before = duration(end["ns"] - found["ns"])
    assert (
        found["message"] == f"The program has ended. This is {before} before its end; 3 of these are gone by the end."
    )
    # In a run without ends of entities this moment is the end.
    assert answer(session, "clew/entities", {"run": "empty", "beforeEnd": True})["moment"] == 0


def test_entities_activity_counts_every_event_once(session):
    found = at(session, SIZE)
    times = [at(session, moment)["ns"] for moment in range(1, SIZE + 1)]
    begin, length = int(times[0]), int(times[-1] - times[0])
    parts = len(found["activity"])
    begins = [begin + length * part // parts for part in range(parts)]
    expected = Counter(max(part for part in range(parts) if begins[part] <= ns) for ns in times)
    assert found["activity"] == [expected[part] for part in range(parts)]
    assert sum(answer(session, "clew/entities", {"run": "empty"})["activity"]) == 0


def test_entity_events_to_time_equal_those_to_its_moment(session):
    asked = {"run": "told", "fromMoment": 50}
    there = answer(session, "clew/entityEvents", asked | {"toMoment": 200})
    assert answer(session, "clew/entityEvents", asked | {"toNs": at(session, 200)["ns"]}) == there
    end = answer(session, "clew/entityEvents", asked)
    assert end["toMoment"] == SIZE


def test_entities_around_are_listed_from_the_outside(session):
    found = answer(session, "clew/entities", {"run": "plain", "moment": 4, "inside": 1})
    assert [(one["entity"], one["name"]) for one in found["around"]] == [(0, "host"), (1, "server")]
    assert at(session, SIZE)["around"] == []
