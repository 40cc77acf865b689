"""Critical paths of real recorded programs, by the graph's operators: waiting is not work."""

from __future__ import annotations

import pytest

from clew.graph.build.builder import build
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path
from clew.records.format.event import Kind

UNFINISHED = "the run is not over; this is its recording so far"
"""The fixture starts the program without `clew run`, so the run is never finished."""


def graph_of(recording):
    assert recording.code == 0, recording.stderr
    graph, problems = build(recording.folder)
    assert [problem.what for problem in problems] == [UNFINISHED]
    return graph


def path_to_the_end_of(graph, function):
    rows = range(len(graph.ts))
    (call,) = [n for n in rows if graph.kind[n] == Kind.ENTER and graph.sites[graph.site[n]].qualname == function]
    return critical_path(graph, slice_events(graph, [int(graph.exit_of(call))], "backward"))


def work_ms(path):
    total: dict[str, float] = {}
    for segment in path.segments:
        name = segment.label.rpartition(":")[2]
        total[name] = total.get(name, 0) + segment.self_ns / 1e6
    return total


@pytest.mark.parametrize(
    "run", ["asyncio.run(job())", "loop = asyncio.new_event_loop(); loop.run_until_complete(job()); loop.close()"]
)
@pytest.mark.parametrize("end", ["", "raise ValueError"])
def test_critical_path_leads_into_tasks_of_the_event_loop(record, run, end):
    recording = record(
        f"""
        import asyncio, contextlib, time

        def busy():
            end = time.thread_time() + 0.05
            while time.thread_time() < end: pass

        async def inner():
            busy()
            await asyncio.sleep(0.1)
            {end}

        async def job():
            await asyncio.create_task(inner())

        def main():
            with contextlib.suppress(ValueError):
                {run}
        main()
        """
    )
    path = path_to_the_end_of(graph_of(recording), "main")
    work = work_ms(path)
    assert {"main", "job", "inner", "busy"} <= set(work)
    assert work["busy"] >= 50
    assert sum(segment.wait_ns for segment in path.segments) >= 90e6


def assert_wait_is_not_work(graph, call):
    """Assert that the call has waited, and that its own time excludes the wait. Its work depends on the load of the machine."""
    calls = graph.calls
    assert calls.waiting_ns[call] > 0
    assert calls.self_ns[call] <= calls.total_ns[call] - calls.waiting_ns[call]


@pytest.mark.parametrize(
    "wait",
    ["child.wait()", "child.communicate()", "child.stdout.read(); child.wait()", "[None for _ in iter(child.poll, 0)]"],
)
@pytest.mark.parametrize("program", ["[sys.executable, 'child.py']", "['sleep', '0.6']"])
def test_critical_path_wait_for_child_process_is_not_work(record, wait, program):
    recording = record(
        f"""
        import subprocess, sys

        def wait():
            with subprocess.Popen({program}, stdout=subprocess.PIPE) as child:
                {wait}
        wait()
        """,
        files={"child.py": "import time\ndef rest(): time.sleep(0.6)\nrest()\n"},
    )
    graph = graph_of(recording)
    (call,) = [n for n, enter in enumerate(graph.calls.enter) if graph.sites[graph.site[enter]].qualname == "wait"]
    assert_wait_is_not_work(graph, call)
    if "sleep" not in program:
        work = work_ms(path_to_the_end_of(graph, "wait"))
        assert work["wait"] <= graph.calls.self_ns[call] / 1e6 + 1 and work["rest"] > 590


def test_critical_path_wait_for_killed_child_is_not_work(record):
    recording = record(
        """
        import subprocess, sys
        def wait(): subprocess.run([sys.executable, "child.py"])
        wait()
        """,
        files={"child.py": "import os, time\ntime.sleep(0.6)\nos.kill(os.getpid(), 9)\n"},
    )
    graph = graph_of(recording)
    (call,) = [n for n, enter in enumerate(graph.calls.enter) if graph.sites[graph.site[enter]].qualname == "wait"]
    assert_wait_is_not_work(graph, call)
