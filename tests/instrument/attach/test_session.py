"""Attach to a running program, detach, and attach again: recorded calls are exact, and its output is unchanged."""

from __future__ import annotations

import signal
from collections import Counter

import pytest

from clew.query.api import open_run
from clew.records.format.event import Kind
from clew.records.format.header import State
from clew.records.plan.plan import LogCapture, Plan, Rule, Target, dump
from clew.records.run.directory import load_run, save_plan
from tests.support.programs.attached_program import TICKS, entered, recorded, scopes
from tests.support.programs.recording import ADAPTERS, Recording

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="there are no real-time signals here")


CALLS = {
    "Worker.step": 2, "plain": 3, "decorated.<locals>.around": 2, "behind": 2, "make.<locals>.closure": 2,
    "make.<locals>.closure.<locals>.nested": 2, "numbers": 2, "atask": 1, "all_of_it": 2,
}  # fmt: skip
"""Calls of each function for each processed number, which a thread and a task process."""


def test_attach_records_exact_calls_and_leaves_output_unchanged(program, new_run):
    attached, alone = program(), program(ready=False)
    runs = [new_run(pid=attached.pid, logs=LogCapture()), new_run(pid=attached.pid, logs=LogCapture())]
    for number, folder in enumerate(runs):
        attached.work(5)  # not recorded
        answer = attached.start(folder)
        assert answer["functions"] > 10
        for count in (7, 4 + number):
            attached.work(count)
        attached.stop()
        attached.work(6)  # not recorded
    for count in (5, 7, 4, 6, 5, 7, 5, 6):
        alone.work(count)
    assert attached.end() == alone.end()
    for folder, count in zip(runs, (11, 12), strict=True):
        (process,) = recorded(folder)
        assert process.header.state == State.CLOSED
        calls, ends = entered(process)
        assert {name: calls[name] for name in CALLS} == {name: count * each for name, each in CALLS.items()}
        assert {name: ends[name] for name in CALLS} == {name: count * each for name, each in CALLS.items()}
        assert calls["tick"] > 0 and abs(calls["tick"] - ends["tick"]) <= 1
        assert calls["main"] == calls["serve"] == calls["background"] == 0
        logs = [event.extension.text for event in process.events() if event.kind is Kind.LOG]
        assert logs == ["did 7", f"did {count - 7}"]
        info = load_run(folder)
        assert info.finished and info.exit_code is None and info.attached


def test_attach_during_running_calls_notes_them_in_the_trace(program, new_run, follow):
    running = program()
    answer = running.start(folder := new_run(pid=running.pid))
    assert {"main", "serve", "background", "serve_tasks"} <= set(answer["under_way"])
    running.work(1)
    running.stop()
    (process,) = recorded(folder)
    (note,) = [note.text for note in process.notes if "calls running when" in note.text]
    assert "keep their old probes" in note
    assert any("recording ended while" in note.text for note in process.notes)
    # Existing tasks are strands, and their queue items have edges.
    placed = list(follow(process, whole=False))
    names = {one.strand for one in placed if one.function == "atask"}
    assert names and names <= {f"Task-{number}" for number in range(1, 9)}
    sent = {one.key for one in placed if one.event.kind is Kind.SEND and one.channel == "asyncio.queue"}
    got = {one.key for one in placed if one.event.kind is Kind.RECEIVE and one.channel == "asyncio.queue"}
    assert len(sent & got) == 2, "the command and the number"


@pytest.mark.parametrize("recorder", ["c"])
def test_attach_again_names_tasks_and_builds_a_valid_graph(program, new_run, follow, recorder):
    running = program()
    for _ in range(2):
        running.start(folder := new_run(pid=running.pid, logs=LogCapture()))
        running.work(3)
        running.stop()
        (process,) = recorded(folder)
        names = {one.strand for one in follow(process, whole=False) if one.function == "atask"}
        assert names and names <= {f"Task-{number}" for number in range(1, 9)}
        graph = open_run(str(folder)).graph
        calls = Counter(graph.sites[graph.site[row]].qualname for row in graph.rows_of([Kind.ENTER]))
        assert (calls["atask"], calls["plain"]) == (3, 9)


def test_attach_misses_and_duplicates_no_call_in_between(program, new_run):
    running = program()
    for _ in range(3):
        running.start(folder := new_run(TICKS, pid=running.pid))
        running.work(1)
        running.stop()
        (process,) = recorded(folder)
        numbers = [int(event.extension.text) for event in process.events() if event.kind is Kind.PAYLOAD]
        assert len(numbers) > 10
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_plan_change_while_attached_applies_to_later_calls(program, new_run):
    running = program()
    running.start(folder := new_run(scopes("plain", "behind", "tick"), pid=running.pid))
    running.work(3)
    save_plan(folder, dump(Plan(rules=scopes("behind", "Worker.*"), adapters=ADAPTERS, spec="the next")))
    changed = running.change()
    # The change removes plain and tick, adds Worker.step, and does not touch behind.
    assert changed["functions"] == 3
    running.work(4)
    running.stop()
    (process,) = recorded(folder)
    calls, _ = entered(process)
    assert (calls["plain"], calls["behind"], calls["Worker.step"]) == (9, 14, 8)
    gaps = {process.sites[event.site].qualname for event in process.events() if event.kind is Kind.GAP}
    assert gaps == {"plain", "tick"}
    assert any("to the next" in note.text for note in process.notes)
    sites = [site.qualname for site in process.sites.values() if site.kind == "function"]
    assert len(sites) == len(set(sites))


FROZEN = """
import functools, gc, sys

class Worker:
    __slots__ = ()
    def method(self): return 1
    @property
    def read(self): return 1
    @staticmethod
    def free(): return 1

def decorated(function):
    @functools.lru_cache(None)
    @functools.wraps(function)
    def around(n): return function(n)
    return around

@decorated
def behind(n): return n

def make():
    def closure(): return 1
    return closure

kept, numbers = {"deep": [(make(),)]}, iter(range(1000))

def suspended():
    inside = lambda: 1
    while True:
        inside()
        yield

waiting = suspended()
next(waiting)

def work():
    worker = Worker()
    worker.method(); worker.read; worker.free(); behind(next(numbers)); kept["deep"][0][0](); next(waiting)

around = behind.__wrapped__
functions = [work, make, kept["deep"][0][0], Worker.method, Worker.read.fget, Worker.free, around, behind.__wrapped__]
own = [function.__code__ for function in functions]
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "0":
        gc.freeze()
    else:
        work()
    print("did", line.strip(), flush=True)
print([function.__code__ is code for function, code in zip(functions, own)], gc.get_freeze_count() > 1000)
"""


@pytest.mark.parametrize("when", ["before it is attached to", "while it is recorded"])
def test_attach_finds_functions_frozen_by_gc_freeze(program, new_run, when):
    running = program(source=FROZEN)
    if when == "before it is attached to":
        running.work(0)
    running.start(folder := new_run(pid=running.pid))
    running.work(1)
    if when == "while it is recorded":
        running.work(0)
    running.work(2)
    running.stop()
    running.work(3)
    out, err, code = running.end("")
    assert (out[-1], err, code) == (f"{[True] * 8} True", "", 0)
    calls, _ = entered(recorded(folder)[0])
    names = ["work", "Worker.method", "Worker.read", "Worker.free", "decorated.<locals>.around", "behind"]
    assert calls == dict.fromkeys([*names, "make.<locals>.closure", "suspended.<locals>.<lambda>"], 2)


def test_detach_from_process_recorded_from_its_start_ends_recording(program, new_run):
    folder = new_run()
    running = program(ready=False, run=folder)
    running.work(2)
    assert running.stop()["run"] == str(folder)
    running.work(3)
    running.start(second := new_run(pid=running.pid))
    running.work(4)
    _, err, code = running.end()
    assert (code, err.count("did")) == (0, 3)
    assert [entered(process)[0]["plain"] for process in recorded(folder)] == [6]
    assert [entered(process)[0]["plain"] for process in recorded(second)] == [12]
    assert load_run(folder).finished is None, "only the launcher finishes its run"
    assert load_run(second).finished


def test_attach_records_imports_and_children_only_while_attached(program, new_run, tmp_path):
    (tmp_path / "later.py").write_text("def late(): return 1\n")
    (tmp_path / "child.py").write_text("def work(): return 1\nwork()\n")
    source = """
        import os, subprocess, sys
        def step():
            import later
            later.late()
            subprocess.run([sys.executable, "child.py"], check=True)
        print("ready", flush=True)
        for line in sys.stdin:
            step()
            print("did", line.strip(), os.environ.get("CLEW_RUN"), flush=True)
    """
    running = program(source=source)
    running.start(folder := new_run((Rule(Target("**", "**", root=str(tmp_path))),), pid=running.pid))
    running.process.stdin.write("1\n")
    running.process.stdin.flush()
    assert running.line() == f"did 1 {folder}"
    running.stop()
    running.process.stdin.write("2\n")
    running.process.stdin.flush()
    assert running.line() == "did 2 None"
    assert running.end("")[2] == 0
    calls = sorted(tuple(entered(process)[0].items()) for process in recorded(folder))
    assert calls == [(("step", 1), ("late", 1)), (("work", 1),)]


def test_attach_while_threads_wait_in_queues_delivers_their_items(program, new_run, follow):
    source = """
        import functools, queue, sys, threading
        from concurrent.futures import ThreadPoolExecutor
        from multiprocessing.pool import ThreadPool

        class Own(queue.SimpleQueue): pass

        results = queue.Queue()
        def double(n): return 2 * n
        def ask_again(jobs):
            while (n := jobs.get()) is not None: results.put(double(n))
        def iterate(jobs):
            for n in iter(jobs.get, None): results.put(double(n))
        def call(get):
            while (n := get()) is not None: results.put(double(n))
        kinds = queue.SimpleQueue, Own, queue._PySimpleQueue, queue.LifoQueue
        waiting = [(made, wait) for made in kinds for wait in (ask_again, iterate)]
        jobs = [made() for made, _ in waiting] + [queue.SimpleQueue(), queue.SimpleQueue()]
        for (_, wait), each in zip(waiting, jobs): threading.Thread(target=wait, args=(each,), daemon=True).start()
        threading.Thread(target=call, args=(jobs[-2].get,), daemon=True).start()
        threading.Thread(target=call, args=(functools.partial(queue.SimpleQueue.get, jobs[-1]),), daemon=True).start()
        pool, old = ThreadPoolExecutor(2), ThreadPool(2)
        list(pool.map(double, range(4))); old.map(double, range(4))
        print("ready", flush=True)
        def hand_over(n, made): made.put(n)
        def take(made): return made.get()
        for line in sys.stdin:
            n = int(line)
            for each in jobs: each.put(n)
            got = [results.get(timeout=120) for _ in jobs]
            made = queue.SimpleQueue(); hand_over(n, made)
            assert {*got, *pool.map(double, [n]), *old.map(double, [n]), 2 * take(made)} == {2 * n}, got
            print("did", n, flush=True)
    """
    running = program(source=source)
    running.work(1)
    for _ in range(2):
        running.start(folder := new_run(pid=running.pid))
        for n in (2, 3, 4):
            running.work(n)
        running.stop()
        running.work(5)
        events = [placed for process in recorded(folder) for placed in follow(process, whole=False)]
        edges = Recording(0, "", "", folder, events).edges("queue")
        assert edges["queue", "MainThread/hand_over", "MainThread/take"] == 3, "queues made while attached have edges"
    assert running.end("")[1:] == ("", 0)


def test_attach_to_blocked_main_thread_is_immediate(program, new_run):
    for wait in ("time.sleep(60)", "threading.Event().wait()", "select.select([0], [], [])", "os.read(0, 1)"):
        source = f"""
            import os, select, sys, threading, time
            def work(): return 1
            def forever():
                while True: work(); time.sleep(0.001)
            threading.Thread(target=forever, daemon=True).start()
            print("ready", flush=True)
            {wait}
        """
        running = program(source=source)
        running.start(folder := new_run(pid=running.pid))
        running.stop()
        assert len(recorded(folder)) == 1, wait
        running.process.kill()
