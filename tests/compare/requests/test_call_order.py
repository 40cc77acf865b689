"""Flows keep the causal order of calls: one after the other, or in parallel; the schedule of parallel work does not matter."""

from __future__ import annotations

import random

import pytest

import clew
from clew.compare.requests.diff import compare
from clew.graph.ops.flows.flows import Flows


@pytest.fixture
def requests_of(make_run):
    """Return a function that records 20 requests with the given steps and returns their flows.

    `call a` is a plain call; `open x` starts a task of a worker, `run x` runs it and `join x` waits for its answer.
    """

    def record(name, *plans, ordered=True):
        run = make_run(name)
        process = run.process()
        main, worker = process.thread(), process.thread("worker")
        for request in range(20):
            main.enter("serve").request("show")
            for step in plans[request % len(plans)].split(", "):
                what, of = step.split()
                key = f"{of}-{request}"
                if what == "call":
                    main.enter(of).exit(of)
                elif what == "open":
                    main.send(key, "queue")
                elif what == "run":
                    worker.receive(key, "queue").enter(of).exit(of).send(f"done-{key}", "queue")
                else:
                    main.join(f"done-{key}", "queue")
            main.exit("serve")
        return Flows.of(clew.open(run.write()), ordered=ordered)

    return record


def kinds(flows):
    return len(set(flows.category.tolist()))


def test_call_order_one_after_the_other_is_kept(requests_of):
    two = ("call a, call b", "call b, call a")
    assert kinds(requests_of("ordered", *two)) == 2
    assert kinds(requests_of("unordered", *two, ordered=False)) == 1
    assert [requests_of("text", one).text(0) for one in two] == [
        "app:serve>app:a app:serve>app:b",
        "app:serve>app:b app:serve>app:a",
    ]


def test_call_order_parallel_and_one_after_the_other_differ(requests_of):
    parallel = "open x, open y, run x, run y, join x, join y"
    serial = "open x, run x, join x, open y, run y, join y"
    assert kinds(requests_of("ordered", parallel, serial)) == 2
    assert kinds(requests_of("unordered", parallel, serial, ordered=False)) == 1


def test_call_order_of_parallel_calls_ignores_the_schedule(requests_of):
    schedules = [
        "open x, open y, run x, run y, join x, join y", "open y, open x, run x, run y, join x, join y",
        "open x, open y, run y, run x, join y, join x", "open x, run x, open y, run y, join x, join y",
    ]  # fmt: skip
    assert kinds(requests_of("schedules", *schedules)) == 1


def test_call_order_beside_a_task_is_kept(requests_of):
    beside = ["open x, call a, call b, run x, join x", "open x, call b, call a, run x, join x"]
    assert kinds(requests_of("beside", *beside)) == 2
    # A task that is joined before or after the calls, and one that nobody waits for.
    joined = ["open x, run x, join x, call a", "open x, run x, call a, join x", "call a, open x, run x, join x"]
    assert kinds(requests_of("joined", *joined)) == 3
    assert kinds(requests_of("free", "open x, run x, call a, call b", "open x, run x, call b, call a")) == 2


def test_call_order_same_shape_has_same_calls_in_same_places(requests_of):
    chance, steps = random.Random(3), ["call a", "call b", "call c", "open x, run x, join x"]
    plans = [", ".join(chance.choices(steps, k=3)) for _ in range(20)]
    plans = [plan if plan.count("open x") < 2 else "call a" for plan in plans]
    flows = requests_of("random", *plans)
    assert kinds(flows) == len(set(plans))
    for category in range(len(flows.categories)):
        labels = flows.matrix("label", flows.members(category))
        assert (labels == labels[0]).all()


def test_diff_of_another_order_is_a_new_flow_with_its_precursor(requests_of):
    changed = compare(requests_of("before", "call a, call b"), requests_of("after", "call b, call a"))
    (row,) = changed.rows
    assert row.kind == "structural" and "with the same calls in another order or parallelism" in row.sentence()
    plain = [
        requests_of(f"plain-{number}", plan, ordered=False)
        for number, plan in enumerate(("call a, call b", "call b, call a"))
    ]
    assert compare(*plain).of("structural") == ()
