"""Critical paths of real recorded programs, by the graph's operators: waiting is not work."""

from __future__ import annotations

import textwrap

import pytest

from clew.graph.build.builder import build
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import NOT_RECORDED, critical_path
from clew.query.api import Run
from clew.records.format.event import Kind
from clew.records.plan.plan import Action, Rule, Target

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


HANDLE = Rule(Target("program", "handle"), actions=(Action("request", "start", channel="handle"),))
REQUESTS = {
    "one connection": """
        async def echo(reader, writer):
            while line := await reader.readline():
                await asyncio.sleep(0.01)
                writer.write(line)

        async def handle(number):
            ours.write(b"%d\\n" % number)
            return await theirs.readline()

        async def main():
            global ours, theirs
            server = await asyncio.start_server(echo, "127.0.0.1")
            theirs, ours = await asyncio.open_connection(*server.sockets[0].getsockname())
            for number in range(3):
                await asyncio.create_task(handle(number))
                await asyncio.sleep(0.3)
            ours.close()
            server.close()
        """,
    "a batch and work left behind": """
        async def write(items):
            while True:
                batch = [await items.get()]
                await asyncio.sleep(0.02)
                while not items.empty():
                    batch.append(items.get_nowait())
                for done in batch:
                    done.set_result(None)

        async def audit():
            await asyncio.sleep(0.3)

        async def handle(items, number):
            await asyncio.sleep(number / 100)
            done = asyncio.get_running_loop().create_future()
            await items.put(done)
            await done
            left.append(asyncio.create_task(audit()))

        async def main():
            global left
            left, items = [], asyncio.Queue()
            writer = asyncio.create_task(write(items))
            await asyncio.gather(*(handle(items, number) for number in range(6)))
            await asyncio.gather(*left)
            writer.cancel()
        """,
    "a lock of threads": """
        lock = threading.Lock()

        def update():
            with lock:
                time.sleep(0.02)

        def handle():
            update()

        async def main():
            threads = [threading.Thread(target=handle) for _ in range(5)]
            for thread in threads:
                thread.start()
                time.sleep(0.005)
            for thread in threads:
                thread.join()
        """,
}


@pytest.mark.parametrize("program", REQUESTS.values(), ids=REQUESTS)
def test_path_of_recorded_request_takes_as_long_as_the_request(record, program):
    recording = record(
        "import asyncio, threading, time\n" + textwrap.dedent(program) + "\nasyncio.run(main())\n",
        change=lambda plan: plan._replace(rules=(HANDLE, *plan.rules)),
    )
    graph = graph_of(recording)
    run = Run(graph.info, recording.folder, [], graph)
    flows = run.requests.flows()
    assert len(flows) >= 3
    calls = run.graph.call[flows.request].tolist()
    for request, call, response_ns in zip(flows.request.tolist(), calls, flows.response_ns.tolist(), strict=True):
        path = run.requests.where(id=request).slice().critical_path()
        assert path.total_ns == response_ns == sum(segment.self_ns + segment.wait_ns for segment in path)
        assert path.segments[-1].last_event == graph.exit_of(call)
        assert NOT_RECORDED not in {segment.label for segment in path}
