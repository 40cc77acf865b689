"""Waits for futures of thread pools: the future's key is that of its work item, and the holders are the workers."""

from __future__ import annotations

import pytest

from clew.records.format.event import Kind
from tests.support.programs.waits import waits_in

HEAD = """
from concurrent.futures import *
import sys, threading, time
sys.setswitchinterval(1000)  # a thread gives up the interpreter only where it blocks
begun, said = [], []

def until(condition):
    while not condition(): time.sleep(0.001)

def work():
    begun.append(1)
    until(lambda: said)
"""


@pytest.fixture
def futures(record):
    """`futures(source)` returns a recorded run of a program that uses pools, and its waits for futures."""

    def run(source):
        result = record(
            HEAD + source,
            adapters=("threads", "locks", "queues", "executors"),
        )
        assert result.code == 0, result.stderr
        return result, [wait for wait in waits_in(result.folder) if wait.channel == "executor.result"]

    return run


def channels_of(run, key):
    return [(placed.channel, placed.event.kind) for placed in run.events if placed.key == key]


def test_future_wait_has_the_key_of_its_work_item_and_names_the_worker(futures):
    run, (wait,) = futures(
        """
with ThreadPoolExecutor(2, "pool") as pool:
    future = pool.submit(work)
    until(lambda: begun)
    said.append(1)
    future.result()
"""
    )
    assert wait.short == ("MainThread", "executor.result", "satisfied") and wait.line == "future.result()"
    assert [held.who for held in wait.holders] == ["pool_0"]
    assert wait.waiting.begin.text.capacity == 2
    assert set(channels_of(run, wait.key)) == {
        ("executor.submit", Kind.SEND),
        ("executor.submit", Kind.SCOPE_BEGIN),
        ("executor.submit", Kind.SCOPE_END),
        ("executor.result", Kind.WAIT),
        ("executor.result", Kind.WAKE),
        ("executor.result", Kind.SEND),
        ("executor.result", Kind.JOIN),
    }


def test_future_of_an_occupied_pool_is_held_by_the_workers_that_run_other_items(futures):
    _, found = futures(
        """
pool = ThreadPoolExecutor(1, "pool")

def inner(): pass

def outer():
    future = pool.submit(inner)
    try: future.result(0.05)
    except TimeoutError: pass

pool.submit(outer).result()
"""
    )
    inner = next(wait for wait in found if wait.who == "pool_0")
    assert inner.end == "timeout" and inner.limit == 0.05
    assert [held.who for held in inner.holders] == ["pool_0"]
    assert inner.waiting.begin.text.capacity == 1


def test_wait_for_several_futures_names_one_if_it_needs_them_all(futures):
    _, found = futures(
        """
with ThreadPoolExecutor(3, "pool") as pool:
    futures = {pool.submit(work) for _ in range(3)}
    until(lambda: len(begun) == 3)
    wait(futures, timeout=0.01)
    wait(futures, timeout=0.01, return_when=FIRST_COMPLETED)
    said.append(1)
    futures.pop()
    futures.pop()
    for future in as_completed(futures): pass
"""
    )
    assert [wait.end for wait in found] == ["timeout", "timeout", "satisfied"]
    assert [len(wait.holders) for wait in found] == [1, 0, 1]
    assert [wait.waiting.begin.text.name for wait in found] == ["", "3 futures", ""]


def test_future_that_is_done_is_no_wait(futures):
    _, found = futures(
        """
future = Future()
future.set_result(1)
future.result(); future.exception(); wait([future]); list(as_completed([future]))
try: Future().result(0)
except TimeoutError: pass
"""
    )
    assert not found


def test_future_without_a_pool_has_no_holders(futures):
    _, (wait,) = futures(
        """
future = Future()
threading.Timer(0.05, future.set_result, (1,)).start()
future.result(5)
"""
    )
    assert wait.end == "satisfied" and wait.limit == 5 and not wait.holders


def test_idle_worker_waits_only_in_lines_of_libraries(record):
    run = record(
        """
        from concurrent.futures import ThreadPoolExecutor
        import time
        with ThreadPoolExecutor(1, "pool") as pool:
            pool.submit(time.sleep, 0).result()
            time.sleep(0.05)
        """,
        adapters=("threads", "locks", "queues", "executors"),
    )
    idle = [wait for wait in waits_in(run.folder) if wait.who == "pool_0"]
    assert {wait.channel for wait in idle} == {"queue"}
    assert all("program.py" not in frame.file for wait in idle for frame in wait.waiting.begin.text.at)
