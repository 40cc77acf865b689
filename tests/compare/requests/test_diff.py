"""Diff of two recordings: planted changes are first, random ones are not named, and numbers equal their definitions."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import clew
from clew.compare.requests.category_pairs import Pairing
from clew.compare.requests.diff import Thresholds, compare
from clew.compare.requests.stretches import dependence
from clew.graph.ops.flows.flows import Flows
from clew.records.errors import ClewError

TYPES = [f"Type{number}" for number in range(8)]


def plan_of(number):
    """Return names and mean times of the calls of a request of a type."""
    return [(f"f{number}", 100), ("load", 200), (f"g{number % 3}", 300)]


def recorded(make_run, name, seed, requests=40, change=lambda plan, chance: plan, types=TYPES):
    """Record requests of several types; `change` returns the calls that each makes."""
    chance, run = random.Random(seed), make_run(name)
    process = run.process()
    main, worker = process.thread(), process.thread("worker")

    def wait(mean):
        run.clock.now += round(chance.gauss(mean, mean / 20)) * 1000

    for request in range(requests * len(types)):
        number = request % len(types)
        main.enter("serve").request(types[number])
        for function, mean in change(plan_of(number), chance):
            if function == "load":
                main.send(request, "queue")
                wait(50)
                worker.receive(request, "queue").enter(function)
                wait(mean)
                worker.send(("done", request), "queue").exit(function)
                main.join(("done", request), "queue")
            else:
                main.enter(function)
                wait(mean)
                main.exit(function)
        wait(20)
        main.exit("serve")
    return clew.open(run.write())


@pytest.fixture(scope="module")
def runs(make_run):
    """Return a factory of recordings with a given change."""
    known = {}

    def run(name, seed, **more):
        if name not in known:
            known[name] = recorded(make_run, name, seed, **more)
        return known[name]

    return run


def slow_function(plan, chance):
    return [(name, mean * 1.2 if name == "f3" else mean) for name, mean in plan]


def one_call_more(plan, chance):
    return [*plan, ("audit", 40)] if plan[0][0] == "f5" else plan


def test_diff_function_slower_in_one_request_type_is_first(runs):
    changed = runs("healthy", 1).requests.diff(runs("slow", 2, change=slow_function).requests)
    assert [(row.kind, row.name) for row in changed.rows] == [("response-time", "Type3")]
    (row,) = changed.rows
    assert row.edges[0].target == "app:f3" and row.edges[0].source == "app:serve"
    assert row.edges[0].growth_ns == pytest.approx(20_000, rel=0.3)
    assert row.low_ns < 20_000 < row.high_ns and row.effect > 0.3 and row.p < 0.05
    assert (row.count_before, row.count_after, changed.tested, changed.categories) == (40, 40, 8, 8)
    assert "Type3" in changed.sentence() and "app:f3" in changed.sentence()
    # In the opposite direction nothing is slower, and one category is faster.
    back = runs("slow", 2).requests.diff(runs("healthy", 1).requests)
    assert back.slower == () and back.sentence().startswith("1 faster of 320 requests before")
    (row,) = back.faster
    assert (row.name, row.edges[0].target) == ("Type3", "app:f3") and row.edges[0].growth_ns < 0 > row.cost_ns
    assert row.high_ns < 0 and row.effect < -0.3 and row.p < 0.05 and "(−3 %)" in row.sentence()


def test_diff_added_call_is_first_with_its_precursor(runs):
    changed = runs("healthy", 1).requests.diff(runs("more", 3, change=one_call_more).requests)
    assert [(row.kind, row.name) for row in changed.rows] == [("structural", "Type5")]
    (row,) = changed.rows
    (precursor,) = row.precursors
    assert "app:audit" in row.flow and "app:audit" not in precursor.flow
    assert precursor.distance == pytest.approx(1 / 4)
    assert precursor.added == (("app:serve", "app:audit"),) and precursor.removed == ()
    assert "with app:serve > app:audit" in row.sentence()
    assert row.cost_ns == pytest.approx(40 * 40_000, rel=0.5)
    assert row.cost_ns == pytest.approx(40 * (row.mean_after_ns - precursor.mean_before_ns))
    assert "is new" in row.sentence() and "75% alike" in row.sentence()


def test_diff_more_frequent_slow_call_is_structural_and_response_time(runs):
    def change(plan, chance):
        if plan[0][0] != "f1":
            return plan
        return [*plan, ("retry", 500)] if chance.random() < 0.6 else plan

    def rarely(plan, chance):
        return [*plan, ("retry", 400)] if plan[0][0] == "f1" and chance.random() < 0.2 else plan

    before, after = runs("rarely", 4, change=rarely, requests=80), runs("often", 5, change=change, requests=80)
    changed = before.requests.diff(after.requests)
    assert {row.name for row in changed.rows} == {"Type1"}
    assert {row.kind for row in changed.rows} == {"structural", "response-time"}
    assert len({row.category for row in changed.rows}) == 1 == len(changed.flagged)
    row = changed.of("structural")[0]
    assert row.expected == row.count_before and row.count_after > 2 * row.count_before
    assert changed.rows == tuple(sorted(changed.rows, key=lambda row: -row.cost_ns))


def test_diff_busier_period_has_no_change(runs):
    changed = runs("healthy", 1).requests.diff(runs("busy", 6, requests=120).requests)
    assert changed.rows == () and changed.after == 3 * changed.before


def test_diff_healthy_recordings_flag_less_than_five_percent(make_run):
    flagged = categories = 0
    for seed in range(6):
        one, other = (recorded(make_run, f"h{seed}-{half}", 100 + 2 * seed + half, requests=25) for half in range(2))
        found = compare(one.requests.flows(), other.requests.flows())
        flagged, categories = flagged + len(found.flagged), categories + found.categories
    assert flagged < 0.05 * categories


def test_diff_of_one_request_a_side_compares_them(make_run):
    one = recorded(make_run, "one", 1, requests=1, types=TYPES[5:6])
    same, other = (
        recorded(make_run, name, 2, requests=1, types=TYPES[5:6], change=change)
        for name, change in (("same", lambda plan, chance: plan), ("other", lambda plan, chance: [*plan, ("audit", 1)]))
    )
    assert one.requests.diff(same.requests, more=1).rows == ()
    (row,) = one.requests.diff(other.requests, more=1).rows
    assert row.kind == "structural" and row.precursors[0].count_before == 1
    assert one.requests.diff(other.requests).rows == ()


def test_diff_runs_that_differ_among_themselves_hide_a_difference(make_run):
    def often(share):
        return lambda plan, chance: [*plan, ("retry", 50)] if chance.random() < share else plan

    def flows(shares, seed):
        runs = [
            recorded(make_run, f"r{seed}-{place}", seed + place, requests=60, types=TYPES[:1], change=often(share))
            for place, share in enumerate(shares)
        ]
        return Flows.of(runs)

    steady = compare(flows([0.3, 0.3, 0.3], 10), flows([0.5, 0.5, 0.5], 20))
    wild = compare(flows([0.05, 0.3, 0.55], 30), flows([0.2, 0.5, 0.8], 40))
    assert len(steady.rows) == 1 and len(wild.rows) == 0


def test_diff_statistics_of_category_equal_scipy(runs):
    """The statistics of a category do not depend on the other categories."""
    from scipy import stats

    before, after = runs("healthy", 1).requests.flows(), runs("slow", 2, change=slow_function).requests.flows()
    (row,) = compare(before, after).rows
    one, other = (
        flows.response_ns[[flows.categories[code].name == "Type3" for code in flows.category]]
        for flows in (before, after)
    )
    assert row.mean_after_ns == other.mean() and row.cost_ns == pytest.approx(len(other) * (other.mean() - one.mean()))
    assert row.shift_ns == np.median(np.subtract.outer(other, one))
    p = stats.ks_2samp(one, other, alternative="greater").pvalue
    # Two tests in two directions of eight categories, of requests that count less if they depend on each other.
    depends = dependence(Pairing(before, after))[row.category]
    assert (2 * p) ** (1 / depends) <= row.p * 1.0001 <= 16 * 1.0002 * (2 * p) ** (1 / depends)


def test_diff_too_few_samples_are_reported_as_untested(runs):
    few = [runs(name, seed).requests.flows() for name, seed in (("healthy", 1), ("slow", 2))]
    few = [flows.take(np.arange(len(flows)) < 8 * 6) for flows in few]
    changed = compare(*few)
    assert changed.rows == () and changed.tested == 0 and changed.certainty() == ""
    assert changed.sentence() == (
        "too few requests to tell whether their times changed: 48 requests before and 48 after in 8 categories; 8 of 8 "
        "categories have too few samples to compare their times"
    )
    assert compare(*few, samples=2).tested == 8


def test_diff_thresholds_are_options_and_explained(runs):
    healthy, slow = (runs(name, seed).requests for name, seed in (("healthy", 1), ("slow", 2)))
    assert healthy.diff(slow, slower=0.5).rows == ()
    assert compare(healthy.flows(), slow.flows(), Thresholds(alpha=1e-9)).rows == ()
    changed = healthy.diff(slow, alpha=0.01)
    assert "at most 1%" in changed.explain() and changed.thresholds == Thresholds(alpha=0.01)
    with pytest.raises(
        ClewError, match="unknown threshold 'alhpa'; thresholds: alpha, slower, samples, more, share, precursor"
    ):
        healthy.diff(slow, alhpa=0.01)
    with pytest.raises(ClewError, match="write before.requests.diff"):
        healthy.diff(runs("slow", 2).events)


def test_diff_answer_converts_to_table_and_json(runs):
    changed = runs("healthy", 1).requests.diff(runs("more", 3, change=one_call_more).requests)
    (row,) = changed.table().rows
    assert row.kind == "structural" and row.name == "Type5" and row.count_after == 40
    told = json.loads(json.dumps(changed.to_json()))
    assert told["mutations"][0]["precursors"][0]["count_before"] == 40 and told["thresholds"]["alpha"] == 0.05


def test_diff_with_an_empty_side_reports_new_requests_only(runs):
    flows = runs("healthy", 1).requests.flows()
    none = flows.take(np.zeros(len(flows), bool))
    assert compare(none, none).rows == () and compare(flows, none).rows == ()
    new = compare(none, flows)
    assert {row.kind for row in new.rows} == {"structural"} and len(new.rows) == 8
    assert new.rows[0].precursors == () and new.rows[0].cost_ns > 0
