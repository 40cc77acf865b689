"""Random programs with known times."""

from dataclasses import dataclass, field

import networkx as nx
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support.examples import examples

FUNCTIONS = ("app:f", "app:g", "app:h")


@dataclass
class Program:
    """Threads in which each record takes 1 ns, except the work between enter and exit of a function; a join takes 1 ns after
    all that it waits for has arrived. Steps are nodes (thread, number), and their times are the longest paths to them."""

    steps: list = field(default_factory=list)
    """The records of each thread as (method, arguments)."""
    needs: list = field(default_factory=list)
    """(step, previous step, length, the function that works)."""

    def put(self, thread, method, *arguments, length=1, work="", after=()):
        mine = self.steps[thread]
        step = (thread, len(mine))
        mine.append((method, arguments))
        if step[1]:
            self.needs.append((step, (thread, step[1] - 1), length, work))
        self.needs += [(step, other, 1, "") for other in after]
        return step

    def timed(self, function="", percent=0, late=None, by=0):
        """Return the times of the steps, with a function `percent` % faster and one need `by` ns longer."""
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
            # Wait for some of the received messages at once; a log record separates two waits.
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
        # The first thread waits for all other messages, so that most of the program leads to its end.
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
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
