"""Changes of requests by their cause: one row for a function that slows several requests, and victims of queues after it."""

from __future__ import annotations

import random

import pytest

import clew
from clew.compare.requests.diff import compare
from clew.compare.requests.report import summary

US = 1000


@pytest.fixture
def queued(make_run):
    """Return a function that records requests that one worker serves in turn; its work is `lookup`."""

    def record(name, lookup_us, seed, *, requests=400, clients=16):
        chance, run = random.Random(seed), make_run(name)
        process = run.process()
        threads = [process.thread(f"client-{number}") for number in range(clients)]
        worker, free, ends = process.thread("worker"), 0, [0] * clients
        for number in range(requests):
            client = number % clients
            begin = max(number * 1000 * US + chance.randrange(200 * US), ends[client] + US)
            threads[client].enter("serve", at=begin).request("show" if number % 2 else "list", at=begin + 10)
            threads[client].send(number, "queue", at=begin + 20)
            start = max(begin + 30, free + 10)
            length = round(lookup_us * US * chance.uniform(0.9, 1.1))
            worker.receive(number, "queue", at=start).enter("run", at=start + 10).enter("lookup", at=start + 20)
            free = start + 20 + length
            worker.exit("lookup", at=free).send(("done", number), "queue", at=free + 10).exit("run", at=free + 20)
            free += 30
            threads[client].join(("done", number), "queue", at=free)
            ends[client] = free + 10
            threads[client].exit("serve", at=ends[client])
        return clew.open(run.write()).requests

    return record


def test_causes_of_a_longer_queue_name_the_work_before_the_wait(queued):
    """The queue before `run` amplifies the slower `lookup`: most of the time is waiting for the worker."""
    changed = queued("quick", 600, 1).diff(queued("slow", 1100, 2))
    (cause,) = changed.causes
    assert (cause.label, cause.how, len(cause.rows)) == ("app:lookup", "work", 2)
    assert {row.name for row in cause.rows} == {"list", "show"}
    for row in changed.rows:
        first, victim = row.edges[:2]
        assert (first.target, first.is_victim) == ("app:lookup", False)
        assert (victim.target, victim.how, victim.is_victim) == ("app:run", "queueing", True)
        assert victim.growth_ns > first.growth_ns > 0
        assert "of it before its start" in victim.sentence()
    assert changed.sentence().partition("first, ")[2].startswith("app:lookup works longer in ")


def test_causes_share_one_row_with_sums(queued):
    changed = queued("quick", 300, 1).diff(queued("slow", 500, 2))
    (cause,) = changed.causes
    row = summary(cause)
    assert row.count_before == row.count_after == 400 and cause.names in ("list, show", "show, list")
    assert row.cost_ns == pytest.approx(sum(each.cost_ns for each in changed.rows))
    assert row.mean_after_ns == pytest.approx(sum(each.mean_after_ns for each in changed.rows) / 2)
    assert changed.to_json()["causes"][0]["categories"] == [each.category for each in cause.rows]


def test_causes_of_improvements_come_after_slowdowns(make_run):
    def record(name, mean, seed):
        chance, run = random.Random(seed), make_run(name)
        main = run.process().thread()
        for number in range(200):
            kind = number % 2
            main.enter("serve").request(("list", "show")[kind]).enter(f"f{kind}")
            run.clock.now += round(chance.gauss(mean[kind], mean[kind] / 20)) * US
            main.exit(f"f{kind}").exit("serve")
        return clew.open(run.write()).requests

    changed = record("one", (100, 900), 1).diff(record("other", (130, 300), 2))
    assert [(cause.label, cause.first.is_faster) for cause in changed.causes] == [("app:f0", False), ("app:f1", True)]
    assert changed.sentence().startswith("1 slower and 1 faster of 200 requests before and 200 after")


def test_causes_wait_without_work_is_told_as_waiting(make_run):
    """Requests that wait for a lock of somebody whose time is not in their flow."""

    def record(name, held_us, seed):
        chance, run = random.Random(seed), make_run(name)
        process = run.process()
        main, other = process.thread(), process.thread("other")
        for number in range(100):
            main.enter("serve").request("show")
            run.clock.now += round(held_us * US * chance.uniform(0.8, 1.2))
            other.release(number)
            main.acquire(number).exit("serve")
        return clew.open(run.write()).requests.flows()

    changed = compare(record("short", 100, 1), record("long", 900, 2))
    (cause,) = changed.causes
    assert (cause.label, cause.how) == ("app:serve", "waiting")
    assert ", of it waiting " in changed.sentence()


def test_causes_slow_server_behind_a_queue_is_no_victim_of_tiny_work(make_run):
    """A worker sleeps longer; the queue before it grows, and so does a microsecond of work elsewhere."""

    def record(name, sleep_us, tick_ns, seed):
        chance, run = random.Random(seed), make_run(name)
        process = run.process()
        main, worker, other = process.thread(), process.thread("worker"), process.thread("other")
        for number in range(200):
            main.enter("serve").request("show").enter("tick")
            run.clock.now += tick_ns
            main.exit("tick").send(number, "queue")
            run.clock.now += round(2 * sleep_us * US * chance.uniform(0.9, 1.1))
            worker.receive(number, "queue").enter("read")
            run.clock.now += round(sleep_us * US * chance.uniform(0.9, 1.1))
            other.release(number)
            worker.acquire(number).send(("done", number), "queue").exit("read")
            main.join(("done", number), "queue").exit("serve")
        return clew.open(run.write()).requests.flows()

    changed = compare(record("fast", 500, 1000, 1), record("slow", 900, 2000, 2))
    (cause,) = changed.causes
    assert cause.label == "app:read" and not changed.rows[0].edges[0].is_victim
