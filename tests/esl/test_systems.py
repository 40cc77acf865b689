"""The recorded entity events of the six example systems of the ESL paper equal what mathematics says of the systems, and an
entity that moves between processes is the same in each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from clew.graph.build.builder import build
from clew.graph.entities.source import entities_of
from clew.records.format.event import Kind
from tests.support.specs.recorded_specs import entities, record, run_of

SYSTEMS = Path(__file__).parents[1] / "golden" / "systems"


@pytest.fixture
def events(tmp_path: Path) -> Any:
    def run(name: str, **settings: str) -> list[tuple[Any, ...]]:
        program = SYSTEMS / f"{name}.py"
        spec = program.with_suffix(".esl").read_text("utf-8")
        found = entities(record(program, spec, tmp_path, settings=settings))
        return [(each["event"], *map(short, each["values"])) for each in found]

    return run


def short(value: Any) -> Any:
    """Return the unique value of an entity, or its class if only its address is known."""
    return value.get("unique", value["class"]) if isinstance(value, dict) else value


def of_kind(events: list[tuple[Any, ...]], kind: str) -> list[tuple[Any, ...]]:
    return [event[1:] for event in events if event[0] == kind]


def test_grid_system_neighbours_communicate_with_each_other(events: Any) -> None:
    found = events("grid")
    places = {f"({row}, {column})" for row in range(3) for column in range(4)}
    positions = of_kind(found, "position")
    assert ("Grid",) in positions
    assert Counter(positions) == Counter([("Grid",), *[(place, "Grid") for place in places for _ in range(2)]])
    heard = of_kind(found, "communication")
    assert len(heard) == len(set(heard)) == 2 * (3 * 3 + 2 * 4)
    for pair in heard:
        (row, column), (other_row, other_column) = (tuple(map(int, place.strip("()").split(","))) for place in pair)
        assert abs(row - other_row) + abs(column - other_column) == 1


def test_josephus_system_leaves_the_fourth_of_seven(events: Any) -> None:
    found = events("josephus")
    assert of_kind(found, "deletion") == [(each,) for each in ("3", "6", "2", "7", "5", "1")]
    assert of_kind(found, "position") == [(str(number), "ring") for number in range(1, 8)]
    assert of_kind(found, "communication")[0] == ("1", "2")


def test_chord_system_lookups_reach_the_successor_in_few_hops(events: Any) -> None:
    found = events("chord")
    nodes = [1, 8, 14, 21, 32, 38, 42, 48, 51, 56]
    assert of_kind(found, "position") == [("ring",), *[(str(node), "ring") for node in nodes]]
    answers = [pair for pair in of_kind(found, "communication") if isinstance(pair[0], int)]
    assert answers == [(key, str(min([n for n in nodes if n >= key] or nodes[:1]))) for key in (54, 0, 10, 30, 63)]
    # The Chord paper has this lookup: 8 asks 42, which asks 51, whose successor 56 has the key 54.
    assert of_kind(found, "communication")[:3] == [("8", "42"), ("42", "51"), (54, "56")]


def test_hypercube_system_nodes_exchange_in_each_dimension(events: Any) -> None:
    found = events("hypercube")
    assert of_kind(found, "position") == [(str(number),) for number in range(8)]
    expected = [(str(node ^ 1 << dimension), str(node)) for dimension in range(3) for node in range(8)]
    assert of_kind(found, "communication") == expected


def test_tree_system_grows_from_the_root_and_collapses_from_leaves(events: Any) -> None:
    found = events("tree")
    names = ["t"]
    for depth in range(3):
        names += [name + side for name in names if len(name) == depth + 1 for side in "lr"]
    held = [each for each in of_kind(found, "position") if len(each) == 2]
    assert dict(held) == {name: name[:-1] for name in names[1:]}
    assert of_kind(found, "position")[0] == ("t",)
    gone = [name for (name,) in of_kind(found, "deletion")]
    assert sorted(gone) == sorted(names[1:]) and all(
        gone.index(name) < gone.index(name[:-1]) for name in gone if len(name) > 2
    )
    assert of_kind(found, "communication") == [("t", "OverflowError")]


def test_farm_system_tasks_are_each_done_once_by_one_worker(events: Any) -> None:
    found = events("farm")
    tasks = [str(number) for number in range(12)]
    handed = [each for each in of_kind(found, "position") if len(each) == 2]
    assert [task for task, holder in handed if holder == "farmer"] == tasks
    assert Counter(task for task, holder in handed if holder.startswith("worker")) == Counter(tasks)
    assert sorted(of_kind(found, "deletion")) == sorted((task,) for task in tasks)
    talks = of_kind(found, "communication")
    assert len(talks) == 12 and {one for one, _ in talks} == {"farmer"}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_catch_system_entity_is_the_same_in_all_processes(method: str, tmp_path: Path) -> None:
    program = SYSTEMS / "catch.py"
    run = run_of(program, program.with_suffix(".esl").read_text("utf-8"), tmp_path, method)
    graph = build(run)[0]
    found, _ = entities_of(graph)
    assert found.failed == 0
    caught = [(found.names[ball], found.names[player]) for ball, player in zip(found.first, found.other, strict=True)]
    assert sorted(caught) == [(ball, player) for ball in ("blue", "red") for player in "abc"]
    assert {name: found.classes[number] for number, name in enumerate(found.names)} == {
        **dict.fromkeys("abc", "Player"), **dict.fromkeys(("blue", "red"), "Ball"),
    }  # fmt: skip
    for colour in ("blue", "red"):
        assert [player for ball, player in caught if ball == colour] == ["a", "b", "c"]
    # Their log lines come from the same module, which the children run again by another name.
    lines = graph.rows_of([Kind.LOG])
    assert len(lines) == 6 and {graph.sites[int(graph.site[row])].module for row in lines} == {"catch"}
