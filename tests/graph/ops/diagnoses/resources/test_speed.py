"""Diagnoses of a run with many waits take time in proportion to their number."""

from __future__ import annotations

import time

from clew.graph.ops.diagnoses.registry import DIAGNOSES
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Holder, Wait, Wake

THREADS, WAITS = 10, 2000


def test_diagnoses_of_twenty_thousand_waits_answer_in_a_second(run):
    process = run.process()
    run.clock.step = 100_000
    threads = [process.thread(f"w{number}") for number in range(THREADS)]
    for number in range(WAITS):
        for place, thread in enumerate(threads):
            channel, key = ("lock", 7) if number % 2 else ("asyncio.semaphore", 9)
            holder = Holder((place + 1) % THREADS + 1, 0, 1000)
            if channel == "asyncio.semaphore":
                thread.fact(Kind.HOLD, key, channel, Wait(capacity=5))
            thread.fact(Kind.WAIT, key, channel, Wait(holders=(holder,)))
            thread.fact(Kind.WAKE, key, channel, Wake("timeout" if number % 10 == 0 else "satisfied"))
            if channel == "asyncio.semaphore":
                thread.fact(Kind.RETURN, key, channel)
    facts = Facts.of(run.graph())
    assert len(facts.waits) == THREADS * WAITS
    assert facts.holdings
    took = {}
    for find in DIAGNOSES:
        begin = time.process_time()
        find(facts)
        took[find.__module__] = time.process_time() - begin
    assert max(took.values()) < 1, took
