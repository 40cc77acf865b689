"""Compare critical paths, slack and what-if with small programs that networkx times by their longest path."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path
from clew.records.errors import ClewError
from tests.support.runs.timed_programs import ANY_PROGRAM, FUNCTIONS, programs


def path_to_the_end(program, graph, thread, level="function"):
    end = graph.strands[thread].stop - 1
    return critical_path(graph, slice_events(graph, [end]), level), (thread, len(program.steps[thread]) - 1)


def need_of(program, graph, source, joined):
    """Return the program's need that two rows belong to; all joins of one wait block at its first join."""
    (a, i), (b, j) = (
        (int(graph.strand[row]), row - graph.strand_of(row).start) for row in (source, joined)
    )  # fmt: skip
    needs = {(before, step) for step, before, _, _ in program.needs}
    while ((a, i), (b, j)) not in needs:
        j -= 1
    return (a, i), (b, j)


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_critical_path_length_equals_longest_path_of_program(new_run, program, data):
    graph = program.recorded(new_run())
    thread = data.draw(st.sampled_from([0, 0, 0, 1]))
    path, end = path_to_the_end(program, graph, thread)
    made, times = program.timed()
    upstream = made.subgraph({*nx.ancestors(made, end), end})
    assert path.total_ns == times[end] == nx.dag_longest_path_length(upstream)
    assert sum(segment.self_ns + segment.wait_ns for segment in path.segments) == path.total_ns
    # Events on the path have no slack: the first join of a wait comes right after the source of its jump.
    for edge, row in zip(path.pieces.edge, path.pieces.rows[path.pieces.bounds[:-1]], strict=True):
        if edge >= 0:
            source, first = need_of(program, graph, int(graph.edge_src[edge]), int(row))
            assert times[first] == times[source] + 1


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_what_if_equals_time_of_program_with_faster_function(new_run, program, data):
    graph = program.recorded(new_run())
    thread = data.draw(st.sampled_from([0, 0, 0, 1]))
    path, end = path_to_the_end(program, graph, thread)
    function = data.draw(st.sampled_from(FUNCTIONS))
    percent = data.draw(st.sampled_from([1, 10, 33, 50, 90, 99, -20, -100]))
    _, times = program.timed()
    _, faster = program.timed(function, percent)
    try:
        found = path.what_if(function, percent)
    except ClewError as error:
        assert "did any work" in str(error)
        assert times[end] == faster[end]
        return
    assert found.saved_ns == times[end] - faster[end]
    assert found.after_ns == faster[end]


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_branch_slack_is_the_longest_harmless_delay(new_run, program, data):
    graph = program.recorded(new_run())
    thread = data.draw(st.sampled_from([0, 0, 0, 1]))
    path, end = path_to_the_end(program, graph, thread)
    _, times = program.timed()
    on_path = set(path.pieces.rows.tolist())
    for branch in path.branches():
        need = need_of(program, graph, branch.event, branch.joined_by)
        assert program.timed(late=need, by=branch.slack_ns)[1][end] == times[end]
        if branch.event not in on_path:
            assert program.timed(late=need, by=branch.slack_ns + 1)[1][end] == times[end] + 1


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_function_slack_is_the_longest_harmless_delay(new_run, program, data):
    graph = program.recorded(new_run())
    thread = data.draw(st.sampled_from([0, 0, 0, 1]))
    path, end = path_to_the_end(program, graph, thread)
    _, times = program.timed()
    found = {slack.label: slack for slack in path.slacks()}
    for function in FUNCTIONS:
        needs = [
            (other, step) for step, other, _, work in program.needs if work == function and times[step] <= times[end]
        ]
        assert (function in found) >= bool(needs)
        slack = found[function].slack_ns if function in found else None
        longer = [program.timed(late=need, by=1_000_000 if slack is None else slack)[1][end] for need in needs]
        assert set(longer) <= {times[end]}
        if slack is not None:
            assert max(program.timed(late=need, by=slack + 1)[1][end] for need in needs) == times[end] + 1
    on_path = {segment.label for segment in path.segments if segment.self_ns}
    assert all(found[label].slack_ns == 0 for label in on_path)


def test_what_if_label_without_work_is_refused_with_nearest_name(run):
    run.process().thread().enter("parse", at=0).exit("parse", at=100)
    graph = run.graph()
    path = critical_path(graph, slice_events(graph, [1]))
    with pytest.raises(
        ClewError, match=r"no function 'app:pars' did any work before the path's end; did you mean 'app:parse'\?"
    ):
        path.what_if("app:pars", 10)
    with pytest.raises(ClewError, match="101 % faster: expected at most 100 %"):
        path.what_if("app:parse", 101)
    assert path.what_if("app:parse", 100).after_ns == 0
    assert path.project("process").what_if("server", 10).saved_ns == 10


def test_what_if_of_event_loop_tasks_includes_queueing(run):
    thread = run.process().thread()
    thread.enter("main", at=0)
    thread.step("a", at=10).enter("a", at=15).suspend("a", at=20).stop("a", at=30)
    thread.step("b", at=40).enter("b", at=50).send("wake", at=60, channel="asyncio.handle").exit("b", at=460)
    thread.stop("b", at=470)
    thread.step("a", at=480).join("wake", at=490, channel="asyncio.handle").resume("a", at=500).exit("a", at=600)
    thread.stop("a", at=610).exit("main", at=700)
    graph = run.graph()
    end_of_a = next(strand.stop - 1 for strand in graph.strands if strand.name == "a")
    path = critical_path(graph, slice_events(graph, [end_of_a]))
    # b wakes a at 60, but runs on: all of its 430 from 40 to 470 delay a.
    assert path.what_if("app:b", 50).saved_ns == 215
    # The loop's own strand continues when its last task has ended.
    main = critical_path(graph, slice_events(graph, [graph.strands[0].stop - 1]))
    assert graph.function(graph.strands[0].start) == "app:main"
    assert main.what_if("app:b", 50).saved_ns == 215
    # The part of a before b began does not delay b, so it does not count.
    assert main.what_if("app:a", 100).saved_ns == 130


def test_what_if_ignores_work_before_the_path(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("main", at=0).send("job", at=100)
    worker.join("job", at=150).enter("work", at=160).exit("work", at=900).send("done", at=910)
    main.enter("wait", at=300).join("done", at=1000).exit("wait", at=1100)
    graph = run.graph()
    path = critical_path(graph, slice_events(graph, [graph.strands[0].stop - 1]), since_ns=300)
    # 610 of the worker's time are after 300; the time before does not count.
    assert path.what_if("app:work", 100).saved_ns == 610
    assert path.what_if("app:work", 10).after_ns == 800 - 61
