"""Pauses of threads: what holds on a machine at any load, of programs that the operating system interrupts."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from clew.graph.ops.aggregation.aggregate import aggregate
from clew.instrument.recorder.core import core
from clew.query.api import open_run
from clew.records.format.event import DELAY_BITS, Kind

MS = 1_000_000
CLOCKS = """
import json, os, threading, time

def delay():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])

def spin(seconds=0.002):
    until = time.thread_time() + seconds
    while time.thread_time() < until: pass
"""


@pytest.fixture
def recorded(record):
    return partial(record, adapters=("threads", "processes", "pauses"))


no_area = pytest.mark.skipif(
    core.pause_source() != "rseq, schedstat", reason="this system does not tell when a thread does not run"
)


@contextmanager
def busy_machine() -> Iterator[None]:
    """Run more busy processes than there are processors."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def pauses(run):
    """Return the ns of each PAUSE in which its thread waited for a processor."""
    return [
        event.extension.key & (1 << DELAY_BITS) - 1
        for process in run.processes
        for event in process.events()
        if event.kind == Kind.PAUSE
    ]


def nodes(run):
    return {
        node.label.rpartition(":")[2]: node
        for node in aggregate(open_run(run.folder).graph, "function").by_label().nodes
    }


@no_area
def test_time_that_others_had_the_processor_is_no_work(recorded):
    program = """
        def main():
            before, began = delay(), time.thread_time()
            for _ in range(150): spin()
            print(json.dumps([delay() - before, time.thread_time() - began]))

        main()
        """
    with busy_machine():
        run = recorded(CLOCKS + "\n".join(line[8:] for line in program.splitlines()))
    waited, worked = json.loads(run.stdout)
    assert waited > 0
    assert sum(pauses(run)) >= 0.9 * waited - 2 * MS
    found = nodes(run)
    assert found["spin"].processor_ns >= 0.8 * waited - 2 * MS
    assert found["spin"].self_ns <= 1.1 * worked * 1e9 + 5 * MS


@no_area
def test_program_that_sleeps_does_not_work(recorded):
    run = recorded(CLOCKS + "def nap(): time.sleep(0.2)\nnap()\nspin(0.01)\n")
    nap = nodes(run)["nap"]
    assert nap.self_ns < 20 * MS
    assert nap.waiting_ns >= 190 * MS
    assert nap.blocked_ns >= 150 * MS


@no_area
def test_thread_that_waits_for_the_gil_does_not_work(recorded):
    run = recorded(
        CLOCKS
        + """
def handle():
    began = time.thread_time()
    total = 0
    for i in range(20000): total += i
    return time.thread_time() - began

def hog():
    for i in range(3_000_000): pass

def main():
    other = threading.Thread(target=hog)
    other.start()
    worked = sum(handle() for _ in range(40))
    other.join()
    print(worked)

main()
"""
    )
    assert nodes(run)["handle"].self_ns <= 1.2 * float(run.stdout) * 1e9 + 5 * MS


@no_area
def test_forked_child_and_later_threads_tell_their_pauses(recorded):
    run = recorded(
        CLOCKS
        + """
def in_thread(): time.sleep(0.05)

def in_child(): time.sleep(0.05)

spin()
worker = threading.Thread(target=in_thread)
worker.start()
worker.join()
if not os.fork():
    in_child()
    os._exit(0)
os.wait()
"""
    )
    assert len(run.processes) == 2
    found = nodes(run)
    for name in ("in_thread", "in_child"):
        assert found[name].waiting_ns >= 45 * MS
        assert found[name].self_ns < 20 * MS


def test_without_the_area_nothing_is_told_and_the_header_says_so(recorded):
    program = CLOCKS + "def nap(): time.sleep(0.05)\nnap()\n"
    run = recorded(program, environment={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
    assert run.code == 0
    assert pauses(run) == []
    assert [process.info["pauses"] for process in run.processes] == [""]
    assert nodes(run)["nap"].self_ns >= 45 * MS


@no_area
def test_header_names_what_tells_of_pauses(recorded):
    run = recorded("def main(): pass\nmain()\n")
    assert [process.info["pauses"] for process in run.processes] == ["rseq, schedstat"]


@no_area
def test_latch_of_other_code_is_left_alone(recorded):
    run = recorded(
        """
        import ctypes, time

        here = ctypes.CDLL(None)
        offset = ctypes.c_ssize_t.in_dll(here, "__rseq_offset").value
        here.pthread_self.restype = ctypes.c_void_p
        latch = ctypes.c_uint64.from_address(here.pthread_self() + offset + 8)

        def ours(): pass

        # A descriptor of code that never runs, as other code has it; the kernel takes it away when the thread blocks.
        text = (ctypes.c_uint32 * 8)(*[0x53053053] * 8)
        at = ctypes.addressof(text)
        room = ctypes.create_string_buffer(64)
        place = (ctypes.addressof(room) + 31) & ~31
        (ctypes.c_uint64 * 4).from_address(place)[:] = (0, at + 24, 1, at + 8)

        def main():
            for _ in range(1000):
                latch.value = place
                ours()
                found = latch.value
                if found == place: return "left alone"
            return "never undisturbed"

        print(main())
        latch.value = 0
        """
    )
    assert run.stdout == "left alone\n"
