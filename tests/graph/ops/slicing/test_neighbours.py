"""Walk the graph one edge at a time, and group requests by the structure of their flows."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.causes.why import down, up
from clew.graph.ops.slicing.neighbours import neighbour_table, neighbours
from clew.query.api import Run, open_run
from clew.records.errors import ClewError
from tests.support.examples import examples
from tests.support.graphs.bare_graphs import expanded


@pytest.fixture
def walked(run) -> Run:
    """Rows: main 0 enter serve, 1 log a, 2 scope begin, 3 log b, 4 send, 5 scope end, 6 log c; other 7 join, 8 enter, 9 log d,
    10 send; third 11 join."""
    process = run.process()
    main, other, third = process.thread(), process.thread("other"), process.thread("third")
    main.enter("serve").log("a").begin(1).log("b").send(1).end().log("c")
    other.join(1).enter("work").log("d").send(2)
    third.join(2)
    return open_run(run.write())


def test_event_neighbours_in_every_direction_are_exact(walked):
    event = walked.graph.event

    def ids(way):
        return [None if found is None else found.id for found in (getattr(event(row), way)() for row in range(12))]

    assert [event(row).kind for row in range(12)] == [
        "enter", "log", "scope_begin", "log", "send", "scope_end", "log", "join", "enter", "log", "send", "join",
    ]  # fmt: skip
    assert ids("next") == [1, 2, 3, 4, 5, 6, None, 8, 9, 10, None, None]
    assert ids("previous") == [None, 0, 1, 2, 3, 4, 5, None, 7, 8, 9, None]
    assert ids("cause")[9] == 4 and ids("cause")[11] == 10 and ids("cause")[0] is None
    assert ids("effect") == [None, None, 7, 7, 7, None, None, 11, 11, 11, 11, None]
    # A strand's scope begins with its first event; the scope of a scope's begin is the scope around it.
    assert ids("scope") == [None, 0, 0, 2, 2, 2, 0, None, 7, 7, 7, None]
    assert ids("caller")[1] == 0 and ids("caller")[9] == 8 and ids("caller")[0] is None
    assert [step.id for step in event(9).why()][:2] == [9, 4]


def test_event_cause_is_the_second_step_of_why(walked):
    for row in range(12):
        event = walked.graph.event(row)
        steps = event.why()
        assert event.cause() == (steps[1] if len(steps) > 1 else None)


def test_up_and_down_lead_between_event_and_its_nodes(walked):
    graph = walked.graph
    functions, threads = aggregate(graph, "function"), aggregate(graph, "thread")
    node = up(functions, 9)
    assert functions.label(node) == "app:work" and 9 in down(functions, node)
    assert threads.label(up(threads, 9)).endswith("/other")
    finer = down(threads, up(threads, 9), functions)
    assert node in finer
    assert {event for inner in finer for event in down(functions, inner)} >= set(down(threads, up(threads, 9)))
    part = aggregate(walked.slice(11).result, "thread")
    assert up(part, 1) == -1


def test_neighbours_equal_edges_of_expanded_graph(graphs):
    @settings(max_examples=examples(200), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        whole = expanded(graph)
        for row in range(len(graph)):
            found = neighbours(graph, row)
            assert {item.event.id for item in found if item.role == "cause"} == set(whole.predecessors(row))
            assert {item.event.id for item in found if item.role == "effect"} == set(whole.successors(row))
            assert sum(item.edge >= 0 for item in found) == sum(
                (graph.edge_src == row).tolist()) + sum((graph.edge_dst == row).tolist())  # fmt: skip
        some = data.draw(st.lists(st.integers(0, len(graph) - 1), max_size=4))
        rows = neighbour_table(graph, np.array(some, np.int64)).rows
        assert [(row.event, row.role, row.kind, row.edge, row.neighbour) for row in rows] == [
            (event, item.role, item.kind, item.edge, item.event.id)
            for event in some
            for item in neighbours(graph, event)
        ]

    check()


def test_neighbours_of_chosen_events_are_rows(walked):
    rows = list(walked.events.where(kind="log", text="d").neighbours())
    assert [(row.role, row.kind, row.neighbour) for row in rows] == [("cause", "next", 8), ("effect", "next", 10)]
    (sent,) = walked.events.where(id=4)
    assert [(item.role, item.kind, item.channel, item.event.id) for item in sent.neighbours()] == [
        ("cause", "next", "", 3), ("effect", "use", "message", 7), ("effect", "next", "", 5),
    ]  # fmt: skip
    assert repr(walked.events.where(kind="log").neighbours()).endswith(".where(kind='log').neighbours()")
    assert walked.events.where(id=4).neighbours().to_arrow().column("channel").to_pylist() == ["", "message", ""]


def shapes(run, orders, pause=lambda: None):
    """Return a run whose requests each call functions in the given order in other threads."""
    process = run.process()
    main = process.thread()
    workers = [process.thread(f"worker-{number}") for number in range(2)]
    for number, order in enumerate(orders):
        main.enter("serve").request("Get")
        for place, name in enumerate(order):
            pause()
            main.send((number, place))
            workers[place % 2].receive((number, place)).enter(name).exit(name)
        main.exit("serve")
    return open_run(run.write())


def test_categories_group_requests_by_structure_not_duration(new_run):
    chance = random.Random(3)
    run = new_run("one")

    def pause():
        run.clock.now += chance.randrange(1000)

    opened = shapes(run, ["ab", "ab", "ba", "abb", "ab", "a"], pause)
    found = list(opened.requests.categories())
    assert [category.count for category in found] == [4, 1, 1]
    assert {category.name for category in found} == {"Get"}
    assert found[0].flow == (("app:serve", "app:a"), ("app:serve", "app:b"))
    assert sorted(len(category.flow) for category in found) == [1, 2, 3]
    assert found[0].requests == tuple(opened.requests.ids()[[0, 1, 2, 4]])
    table = opened.requests.named("Get").categories().to_arrow()
    assert table.column("requests").to_pylist() == [4, 1, 1]
    assert table.column("flow")[0].as_py() == "app:serve>app:a app:serve>app:b"
    assert opened.requests.categories("process").count() == 1


def test_categories_order_of_equal_children_does_not_matter(new_run):
    def build(name, deep_first):
        run = new_run(name)
        process = run.process()
        main, worker, last = process.thread(), process.thread("worker"), process.thread("last")
        main.enter("serve").request("Get")
        for place in range(2):
            main.send(place)
            worker.receive(place).enter("step")
            if (place == 0) == deep_first:
                worker.send(f"deep {place}")
                last.receive(f"deep {place}").enter("deep").exit("deep")
            worker.exit("step")
        main.exit("serve")
        (found,) = open_run(run.write()).requests.categories()
        return found.flow

    assert build("early", True) == build("late", False)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: run.events.categories(), "write run.requests.categories()"),
        (lambda run: run.requests.categories().where(kind="log"), "write run.requests.where(…).categories()"),
        (lambda run: run.requests.categories().named("x"), "write run.requests.named(…).categories()"),
        (lambda run: run.events.neighbours().where(kind="log"), "write .where(…) before .neighbours()"),
        (lambda run: run.events.neighbours().slice(), "run.slice(*(row.neighbour for row in …))"),
    ],
)
def test_neighbours_with_wrong_arguments_are_refused_with_advice(walked, ask, message):
    with pytest.raises(ClewError) as refused:
        ask(walked)
    assert message in str(refused.value)
