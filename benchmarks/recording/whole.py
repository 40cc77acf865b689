"""What recording costs around the calls: start-up, bytes on disk, memory of a thread, the way from SIGKILL to an answer."""

from __future__ import annotations

import os
import resource
import signal
import statistics
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import clew
from clew.graph.build.decode_records import decode
from clew.records.collector.main import collect_now
from clew.records.format.event import Kind
from clew.records.format.header import CHUNKS_OFFSET, FINISHED_OFFSET, HEADER_SIZE
from clew.records.plan.default_plan import default_plan
from clew.records.plan.plan import Rule, Target
from clew.records.read.reader import read_process, read_run
from clew.records.run.directory import trace_files
from recording.rounds import Worker
from recording.runs import EVERYTHING, plain, recording

Row = tuple[str, str, float, str, float | None, float | None]
"""Name, unit, ours, peer, the peer's, asked."""

COUNTER = Path(__file__).with_name("counter.c")
STARTS = 25
THREADS = 300
SLICES = 25
ASKED_START_MS = 80
ASKED_BYTES = 3

_THREADS = """
import re, sys, threading
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])
def call(barrier):
    return barrier
def wait(barrier):
    call(barrier)
    barrier.wait()
    barrier.wait()
threading.stack_size(65536 * 4)
before, barrier = resident(), threading.Barrier({count} + 1)
threads = [threading.Thread(target=wait, args=(barrier,)) for _ in range({count})]
for thread in threads: thread.start()
barrier.wait()
print((resident() - before) * 1024 / {count})
barrier.wait()
"""


class Taken(NamedTuple):
    cpu: float
    """ms, of a command and of all that it waits for"""
    wall: float


def _taken(command: list[str], environment: dict[str, str]) -> Taken:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(cpu * 1e3, wall * 1e3)


def start_up(folder: Path) -> Iterator[Row]:
    """Rounds of pairs: medians of the differences, and the difference of the least, which a busy machine changes less."""
    program = folder / "empty.py"
    program.write_text("")
    untraced = [sys.executable, str(program)]
    run = [sys.executable, "-m", "clew", "run", "--workspace", str(folder), "--", *untraced]
    save = [sys.executable, "-m", "viztracer", "--quiet", "-o", str(folder / "trace.json"), str(program)]
    times: dict[str, list[Taken]] = {"untraced": [], "run": [], "process": [], "viztracer": []}
    with recording(folder, default_plan(folder)) as (_run, environment):
        for number in range(STARTS + 2):
            found = {
                "untraced": _taken(untraced, plain()),
                "run": _taken(run, plain()),
                "process": _taken(untraced, environment),
                "viztracer": _taken(save, plain()),
            }
            for name, taken in found.items():
                if number >= 2:  # before, what is compiled was not yet cached
                    times[name].append(taken)
    for name, what in (("run", "clew run of an empty program"), ("process", "the traced process alone")):
        for clock in Taken._fields:
            median, least = _added(times, name, clock)
            peer_median, peer_least = _added(times, "viztracer", clock)
            asked = ASKED_START_MS if (name, clock) == ("run", "cpu") else None
            yield f"{what}, over plain Python, {clock} time, median", "ms", median, "VizTracer", peer_median, asked
            yield f"{what}, over plain Python, {clock} time, least", "ms", least, "VizTracer", peer_least, None


def _added(times: dict[str, list[Taken]], name: str, clock: str) -> tuple[float, float]:
    base = [getattr(taken, clock) for taken in times["untraced"]]
    traced = [getattr(taken, clock) for taken in times[name]]
    median = statistics.median(mine - plain for mine, plain in zip(traced, base, strict=True))
    return round(median, 1), round(min(traced) - min(base), 1)


def size(folder: Path) -> Iterator[Row]:
    """A run's folder when it is over, and VizTracer's file, divided by the calls that are in it. What tasks hand over to one
    another is more than calls: there own functions alone are recorded, as they are by default."""
    own = EVERYTHING._replace(rules=(Rule(Target("**workloads", "**"), origin="benchmark"),))
    for name, plan, what in (("jinja2", EVERYTHING, "jinja2"), ("asyncio", own, "asyncio, own functions")):
        with recording(folder, plan) as (run, environment), Worker(name, "clew", environment) as worker:
            for _ in range(SLICES):
                worker.ask("slice")
        kinds = Counter(event.kind for process in read_run(run).processes for event in process.events())
        calls = kinds[Kind.ENTER] + kinds[Kind.RESUME]
        stored = sum(path.stat().st_size for path in run.iterdir() if path.is_file())
        with Worker(name, "VizTracer", plain()) as worker:
            _, peer = worker.ask("save")
            peer_calls = worker.ask("calls")
        each = round(stored / calls, 2)
        yield (
            f"bytes on disk for a call, compressed, {what}",
            "B",
            each,
            "VizTracer",
            round(peer / peer_calls, 1),
            ASKED_BYTES,
        )


def packing(folder: Path) -> Iterator[Row]:
    """Measure the data rate of a program that only makes calls, and the rates of compressing and reading it, in CPU time."""
    for name in ("fib", "asyncio", "jinja2"):
        with recording(folder, collected=False) as (run, environment), Worker(name, "clew", environment) as worker:
            recording_s = sum(worker.ask("slice") for _ in range(4 * SLICES)) / 1e9
        (trace,) = trace_files(run)
        raw_mb = trace.stat().st_size / 1e6
        started = time.process_time()
        collect_now(run)
        compressing_s = time.process_time() - started
        started = time.process_time()
        threads = read_process(trace).threads.values()
        extents = [part for thread in threads for part in thread.extents]
        reading_s = time.process_time() - started
        yield f"recorded by {name} at full speed", "MB/s", round(raw_mb / recording_s), "VizTracer", None, None
        yield f"compressing, {name}", "MB/s", round(raw_mb / compressing_s), "VizTracer", None, None
        millions = len(decode(extents)) / 1e6
        yield (
            f"reading, {name}",
            "M records/s",
            round(millions / reading_s, 1),
            "VizTracer",
            None,
            None,
        )


def keep_up(folder: Path) -> Iterator[Row]:
    """What real programs use while they do nothing but call, every function recorded, beside a collector: how much of it is new
    to the file, and costs page faults, instead of coming back from the collector."""
    for name in ("jinja2", "pyflakes"):
        with recording(folder) as (run, environment), Worker(name, "clew", environment) as worker:
            for _ in range(SLICES):
                worker.ask("slice")
            (trace,) = trace_files(run)
            claimed, finished = _chunks(trace)
            for _ in range(8 * SLICES):
                worker.ask("slice")
            claimed_then, finished_then = _chunks(trace)
        share = 100 * (claimed_then - claimed) / (finished_then - finished)
        yield f"new among the chunks that {name} uses at full speed", "%", round(share, 1), "VizTracer", None, None


def _chunks(trace: Path) -> tuple[int, int]:
    """Of a process that records: chunks there are in its file, and how often one of them was filled."""
    with trace.open("rb") as file:
        page = file.read(HEADER_SIZE)
    claimed, finished = (int.from_bytes(page[at : at + 8], "little") for at in (CHUNKS_OFFSET, FINISHED_OFFSET))
    return claimed, finished


def kill(folder: Path) -> Iterator[Row]:
    with recording(folder) as (run, environment):
        with Worker("jinja2", "clew", environment) as worker:
            for _ in range(SLICES):
                worker.ask("slice")
            started = time.perf_counter()
            os.kill(worker.process.pid, signal.SIGKILL)
            worker.process.wait()
        opened = clew.open(run)
        taken = time.perf_counter() - started
    name = f"from SIGKILL to an opened run of {len(opened.graph):,} events"
    yield name, "s", round(taken, 2), "VizTracer, which keeps nothing", None, None


def memory(folder: Path) -> Iterator[Row]:
    program = folder / "many.py"
    program.write_text(_THREADS.format(count=THREADS))
    with recording(folder) as (_run, environment):
        untraced, ours, peer = (
            float(subprocess.run([sys.executable, *options, str(program)], env=env, check=True, capture_output=True, text=True)
                  .stdout.split()[0])
            for options, env in (
                ([], plain()), ([], environment), (["-m", "viztracer", "--quiet", "-o", str(folder / "trace.json")], plain())
            )
        )  # fmt: skip
    yield (
        f"memory for each of {THREADS} threads",
        "KB",
        round((ours - untraced) / 1024, 1),
        "VizTracer",
        (round((peer - untraced) / 1024, 1)),
        None,
    )


def counter(folder: Path) -> Iterator[Row]:
    """What the machine itself takes for a time: a call that is recorded has two of them, whoever records it."""
    program = folder / "counter"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    try:
        subprocess.run([*compiler, "-O2", "-o", str(program), str(COUNTER)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"counter: not measured, it takes a C compiler and an x86-64 processor ({error})")
        return
    reading, step = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split()
    yield "a reading of the processor's cycle counter", "ns", float(reading), "VizTracer", None, None
    yield "steps of the processor's cycle counter", "ns", float(step), "VizTracer", None, None


MEASURES: dict[str, Callable[[Path], Iterator[Row]]] = {
    "start-up": start_up,
    "size": size,
    "packing": packing,
    "keep-up": keep_up,
    "kill": kill,
    "memory": memory,
    "counter": counter,
}
