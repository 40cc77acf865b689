"""Compare conditions over a whole graph with conditions per event, on threads, on many tasks, and in the store."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.errors import QueryError
from clew.graph.store.store import open_graph
from clew.query import scan
from clew.query.api import open_run
from clew.query.fields import COMPARISONS, FIELDS, OF_TEXT, check_condition, column, filter_rows
from clew.query.operators.events.where import matching
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.examples import examples
from tests.support.runs.records import RunFolder

EXACT = [name for name in COMPARISONS if name not in OF_TEXT]


@pytest.fixture(scope="module", params=["threads", "tasks", "nothing"])
def folder(request, tmp_path_factory):
    base = tmp_path_factory.mktemp("whole")
    folder, info = create_run(base, name="whole", command=["python"], spec="", plan=dump(Plan()), cwd=base)
    save_run(folder, info)
    run, chance = RunFolder(folder, info), random.Random(11)
    if request.param == "nothing":
        return run.write()
    for name, threads in (("client", ["MainThread", "worker"]), ("server", ["MainThread"])):
        process = run.process(name)
        for thread in map(process.thread, threads):
            for number in range(60):
                run.clock.step = chance.choice([0, 10, 1000])
                if request.param == "tasks":
                    thread.step(task := f"task {chance.randrange(20)}")
                function = chance.choice(["api:Api.get", "disk:read", "disk:write"])
                thread.enter(function)
                if number % 3:
                    thread.log(
                        f"line {number % 11}", level=chance.choice([10, 20, 40]), function=function, line=number % 7
                    )
                thread.send(number % 4, channel=chance.choice(["queue", "message"]))
                thread.exit(function)
                if request.param == "tasks":
                    thread.stop(task)
                thread.log("outside", level=30)
    return run.write()


@pytest.fixture(scope="module")
def graphs(folder):
    built, _ = open_graph(folder)
    stored, _ = open_graph(folder)
    return built, stored


def conditions_of(graph):
    """Return conditions that compare any field with a value of some event, or with a value next to it."""

    @st.composite
    def some(draw):
        name = draw(st.sampled_from(sorted(FIELDS)))
        row = draw(st.integers(0, max(len(graph) - 1, 0)))
        values = column(graph, np.array([row] * bool(len(graph)), np.int64), name).to_list() or [0]
        comparison = draw(st.sampled_from(EXACT if FIELDS[name].is_number or name == "level" else sorted(COMPARISONS)))
        value = values[0] if FIELDS[name].is_number or values[0] else "INFO"
        if FIELDS[name].is_number:
            value += draw(st.sampled_from([0, 0, 1, -0.5]))
        try:
            return check_condition(f"{name}__{comparison}", [value] if comparison == "in" else value)
        except QueryError:
            return check_condition("kind", "log")

    return some()


def test_scan_of_whole_graph_equals_conditions_per_event(graphs):
    built, stored = graphs

    @given(st.lists(conditions_of(built), min_size=1, max_size=4))
    @settings(max_examples=examples(250), deadline=None)
    def hold(conditions):
        rows = np.arange(len(built), dtype=np.int64)
        for condition in conditions:
            rows = filter_rows(built, rows, *condition)
        for graph in (built, stored):
            found, rest = scan.choose(graph, conditions)
            assert matching(graph, found, tuple(rest)).tolist() == rows.tolist()

    hold()


@pytest.mark.parametrize("many", [0, 1 << 12])
def test_scan_in_blocks_or_by_ranges_equals_matching(graphs, monkeypatch, many):
    graph, _ = graphs
    monkeypatch.setattr(scan, "MANY", many)
    monkeypatch.setattr(scan, "BLOCK", 7)
    for conditions in (
        [("kind", "eq", "log"), ("process", "eq", "client")],
        [("kind", "in", ("enter", "exit")), ("function", "contains", "disk"), ("ts", "ge", 500)],
        [("thread", "ne", "MainThread"), ("ts", "lt", 10_000), ("line", "gt", 3)],
    ):
        rows = np.arange(len(graph), dtype=np.int64)
        found, rest = scan.choose(graph, conditions)
        assert matching(graph, found, tuple(rest)).tolist() == matching(graph, rows, tuple(conditions)).tolist()


def test_where_times_outside_the_run_select_all_or_none(folder):
    events = open_run(folder).events
    assert events.where(ts__ge=-1, ts__lt=1 << 62, kind="log").count() == events.where(kind="log").count()
    assert events.where(ts__lt=-1).count() == events.where(ts__gt=1 << 62).count() == 0
