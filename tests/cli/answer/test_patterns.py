"""`clew patterns`: the table, the calls of one pattern, `--fail-on`, and refused arguments."""

from __future__ import annotations

import json

import pytest

from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.runs.records import RunFolder
from tests.support.shell import Shell


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """Write a run of two threads that read, book and store; one booking in nine is audited, and raises."""
    folder = tmp_path_factory.mktemp("orders")
    for name, rounds in (("orders", 90), ("nothing", 0)):
        place, info = create_run(folder, name=name, command=["app"], spec="", plan=dump(Plan()), cwd=folder)
        save_run(place, info)
        run = RunFolder(place, info)
        process = run.process()
        for thread in (process.thread("MainThread"), process.thread("worker")):
            for number in range(rounds):
                thread.enter("read").exit("read").enter("book").enter("price").exit("price")
                if number * number % 83 < 9:
                    thread.enter("audit").unwind("audit")
                thread.exit("book").enter("store").exit("store")
        run.write()
    return Shell(folder)


def test_patterns_prints_a_table_and_the_details_of_the_first(orders):
    lines = orders("patterns", "orders").stdout.splitlines()
    assert lines[0].startswith("run orders: 2 patterns in 1,") and "read, book(price), store" in lines[0]
    header = lines[2].split()
    assert header[:3] == ["share", "times", "each"] and "strands" in header
    assert (
        "█" in lines[3]
        and "read, book(price), store" in lines[3]
        and "read, book(price, audit raised), store" in lines[4]
    )
    told = "\n".join(lines[5:])
    assert "app:read" in told and "    app:price" in told and "followed by itself (" in told


def test_patterns_can_be_limited_by_strand_and_number(orders):
    text = orders("patterns", "orders", "--strand", "worker", "--top", "1").stdout
    assert "of 1 strand;" in text and "strands" not in text.splitlines()[2]
    assert "and 1 more pattern; use --top to show more" in text


def test_patterns_with_id_prints_the_details_of_that_pattern(orders):
    found = json.loads(orders("patterns", "orders", "--json").stdout)
    second = found["patterns"][1]
    assert found["hiddenPatterns"] == 0 and second["raised"] == 1
    text = orders("patterns", "orders", "--pattern", second["id"]).stdout
    assert f"pattern {second['id']}, first start" in text and "app:audit raised" in text


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("count:100", "failed: read, book(price), store occurs 1"),
        ("share:50%", "failed: read, book(price), store takes"),
        ("raised", "failed: read, book(price, audit raised), store raises"),
        ("count:3", "; 1 more pattern fails, too"),
    ],
)
def test_patterns_fail_on_exits_with_3_and_the_reason(orders, limit, said):
    done = orders("patterns", "orders", "--fail-on", limit, code=3)
    assert said in done.stderr and "read, book" in done.stdout
    assert json.loads(orders("patterns", "orders", "--fail-on", limit, "--json", code=3).stdout)["patterns"]


def test_patterns_fail_on_within_the_limits_exits_with_0(orders):
    assert orders("patterns", "orders", "--fail-on", "count:1000,share:99%").stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("orders", "--fail-on", "slow"), "unknown --fail-on condition 'slow'; expected share:50%"),
        (("orders", "--strand", "walker"), "no thread or task has 'walker' in its name; some of 2 are"),
        (("orders", "--pattern", "feed"), "there is no pattern 'feed'"),
        (("orders", "--level", "process"), "patterns are not available at level 'process'"),
        (("never",), "no run named 'never'"),
    ],
)
def test_patterns_invalid_arguments_print_one_message(orders, words, said):
    done = orders("patterns", *words, code=2)
    assert said in done.stderr and done.stdout == ""


def test_patterns_of_run_without_repetition_say_so(orders):
    text = orders("patterns", "nothing").stdout
    assert "no sequence of 3 or more calls repeats" in text
    assert "find smaller patterns" in orders("patterns", "orders", "--min-calls", "50").stdout


def test_patterns_of_recorded_program_name_its_calls(shop):
    text = shop("patterns", "before", "--min-calls", "2").stdout
    assert text.startswith("run before: ") and "order(check(Stock.lookup))" in text
    assert "clew patterns --strand worker --top 5" in shop("patterns", "--help").stdout
