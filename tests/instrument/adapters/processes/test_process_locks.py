"""Waits for the locks and queues that processes share, and who holds the locks."""

from __future__ import annotations

import pytest

from clew.graph.store.store import open_graph
from tests.support.programs.named_facts import NamedFacts

PRIMITIVES = """
import multiprocessing, queue, sys, threading

def child(semaphore, condition, event, barrier, items, room, joinable, pipe):
    assert not semaphore.acquire(timeout=0.02)
    with condition:
        condition.wait(0.02)
    event.wait(0.02)
    try: barrier.wait(0.02)
    except threading.BrokenBarrierError: pass
    try: items.get(timeout=0.02)
    except queue.Empty: pass
    try: room.put(2, timeout=0.02)
    except queue.Full: pass
    pipe.poll(0.02)
    # The switch interval is endless, so `tell` continues only when this thread waits.
    sys.setswitchinterval(1000)
    gates = threading.Lock(), threading.Lock()
    for gate in gates: gate.acquire()
    def tell():
        for gate in gates: gate.acquire(), pipe.send("waits")
    threading.Thread(target=tell, daemon=True).start()
    gates[0].release(), items.get()
    gates[1].release(), joinable.join()

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    semaphore, room, items, joinable = (
        context.BoundedSemaphore(2), context.Queue(1), context.Queue(), context.JoinableQueue()
    )
    semaphore.acquire(), semaphore.acquire()
    room.put(1), joinable.put(1)
    ours, theirs = context.Pipe()
    shared = semaphore, context.Condition(), context.Event(), context.Barrier(2), items, room, joinable, theirs
    process = context.Process(target=child, args=shared)
    process.start()
    ours.recv(), items.put(3)
    ours.recv(), joinable.get(), joinable.task_done()
    process.join()
    room.get()
"""
METHODS = pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])


def facts_of(record, source, method):
    run = record(source, method, adapters=("threads", "locks", "processes", "executors"))
    assert run.code == 0, run.stderr
    return NamedFacts(open_graph(run.folder)[0])


@METHODS
def test_process_lock_is_the_same_in_each_process_and_has_its_holder(record, method):
    facts = facts_of(
        record,
        """
        import multiprocessing, sys

        def work(lock, taken, go):
            with lock:
                taken.set()
                go.wait()

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            lock, taken, go = context.Lock(), context.Event(), context.Event()
            child = context.Process(target=work, args=(lock, taken, go))
            child.start()
            taken.wait()
            assert not lock.acquire(timeout=0.05)
            assert not lock.acquire(False) and not lock.acquire(timeout=0)
            go.set()
            assert lock.acquire()
            child.join()
        """,
        method,
    )
    (wait,) = (each for each in facts.of("multiprocessing.lock") if each.begin.text.limit)
    assert (wait.begin.text.limit, wait.end) == (0.05, "timeout")
    first, second = [holding for holding in facts.holdings if holding.resource == wait.resource]
    assert facts.graph.strands[first.strand].process > facts.graph.strands[second.strand].process == 0
    assert first.since_ns <= wait.begin.ns <= wait.wake.ns <= first.until_ns <= second.since_ns
    assert second.until_ns is None
    assert "work" in {frame.function for frame in first.at}


@METHODS
def test_process_rlock_is_held_from_its_first_acquire_to_its_last_release(record, method):
    facts = facts_of(
        record,
        """
        import multiprocessing, sys

        if __name__ == "__main__":
            lock = multiprocessing.get_context(sys.argv[1]).RLock()
            with lock:
                with lock:
                    lock.acquire(timeout=1)
                    lock.release()
            try: lock.release()
            except AssertionError: pass
        """,
        method,
    )
    (holding,) = facts.holdings
    assert holding.until_ns is not None
    assert not facts.waits


@METHODS
def test_process_primitives_name_their_waits_and_ends(record, method):
    for _attempt in range(3):
        facts = facts_of(record, PRIMITIVES, method)
        child = facts.graph.strands[facts.of("multiprocessing.semaphore")[0].strand].process
        told = [
            (wait.begin.channel.removeprefix("multiprocessing."), wait.begin.text.limit is not None, wait.end)
            for wait in facts.waits
            if facts.graph.strands[wait.strand].process == child and facts.name(wait.strand) == "MainThread"
        ]
        unlimited = [each for each in told if not each[1] and each[0] != "rlock"]  # that of the queue that is joined
        if ("queue", False, "satisfied") in unlimited:
            break
        # A busy machine stopped the child before it asked for the item, which was there then.
    assert [each for each in told if each[1]] == [
        (channel, True, "timeout")
        for channel in ("semaphore", "condition", "event", "barrier", "queue", "queue", "pipe")
    ]
    assert unlimited == [("queue", False, "satisfied"), ("queue.done", False, "satisfied")]
    held = [
        holding for holding in facts.holdings if holding.resource == facts.of("multiprocessing.semaphore")[0].resource
    ]
    assert [holding.until_ns for holding in held] == [None, None]
    assert facts.of("multiprocessing.semaphore")[0].begin.text.capacity == 2


def test_process_semaphore_of_unknown_size_has_waits_but_no_holders(record):
    facts = facts_of(
        record,
        """
        import multiprocessing, sys

        if __name__ == "__main__":
            for slots in (0, 1):
                semaphore = multiprocessing.get_context(sys.argv[1]).Semaphore(slots)
                semaphore.release()
                for _ in range(slots + 1): semaphore.acquire()
                assert not semaphore.acquire(timeout=0.02)
        """,
        "spawn",
    )
    assert [wait.end for wait in facts.of("multiprocessing.semaphore")] == ["timeout", "timeout"]
    assert not facts.holdings


def test_pools_waiting_for_work_leave_no_waits_for_queues(record):
    facts = facts_of(
        record,
        """
        import concurrent.futures, multiprocessing, sys, time

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            pool = context.Pool(2)
            time.sleep(0.2)
            pool.map(abs, [1, 2])
            pool.close(), pool.join()
            with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
                assert list(pool.map(abs, [1, 2])) == [1, 2]
        """,
        "fork",
    )
    assert not facts.of("multiprocessing.queue")
