"""Items of a queue that serves as a pool: taken and not put back, still in use, or never meant to come back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.diagnoses.resources.item_not_returned import find
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import FLAG_BACK, Kind
from clew.records.format.facts import Wait, Wake
from tests.support.diagnoses.made import check
from tests.support.diagnoses.makers.item_not_returned import AT, Pool, make
from tests.support.examples import examples


def texts(run):
    return [found.text for found in find(Facts.of(run.graph()))]


def test_items_lost_by_exceptions_are_named_with_their_takers(run):
    pool = Pool(run.process()).use("web-1").use("web-2").use("web-1")
    pool.take("web-1").fail("web-1").take("web-2").fail("web-2").wait()
    (text,) = texts(run)
    assert text.startswith(
        "late waited 300 ms for a queue (Pool.take, app.py:12) until its time limit passed; all 2 items"
    )
    assert text.count("ValueError: no item 7 ended price (app.py:") == 2
    assert "web-1 took one at" in text and "web-2 took one at" in text


def test_items_in_use_are_named_with_the_time_of_their_return(run):
    Pool(run.process(), 1).use("web-1").use("web-2").take("web-1").wait().give("web-1")
    (text,) = texts(run)
    assert "its only item was out. web-1 took one at +0.02 s (Pool.take, app.py:" in text
    assert text.endswith("and put it back at +0.32 s.")


@pytest.mark.parametrize("late", [False, True])
def test_item_that_a_call_made_is_out_until_it_is_put_for_the_first_time(run, late):
    pool = Pool(run.process(), 0)
    maker = pool.thread("maker").enter("Pool.take", at=pool.tick())
    if not late:
        pool.wait()
    maker.send(1, "queue", at=pool.tick()).exit("Pool.take", at=pool.tick())
    pool.free, pool.number = [1], 1
    if late:
        pool.wait()
    pool.use("a").use("b")
    found = texts(run)
    assert [text.partition("out. ")[2] for text in found] == (
        [] if late else ["maker put an item there for the first time at +0.30 s."]
    )


def test_waits_during_different_uses_have_findings_of_their_own(run):
    pool = Pool(run.process(), 1).use("a").use("b")
    pool.take("a").wait("late").give("a").take("b").wait("later").give("b")
    first, second = texts(run)
    assert first.startswith("late waited") and "a took one at" in first
    assert second.startswith("later waited") and "b took one at" in second


def test_holder_that_waited_meanwhile_is_told_with_its_wait(run):
    pool = Pool(run.process(), 1).use("a").use("b").take("a")
    pool.thread("a").fact(Kind.WAIT, 7, "asyncio.sleep", Wait(at=AT), at=pool.tick())
    pool.wait()
    pool.thread("a").fact(Kind.WAKE, 7, "asyncio.sleep", Wake("satisfied"), at=pool.tick())
    pool.give("a")
    (text,) = texts(run)
    assert text.endswith("and put it back at +0.32 s; meanwhile it slept 303 ms (Pool.take, app.py:12).")


def test_item_that_a_helper_task_puts_back_is_returned_by_the_one_that_waits_for_it(run):
    pool = Pool(run.process(), 1)
    for number, name in enumerate(("a", "b", "c"), 1):
        pool.take(name)
        helper, key = f"close-{number}", pool.process.strand(f"close-{number}", 1)
        if name == "c":
            pool.wait()
        pool.thread(name).fact(Kind.WAIT, key, "asyncio.task", Wait(target=key, at=AT), at=pool.tick())
        main = pool.thread("MainThread").step(helper, at=pool.tick())
        pool.number += 1
        pool.free.append(pool.number)
        main.send(pool.number, "queue", at=pool.tick(), flags=FLAG_BACK).stop(helper, at=pool.tick())
        pool.thread(name).fact(Kind.WAKE, key, "asyncio.task", Wake("satisfied"), at=pool.tick()).exit("price")
    (text,) = texts(run)
    assert "its only item was out. c took one at" in text and "and put it back at" in text


@pytest.mark.parametrize(
    "program",
    [
        lambda run: Pool(run.process()).use("a").use("a").use("b").take("a").fail("a").wait(),
        lambda run: Pool(run.process(), 1).use("a").use("a").take("a").fail("a").wait(end="satisfied"),
        lambda run: Pool(run.process(), flags=0).use("a").use("b").take("a").fail("a").take("b").fail("b").wait(),
        lambda run: Pool(run.process(), 1).use("a").take("a").fail("a").wait(),
        lambda run: Pool(run.process(), 1).use("a").use("b").wait(),
    ],
    ids=["an item is free", "the wait got one", "a work queue", "too few came back", "all are back"],
)
def test_near_miss_is_no_finding(run, program):
    program(run)
    assert texts(run) == []


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_item_not_returned_planted_is_found_and_named(seed):
    check(find, make, seed, fault=True)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_item_not_returned_near_miss_finds_nothing(seed):
    check(find, make, seed, fault=False)
