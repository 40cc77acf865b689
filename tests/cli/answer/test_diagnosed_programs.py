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
