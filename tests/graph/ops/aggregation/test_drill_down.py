"""Opening the boxes of an aggregate graph, against aggregating by a label that every event is given on its own."""

from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest

from clew.graph.model.levels import labels_of
from clew.graph.ops.aggregation import drill_down as drill_module
from clew.graph.ops.aggregation import whole_run
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.aggregation.drill_down import drill, leaves
from clew.graph.ops.slicing.interval import slice_events
from clew.records.errors import ClewError
from clew.records.plan.plan import Level, Plan, Target

FUNCTIONS = ("shop.web:get", "shop.web:put", "shop.db:Table.read", "shop.db:Table.write", "lib:sort")
PLAN = Plan(levels=(Level("team", (("front", Target("shop.web", "**")), ("back", Target("shop.db", "**")))),))


def random_run(run, seed):
    """Threads and tasks of a few processes call each other's functions, some twice over, wait and fail."""
    random, sent = Random(seed), 0
    threads = []
    for number in range(random.randint(1, 3)):
        process = run.process(f"p{number}", host=random.choice(["east", "west"]))
        threads += [(process.thread(f"t{one}"), []) for one in range(random.randint(1, 3))]
    for _ in range(random.randint(20, 120)):
        records, stack = random.choice(threads)
        what = random.choice(
            ["enter", "enter", "leave", "leave", "send", "join", "receive", "begin", "end", "request", "log"]
        )
        if what == "enter" and len(stack) < 5:
            stack.append(random.choice(FUNCTIONS))
            records.enter(stack[-1])
        elif what == "leave" and stack:
            getattr(records, random.choice(["exit", "exit", "unwind"]))(stack.pop())
        elif what == "send":
            sent += 1
            records.send(sent, channel=random.choice(["queue", "message"]))
        elif what in ("join", "receive") and sent:
            getattr(records, what)(random.randint(1, sent), channel=random.choice(["queue", "message"]))
        elif what in ("begin", "end"):
            getattr(records, what)()
        elif what == "request":
            records.request("order")
        else:
            records.log("line")
    return run.graph()


def path_of(graph, event, strands, component):
    """From the machine down to the function."""

    def label(level):
        labels = labels_of(graph, level)
        return labels.name(int(labels.of(np.array([event.id]))[0]))

    strand = label(strands).removeprefix(f"{label('process')}/")
    owner = int(graph.owner[event.id])
    is_code = owner >= 0 or graph.site_is_named[graph.site[event.id]]
    part = label(component) if is_code else label("function")
    part = part or label("function").split(":")[0].split(".")[0]
    return label("machine"), label("process"), strand, part, label("function")


def shown(path, opened, top):
    return next(path[:depth] for depth in range(top, 6) if depth == 5 or path[:depth] not in opened)


@pytest.mark.parametrize("seed", range(40))
def test_a_box_has_the_figures_of_the_label_that_only_its_events_have(new_run, seed, monkeypatch):
    for module in (whole_run, drill_module):
        monkeypatch.setattr(module, "_PART", 13)
    random = Random(1000 + seed)
    plan = PLAN if seed % 2 else Plan()
    graph = random_run(new_run(plan=plan), seed)
    strands = random.choice(["thread", "task"])
    component = "team" if seed % 2 else "component"
    paths = {row: path_of(graph, graph.event(row), strands, component) for row in range(len(graph))}
    of = graph
    if seed % 3 == 0:
        of = slice_events(graph, [random.randrange(len(graph))], random.choice(["forward", "backward"]))
    found = leaves(of, strands)
    assert found.levels == ("machine", "process", strands, component, "function")
    functions = aggregate(of, lambda event: "\n".join(paths[event.id])).by_label()
    own = {tuple(node.label.split("\n")): node.self_ns for node in functions.nodes}
    names = ("events", "calls", "total_ns", "waiting_ns", "errors")

    def figures(box):
        return tuple(getattr(box, name) for name in names)

    for _ in range(4):
        level = random.choice(found.levels)
        top = found.levels.index(level) + 1
        every = sorted({path[:depth] for path in paths.values() for depth in range(1, 5)})
        asked = set(random.sample(every, random.randint(0, min(6, len(every)))))
        drilled = drill(found, level, asked)
        # What is opened besides has one box in it, which is no function.
        opened = {box.path for box in drilled.containers}
        in_slice = set(range(len(graph))) if of is graph else set(of.events().tolist())
        inside = defaultdict(set)
        for row in in_slice:
            for depth in range(1, 5):
                inside[paths[row][:depth]].add(paths[row][: depth + 1])
        for path in opened - asked:
            above = path[:-1]
            assert above in opened and inside[above] == {path}

        labels = {row: shown(path, opened, top) for row, path in paths.items()}
        expected = aggregate(of, lambda event, labels=labels: "\n".join(labels[event.id])).by_label()
        assert {"\n".join(box.path): figures(box) for box in drilled.boxes} == {
            node.label: figures(node) for node in expected.nodes
        }
        for box in (*drilled.boxes, *drilled.containers):
            # Work that at a function's level is nobody's does not become somebody's above.
            assert box.self_ns == sum(ns for path, ns in own.items() if path[: len(box.path)] == box.path)
        assert all(box.inside == len(inside[box.path]) for box in drilled.boxes if len(box.path) < 5)
        edges = Counter()
        firsts = {node.label: node.first_event for node in expected.nodes}
        assert firsts == {"\n".join(box.path): box.first_event for box in drilled.boxes}
        for edge in expected.edges:
            if edge.kind != "next":
                ends = expected.label(edge.source), expected.label(edge.target)
                edges[(*ends, edge.kind, edge.channel)] = (edge.count, edge.latency_ns)
        assert edges == {
            ("\n".join(edge.source), "\n".join(edge.target), edge.kind, edge.channel): (edge.count, edge.latency_ns)
            for edge in drilled.edges
        }
        for box in drilled.containers:
            one = aggregate(of, lambda event, box=box: str(paths[event.id][: len(box.path)] == box.path)).by_label()
            assert figures(box) == next(figures(node) for node in one.nodes if node.label == "True")


@pytest.fixture
def two(new_run):
    """Two processes: one with two threads, one with one."""
    run = new_run()
    web, db = run.process("web"), run.process("db")
    main, pool, server = web.thread("MainThread"), web.thread("pool_0"), db.thread("MainThread")
    main.enter("web:handle", at=0).send(1, at=10)
    server.enter("db:find", at=20).join(1, at=30).exit("db:find", at=130)
    pool.enter("web:log", at=40).exit("web:log", at=60)
    main.exit("web:handle", at=200)
    return run.graph()


def test_an_opened_box_gives_way_to_those_in_it_and_others_stay(two):
    found = leaves(two, "thread")
    closed = drill(found, "process", [])
    assert [box.path[1:] for box in closed.boxes] == [("web",), ("db",)]
    web, db = closed.boxes
    assert (web.inside, db.inside) == (2, 1)
    opened = drill(found, "process", [web.path])
    assert [box.path[1:] for box in opened.boxes] == [("web", "MainThread"), ("db",), ("web", "pool_0")]
    assert opened.boxes[1] == db and opened.containers == [web]


def test_drill_down_opens_single_boxes_until_there_are_several(two):
    found = leaves(two, "thread")
    opened = drill(found, "process", [("host", "db")])
    # There is one thread, and one component in it; functions are what one looks for.
    assert [box.path for box in opened.containers] == [
        ("host", "db"), ("host", "db", "MainThread"), ("host", "db", "MainThread", "db"),
    ]  # fmt: skip
    assert [box.path[3:] for box in opened.boxes if box.path[1] == "db"] == [("db", "db:find")]


def test_drill_down_into_no_container_opens_nothing(two):
    found = leaves(two, "thread")
    assert drill(found, "process", [("host", "nowhere"), ("host", "web", "MainThread")]) == drill(found, "process", [])


def test_an_unknown_level_is_named_with_those_there_are(two):
    with pytest.raises(
        ClewError, match="no level 'galaxy' here; levels: machine, process, thread, component, function"
    ):
        drill(leaves(two, "thread"), "galaxy", [])
    with pytest.raises(ClewError, match='"thread"s or its "task"s'):
        leaves(two, "fibre")


def test_calls_that_were_only_counted_are_told_of_apart(new_run):
    run = new_run()
    process = run.process()
    process.thread().enter("app:f").exit("app:f")
    process.counters = {"app:g": 7}
    assert leaves(run.graph(), "thread").counted == 7


def test_a_run_without_events_has_no_boxes(graph_of):
    found = leaves(graph_of([], []), "task")
    assert drill(found, "machine", []).boxes == []
