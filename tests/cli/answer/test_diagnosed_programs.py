"""What diagnoses find in real programs with a fault of threads, finalizers or executors, and without the fault."""

import os
import subprocess
import sys
import textwrap

import pytest

from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from clew.graph.store.store import open_graph


@pytest.fixture
def found(tmp_path):
    """`found(source)` returns the findings about a recorded program, each as its kind and its text."""

    def run(source, *arguments):
        (tmp_path / "app.py").write_text(textwrap.dedent(source))
        (tmp_path / ".clew").mkdir(exist_ok=True)
        command = [sys.executable, "-m", "clew", "run", "--quiet", "--budget", "none", "--"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
        done = subprocess.run(
            [*command, sys.executable, "app.py", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode in (0, 3), done.stderr
        newest = max((tmp_path / ".clew" / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
        return [(finding.kind, finding.text) for finding in findings(Facts.of(open_graph(newest)[0]))]

    return run


AGAIN = """
import gc, os, signal, sys, threading, weakref

lock = threading.Lock() if "lock" in sys.argv else threading.RLock()

def close():
    if lock.acquire(timeout=0.2):
        lock.release()

class Connection:
    def __init__(self):
        self.itself = self if "gc" in sys.argv else None

    def __del__(self):
        close()

class Page:
    pass

def drop():
    connection = Connection()
    with lock:
        del connection
        gc.collect()

def interrupt():
    with lock:
        signal.raise_signal(signal.SIGUSR1)

def forget():
    page = Page()
    weakref.finalize(page, close)
    with lock:
        del page

def call():
    with lock:
        close()

signal.signal(signal.SIGUSR1, lambda number, frame: close())
{"gc": drop, "del": drop, "signal": interrupt, "finalize": forget, "call": call}[sys.argv[1]]()
"""


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("gc", "Meanwhile the garbage collector ran Connection.__del__ (app.py:14)"),
        ("del", "Meanwhile the last reference to an object was lost; this ran Connection.__del__ (app.py:14)"),
        ("signal", "Meanwhile a signal interrupted it; this ran <lambda> (app.py:40)"),
        ("finalize", "Meanwhile an object was dropped; this ran close (app.py:6)"),
        ("call", "Meanwhile it called close (app.py:6)"),
    ],
)
def test_lock_retaken_by_interrupting_code_names_what_ran_it(found, way, text):
    ((kind, told),) = found(AGAIN, way, "lock")
    assert kind == "retaken-by-holder"
    assert told.endswith(f"the lock cannot be taken twice. {text}, which led to the second attempt.")


@pytest.mark.parametrize("way", ["gc", "del", "signal", "finalize", "call"])
def test_reentrant_lock_retaken_by_interrupting_code_has_no_finding(found, way):
    assert found(AGAIN, way) == []


POOL = """
import asyncio, concurrent.futures, sys, threading

way, workers = sys.argv[1], int(sys.argv[2])
pool = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="pool")
beside = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="beside")
both, ledger = threading.Barrier(2), threading.Lock()

def leaf():
    return 1

def nested():
    both.wait()
    concurrent.futures.wait([pool.submit(leaf)], timeout=0.5)

def middle():
    return pool.submit(leaf).result()

def outer():
    concurrent.futures.wait([beside.submit(middle)], timeout=0.5)

def locked():
    with ledger:
        return 1

async def look_up():
    return await loop.run_in_executor(None, leaf)

def ask():
    both.wait()
    try:
        asyncio.run_coroutine_threadsafe(look_up(), loop).result(0.5)
    except TimeoutError:
        pass

async def main():
    global loop
    loop = asyncio.get_running_loop()
    loop.set_default_executor(pool)
    await asyncio.gather(asyncio.to_thread(ask), asyncio.to_thread(ask))

if way == "nested":
    concurrent.futures.wait([pool.submit(nested), pool.submit(nested)])
elif way == "two pools":
    pool.submit(outer).result()
elif way == "loop":
    asyncio.run(main())
elif way == "lock":
    with ledger:
        concurrent.futures.wait([pool.submit(locked)], timeout=0.5)
pool.shutdown(), beside.shutdown()
"""


@pytest.mark.parametrize(
    ("way", "workers", "text"),
    [
        ("nested", 2, "All 2 workers were occupied by nested, "),
        ("nested", 2, "Each of them waited for work that only these workers run: a circle."),
        ("two pools", 1, "The only worker, pool_0, was occupied by outer from "),
        ("two pools", 1, "outer waited for beside_0, which waited for the submitted work: a circle."),
        ("loop", 2, " had submitted to an executor at "),
        ("loop", 2, "All 2 workers were occupied by ask, "),
        (
            "loop",
            2,
            "Each of them waited in the end for work that only these workers run: ask (pool_0) waited for look_up",
        ),
    ],
)
def test_executor_occupied_by_work_that_needs_it_is_a_circle(found, way, workers, text):
    ((kind, told), *_others) = found(POOL, way, str(workers))
    assert kind == "executor-occupied"
    assert text in told


@pytest.mark.parametrize("way", ["nested", "two pools", "loop"])
def test_executor_with_enough_workers_has_no_finding(found, way):
    assert found(POOL, way, "6") == []


def test_lock_that_awaited_work_of_a_pool_needs_is_a_circle(found):
    ((kind, told), *_others) = found(POOL, "lock", "3")
    assert kind == "wait-circle"
    assert "pool_0 ran the work that MainThread waited for and itself waited for ledger (locked, " in told
