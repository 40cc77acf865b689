"""What causality in asyncio and queues costs: task switches and hand-offs with all adapters on, beside none and VizTracer.

Each way runs in a worker process of its own, the workers one after another in every round, so that a busy machine slows
all alike; a round's ratio is that of its neighbours. No function is recorded: what is measured are the adapters' hooks.
Times are the worker's CPU time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from recording.report import report

from clew.records.collector.launch import start_collector
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import RUN_VARIABLE, create_run

EXAMPLES = """examples:
  python benchmarks/asyncio_hooks.py                     all workloads, 40 rounds
  python benchmarks/asyncio_hooks.py --rounds 10 switch  a quick look at one of them
"""
ADAPTERS = ("threads", "executors", "queues", "tasks", "processes")

WORKER = r"""
import asyncio, queue, sys, threading, time
from collections import deque

def spin(values=tuple(range(SPIN))):
    total = 0
    for value in values: total += value * value
    return total

async def switcher(count):
    for _ in range(count): await asyncio.sleep(0)

async def worker(count):
    for _ in range(count):
        spin()
        await asyncio.sleep(0)

async def both(make, count, tasks=8):
    await asyncio.gather(*(make(count // tasks) for _ in range(tasks)))

async def futures(count):
    loop = asyncio.get_running_loop()
    for _ in range(count):
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        await future

async def produce(jobs, count):
    for number in range(count): await jobs.put(number)

async def consume(jobs, count):
    for _ in range(count): await jobs.get()

async def hand_over(count):
    jobs = asyncio.Queue(8)
    await asyncio.gather(produce(jobs, count), consume(jobs, count))

async def asyncio_queue(count):
    jobs = asyncio.Queue()
    for _ in range(count):
        jobs.put_nowait(None)
        jobs.get_nowait()

def put_get(jobs, count):
    for _ in range(count):
        jobs.put(None)
        jobs.get()

async def spawned(count):
    async def child(): pass
    for _ in range(count): await asyncio.create_task(child())

WORK = {
    "switch": (4000, lambda count: asyncio.run(both(switcher, count))),
    "switch_with_work": (800, lambda count: asyncio.run(both(worker, count))),
    "future": (2000, lambda count: asyncio.run(futures(count))),
    "task": (1000, lambda count: asyncio.run(spawned(count))),
    "asyncio_hand_over": (2000, lambda count: asyncio.run(hand_over(count))),
    "asyncio_queue": (4000, lambda count: asyncio.run(asyncio_queue(count))),
    "queue": (3000, lambda count: put_get(queue.Queue(), count)),
    "lifo_queue": (3000, lambda count: put_get(queue.LifoQueue(), count)),
    "priority_queue": (3000, lambda count: put_get(queue.PriorityQueue(), count)),
    "simple_queue": (10000, lambda count: put_get(queue.SimpleQueue(), count)),
}
tracer = None
if sys.argv[1] == "viztracer":
    from viztracer import VizTracer
    tracer = VizTracer(log_async=True, verbose=0, tracer_entries=1_000_000)
for line in sys.stdin:
    count, work = WORK[line.strip()]
    if tracer: tracer.start()
    began = time.process_time_ns()
    work(count)
    taken = time.process_time_ns() - began
    if tracer:
        tracer.stop()
        tracer.clear()
    print(taken / count, flush=True)
"""


class Workload(NamedTuple):
    name: str
    unit: str
    asked: float | None
    """The greatest ratio to no tracing."""


WORKLOADS = (
    Workload("switch", "sleep(0)", 1.15),
    Workload("switch_with_work", "sleep(0) after 8 µs of work", 1.05),
    Workload("future", "future set and awaited", None),
    Workload("task", "task made and awaited", None),
    Workload("asyncio_hand_over", "put and get between two tasks", None),
    Workload("asyncio_queue", "put_nowait and get_nowait", 1.25),
    Workload("queue", "put and get", 1.25),
    Workload("lifo_queue", "put and get", 1.25),
    Workload("priority_queue", "put and get", 1.25),
    Workload("simple_queue", "put and get", None),
)


class Worker:
    def __init__(self, way: str, environment: dict[str, str], spins: int) -> None:
        source = WORKER.replace("SPIN", str(spins))
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def time(self, name: str) -> float:
        """CPU ns per operation."""
        if self.process.stdin is None or self.process.stdout is None:
            raise SystemExit("the worker has no pipes")
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the worker ended with {self.process.wait()}")
        return float(answer)

    def close(self) -> None:
        self.process.communicate()


def _spins() -> int:
    """Turns of a loop that take 8 µs here and now."""
    count = 64
    while True:
        began = time.thread_time_ns()
        for _ in range(200):
            total = 0
            for value in range(count):
                total += value * value
        if time.thread_time_ns() - began >= 200 * 8000:
            return count
        count += 8


def measure(chosen: list[Workload], rounds: int, say: Callable[[str], None]) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        run, _ = create_run(Path(folder), name="benchmark", command=[], spec="", plan=dump(Plan(adapters=ADAPTERS)))
        import clew.instrument.startup

        startup = str(Path(str(clew.instrument.startup.__file__)).parent)
        paths = [startup, *filter(None, [os.environ.get("PYTHONPATH", "")])]
        traced = {**os.environ, RUN_VARIABLE: str(run), "PYTHONPATH": os.pathsep.join(paths)}
        collector = start_collector(run)  # as `clew run` does: it gives chunks back, so that no page is new
        spins, plain = _spins(), dict(os.environ)
        ways = (("plain", plain), ("clew", traced), ("viztracer", plain))
        workers = [Worker(way, environment, spins) for way, environment in ways]
        rows: list[dict[str, object]] = []
        try:
            for workload in chosen:
                rows.append(_row(workload, workers, rounds))
                row = rows[-1]
                say(f"{workload.name}: plain {row['plain']} ns, ours x {row['ours']}, viztracer x {row['peer_value']}")
        finally:
            for worker in workers:
                worker.close()
            if collector is not None:
                collector.process.kill()
                collector.process.communicate()
    return rows


def _row(workload: Workload, workers: list[Worker], rounds: int) -> dict[str, object]:
    for worker in workers:
        for _ in range(2):
            worker.time(workload.name)
    times = [[worker.time(workload.name) for worker in workers] for _ in range(rounds)]
    plain = statistics.median(one[0] for one in times)
    ours, peer = (statistics.median(one[way] / one[0] for one in times) for way in (1, 2))
    return {
        "name": workload.name,
        "unit": f"times the CPU time of one {workload.unit} without tracing",
        "plain": round(plain),
        "ours": round(ours, 3),
        "added_ns": round(statistics.median(one[1] - one[0] for one in times)),
        "peer": "viztracer --log_async",
        "peer_value": round(peer, 2),
        "asked": workload.asked,
        "met": None if workload.asked is None else ours <= workload.asked,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help="which, by name; all when none is named")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    chosen = [workload for workload in WORKLOADS if not options.workloads or workload.name in options.workloads]
    rows = measure(chosen, options.rounds, lambda line: print(line, file=sys.stderr))
    report("asyncio_hooks", rows)


if __name__ == "__main__":
    main()
