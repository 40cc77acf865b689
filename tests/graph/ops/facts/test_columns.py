"""Facts that are read in columns are those that are read record by record."""

from __future__ import annotations

from random import Random

import pytest

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame, Holder, Wait, Wake
from tests.oracles import facts as oracle


def made(run, seed: int) -> ExecutionGraph:
    """Return a graph of random facts: waits that nest and never end, resources given back for others, stacks by number."""
    random = Random(seed)
    for name in ("first", "second"):
        process = run.process(name)
        threads = [process.thread(f"w{number}") for number in range(4)]
        known: set[int] = set()
        for _ in range(random.randrange(120)):
            thread, key = random.choice(threads), random.randrange(1, 5)
            run.clock.now += random.randrange(3)
            stack = random.randrange(4)
            at = (Frame("/src/app.py", stack, "work"),) if stack and stack not in known else ()
            match random.randrange(6):
                case 0 | 1:
                    known.add(stack)
                    where = (Frame("/src/app.py", 9, "hold"),) * random.randrange(2)
                    holders = (Holder(random.randrange(1, 5), 0, random.randrange(9), at=where),) * random.randrange(2)
                    text = Wait(at=at, stack=stack, holders=holders, capacity=random.randrange(3))
                    thread.fact(Kind.WAIT, key, random.choice(["lock", "semaphore"]), text)
                case 2:
                    thread.fact(Kind.WAKE, key, "lock", Wake(random.choice(["satisfied", "timeout", "cancelled"])))
                case 3:
                    known.add(stack)
                    thread.fact(Kind.HOLD, key, "semaphore", Wait(at=at, stack=stack))
                case 4:
                    thread.fact(Kind.RETURN, key, "semaphore")
                case _:
                    message = random.choice(["", 'item "7"', 'no such role: "ended"'])
                    text = Exception_(message, random.choice(["raised", "handled", "handled", "ended"]))
                    thread.fact(Kind.EXCEPTION, key, random.choice(["KeyError", "ValueError"]), text)
    return run.graph()


@pytest.mark.parametrize("seed", range(40))
def test_facts_of_random_records_are_those_of_the_reference(run, seed):
    graph = made(run, seed)
    facts = Facts.of(graph)
    waits = [(wait.begin.row, wait.wake.row if wait.wake else -1, wait.end) for wait in facts.waits]
    assert waits == oracle.waits(graph)
    assert [wait.begin.text.at for wait in facts.waits] == [oracle.stack_of(graph, row) for row, _, _ in waits]
    for end in ("never", "satisfied", "timeout", "cancelled"):
        assert [wait.begin.row for wait in facts.waits.take(facts.waits.ended(end))] == [
            row for row, _, how in waits if how == end
        ]
    holdings = [(each.rows[0], each.rows[1] if len(each.rows) > 1 else -1, each.strand) for each in facts.holdings]
    assert holdings == oracle.holdings(graph)
    exceptions = oracle.exceptions(graph)
    assert [(fact.row, fact.text) for fact in facts.exceptions] == exceptions
    ended = facts.exceptions.take(facts.exceptions.of_roles("ended"))
    assert ended.row.tolist() == [row for row, text in exceptions if text.role == "ended"]


def test_groups_of_waits_are_in_the_order_of_their_first_waits(run):
    facts = Facts.of(made(run, 3))
    resources = list(dict.fromkeys(wait.resource for wait in facts.waits))
    assert list(facts.waits_for) == resources
    for resource in resources:
        assert [*facts.waits_for[resource]] == [wait for wait in facts.waits if wait.resource == resource]
    assert facts.waits_for.get((9, 9)) is None
    assert len(facts.waits_for.of(9, 9)) == 0
