"""Find the entities of runs: those that a spec records, and those that every run has."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from clew.graph.build.builder import build
from clew.graph.entities.events import MOST_NAME, Happening
from clew.graph.entities.fold import Fold
from clew.graph.entities.nesting import nesting
from clew.graph.entities.source import entities_of
from clew.graph.store.store import open_graph
from clew.records.errors import ClewError
from clew.records.format.event import FLAG_FAILED, Kind
from tests.support.specs.recorded_specs import run_of

SYSTEMS = Path(__file__).parents[2] / "golden" / "systems"


def named_events(events):
    """Return the events with names instead of numbers."""
    names = [*events.names, None]
    columns = zip(events.kind.tolist(), events.first.tolist(), events.other.tolist(), strict=True)
    return [(Happening(kind).name.lower(), names[first], names[other]) for kind, first, other in columns]


def containers_of(events):
    found = nesting(events, Fold(events).at(len(events)))
    names = events.names
    there = [entity for entity in range(events.entities) if found.presence[entity]]
    return {
        names[one]: names[found.container[one]] if found.container[one] >= 0 else None for one in there
    }  # fmt: skip


def entity(thread, event, rule, *values, **more):
    text = json.dumps({"event": event, "entity": rule, "values": values})
    return thread.put(Kind.ENTITY, key=0, channel=rule, text=text, **more)


def unique(name, text):
    return {"class": name, "id": 7, "unique": text}


def test_entity_events_of_several_processes_are_in_time_order(run):
    one, other = run.process("one").thread(), run.process("other").thread()
    entity(one, "position", "Node", unique("Node", "a"), at=50)
    entity(other, "position", "Node", unique("Node", "b"), "rack", at=20)
    entity(other, "communication", "Node", unique("Node", "b"), unique("Node", "a"), at=70)
    entity(one, "deletion", "Node", unique("Node", "b"), at=90)
    found, source = entities_of(run.graph())
    assert source == "spec" and found.failed == 0
    assert found.names == ["b", "rack", "a"] and found.classes == ["Node", "", "Node"]
    assert named_events(found) == [
        ("position", "b", "rack"), ("position", "a", None), ("communication", "b", "a"), ("deletion", "b", None),
    ]  # fmt: skip
    assert found.ns.tolist() == [20, 50, 70, 90]


def test_entity_plain_value_refers_to_object_with_that_unique_name(run):
    thread = run.process().thread()
    entity(thread, "position", "Part", "t")
    entity(thread, "position", "Part", unique("Part", "tl"), "t")
    entity(thread, "position", "Part", unique("Part", "t"), None)
    entity(thread, "position", "Worker", unique("Worker", "1"))
    for _ in range(2):
        entity(thread, "position", "Task", unique("Task", "1"), unique("Worker", "1"))
    entity(thread, "deletion", "Task", unique("Task", "1"))
    entity(thread, "communication", "Task", 1, 2)
    found, _ = entities_of(run.graph())
    assert list(zip(found.names, found.classes, strict=True)) == [
        ("t", "Part"), ("tl", "Part"), ("1", "Worker"), ("1", "Task"), ("2", ""),
    ]  # fmt: skip
    # "1" is ambiguous: most events of the rule Task are about the task.
    assert named_events(found)[-1] == ("communication", "1", "2") and found.first[-1] == 3


def test_entity_without_name_is_identified_by_process_and_address(run):
    one, other = run.process("one").thread(), run.process("other").thread()
    cell = {"class": "Cell", "id": 4096}
    entity(one, "position", "Cell", cell, at=10)
    entity(other, "position", "Cell", cell, at=20)
    entity(one, "deletion", "Cell", cell, at=30)
    entity(one, "position", "Grid", {"class": "Grid", "id": 4096}, at=40)
    found, _ = entities_of(run.graph())
    assert found.names == ["Cell 1", "Cell 2", "Grid"]
    assert found.first.tolist() == [0, 1, 0, 2]


def test_entity_event_that_cannot_be_read_is_counted_and_left_out(run):
    thread = run.process().thread()
    entity(thread, "position", "Node", "n" * 300)
    thread.put(Kind.ENTITY, key=0, channel="Node", text="AttributeError", flags=FLAG_FAILED)
    for text in ("{", '"text"', '{"event": "birth", "entity": "Node", "values": [1]}',
                 '{"event": "death", "entity": "Node", "values": [1, 2]}',
                 '{"event": "communication", "entity": "Node", "values": [1]}', '{"event": "position"}',
                 '{"event": "position", "entity": "Node", "values": [{"class": "Node"}]}'):  # fmt: skip
        thread.put(Kind.ENTITY, key=0, channel="Node", text=text)
    thread.put(Kind.ENTITY)
    found, _ = entities_of(run.graph())
    assert len(found) == 1 and found.failed == 9
    assert len(found.names[0]) == MOST_NAME and found.names[0].endswith("…")


def test_entities_without_a_readable_event_are_empty(run):
    run.process().thread().put(Kind.ENTITY, key=0, channel="Node", text="TypeError", flags=FLAG_FAILED)
    found, source = entities_of(run.graph())
    assert (len(found), found.entities, found.failed, source) == (0, 0, 1, "spec")


def test_entity_names_may_have_any_characters(run):
    thread = run.process().thread()
    names = ['{"a": [1, 2]}', "a, b", 'say "hi"', "back\\slash", "ünïcode ✓", "]}", ""]
    for name in names:
        entity(thread, "position", 'a "rule", {x}', unique("Node", name), "in " + name)
    found, _ = entities_of(run.graph())
    assert found.failed == 0
    assert [found.names[one] or "Node" for one in found.first] == [name or "Node" for name in names]
    assert [found.names[one] for one in found.other] == ["in " + name for name in names]


def test_entities_without_spec_are_machines_processes_threads_tasks(run):
    first = run.process("front")
    main, pool = first.thread(), first.thread("pool")
    back = run.process("back").thread()
    main.enter("serve", at=10).send("a", "queue", at=20)
    main.step("job", at=30).send("b", "socket", at=40).stop("job", at=50).exit("serve", at=300)
    pool.receive("a", "queue", at=60).exit("work", at=70)
    back.receive("b", "socket", at=100).log("done", at=110)
    graph = run.graph()
    found, source = entities_of(graph)
    assert source == "strands"
    assert Counter(found.classes) == {"machine": 1, "process": 2, "thread": 3, "task": 1}
    talk = [event for event in named_events(found) if event[0] == "communication"]
    front_main = next(name for name, of in zip(found.names, found.classes, strict=True) if of == "thread")
    assert talk == [("communication", "MainThread", "pool"), ("communication", "job", "MainThread")]
    assert front_main == "MainThread"
    places = [int(place) for place in (found.kind == Happening.COMMUNICATION).nonzero()[0]]
    assert [found.ns[place] for place in places] == [60, 100]
    assert [graph.strings[found.channel[place]] for place in places] == ["queue", "socket"]
    assert [graph.event(found.row[place]).kind for place in places] == ["receive", "receive"]
    assert named_events(found)[:3] == [("position", "host", None), ("position", "front", "host"),
                               ("position", "MainThread", "front")]  # fmt: skip
    # Only the machine is present at the end.
    assert containers_of(found) == {"host": None}
    at_80 = nesting(found, Fold(found).at(found.moment_at(65)))
    assert {found.names[one] for one in range(found.entities) if at_80.presence[one]} == {
        "host", "front", "MainThread", "pool",
    }  # fmt: skip


def test_entities_of_spec_without_entity_events_are_refused(run):
    run.process().thread().log("only this")
    graph = run.graph()
    with pytest.raises(ClewError, match="recorded no event of an entity"):
        entities_of(graph, "spec")
    with pytest.raises(ClewError, match="'tasks'"):
        entities_of(graph, "tasks")


def test_entities_of_empty_run_are_empty(run):
    found, _ = entities_of(run.graph())
    assert len(found) == 0 and found.entities == 0 and len(Fold(found).at(3).last) == 0


@pytest.mark.parametrize("name", ["grid", "josephus", "hypercube", "tree"])
def test_entities_of_example_systems_end_in_expected_state(tmp_path, name):
    program = SYSTEMS / f"{name}.py"
    folder = run_of(program, program.with_suffix(".esl").read_text("utf-8"), tmp_path)
    graph = build(folder)[0]
    found, _ = entities_of(graph)
    # The tree's root has no parent, so reading the parent's name failed.
    assert found.failed == (name == "tree")
    assert named_events(entities_of(open_graph(folder)[0])[0]) == named_events(found), "of the store"
    expected = {
        "grid": {"Grid": None} | {f"({row}, {column})": "Grid" for row in range(3) for column in range(4)},
        "josephus": {"ring": None, "4": "ring"},
        "hypercube": {str(node): None for node in range(8)},
    }  # fmt: skip
    if name != "tree":
        assert containers_of(found) == expected[name]
        return
    middle = next(place for place, event in enumerate(named_events(found)) if event[0] == "deletion")
    state = nesting(found, Fold(found).at(middle))
    paths = {found.names[one]: "/".join(found.names[up] for up in state.path(one)) for one in range(found.entities)}
    assert paths["tlrl"] == "t/tl/tlr" and len([one for one in paths if one.startswith("t")]) == 15
