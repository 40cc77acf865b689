from collections import Counter

import numpy as np

from clew.graph.ops.profile.statistics import function_statistics
from clew.records.format.event import Kind
from tests.oracles.build.call_times import gaps


def by_label(graph):
    return {row.label.removeprefix("app:"): row for row in function_statistics(graph).values()}


def test_self_time_is_total_without_calls(run):
    thread = run.process().thread()
    thread.enter("f", at=0).enter("g", at=100).exit("g", at=150).enter("g", at=200).exit("g", at=270).exit("f", at=300)
    table = by_label(run.graph())
    assert (table["f"].calls, table["f"].total_ns, table["f"].self_ns, table["f"].waiting_ns) == (1, 300, 180, 0)
    assert (table["g"].calls, table["g"].total_ns, table["g"].self_ns) == (2, 120, 120)
    assert (table["g"].p50_ns, table["g"].p95_ns) == (50, 70)


def test_suspended_time_is_waiting_not_self_time(run):
    thread = run.process().thread()
    thread.step("t", at=0).enter("f", at=10).suspend("f", at=30).stop("t", at=31)
    thread.step("t", at=500).resume("f", at=510).exit("f", at=550).stop("t", at=551)
    row = by_label(run.graph())["f"]
    assert (row.total_ns, row.self_ns, row.waiting_ns) == (540, 20 + 40, 480)


def test_self_time_of_event_loop_excludes_its_tasks(run):
    thread = run.process().thread()
    thread.enter("main", at=0).log("x", at=100)
    thread.step("t", at=150).enter("f", at=160).exit("f", at=360).stop("t", at=370)
    thread.log("x", at=400).exit("main", at=450)
    table = by_label(run.graph())
    assert table["f"].self_ns == 200
    assert (table["main"].total_ns, table["main"].self_ns, table["main"].waiting_ns) == (450, 150, 300)


def test_waiting_time_of_event_loop_includes_gaps_between_callbacks(run):
    thread = run.process().thread()
    thread.enter("main", at=0)
    thread.begin(at=10).log("x", at=20).end(at=30)
    thread.begin(at=1030).log("x", at=1040).end(at=1050)
    thread.exit("main", at=1060)
    row = by_label(run.graph())["main"]
    assert row.waiting_ns == 1000
    assert row.self_ns == 60


def test_waiting_time_includes_wait_for_another_strand(run):
    process = run.process()
    worker, main = process.thread("worker"), process.thread()
    worker.enter("work", at=0).enter("get", at=100)
    main.log("x", at=0).send(1, at=5000)
    worker.exit("get", at=5100).receive(1, at=5110).exit("work", at=5200)
    table = by_label(run.graph())
    assert (table["get"].total_ns, table["get"].self_ns, table["get"].waiting_ns) == (5000, 0, 5000)
    assert table["work"].self_ns == 200


def test_waiting_time_excludes_message_that_came_before_the_join(run):
    process = run.process()
    worker, main = process.thread("worker"), process.thread()
    main.send(1, at=50)
    worker.enter("work", at=0).enter("get", at=100).exit("get", at=300).receive(1, at=310).exit("work", at=400)
    assert by_label(run.graph())["get"].self_ns == 200


def test_function_statistics_count_calls_that_raised_as_errors(run):
    run.process().thread().enter("f").unwind("f").enter("f").exit("f").enter("f")
    row = by_label(run.graph())["f"]
    assert (row.calls, row.errors) == (3, 1)


def test_self_times_along_a_strand_add_up(run):
    thread = run.process().thread()
    rng = np.random.default_rng(5)
    now, stack = 0, []
    for _ in range(400):
        now += int(rng.integers(1, 50))
        if stack and rng.random() < 0.5:
            thread.exit(stack.pop(), at=now)
        else:
            stack.append(f"f{rng.integers(4)}")
            thread.enter(stack[-1], at=now)
    graph = run.graph()
    outside = gaps(graph.ts, graph.strand)[graph.inner < 0].sum()
    assert graph.calls.self_ns.sum() + outside == graph.ts[-1] - graph.ts[0]
    called = Counter(graph.sites[int(site)].label for site in graph.site[graph.rows_of([Kind.ENTER])])
    assert {label: row.calls for label, row in by_label(graph).items()} == {
        label.removeprefix("app:"): count for label, count in called.items()
    }
