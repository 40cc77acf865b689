"""Sampled request flows are complete or absent: in threads, tasks, pools, queues and other processes, with edges and logs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from clew.records.format.event import Kind
from clew.records.plan.plan import Action, LogCapture, Plan, Rule, Target, dump, load

REQUEST = Rule(Target("program", "handle"), actions=(Action("request", "start", channel="handle"),))
NUMBERED = Action("payload", "start", "n", key=["name", "n"])


def rules(*names):
    return (REQUEST, *(Rule(Target("program", name), actions=(NUMBERED,)) for name in names))


@pytest.fixture(params=["c"])
def sampled(record, request):
    """Run a program whose functions take the number of their flow as `n`; return the run and the records of each flow."""

    def run(source, *names, share=0.5, **options):
        done = record(
            source,
            change=lambda plan: plan_of(plan, share, names),
            **options,
        )
        assert done.code == 0, done.stderr
        left = defaultdict(Counter)
        for placed in done.of(Kind.PAYLOAD):
            left[int(placed.text)][placed.site.qualname] += 1
        for placed in done.of(Kind.LOG):
            left[int(re.search(r"\d+", placed.text)[0])]["log"] += 1
        return done, left

    return run


def plan_of(plan, share, names):
    return plan._replace(rules=rules("handle", *names), sample=share)


def assert_flows_complete(left, flows, each):
    """Assert that each recorded flow is complete, and that some flows are recorded and some are not."""
    assert 0 < len(left) < flows, left
    for number, found in left.items():
        assert found == Counter(each), number


def calls_nest(run):
    """Assert that every call that begins ends in the same thread."""
    for process in run.processes:
        for thread in process.threads:
            counts = {True: Counter(), False: Counter()}
            for event in process.events(thread):
                if event.kind in {Kind.ENTER, Kind.EXIT, Kind.UNWIND}:
                    counts[event.kind is Kind.ENTER][event.site] += 1
            assert counts[True] == counts[False]


def test_sampled_flow_of_one_thread_is_complete_with_work_outside_flows(sampled):
    run, left = sampled(
        """
        import logging

        def inner(n):
            if n % 3 == 0: raise ValueError(n)
            return generate(n)

        def numbers(n):
            yield 1
            yield 2

        def generate(n):
            abandoned = numbers(n)
            next(abandoned)
            return sum(numbers(n))

        def handle(n):
            logging.warning("flow %d", n)
            try: inner(n)
            except ValueError: generate(n)

        def outside(n): return n

        for n in range(40):
            outside(1000)
            handle(n)
            outside(1000)
        """,
        "inner", "generate", "outside", "numbers",
    )  # fmt: skip
    assert left.pop(1000) == {"outside": 80}
    assert_flows_complete(left, 40, {"handle": 1, "inner": 1, "generate": 1, "numbers": 2, "log": 1})
    calls_nest(run)
    (process,) = run.processes
    begin, end = [note.text for note in process.notes if "request flows" in note.text]
    assert begin == "request flows are sampled: 50 % of them are recorded, each entirely or not at all"
    assert f"{len(left)} of 40 request flows that began in process {process.header.pid} are recorded" in end


def test_sampled_process_that_is_killed_has_the_sampling_note(record):
    killed = """
        import os
        def handle(n): return n
        for n in range(40): handle(n)
        os.kill(os.getpid(), 9)
        """
    for share, told in ((0.25, True), (None, False), (1.0, False)):
        run = record(killed, change=lambda plan, share=share: plan_of(plan, share, []))
        assert run.code == -9
        (process,) = run.processes
        assert any("sampled: 25 %" in note.text for note in process.notes) == told


def test_sampled_flow_is_complete_in_threads_pools_and_queues(sampled):
    run, left = sampled(
        """
        import concurrent.futures, queue, threading

        def step(n): return n

        def serve():
            for n in iter(jobs.get, None):
                step(n)

        def handle(n):
            thread = threading.Thread(target=step, args=(n,))
            thread.start(); thread.join()
            assert pool.submit(step, n).result() == n
            jobs.put(n)
            step(n)

        jobs = queue.Queue()
        server = threading.Thread(target=serve); server.start()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for n in range(30): handle(n)
        jobs.put(None); server.join()
        """,
        "step",
    )
    assert_flows_complete(left, 30, {"handle": 1, "step": 4})
    assert not [placed for placed in run.of(Kind.SEND) if placed.channel == "executor.submit"][len(left) :]
    # Threads started for an unsampled flow have no records.
    (process,) = run.processes
    steps = {thread for thread in process.threads for event in process.events(thread) if event.kind == Kind.PAYLOAD}
    assert len(steps) <= len(left) + 4
    calls_nest(run)


def test_sampled_flows_of_interleaved_tasks_are_complete(sampled):
    run, left = sampled(
        """
        import asyncio

        async def step(n):
            await asyncio.sleep(0)
            return n

        async def serve(tasks):
            while (n := await tasks.get()) is not None:
                await step(n)

        async def handle(n, tasks):
            await asyncio.sleep(n % 3 * 0.001)
            other = asyncio.create_task(step(n))
            await step(n)
            await other
            await asyncio.gather(step(n), step(n))
            asyncio.get_running_loop().call_soon(plain, n)
            tasks.put_nowait(n)
            await asyncio.to_thread(plain, n)

        def plain(n): return n

        async def main():
            tasks = asyncio.Queue()
            server = asyncio.create_task(serve(tasks))
            for start in range(0, 40, 8):
                await asyncio.gather(*(handle(n, tasks) for n in range(start, start + 8)))
            tasks.put_nowait(None)
            await server

        asyncio.run(main())
        """,
        "step", "plain",
    )  # fmt: skip
    assert_flows_complete(left, 40, {"handle": 1, "step": 5, "plain": 2})
    calls_nest(run)


def test_sampled_flow_is_complete_in_other_processes(sampled):
    run, left = sampled(
        """
        import os, subprocess, sys

        def step(n): return n

        def handle(n):
            pid = os.fork()
            if not pid:
                step(n)
                os._exit(0)
            os.waitpid(pid, 0)
            subprocess.run([sys.executable, "program.py", str(n)], check=True)
            step(n)

        if len(sys.argv) > 1:
            step(int(sys.argv[1]))
        else:
            for n in range(8): handle(n)
        """,
        "step",
        share=0.5,
    )
    for number, found in left.items():
        assert found == {"handle": 1, "step": 3}, number


@pytest.mark.parametrize(("flags", "recorded"), [("00", 0), ("01", 6)])
def test_sampling_follows_flag_of_incoming_traceparent(sampled, flags, recorded):
    _, left = sampled(
        f"""
        import clew

        def serve(n):
            clew.extract({{"traceparent": "00-{"ab" * 16}-{"cd" * 8}-{flags}"}})
            handle(n)

        def handle(n):
            headers = {{}}
            clew.inject(headers)
            assert headers["traceparent"].endswith("-{flags}"), headers

        for n in range(6): serve(n)
        """,
    )
    assert sum(found["handle"] for found in left.values()) == recorded


def test_sampling_with_share_zero_or_one_records_no_flow_or_every_flow(sampled):
    source = """
        import logging
        def handle(n): logging.warning("flow %d", n)
        for n in range(5): handle(n)
        """
    assert sampled(source, share=0.0)[1] == {}
    assert sampled(source, share=1.0)[1] == {n: {"handle": 1, "log": 1} for n in range(5)}
    assert sampled(source, share=None)[1] == {n: {"handle": 1, "log": 1} for n in range(5)}


def test_sampling_numbers_only_recorded_log_lines(sampled):
    run, left = sampled(
        """
        import logging
        def handle(n): logging.warning("flow %d", n)
        for n in range(20): handle(n)
        """,
        logs=LogCapture(ids=True),
    )
    (process,) = run.processes
    lines = run.stderr.splitlines()
    named = [int(match[1]) for line in lines if (match := re.search(r"\[clew \w+\.1\.(\d+)\]", line))]
    assert len(lines) == 20 and named == list(range(1, len(left) + 1))
    assert len([line for line in lines if "[clew" not in line]) == 20 - len(left)


def test_plan_without_sample_field_has_no_sampling():
    text = dump(Plan(sample=0.25))
    assert load(text, "here").sample == 0.25
    assert load(text.replace('"sample": 0.25,', ""), "here").sample is None
