"""Resources that a spec declares: holders, waits and returns of real pools, of threads and of tasks."""

from __future__ import annotations

from clew.esl import compile_text
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.store.store import open_graph
from tests.support.programs.named_facts import NamedFacts

SPEC = """
scope program:**;
resource taken program:Pool.get item result capacity this.size as pool;
resource returned program:Pool.put item connection as pool;
resource taken program:Tasks.get capacity this.size as permits;
resource returned program:Tasks.put as permits;
resource taken program:Lease.__enter__ key this.pool item this as leases;
resource returned program:Lease.__exit__ key this.pool item this as leases;
resource taken program:Outer.fetch item result as inner capacity 1;
resource taken program:Outer.wait key None item slot as inner;
resource returned program:Outer.done item slot as inner;
"""
POOL = """
import asyncio, threading

class Pool:
    def __init__(self, size):
        self.size, self.free, self.ready = size, [object() for _ in range(size)], threading.Condition()
    def get(self, limit=None):
        with self.ready:
            if not self.ready.wait_for(lambda: self.free, limit):
                raise TimeoutError
            return self.free.pop()
    def put(self, connection):
        with self.ready:
            self.free.append(connection)
            self.ready.notify()

class Tasks:
    def __init__(self, size): self.size, self.slots = size, asyncio.Semaphore(size)
    async def get(self): await self.slots.acquire()
    def put(self): self.slots.release()

class Lease:
    def __init__(self, pool): self.pool = pool
    def __enter__(self): return self
    def __exit__(self, *_): pass

class Outer:
    def fetch(self, slot, fails):
        self.wait(slot)
        if fails: raise ValueError
        return slot
    def wait(self, slot): pass
    def done(self, slot): pass
"""


def facts(record, source):
    rules = compile_text(SPEC, workspace="/").require().rules
    adapters = ("threads", "locks", "tasks", "exceptions")
    run = record(POOL + source, rules=False, adapters=adapters, change=lambda plan: plan._replace(rules=rules))
    assert run.code == 0, run.stderr
    return NamedFacts(open_graph(run.folder)[0])


def held(found, channel):
    """Return who held slots of a resource, and whether they gave them back."""
    rows = [holding for holding in found.holdings if found.graph.channel(holding.rows[0]) == f"resource.{channel}"]
    return [(found.name(holding.strand), holding.until_ns is not None) for holding in rows]


def test_resource_slots_are_held_until_any_thread_returns_them(record):
    found = facts(record, """
pool = Pool(2)
first, second = pool.get(), pool.get()
thread = threading.Thread(target=pool.put, args=(first,), name="other")
thread.start(); thread.join()
""")  # fmt: skip
    assert held(found, "pool") == [("MainThread", True), ("MainThread", False)]
    assert found.of("resource.pool") == []


def test_resource_call_waits_only_while_all_slots_are_taken(record):
    found = facts(record, """
pool = Pool(1)
one = pool.get()
threading.Timer(0.05, pool.put, (one,)).start()
pool.put(pool.get())
one = pool.get()
try: pool.get(0.01)
except TimeoutError: pass
""")  # fmt: skip
    assert found.ends("resource.pool") == [("MainThread", "satisfied"), ("MainThread", "timeout")]
    assert [wait.begin.text.capacity for wait in found.of("resource.pool")] == [1, 1]


def test_resource_slot_that_a_thread_leaks_is_named(record):
    found = facts(record, """
pool = Pool(2)
def use(name, leaks):
    connection = pool.get()
    if not leaks: pool.put(connection)
for name, leaks in (("good", False), ("bad", True), ("worse", True)):
    thread = threading.Thread(target=use, args=(name, leaks), name=name)
    thread.start(); thread.join()
try: pool.get(0.05)
except TimeoutError: pass
""")  # fmt: skip
    (leak,) = findings(found)
    assert (leak.kind, leak.certainty) == ("slot-leaked", "inferred")
    told = " ".join(claim.text for claim in leak.claims)
    assert "MainThread waited" in told and "for pool" in told
    assert "bad took one of its 2 slots" in told and "worse left a slot in the same way" in told


def test_resource_that_its_waiter_holds_completely_is_named(record):
    found = facts(record, """
pool = Pool(2)
first, second = pool.get(), pool.get()
try: pool.get(0.05)
except TimeoutError: pass
""")  # fmt: skip
    (own,) = findings(found)
    assert own.kind == "retaken-by-holder"
    assert "MainThread itself held both slots of it" in own.claims[1].text


def test_two_pools_taken_in_different_order_are_a_circle(record):
    found = facts(record, """
one, two = Pool(1), Pool(1)
def work(first, second):
    connection = first.get()
    barrier.wait()
    try: second.put(second.get(0.3))
    except TimeoutError: pass
    barrier.wait()
    first.put(connection)
barrier = threading.Barrier(2)
threads = [threading.Thread(target=work, args=each, name=name) for each, name in (((one, two), "left"), ((two, one), "right"))]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")  # fmt: skip
    kinds = {finding.kind: " ".join(claim.text for claim in finding.claims) for finding in findings(found)}
    assert "a deadlock" in kinds["wait-circle"]
    assert "slot-leaked" not in kinds


def test_pool_that_is_busy_for_a_while_has_no_finding(record):
    found = facts(record, """
import time
pool = Pool(2)
def use():
    connection = pool.get()
    time.sleep(0.02)
    pool.put(connection)
threads = [threading.Thread(target=use) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")  # fmt: skip
    assert len(held(found, "pool")) == 6
    assert findings(found) == []


def test_asynchronous_resource_without_items_is_held_by_its_task(record):
    found = facts(record, """
async def use(permits, name):
    await permits.get()
    await asyncio.sleep(0.02)
    permits.put()
async def main():
    permits = Tasks(1)
    await asyncio.gather(*(asyncio.create_task(use(permits, name), name=name) for name in ("a", "b")))
asyncio.run(main())
""")  # fmt: skip
    assert held(found, "permits") == [("a", True), ("b", True)]
    assert found.ends("resource.permits") == [("b", "satisfied")]


def test_context_manager_holds_its_resource_inside_the_block(record):
    found = facts(record, """
with Lease("pool"): pass
Lease("pool").__enter__()
""")  # fmt: skip
    assert held(found, "leases") == [("MainThread", True), ("MainThread", False)]


def test_inner_call_takes_the_slot_that_a_failing_outer_call_gives_back(record):
    found = facts(record, """
outer = Outer()
try: outer.fetch("one", True)
except ValueError: pass
outer.done(outer.fetch("two", False))
outer.fetch("three", False)
""")  # fmt: skip
    assert held(found, "inner") == [("MainThread", True), ("MainThread", True), ("MainThread", False)]
    assert found.of("resource.inner") == []
