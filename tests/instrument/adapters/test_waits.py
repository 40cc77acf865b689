"""Waits of threads: a WAIT before the thread blocks, with the object, the limit and the holder; a WAKE that tells its end."""

from __future__ import annotations

import pytest

from clew.records.format.event import Kind
from tests.support.programs.waiting import PREFIX
from tests.support.programs.waits import waits_in

QUIET = "threads", "locks", "queues", "executors"


@pytest.fixture
def waits(record):
    """`waits(source)` returns the waits of a program other than those for the ends of its threads."""

    def run(source, joins=False):
        result = record(PREFIX + source, adapters=QUIET)
        assert result.code == 0, result.stderr
        return [wait for wait in waits_in(result.folder) if joins or wait.channel != "thread.join"]

    return run


@pytest.mark.parametrize(("make", "channel"), [("Lock", "lock"), ("RLock", "rlock")])
def test_lock_wait_names_the_holder_and_the_lines(waits, make, channel):
    (wait,) = waits(
        f"""
    lock = threading.{make}()

    def holder():
        with lock:
            said.append(1)
            until(lambda: len(said) == 2)

    def waiter():
        until(lambda: said)
        said.append(2)
        with lock: pass

    join(start(holder, waiter))
    """
    )
    assert wait.short == ("waiter", channel, "satisfied")
    assert wait.line == "with lock: pass" and wait.limit is None
    (held,) = wait.holders
    assert (held.who, held.line, held.process) == ("holder", "with lock:", 0)
    assert 0 <= held.seconds < 60
    assert wait.waiting.begin.text.at[0].function == "waiter"


@pytest.mark.parametrize(
    "take", ["lock.acquire()", "lock.acquire(timeout=5)", "lock.acquire(True, 5)", "lock.acquire(blocking=True)"]
)
@pytest.mark.parametrize("make", ["Lock", "RLock"])
def test_lock_wait_with_a_limit_times_out(waits, make, take):
    (wait,) = waits(
        f"""
    lock = threading.{make}()
    assert {take}

    def waiter(): assert not lock.acquire(timeout=0.05)

    join(start(waiter))
    """
    )
    assert wait.short == ("waiter", make.lower(), "timeout")
    assert wait.limit == 0.05 and wait.ns >= 50_000_000
    assert [(held.who, held.line) for held in wait.holders] == [("MainThread", f"assert {take}")]


def test_lock_acquire_that_does_not_block_is_no_wait(waits):
    assert not waits(
        """
    for lock in (threading.Lock(), threading.RLock(), threading.Semaphore(1)):
        for _ in range(3):
            with lock: pass
        assert lock.acquire(timeout=5)
        def other():
            assert not lock.acquire(False) and not lock.acquire(blocking=False)
        join(start(other))
    lock = threading.Lock()
    lock.acquire()
    assert not lock.acquire(True, 0) and not lock.acquire(timeout=0)
    event, condition = threading.Event(), threading.Condition()
    assert not event.wait(0)
    event.set()
    assert event.wait(5)
    with condition: assert not condition.wait(0)
    """
    )


def test_lock_acquire_with_wrong_arguments_fails_as_ever(waits):
    assert not waits(
        """
    for lock in (threading.Lock(), threading.RLock()):
        for arguments, names in (
            ((False, 1), {}), ((True, -2), {}), ((), {"timeout": "1"}), ((), {"other": 1}), ((True, 1, 1), {}),
            ((True,), {"blocking": True}), ((), {"timeout": float("nan")}), ((), {"timeout": 1e20}),
        ):
            try: lock.acquire(*arguments, **names)
            except (TypeError, ValueError, OverflowError): pass
            else: raise SystemExit(f"accepted {arguments} {names}")
        assert lock.acquire(False), "it was acquired in vain"
    """
    )


def test_lock_released_by_another_thread_has_the_next_holder(waits):
    first, second = waits(
        """
    lock = threading.Lock()

    def taker(): lock.acquire()
    def giver(): lock.release()
    def late():
        with lock:
            said.append(1)
            until(lambda: len(said) == 2)
    def early(): assert not lock.acquire(timeout=0.02)
    def waiter():
        until(lambda: said)
        said.append(2)
        with lock: pass

    join(start(taker))
    join(start(early))
    join(start(giver))
    join(start(late, waiter))
    """
    )
    assert [(held.who, held.line) for held in first.holders] == [("taker", "def taker(): lock.acquire()")]
    assert [(held.who, held.line) for held in second.holders] == [("late", "with lock:")]
    assert first.key == second.key


def test_rlock_holder_is_where_it_was_acquired_first(waits):
    (wait,) = waits(
        """
    lock = threading.RLock()

    def holder():
        lock.acquire()
        with lock: pass
        lock.acquire()
        lock.release()
        said.append(1)
        until(lambda: len(said) == 2)
        lock.release()

    def waiter():
        until(lambda: said)
        said.append(2)
        with lock: pass

    join(start(holder, waiter))
    """
    )
    assert [(held.who, held.line) for held in wait.holders] == [("holder", "lock.acquire()")]


def test_lock_taken_twice_by_one_thread_is_held_by_the_waiter(waits):
    (wait,) = waits(
        """
    lock = threading.Lock()
    with lock:
        lock.acquire(timeout=0.02)
    """
    )
    assert wait.short == ("MainThread", "lock", "timeout")
    assert [(held.who, held.line) for held in wait.holders] == [("MainThread", "with lock:")]


def test_locks_have_keys_of_their_own_and_keep_them(waits):
    found = waits(
        """
    locks = threading.Lock(), threading.Lock(), threading.RLock()
    for lock in locks: lock.acquire()

    def waiter():
        for lock in locks * 2: lock.acquire(timeout=0.01)

    join(start(waiter))
    """
    )
    keys = [wait.key for wait in found]
    assert len(set(keys)) == 3 and keys[:3] == keys[3:]


def test_waiters_of_a_lock_are_counted(waits):
    found = waits(
        """
    lock = threading.Lock()
    lock.acquire()

    def body():
        said.append(1)
        with lock: pass
    def a(): body()
    def b(): body()

    threads = start(a, b)
    until(lambda: len(said) == 2)
    time.sleep(0.05)
    lock.release()
    join(threads)
    """
    )
    assert [wait.waiting.begin.text.waiters for wait in found] == [0, 1]


def test_waiters_of_an_event_are_counted(waits):
    found = waits(
        """
    event = threading.Event()
    def a(): event.wait()
    def b(): event.wait()
    threads = start(a)
    until(lambda: len(event._cond._waiters) == 1)
    threads += start(b)
    until(lambda: len(event._cond._waiters) == 2)
    event.set()
    join(threads)
    """
    )
    assert [(wait.who, wait.waiting.begin.text.waiters) for wait in found] == [("a", 0), ("b", 1)]


def test_condition_waits_are_recorded_under_the_primitive_that_was_used(waits):
    found = waits(
        """
    import queue
    event, condition, semaphore = threading.Event(), threading.Condition(), threading.BoundedSemaphore(2)
    barrier, items, simple = threading.Barrier(3), queue.Queue(1), queue.SimpleQueue()
    semaphore.acquire(); semaphore.acquire()
    items.put(1)

    def waiter():
        event.wait(0.01)
        with condition: condition.wait(0.02)
        with condition: condition.wait_for(lambda: False, 0.03)
        semaphore.acquire(timeout=0.04)
        try: barrier.wait(0.05)
        except threading.BrokenBarrierError: pass
        try: items.put(2, timeout=0.06)
        except queue.Full: pass
        items.get()
        try: items.get(timeout=0.07)
        except queue.Empty: pass
        try: simple.get(True, 0.08)
        except queue.Empty: pass
        try: simple.get(timeout=0.09)
        except queue.Empty: pass

    join(start(waiter))
    """
    )
    assert [(wait.channel, wait.end) for wait in found] == [
        (channel, "timeout")
        for channel in (
            "event", "condition", "condition", "semaphore", "barrier", "queue", "queue", "queue", "queue",
        )
    ]  # fmt: skip
    assert [wait.limit for wait in found] == pytest.approx([0.01 * number for number in range(1, 10)])
    assert [wait.line.split("(")[0] for wait in found] == [
        "event.wait", "with condition: condition.wait", "with condition: condition.wait_for", "semaphore.acquire",
        "try: barrier.wait", "try: items.put", "try: items.get", "try: simple.get", "try: simple.get",
    ]  # fmt: skip
    keys = [wait.key for wait in found]
    assert keys[1] == keys[2] and keys[5] == keys[6] and keys[7] == keys[8] and len(set(keys)) == 6
    assert [wait.waiting.begin.text.capacity for wait in found] == [0, 0, 0, 2, 3, 1, 0, 0, 0]
    assert not any(wait.holders for wait in found)


def test_condition_waits_that_are_satisfied_end_so(waits):
    found = waits(
        """
    import queue
    event, condition, semaphore = threading.Event(), threading.Condition(), threading.Semaphore(0)
    barrier, items, simple = threading.Barrier(2), queue.Queue(), queue.SimpleQueue()

    def waiter():
        event.wait()
        with condition: condition.wait()
        semaphore.acquire()
        barrier.wait()
        items.get()
        said.append(1)
        simple.get()

    threads = start(waiter)
    until(lambda: event._cond._waiters); event.set()
    until(lambda: condition._waiters)
    with condition: condition.notify()
    until(lambda: semaphore._cond._waiters); semaphore.release()
    until(lambda: barrier.n_waiting); barrier.wait()
    until(lambda: items.not_empty._waiters); items.put(1)
    until(lambda: said); simple.put(1)
    join(threads)
    """
    )
    found = [wait for wait in found if wait.who == "waiter"]
    assert [wait.channel for wait in found] == ["event", "condition", "semaphore", "barrier", "queue", "queue"]
    assert {(wait.end, wait.limit) for wait in found} == {("satisfied", None)}


def test_condition_that_takes_its_lock_back_waits_for_the_lock(waits):
    found = waits(
        """
    condition = threading.Condition()

    def waiter():
        with condition:
            said.append(1)
            condition.wait()

    def notifier():
        until(lambda: said)
        with condition:
            condition.notify()
            time.sleep(1)

    join(start(waiter, notifier))
    """
    )
    assert [wait.short for wait in found] == [("waiter", "condition", "satisfied"), ("waiter", "rlock", "satisfied")]
    assert [(held.who, held.line) for held in found[1].holders] == [("notifier", "with condition:")]


def test_queue_join_waits_for_the_items_that_are_not_done(waits):
    (wait,) = waits(
        """
    import queue
    items = queue.Queue()
    items.put(1)

    def worker():
        items.get()
        time.sleep(0.05)
        items.task_done()

    start(worker)
    items.join()
    """
    )
    assert wait.short == ("MainThread", "queue.done", "satisfied")


def test_thread_join_names_the_thread_and_how_it_ended(waits):
    found = waits(
        """
    def worker(): until(lambda: said)

    (thread,) = start(worker)
    thread.join(0.01)
    said.append(1)
    thread.join()
    thread.join()
    """,
        joins=True,
    )
    assert [(wait.short, wait.limit) for wait in found] == [
        (("MainThread", "thread.join", "timeout"), 0.01),
        (("MainThread", "thread.join", "satisfied"), None),
    ]
    for wait in found:
        text, strand = wait.waiting.begin.text, wait.graph.strand_of(wait.waiting.begin.row)
        target = next(each for each in wait.graph.strands if each.name == "worker")
        assert text.name == "worker" and text.target == target.thread and strand.name == "MainThread"


def test_process_that_is_killed_keeps_its_wait(record):
    run = record(
        PREFIX
        + """
    import os, signal
    lock = threading.Lock()

    def holder():
        with lock:
            said.append(1)
            time.sleep(60)

    def killer():
        until(lambda: said)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)

    threads = start(holder, killer)
    until(lambda: said)
    with lock: pass
    """,
        adapters=QUIET,
    )
    assert run.code == -9
    (wait,) = waits_in(run.folder)
    assert wait.short == ("MainThread", "lock", "never") and wait.line == "with lock: pass"
    assert [(held.who, held.line) for held in wait.holders] == [("holder", "with lock:")]


def test_interrupted_wait_fails(record):
    run = record(
        PREFIX
        + """
    import signal
    lock = threading.Lock()
    lock.acquire()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try: lock.acquire()
    except KeyboardInterrupt: print("interrupted")
    """,
        adapters=QUIET,
    )
    assert run.stdout == "interrupted\n"
    assert [wait.short for wait in waits_in(run.folder)] == [("MainThread", "lock", "failed")]


def test_forked_child_waits_for_a_thread_of_its_parent(record):
    run = record(
        PREFIX
        + """
    import os
    other, own = threading.Lock(), threading.Lock()

    def holder():
        with other:
            said.append(1)
            until(lambda: len(said) == 2)

    def child():
        assert not other.acquire(timeout=0.02)
        def waiter(): assert not own.acquire(timeout=0.03)
        join(start(waiter))
        os._exit(0)

    threads = start(holder)
    until(lambda: said)
    own.acquire()
    pid = os.fork()
    if not pid: child()
    assert os.waitpid(pid, 0)[1] == 0
    said.append(2)
    own.release()
    join(threads)
    """,
        adapters=(*QUIET, "processes"),
    )
    assert run.code == 0, run.stderr
    first, second = (wait for wait in waits_in(run.folder) if wait.channel == "lock")
    wait = first
    (held,) = first.holders
    assert (held.who, held.line) == ("holder", "with other:")
    parent, child = (wait.graph.processes[number] for number in (0, 1))
    assert held.process == parent.uid
    (held,) = second.holders
    assert (held.who, held.line, held.process) == ("MainThread", "own.acquire()", 0)
    assert {wait.graph.strands[wait.waiting.strand].process for wait in (first, second)} == {child.index}


def test_waits_of_a_busy_lock_keep_their_records_small(record):
    run = record(
        PREFIX
        + """
    sys.setswitchinterval(0.00001)
    lock = threading.Lock()

    def body():
        for _ in range(500):
            with lock: time.sleep(0.0001)
            time.sleep(0.0001)

    def a(): body()
    def b(): body()
    join(start(a, b))
    """,
        adapters=QUIET,
    )
    found = [placed for placed in run.of(Kind.WAIT) if placed.channel == "lock"]
    assert len(found) > 20
    assert sum("holders" in placed.text for placed in found) > 0.9 * len(found)
    whole = sum('"at":[[' in placed.text.split('"holders"')[0] for placed in found)
    assert 0 < whole < len(found)


def test_wait_of_a_library_of_the_standard_library_is_no_second_wait(waits):
    assert not waits(
        """
    import logging
    logging.basicConfig()
    log = logging.getLogger("x")
    for _ in range(3): log.warning("hello")
    def work(): log.warning("there")
    join(start(work))
    """
    )
