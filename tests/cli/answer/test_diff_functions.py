"""`clew diff` by functions: the sentence, the numbers and their order, of runs with made-up times.

Measured times would not do: on a busy machine one long pause makes the calls of a function scatter, which changes the order.
"""

from __future__ import annotations

import json

import pytest

from clew.records.plan.plan import Level, Plan, Target, dump
from clew.records.run.directory import create_run, save_run
from tests.support.runs.records import RunFolder
from tests.support.shell import Shell

ORDERS = 20
LEVELS = (Level("component", (("desk", Target("shop.app", "**")), ("shelf", Target("shop.stock", "**")))),)


def record(workspace, name, lookup_us):
    """Write a run of orders with one look-up each; `main` itself takes 3 ms longer in a run with slow look-ups."""
    folder, info = create_run(
        workspace, name=name, command=["shop"], spec="", plan=dump(Plan(levels=LEVELS)), cwd=workspace
    )
    save_run(folder, info)
    run = RunFolder(folder, info)
    thread = run.process("shop").thread()

    def work(us):
        run.clock.now += us * 1000 - run.clock.step

    thread.enter("shop.app:main")
    work(5_000 + lookup_us)
    for number in range(ORDERS):
        thread.enter("shop.app:order").request("order")
        work(100)
        thread.enter("shop.stock:Stock.lookup")
        work(lookup_us + number % 2)
        thread.exit("shop.stock:Stock.lookup").exit("shop.app:order")
    thread.exit("shop.app:main")
    run.write()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "work"
    folder.mkdir()
    record(folder, "before", 5)
    record(folder, "after", 3000)
    return folder


@pytest.fixture
def shop(recorded):
    return Shell(recorded)


def answer(shop, *arguments):
    return json.loads(shop("diff", *arguments, "--json").stdout)


def test_diff_by_functions_starts_with_one_sentence(shop):
    lines = shop("diff", "before", "after").stdout.splitlines()
    assert lines[0] == (
        "shop.stock:Stock.lookup got 546x slower: 5.5 µs -> 3 ms per call over 20 calls, +59.9 ms in all (95 % of the change)"
    )
    assert lines[1] == ""
    assert lines[2].split()[0] == "change"
    assert "shop.stock:Stock.lookup" in lines[3] and lines[3].endswith("shop/stock.py:30")
    assert "shop.app:main" in lines[4]
    assert lines[-1] == "total self time: 7.12 ms in run before, 70.0 ms in run after; the change is +62.9 ms"
    assert lines[-2].startswith("ordered by the change beyond the scatter of the calls")
    assert "and 1 more" in shop("diff", "before", "after", "--rows", "2").stdout.splitlines()[-3]


def test_diff_by_functions_supports_level_and_json(shop):
    first = shop("diff", "before", "after", "--level", "component").stdout.splitlines()[0]
    assert first.startswith("shelf got 546x slower")
    row = answer(shop, "before", "after")["rows"][0]
    assert (row["label"], row["callsBefore"], row["callsAfter"]) == ("shop.stock:Stock.lookup", 20, 20)


def test_diff_by_functions_of_several_runs_compares_means(shop):
    done = shop("diff", "before", "before", "--", "after", "--by", "functions")
    first, *_, last = done.stdout.splitlines()
    assert first.endswith("; means of a run, of 2 runs before and 1 run after")
    assert "in a run of before, before on average, " in last and " in run after; " in last
    found = answer(shop, "before", "before", "--", "after", "--by", "functions")
    assert [run["name"] for run in found["alsoBefore"]] == ["before"] and found["rows"][0]["callsAfter"] == 20
