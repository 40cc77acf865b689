"""The program itself fails: stack, memory, signals, forks, exit. Its behaviour equals that of the untraced program."""

from __future__ import annotations

import signal
import sys

import pytest

from clew.query.api import open_run
from clew.records.format.event import FLAG_FAILED, Kind
from clew.records.format.header import State
from clew.records.plan.plan import Action, Plan, Rule, Target
from tests.support.programs.fault_programs import quiet


def test_recursion_limit_is_reached_at_the_same_depth(both):
    done = both(
        """
        import sys

        depth = 0

        def deep(number):
            global depth
            depth = number
            return deep(number + 1) + 1

        def shallow():
            return "fine"

        for limit in (60, 1000, 5000):
            sys.setrecursionlimit(limit)
            try:
                deep(0)
            except RecursionError as error:
                print(depth, error, shallow())
        """
    )
    quiet(done)
    assert done.process.problems == []
    depths = [int(line.split()[0]) for line in done.stdout.splitlines()]
    assert done.calls("deep") == sum(depths) + 3 + sum(depth < 0 for depth in depths)
    assert done.calls("shallow") == 3


def test_recursion_through_c_code_ends_at_the_same_depth(both):
    done = both(
        """
        import functools, json, sys

        class Nested:
            def __init__(self, depth):
                self.depth = depth

            def __repr__(self):
                global deepest
                deepest = self.depth
                return f"<{Nested(self.depth + 1)!r}>"

            def __eq__(self, other):
                return [self] == [other]

        for attempt in range(2):
            try:
                repr(Nested(0))
            except RecursionError:
                print(deepest)
            try:
                Nested(0) == Nested(1)
            except RecursionError as error:
                print(error)
        """
    )
    quiet(done)
    assert done.process.problems == []


def test_stack_overflow_ends_program_as_untraced_and_leaves_its_records(both):
    done = both(
        """
        import faulthandler, resource, sys

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.setrecursionlimit(10**9)

        def work():
            return 1

        class Bottomless:
            def __repr__(self):
                return repr([self.__class__()])

        print(sum(work() for _ in range(1000)), flush=True)
        repr(Bottomless())
        """
    )
    assert done.process.problems == []
    if sys.version_info < (3, 12):
        quiet(done, -signal.SIGSEGV)
        assert done.process.header.state == State.RECORDING
    else:  # these versions limit recursion of C code, too
        quiet(done, 1)
        assert done.process.header.state == State.CLOSED
    assert done.calls("work") == 1000


@pytest.mark.slow
def test_program_that_runs_out_of_memory_repeatedly_is_recorded(both):
    done = both(
        """
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (384 << 20, 384 << 20))

        def greedy(held):
            while True:
                held.append(bytearray(16 << 20))

        def work(number):
            return number + 1

        for _ in range(3):
            held = []
            try:
                greedy(held)
            except MemoryError as error:
                for _ in range(5_000):
                    work(1)
                held.clear()
                print("MemoryError", error.args, work(1))
        """
    )
    assert done.stdout == "MemoryError () 2\n" * 3
    assert len(done.said) <= 1  # if the program used all memory when the recorder needed a chunk
    assert done.process.readable
    if not done.said:
        assert (done.process.problems, done.calls("work")) == ([], 15_003)


def test_expression_that_raises_is_recorded_and_changes_nothing_else(both, tmp_path):
    program = """
        import sys

        class Odd:
            def __init__(self, name):
                self.name = name

            @property
            def broken(self):
                return 1 // 0

            @property
            def recursive(self):
                return self.recursive

            @property
            def full(self):
                raise MemoryError

            @property
            def interrupted(self):
                raise KeyboardInterrupt

            @property
            def closed(self):
                raise GeneratorExit

            def leave(self):
                sys.exit(5)

        def work(odd):
            return odd.name

        print([work(Odd(str(number))) for number in range(40)])
        """
    odd = ["name", "odd"]
    expressions = [
        ["attr", odd, "missing"],
        ["binary", "//", ["const", 1], ["const", 0]],
        ["binary", "+", ["attr", odd, "name"], ["const", 1]],
        ["item", ["attr", odd, "name"], ["const", 99]],
        ["unsafe", ["attr", odd, "broken"]],
        ["unsafe", ["attr", odd, "recursive"]],
        ["unsafe", ["attr", odd, "full"]],
        ["unsafe", ["attr", odd, "interrupted"]],
        ["unsafe", ["attr", odd, "closed"]],
        ["unsafe", ["method", odd, "leave", []]],
    ]
    actions = tuple(
        Action(kind, when, channel=f"c{number}", key=expression)
        for number, expression in enumerate(expressions)
        for kind, when in (("send", "start"), ("payload", "finish"))
    )
    plan = Plan(rules=(Rule(Target("**", "work", root=str(tmp_path)), actions=actions),))
    done = both(program, plan=plan)
    quiet(done)
    process = done.process
    assert process.problems == []
    assert done.calls("work") == 40
    extended = [event for event in process.events() if event.extension and event.kind in (Kind.SEND, Kind.PAYLOAD)]
    assert len(extended) == 40 * len(actions)
    failed = [event.extension for event in extended if event.extension.flags & FLAG_FAILED]
    assert len(failed) == 40 * len(actions)
    names = {process.strings[extension.channel]: extension.text for extension in failed}
    assert set(names) == {f"c{number}" for number in range(len(expressions))}
    assert "ZeroDivisionError" in names["c1"] and "ZeroDivisionError" in names["c4"]
    assert [names[f"c{number}"] for number in (7, 8, 9)] == ["KeyboardInterrupt", "GeneratorExit", "SystemExit"]


FORKING = """
import os, signal, sys

class Odd:
    forked = False

    @property
    def key(self):
        if not Odd.forked and FAULTY:
            Odd.forked = True
            child = os.fork()
            if child == 0:
                CHILD
            else:
                os.waitpid(child, 0)
        return 5

FAULTY = bool(os.environ.get("CLEW_RUN"))

def work(odd):
    return 1

def later():
    return 2

def main():
    odd = Odd()
    for _ in range(3000):
        work(odd)
    later()
    if "inner" in sys.argv or not Odd.forked or os.getpid() == FIRST:
        print("done", flush=True)

FIRST = os.getpid()
main()
"""


@pytest.mark.parametrize("child", ["os._exit(0)", "pass", "os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit"])
def test_fork_in_key_expression_is_recorded_in_parent_and_child(both, tmp_path, child):
    actions = (Action("send", "start", channel="c", key=["unsafe", ["attr", ["name", "odd"], "key"]]),)
    target = Target("**", "**", root=str(tmp_path))
    plan = Plan(rules=(Rule(Target("**", "work", root=str(tmp_path)), actions=actions), Rule(target)))
    done = both(FORKING.replace("CHILD", child), plan=plan)
    quiet(done)
    assert done.stdout == "done\n"
    parent, *children = sorted(done.processes, key=lambda process: process.header.parent_uid != 0)
    assert parent.problems == []
    sends = [event for event in parent.events() if event.kind is Kind.SEND and event.site]
    assert len(sends) == 3000
    for process in children:
        assert process.problems == []
        assert process.header.parent_uid == parent.header.uid
    assert len(children) == 1
    if child == "pass":
        sites = {site.qualname: site.id for site in children[0].sites.values()}
        entered = [event.site for event in children[0].events() if event.kind is Kind.ENTER]
        assert entered.count(sites["work"]) == 2999
        assert entered.count(sites["later"]) == 1


def test_fork_in_signal_handler_or_finalizer_is_recorded(both):
    done = both(
        """
        import os, signal, sys

        def work(number):
            return number + 1

        def fork():
            child = os.fork()
            if child == 0:
                work(1)
                os._exit(work(6))
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        class Forks:
            def __init__(self):
                self.me = self

            def __del__(self):
                ended.append(fork())

        ended = []
        signal.signal(signal.SIGALRM, lambda *_: ended.append(fork()))
        for number in range(5):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            while len(ended) == number:
                work(1)
        finalized = len(ended)
        for _ in range(3):
            Forks()
        import gc
        gc.collect()
        print(set(ended), len(ended) - finalized)
        """
    )
    quiet(done)
    parent, *children = sorted(done.processes, key=lambda process: process.header.parent_uid != 0)
    assert len(children) >= 8
    for process in done.processes:
        assert process.problems == []
    names = {site.qualname: site.id for site in parent.sites.values()}
    for process in children:
        entered = [event.site for event in process.events() if event.kind is Kind.ENTER]
        assert entered == [names["work"], names["work"]]


def test_program_interrupted_by_many_signals_is_recorded(both):
    done = both(
        """
        import signal

        def work(number):
            return number + 1

        def handler(number, frame):
            handled.append(work(1))
            if len(handled) % 3 == 0:
                raise TimeoutError

        def wait(number):  # in 3.13 the backward jump of a loop is outside the `try` around it
            while len(handled) == number:
                work(1)

        handled, interrupted = [], 0
        signal.signal(signal.SIGALRM, handler)
        for number in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001 + number % 30 * 0.00001)
                wait(number)
            except TimeoutError:
                interrupted += 1
        print(len(handled), interrupted)
        """
    )
    quiet(done)
    assert done.process.problems == []
    assert done.stdout == "150 50\n"
    assert done.calls("handler") == 150


def test_process_exited_by_one_of_many_threads_is_closed(both):
    done = both(
        """
        import os, threading, time

        def work(number):
            return number + 1

        def spin():
            while True:
                work(1)
                time.sleep(0.00001)

        for _ in range(4):
            threading.Thread(target=spin).start()

        def last():
            for _ in range(1000):
                work(2)
            print("now", flush=True)
            os._exit(9)

        threading.Thread(target=last).start()
        """
    )
    quiet(done, 9)
    process = done.process
    assert process.problems == []
    assert process.header.state == State.CLOSED
    last = next(site.id for site in process.sites.values() if site.qualname == "last")
    assert sum(event.kind is Kind.ENTER and event.site == last for event in process.events()) == 1
    assert len(open_run(done.folder).graph) == len(list(process.events()))


def test_process_stopped_and_continued_has_ordered_records(both):
    done = both(
        """
        import os, signal, subprocess, sys, threading, time

        def work(number):
            return number + 1

        def spin():
            while not over:
                work(1)
                time.sleep(0.00001)

        over = False
        thread = threading.Thread(target=spin)
        thread.start()
        for _ in range(5):
            pid = os.getpid()
            subprocess.run(["bash", "-c", f"kill -STOP {pid}; sleep 0.02; kill -CONT {pid}"], check=True)
            work(2)
        over = True
        thread.join()
        print("went on")
        """
    )
    quiet(done)
    assert done.process.problems == []
    assert done.process.header.state == State.CLOSED
    for serial in done.process.threads:
        ticks = [event.ticks for event in done.process.events(serial)]
        assert ticks == sorted(ticks)


def test_clock_that_jumps_leaves_trace_readable(both):
    done = both(
        """
        def work(number):
            return number + 1

        print(sum(work(1) for _ in range(50_000)))
        """,
        fault="clock_gettime:3:0",
    )
    quiet(done)
    assert done.process.readable
    assert done.calls("work") == 50_000
    graph = open_run(done.folder).graph
    assert len(graph) == len(list(done.process.events()))
