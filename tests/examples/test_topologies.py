"""The recorded systems of `examples/topologies` and docs/entities.md: their output, and their entities as theory predicts
them."""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.graph.entities.events import EntityEvents, Happening
from clew.graph.entities.fold import Fold
from clew.graph.entities.nesting import nesting
from clew.graph.entities.source import entities_of
from clew.graph.store.store import open_graph

FOLDER = Path(__file__).parents[2] / "examples" / "topologies"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
Pair = tuple[str, str]


@dataclass(frozen=True)
class System:
    """A run of an example, with its output and its entities."""

    answer: list[str]
    events: EntityEvents
    processes: int

    @property
    def entities(self) -> dict[str, str]:
        """Return the classes of the entities by name."""
        return dict(zip(self.events.names, self.events.classes, strict=True))

    def happenings(self, kind: Happening) -> list[tuple[str, str | None]]:
        events, names = self.events, [*self.events.names, None]
        rows = zip(events.kind.tolist(), events.first.tolist(), events.other.tolist(), strict=True)
        return [(events.names[first], names[other]) for what, first, other in rows if what == kind]

    @property
    def talks(self) -> list[Pair]:
        return [(one, other or "") for one, other in self.happenings(Happening.COMMUNICATION)]

    def holders(self, moment: int = sys.maxsize) -> dict[str, str | None]:
        """Return the container of each entity."""
        found, names = nesting(self.events, Fold(self.events).at(moment)), [*self.events.names, None]
        return {names[one] or "": names[found.container[one]] for one in found.chosen(self.events.entities).tolist()}


def record(name: str, folder: Path, *options: str, where: Path = FOLDER) -> System:
    done = subprocess.run(
        [sys.executable, "-m", "clew", "run", "--workspace", folder, "--quiet", "--spec", f"{name}.esl", "--",
         sys.executable, f"{name}.py", *options],
        cwd=where, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = (folder / ".clew" / "runs").iterdir()
    graph = open_graph(run)[0]
    found, source = entities_of(graph)
    assert source == "spec" and found.failed == 0
    return System(done.stdout.splitlines(), found, len(graph.processes))


def numbers(line: str) -> list[int]:
    return [int(word) for word in re.findall(r"\d+", line)]


def test_grid_example_cells_communicate_with_their_neighbours(tmp_path: Path) -> None:
    system = record("grid", tmp_path, "--size", "4")
    assert system.answer == ["the middle row: 100 67 33 0", "it falls evenly"]
    places = [(row, column) for row in range(4) for column in range(4)]
    assert system.holders() == {"plate": None, **{f"{row},{column}": "plate" for row, column in places}}
    beside = {
        (f"{row},{column}", f"{other},{its}")
        for row, column in places
        for other, its in places
        if abs(row - other) + abs(column - its) == 1
    }
    assert len(beside) == 2 * 24
    assert Counter(system.talks) == dict.fromkeys(beside, 2 * 4 * 4)


def test_josephus_example_leaves_one_in_the_ring(tmp_path: Path) -> None:
    system = record("josephus", tmp_path, "--size", "12", "--every", "5")
    circle, left = list(range(1, 13)), []
    while len(circle) > 1:
        place = 4 % len(circle)
        left.append(circle[place])
        circle = circle[place + 1 :] + circle[:place]
    assert system.answer == [f"left the circle: {' '.join(map(str, left))}", f"number {circle[0]} is the last"]
    assert [int(one) for one, _ in system.happenings(Happening.DELETION)] == left
    assert system.holders() == {str(circle[0]): "circle", "circle": None}
    assert system.talks[0] == ("12", "1")  # the first message
    # Every message goes to a neighbour in the circle of that moment.
    standing = list(range(1, 13))
    events, names = system.events, system.events.names
    for kind, first, other in zip(events.kind.tolist(), events.first.tolist(), events.other.tolist(), strict=True):
        if kind == Happening.COMMUNICATION:
            apart = standing.index(int(names[first])) - standing.index(int(names[other]))
            assert apart % len(standing) in (0, 1, len(standing) - 1)
        elif kind == Happening.DELETION:
            standing.remove(int(names[first]))


def test_chord_example_lookups_follow_the_fingers(tmp_path: Path) -> None:
    system = record("chord", tmp_path, "--size", "12", "--lookups", "20")
    assert system.answer[0].startswith("20 of 20 lookups were right")
    circle = sorted(int(name) for name, kind in system.entities.items() if kind == "Node")
    assert len(circle) == 12 and system.holders() == {"circle": None, **{str(node): "circle" for node in circle}}

    def keeper(key: int) -> int:
        return min(circle, key=lambda node: (node - key) % 1024)

    def way(node: int, key: int) -> list[Pair]:
        """Return the hops of the Chord paper: each to the finger closest before the key."""
        if node == keeper(key):
            return []
        fingers = [keeper(node + 2**bit) for bit in range(10)]
        before = [finger for finger in fingers if 0 < (finger - node) % 1024 < (key - node) % 1024]
        on = max(before, key=lambda finger: (finger - node) % 1024) if before else fingers[0]
        return [(str(node), str(on)), *way(on, key)]

    choose = random.Random(7)
    nodes = choose.sample(range(1024), 12)
    hops = [hop for _ in range(20) for hop in looked_up(choose, nodes, way)]
    assert system.talks == hops
    assert numbers(system.answer[0])[-1] == len(hops)


def looked_up(choose: random.Random, nodes: list[int], way) -> list[Pair]:
    """Return the hops of the next lookup of the example, in theory."""
    key = choose.randrange(1024)
    return way(choose.choice(nodes), key)


def test_hypercube_example_nodes_communicate_across_each_dimension(tmp_path: Path) -> None:
    system = record("hypercube", tmp_path, "--size", "3")
    assert system.answer == ["8 nodes know the sum 28"] and system.processes == 9
    assert system.holders() == {str(number): None for number in range(8)}
    assert sorted(system.talks) == sorted((str(one ^ 1 << bit), str(one)) for one in range(8) for bit in range(3))
    # Each node uses the dimensions in order.
    for number in range(8):
        assert [int(one) ^ number for one, other in system.talks if other == str(number)] == [1, 2, 4]


def test_tree_example_grows_from_the_root_and_ends_at_the_leaves(tmp_path: Path) -> None:
    system = record("tree", tmp_path, "--size", "2", "--numbers", "500")
    assert system.answer == ["500 numbers, in order"] and system.processes == 8
    names = ["t", "tl", "tr", "tll", "tlr", "trl", "trr"]
    assert system.entities == dict.fromkeys(names, "Part")
    edges = [(name[:-1], name) for name in names[1:]]
    assert sorted(system.talks) == sorted([*edges, *((child, parent) for parent, child in edges)])
    assert all(system.talks.index(edge) < system.talks.index(edge[::-1]) for edge in edges)
    gone = [name for name, _ in system.happenings(Happening.DELETION)]
    assert sorted(gone) == sorted(names) and all(gone.index(child) < gone.index(parent) for parent, child in edges)
    assert system.holders() == {}


def test_farm_example_task_goes_to_one_worker_and_back(tmp_path: Path) -> None:
    system = record("farm", tmp_path, "--size", "2", "--tasks", "7", "--below", "10000")
    assert system.answer == ["1229 primes below 10000"] and system.processes == 3
    tasks = {f"task {number}" for number in range(7)}
    workers = {"worker 1", "worker 2"}
    assert system.entities == {
        "farmer": "Farmer", **dict.fromkeys(workers, "Worker"), **dict.fromkeys(tasks, "Task"),
    }  # fmt: skip
    events, names = system.events, [*system.events.names, None]
    worker_of = {}
    for task in tasks:
        rows = [
            (Happening(events.kind[place]).name, names[events.other[place]])
            for place in sorted(events.about(names.index(task), len(events), 100))
        ]
        worker_of[task] = rows[1][1]
        assert rows == [("POSITION", "farmer"), ("POSITION", worker_of[task]), ("DELETION", None)]
    assert set(worker_of.values()) <= workers
    done = Counter(worker_of.values())
    assert Counter(system.talks) == {
        pair: count for worker, count in done.items() for pair in (("farmer", worker), (worker, "farmer"))
    }
    assert system.holders() == {"farmer": None, **dict.fromkeys(workers)}


def test_theaters_example_actor_is_the_same_in_every_process(tmp_path: Path) -> None:
    system = record("theaters", tmp_path, "--size", "6", "--laps", "5")
    *moves, work, answer = system.answer
    assert answer == "6 actors heard 105 each, in 5 laps"
    assert work == "work: theater 1 7, theater 2 7, theater 3 7" and system.processes == 4
    actors = [f"actor {number}" for number in range(1, 7)]
    theaters = [f"theater {number}" for number in range(1, 4)]
    assert system.entities == {**dict.fromkeys(actors, "Actor"), **dict.fromkeys(theaters, "Theater")}
    # The program prints the moves in order.
    expected = [re.fullmatch(r"(actor \d) moves from (theater \d) to (theater \d)", line).groups() for line in moves]
    assert len(expected) >= 3
    where, found = {}, []
    for actor, theater in system.happenings(Happening.POSITION):
        if theater is not None and where.setdefault(actor, theater) != theater:
            found.append((actor, where[actor], theater))
            where[actor] = theater
    assert found == expected
    assert system.holders() == {**dict.fromkeys(theaters), **where}
    # Each actor forwards every number except its own, once per lap: all send equally often to the next in the ring.
    ring = list(zip(actors, [*actors[1:], actors[0]], strict=True))
    assert Counter(system.talks) == dict.fromkeys(ring, 5 * 6)


def test_entities_page_program_has_the_documented_entities(tmp_path: Path) -> None:
    page = (FOLDER.parents[1] / "docs" / "entities.md").read_text("utf-8")
    for language, suffix in (("python", "py"), ("esl", "esl")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        (tmp_path / f"depot.{suffix}").write_text(block, "utf-8")
    system = record("depot", tmp_path, where=tmp_path)
    assert system.holders() == {
        "depot": None, "red": "depot", "blue": "depot", "parcel 1": "red", "parcel 2": "red",
    }  # fmt: skip
    assert system.talks == [("red", "blue")]
    assert [name for name, _ in system.happenings(Happening.DELETION)] == ["parcel 0"]


@pytest.mark.parametrize("name", NAMES)
def test_topology_example_is_short_and_has_spec_and_help(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    assert 60 <= len(text.splitlines()) <= 200 and "clew" not in text
    imported = {node.module if isinstance(node, ast.ImportFrom) else alias.name
                for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names}  # fmt: skip
    assert {module.partition(".")[0] for module in imported if module} <= sys.stdlib_module_names
    assert (FOLDER / f"{name}.esl").is_file()
    shown = subprocess.run([sys.executable, f"{name}.py", "--help"], cwd=FOLDER, capture_output=True, text=True)
    assert f"python {name}.py" in shown.stdout and "--size" in shown.stdout and "--seconds" in shown.stdout
    wrong = subprocess.run([sys.executable, f"{name}.py", "--size", "-1"], cwd=FOLDER, capture_output=True, text=True)
    assert wrong.returncode == 2 and "Traceback" not in wrong.stderr
