"""Semaphores of threads: who holds their slots."""

from __future__ import annotations

import pytest

from clew.graph.ops.diagnoses.registry import findings
from clew.graph.store.store import open_graph
from tests.support.programs.named_facts import NamedFacts


def held(record, source):
    """Return the one semaphore wait of a program, and who held its slots and gave them back."""
    run = record(source, adapters=("threads", "locks"))
    assert run.code == 0, run.stderr
    found = NamedFacts(open_graph(run.folder)[0])
    (wait,) = found.of("semaphore")
    holdings = [holding for holding in found.holdings if holding.resource == wait.resource]
    return wait, [(found.name(holding.strand), holding.until_ns is not None) for holding in holdings]


def test_semaphore_slots_have_holders_until_each_is_released(record):
    wait, holders = held(
        record,
        """
        import threading

        slots = threading.BoundedSemaphore(3)
        thread = threading.Thread(target=slots.acquire, name="worker")
        thread.start()
        thread.join()
        with slots:
            slots.acquire(), slots.acquire(blocking=False)
            assert not slots.acquire(timeout=0.01)
            slots.release()
        """,
    )
    assert (wait.begin.text.capacity, wait.begin.text.limit, wait.end) == (3, 0.01, "timeout")
    assert holders == [("worker", False), ("MainThread", True), ("MainThread", True)]


def test_semaphore_slots_released_together_are_all_given_back(record):
    _, holders = held(
        record,
        """
        import threading

        slots = threading.Semaphore(2)
        slots.acquire(), slots.acquire(), slots.acquire(timeout=0.01)
        slots.release(2)
        """,
    )
    assert holders == [("MainThread", True), ("MainThread", True)]


def test_semaphore_that_begins_with_no_slot_is_a_signal_without_holders(record):
    _, holders = held(
        record,
        """
        import threading

        signal = threading.Semaphore(0)
        threading.Timer(0.01, signal.release).start()
        signal.acquire()
        """,
    )
    assert holders == []


@pytest.mark.parametrize("fails", [True, False])
def test_slot_that_a_failed_thread_took_is_leaked_and_one_that_is_in_use_is_not(record, fails):
    run = record(
        f"""
        import threading

        slots, done = threading.BoundedSemaphore(1), threading.Event()
        threading.excepthook = lambda arguments: None

        def use():
            slots.acquire()
            if {fails}: raise KeyError("order 17")
            done.wait()
            slots.release()

        worker = threading.Thread(target=use, name="worker")
        worker.start()
        if {fails}: worker.join()
        else:
            while slots._value: pass
        slots.acquire(timeout=0.05)
        done.set()
        """,
        adapters=("threads", "locks", "exceptions"),
    )
    found = findings(NamedFacts(open_graph(run.folder)[0]))
    told = [" ".join(claim.text for claim in each.claims) for each in found if each.kind == "slot-leaked"]
    assert len(told) == fails
    assert all("worker took its only slot" in text and "failed at" in text for text in told)
