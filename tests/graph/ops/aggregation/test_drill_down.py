"""Compare opening the nodes of an aggregate graph with aggregating by a label that is computed per event."""

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
    """Return a graph of threads and tasks of a few processes that call functions, recurse, wait and fail."""
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
    """Return the labels of an event from the machine down to the function."""

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
def test_drill_down_node_statistics_equal_aggregate_by_its_label(new_run, seed, monkeypatch):
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

    def statistics_of(box):
        return tuple(getattr(box, name) for name in names)

    for _ in range(4):
        level = random.choice(found.levels)
        top = found.levels.index(level) + 1
        every = sorted({path[:depth] for path in paths.values() for depth in range(1, 5)})
        asked = set(random.sample(every, random.randint(0, min(6, len(every)))))
        drilled = drill(found, level, asked)
        # Every other opened node has exactly one child, which is not a function.
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
        assert {"\n".join(box.path): statistics_of(box) for box in drilled.boxes} == {
            node.label: statistics_of(node) for node in expected.nodes
        }
        for box in (*drilled.boxes, *drilled.containers):
            # Time without an owner at function level stays without an owner at coarser levels.
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
            assert statistics_of(box) == next(statistics_of(node) for node in one.nodes if node.label == "True")


@pytest.fixture
def two(new_run):
    """Return the graph of two processes: one with two threads, one with one."""
    run = new_run()
    web, db = run.process("web"), run.process("db")
    main, pool, server = web.thread("MainThread"), web.thread("pool_0"), db.thread("MainThread")
    main.enter("web:handle", at=0).send(1, at=10)
    server.enter("db:find", at=20).join(1, at=30).exit("db:find", at=130)
    pool.enter("web:log", at=40).exit("web:log", at=60)
    main.exit("web:handle", at=200)
    return run.graph()


def test_drill_down_open_node_is_replaced_by_its_children(two):
    found = leaves(two, "thread")
    closed = drill(found, "process", [])
    assert [box.path[1:] for box in closed.boxes] == [("web",), ("db",)]
    web, db = closed.boxes
    assert (web.inside, db.inside) == (2, 1)
    opened = drill(found, "process", [web.path])
    assert [box.path[1:] for box in opened.boxes] == [("web", "MainThread"), ("db",), ("web", "pool_0")]
    assert opened.boxes[1] == db and opened.containers == [web]


def test_drill_down_opens_only_children_down_to_several_nodes(two):
    found = leaves(two, "thread")
    opened = drill(found, "process", [("host", "db")])
    # The process has one thread with one component, so the functions are shown.
    assert [box.path for box in opened.containers] == [
        ("host", "db"), ("host", "db", "MainThread"), ("host", "db", "MainThread", "db"),
    ]  # fmt: skip
    assert [box.path[3:] for box in opened.boxes if box.path[1] == "db"] == [("db", "db:find")]


def test_drill_down_into_unknown_container_is_ignored(two):
    found = leaves(two, "thread")
    assert drill(found, "process", [("host", "nowhere"), ("host", "web", "MainThread")]) == drill(found, "process", [])


def test_drill_down_unknown_level_is_refused_with_known_levels(two):
    with pytest.raises(
        ClewError, match="unknown level 'galaxy'; levels: machine, process, thread, component, function"
    ):
        drill(leaves(two, "thread"), "galaxy", [])
    with pytest.raises(ClewError, match='"thread"s or its "task"s'):
        leaves(two, "fibre")


def test_drill_down_reports_counted_calls_separately(new_run):
    run = new_run()
    process = run.process()
    process.thread().enter("app:f").exit("app:f")
    process.counters = {"app:g": 7}
    assert leaves(run.graph(), "thread").counted == 7


def test_drill_down_of_empty_run_has_no_nodes(graph_of):
    found = leaves(graph_of([], []), "task")
    assert drill(found, "machine", []).boxes == []
