"""A program's replacements of standard library classes work as without clew."""

from __future__ import annotations

from clew.records.format.event import Kind
from tests.support.programs.recording import ADAPTERS

PLAIN = {"CLEW_RUN": "", "PYTHONPATH": ""}

REPLACED = """
import _thread, threading

class Event:
    def __init__(self): self.waiters, self.passed = [], False
    def _at_fork_reinit(self): pass
    def is_set(self): return self.passed
    def set(self):
        self.passed = True
        while self.waiters: self.waiters.pop().release()
    def wait(self, timeout=None):
        if not self.passed:
            lock = _thread.allocate_lock()
            lock.acquire()
            self.waiters.append(lock)
            if not self.passed: lock.acquire()
        return self.passed

class Told(threading.Event):
    def set(self):
        print("set")
        super().set()

class Lock:
    def __init__(self): self.lock = _thread.allocate_lock()
    def acquire(self, *arguments, **options):
        print("acquire", arguments, options)
        return self.lock.acquire(*arguments, **options)
    def release(self):
        print("release")
        self.lock.release()

def started():
    print("in the thread")

def main():
    own = threading.Event
    for kind in (Event, Told, own):
        threading.Event = kind
        thread = threading.Thread(target=started)
        thread.start()
        thread.join()
        print(kind.__name__, thread.is_alive(), thread._started.is_set())
    condition = threading.Condition()
    threading._allocate_lock = Lock
    with condition:
        print(condition.wait(0.01))
    del threading._allocate_lock
    with condition:
        try:
            condition.wait(0.01)
        except NameError as error:
            print(error)

main()
"""


def test_replaced_event_and_lock_classes_are_used_as_untraced(record):
    adapters = (*ADAPTERS, "locks")
    plain, traced = (record(REPLACED, adapters=adapters, environment=environment) for environment in (PLAIN, {}))
    assert plain.code == 0, plain.stderr
    assert (traced.code, traced.stdout, traced.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert {"main", "started"} <= {placed.site.qualname for placed in traced.of(Kind.ENTER)}
