"""Critical paths, slack and what-if against small programs that networkx times: the longest path of their steps."""

from dataclasses import dataclass, field

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.ops.critical_path import critical_path
from clew.graph.ops.slice import slice_events
from clew.records.errors import ClewError

FUNCTIONS = ("app:f", "app:g", "app:h")


@dataclass
class Program:
    """Threads whose every record takes 1 ns, but for the work between a function's enter and exit; a join takes 1 ns from when
    all that it waits for is there. Steps are nodes (thread, number), and their times the longest ways to them."""

    steps: list = field(default_factory=list)
    """Per thread its records: (method, arguments)."""
    needs: list = field(default_factory=list)
    """(step, step before it, length, whose work it is)."""

    def put(self, thread, method, *arguments, length=1, work="", after=()):
        mine = self.steps[thread]
        step = (thread, len(mine))
        mine.append((method, arguments))
        if step[1]:
            self.needs.append((step, (thread, step[1] - 1), length, work))
        self.needs += [(step, other, 1, "") for other in after]
        return step

    def timed(self, function="", percent=0, late=None, by=0):
        """The program's steps with their times, with a function `percent` % faster, and one need `by` ns longer."""
        made = nx.DiGraph()
        for (thread, number), _ in ((step, None) for step in self.all_steps()):
            made.add_edge("begin", (thread, number), weight=0)
        for step, other, length, work in self.needs:
            length = length * (100 - percent) // 100 if work and work == function else length
            length += by if (other, step) == late else 0
            made.add_edge(other, step, weight=length)
        times = {"begin": 0}
        for node in nx.topological_sort(made):
            times[node] = max((times[a] + w["weight"] for a, _, w in made.in_edges(node, data=True)), default=0)
        return made, times

    def all_steps(self):
        return [(thread, number) for thread, steps in enumerate(self.steps) for number in range(len(steps))]

    def recorded(self, run):
        _, times = self.timed()
        process = run.process()
        for thread, steps in enumerate(self.steps):
            records = process.thread(f"t{thread}")
            for number, (method, arguments) in enumerate(steps):
                getattr(records, method)(*arguments, at=times[thread, number])
        return run.graph()


@st.composite
def programs(draw, requests=False):
    threads = draw(st.integers(2, 4))
    program = Program([[] for _ in range(threads)])
    for thread in range(threads):
        program.put(thread, "enter", f"main{thread}")
    sent = [[] for _ in range(threads)]
    for number in range(draw(st.integers(4, 30))):
        thread, action = draw(st.integers(0, threads - 1)), draw(st.integers(0, 3))
        if action == 0:
            other = (thread + draw(st.integers(1, threads - 1))) % threads
            sent[other].append((number, program.put(thread, "send", number)))
        elif action == 1 and sent[thread]:
            # Waits for some of what was sent to it, all at once; a log keeps two waits apart.
            count = draw(st.integers(1, len(sent[thread])))
            order = draw(st.permutations(sent[thread]))
            sent[thread] = list(order[count:])
            program.put(thread, "log", "waits")
            after = [step for _, step in order[:count]]
            for message, _ in order[:count]:
                program.put(thread, "join", message, after=after)
                after = []
            program.put(thread, "log", "goes on")
        elif action:
            function = draw(st.sampled_from(FUNCTIONS))
            program.put(thread, "enter", function)
            if requests:
                program.put(thread, "request", draw(st.sampled_from(["read", "write"])))
            program.put(thread, "exit", function, length=100 * draw(st.integers(1, 9)), work=function)
            program.put(thread, "log", "done")
    for thread in range(threads):
        # The first thread waits for all that is left, so that most of the program leads to its end.
        if thread:
            sent[0].append((f"end {thread}", program.put(thread, "send", f"end {thread}")))
            program.put(thread, "exit", f"main{thread}")
    program.put(0, "log", "waits")
    after = [step for _, step in sent[0]]
    for message, _ in sent[0]:
        program.put(0, "join", message, after=after)
        after = []
    program.put(0, "exit", "main0")
    return program


ANY_PROGRAM = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def path_to_the_end(program, graph, thread, level="function"):
    end = graph.strands[thread].stop - 1
    return critical_path(graph, slice_events(graph, [end]), level), (thread, len(program.steps[thread]) - 1)


def need_of(program, graph, source, joined):
    """The need of the program that two rows stand for: all joins of one wait are held up at the first one."""
    (a, i), (b, j) = (
        (int(graph.strand[row]), row - graph.strand_of(row).start) for row in (source, joined)
    )  # fmt: skip
    needs = {(before, step) for step, before, _, _ in program.needs}
    while ((a, i), (b, j)) not in needs:
        j -= 1
    return (a, i), (b, j)


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_a_path_is_as_long_as_the_longest_way_through_the_program(new_run, program, data):
    graph = program.recorded(new_run())
    thread = data.draw(st.sampled_from([0, 0, 0, 1]))
    path, end = path_to_the_end(program, graph, thread)
    made, times = program.timed()
    upstream = made.subgraph({*nx.ancestors(made, end), end})
    assert path.total_ns == times[end] == nx.dag_longest_path_length(upstream)
    assert sum(segment.self_ns + segment.wait_ns for segment in path.segments) == path.total_ns
    # Nothing on the path has any time to spare: each jump's source is what its wait's first join came right after.
    for edge, row in zip(path.pieces.edge, path.pieces.rows[path.pieces.bounds[:-1]], strict=True):
        if edge >= 0:
            source, first = need_of(program, graph, int(graph.edge_src[edge]), int(row))
            assert times[first] == times[source] + 1


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_what_if_is_what_the_program_takes_with_the_function_faster(new_run, program, data):
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
def test_a_branch_can_be_late_by_its_slack_and_no_more(new_run, program, data):
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
def test_any_work_of_a_function_can_be_longer_by_its_slack_and_no_more(new_run, program, data):
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


def test_a_label_without_work_is_refused_with_the_nearest(run):
    run.process().thread().enter("parse", at=0).exit("parse", at=100)
    graph = run.graph()
    path = critical_path(graph, slice_events(graph, [1]))
    with pytest.raises(
        ClewError, match=r"no function 'app:pars' did any work before the path's end; did you mean 'app:parse'\?"
    ):
        path.what_if("app:pars", 10)
    with pytest.raises(ClewError, match="101 % faster: give at most 100"):
        path.what_if("app:parse", 101)
    assert path.what_if("app:parse", 100).after_ns == 0
    assert path.project("process").what_if("server", 10).saved_ns == 10


def test_tasks_of_a_loop_wait_for_their_turn_and_its_thread_for_them_all(run):
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
    # The loop's own strand goes on when the last of its tasks is over.
    main = critical_path(graph, slice_events(graph, [graph.strands[0].stop - 1]))
    assert graph.function(graph.strands[0].start) == "app:main"
    assert main.what_if("app:b", 50).saved_ns == 215
    # What a did before b began, when nobody had asked for b yet, saves nothing.
    assert main.what_if("app:a", 100).saved_ns == 130


def test_what_was_done_before_the_path_begins_saves_nothing(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("main", at=0).send("job", at=100)
    worker.join("job", at=150).enter("work", at=160).exit("work", at=900).send("done", at=910)
    main.enter("wait", at=300).join("done", at=1000).exit("wait", at=1100)
    graph = run.graph()
    path = critical_path(graph, slice_events(graph, [graph.strands[0].stop - 1]), since_ns=300)
    # 610 of the worker's work are after 300, and until then nothing is sooner.
    assert path.what_if("app:work", 100).saved_ns == 610
    assert path.what_if("app:work", 10).after_ns == 800 - 61
