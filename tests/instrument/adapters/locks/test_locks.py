"""Locks: a wait has an edge from the release that ended it and no other edge; locks look unchanged."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from clew.records.format.event import Kind
from tests.support.programs.waiting import PREFIX


@pytest.mark.parametrize("make", ["Lock", "RLock"])
def test_lock_wait_depends_on_the_release_that_ended_it(locks, make):
    run = locks(
        f"""
    lock = threading.{make}()

    def early(): lock.acquire()
    def late(): lock.release()

    def waiter():
        said.append(1)
        with lock: pass

    early()
    threads = start(waiter)
    until(lambda: said)
    late()
    join(threads)
    """
    )
    assert run.syncs() == Counter({("lock", "MainThread/late", "waiter/waiter"): 1})


@pytest.mark.parametrize("make", ["Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"])
def test_lock_without_waiters_leaves_no_record(locks, make):
    run = locks(
        f"""
    lock = threading.{make}()
    for _ in range(100):
        with lock: pass
        assert lock.acquire(timeout=60)
        lock.release()
        assert lock.acquire(blocking=False)
        lock.release()
    """
    )
    assert not run.of(Kind.RELEASE, Kind.ACQUIRE)


def test_rlock_wait_depends_on_the_outermost_release(locks):
    run = locks(
        """
    lock = threading.RLock()

    def inner(): lock.release()
    def outer(): lock.release()

    def waiter():
        said.append(1)
        with lock:
            with lock: pass

    lock.acquire(); lock.acquire()
    threads = start(waiter)
    until(lambda: said)
    inner()
    time.sleep(0)
    outer()
    join(threads)
    """
    )
    assert run.syncs() == Counter({("lock", "MainThread/outer", "waiter/waiter"): 1})


def test_lock_with_several_waiters_has_an_edge_between_successive_holders(locks):
    run = locks(
        """
    lock = threading.Lock()
    got = []

    def body():
        said.append(1)
        with lock: got.append(threading.current_thread().name)

    def a(): body()
    def b(): body()
    def c(): body()

    lock.acquire()
    threads = start(a, b, c)
    until(lambda: len(said) == 3)
    lock.release()
    join(threads)
    print(*got)
    """
    )
    order = ["MainThread", *(f"{name}/body" for name in run.stdout.split())]
    assert len(order) == 4
    assert run.syncs() == Counter(("lock", one, other) for one, other in zip(order, order[1:], strict=False))


def test_lock_wait_that_timed_out_has_no_edge(locks):
    run = locks(
        """
    lock, event, condition = threading.Lock(), threading.Event(), threading.Condition()
    semaphore = threading.Semaphore(0)
    lock.acquire()
    assert not lock.acquire(timeout=0.01) and not lock.acquire(False)
    assert not event.wait(0.01) and not event.wait(0)
    with condition: assert not condition.wait(0.01) and not condition.wait(0)
    assert not semaphore.acquire(timeout=0.01)

    def later():
        lock.release()
        event.set()
        semaphore.release()
        with condition: condition.notify_all()

    join(start(later))
    lock.acquire()
    semaphore.acquire()
    """
    )
    assert run.syncs() == Counter()


def test_thread_start_and_join_have_no_lock_edges(locks):
    run = locks(
        """
    def work(): pass
    threads = start(work, work)
    assert all(thread.ident for thread in threads)
    join(threads)
    assert not any(thread.is_alive() for thread in threads)
    """
    )
    assert run.syncs() == Counter()


def test_forked_child_does_not_inherit_waits_of_its_parent(record):
    run = record(
        PREFIX
        + """
    import os
    lock = threading.Lock()

    def waiter():
        said.append(1)
        with lock: pass

    def in_child():
        mine = threading.Lock()
        for _ in range(3):
            with mine: pass
        lock.release()

    lock.acquire()
    threads = start(waiter)
    until(lambda: said)
    child = os.fork()
    if not child:
        in_child()
        os._exit(0)
    os.waitpid(child, 0)
    lock.release()
    join(threads)
    """,
        adapters=("threads", "locks", "processes"),
    )
    assert run.code == 0, run.stderr
    assert run.syncs() == Counter({("lock", "MainThread", "waiter/waiter"): 1})
    child = run.processes[-1].header.uid
    assert not [placed for placed in run.of(Kind.RELEASE) if placed.process.header.uid == child]


def test_locks_have_attributes_and_errors_of_untraced_ones(record):
    source = """
        import _thread, copy, inspect, pickle, threading, weakref

        def attempt(function, *arguments, **options):
            try: print(function(*arguments, **options))
            except Exception as error: print(type(error), str(error).split(" at ")[0])

        for lock in (threading.Lock(), threading.RLock(), _thread.allocate_lock()):
            kind = type(lock)
            print(kind, isinstance(lock, kind), sorted(dir(lock)), lock.__doc__)
            print(repr(lock).split(" at ")[0], repr(lock.acquire).split(" at ")[0], kind.acquire, kind.__enter__)
            print(kind.acquire.__doc__, kind.release.__qualname__, kind.__exit__.__text_signature__)
            attempt(lock.release)
            attempt(lock.acquire, False, 5)
            attempt(lock.acquire, timeout=-5)
            attempt(lock.acquire, 1, 2, 3)
            attempt(lock.acquire, nonsense=1)
            attempt(lock.acquire, "yes", 0.5)
            attempt(lock.release)
            attempt(lock.acquire, blocking=True, timeout=1)
            attempt(lock.acquire, 0)
            attempt(lock.__exit__)
            attempt(pickle.dumps, lock)
            attempt(copy.copy, lock)
            attempt(lock._at_fork_reinit)
            assert weakref.ref(lock)() is lock
            with lock as entered: print(entered)
        event = threading.Event()
        print(sorted(vars(event)), inspect.signature(event.wait), event.set.__name__)
        del event._flag
        attempt(event.is_set)
        attempt(inspect.signature, threading.Lock().acquire)
        try: threading.Condition().notify()
        except RuntimeError as error: print(error)
        barrier = threading.Barrier(1, action=lambda: 1 / 0)
        try: barrier.wait()
        except ZeroDivisionError: __import__("traceback").print_exc()
        """
    traced = record(source, adapters=("threads", "locks"))
    untraced = record(source, environment={"CLEW_RUN": ""})
    assert traced.code == untraced.code == 0, traced.stderr
    assert traced.stdout == untraced.stdout
    assert traced.stderr == untraced.stderr
    assert "ZeroDivisionError" in traced.stderr


def test_lock_wait_interrupted_by_signal_has_no_edge(locks):
    run = locks(
        """
    import signal

    lock, condition = threading.Lock(), threading.Condition()

    def interrupt(number, frame): raise InterruptedError

    def interrupted(wait):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try: wait()
        except InterruptedError: said.append(1)

    signal.signal(signal.SIGALRM, interrupt)
    lock.acquire()
    interrupted(lock.acquire)
    with condition: interrupted(condition.wait)
    assert len(said) == 2
    lock.release()
    with lock: pass
    with condition: condition.notify_all()
    """
    )
    assert run.syncs() == Counter()


def test_condition_wait_that_fails_early_marks_no_later_lock(locks):
    run = locks(
        """
    class Refusing:
        def acquire(self): pass
        def release(self): pass
        def _is_owned(self): return True
        def _release_save(self): raise InterruptedError

    def fail():
        condition = threading.Condition(Refusing())
        try: condition.wait()
        except InterruptedError: said.append(1)

    for _ in range(50): fail()
    assert len(said) == 50
    # These locks reuse the addresses of the locks of those waits.
    locks = [threading.Lock() for _ in range(200)]
    for _ in range(2):
        for lock in locks: lock.acquire(); lock.release()
    """
    )
    assert run.syncs() == Counter() and not run.of(Kind.RELEASE)


def test_locks_adapter_supports_this_interpreter(locks):
    """Otherwise the tests above would prove nothing for this interpreter."""
    run = locks("print(threading.Event.set.__code__.co_names)")
    assert "_clew_set_flag" in run.stdout, sys.version
