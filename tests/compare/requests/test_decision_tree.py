"""Traits that separate changed requests from others: planted causes are named, chance and earlier traits are not."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import clew
from clew.compare.requests import decision_tree
from clew.compare.requests.decision_tree import Thresholds
from clew.compare.requests.features import Trait
from clew.records.format.event import Kind


def recorded(make_run, name, seed, change=lambda plan, chance: None, requests=120, names="abcd"):
    """Requests to `serve` that a worker on one of four instances answers. `change` alters the plan of each: instance, work in
    µs, payload, level of zeal, logs, calls."""
    chance, run = random.Random(seed), make_run(name)
    front = run.process("front").thread()
    workers = [run.process(f"store-{letter}").thread() for letter in names]

    def wait(mean):
        run.clock.now += round(chance.gauss(mean, mean / 20)) * 1000

    for request in range(requests):
        plan = {
            "instance": chance.randrange(4), "work": 200, "size": chance.choice([10, 20, 30, 400]), "logs": [],
            "calls": [], "kind": chance.choice(["'read'", "'write'"]),
        }  # fmt: skip
        change(plan, chance)
        front.enter("serve").request("get")
        front.put(Kind.PAYLOAD, channel="serial", text=str(request))
        front.put(Kind.PAYLOAD, channel="call", text=f"({plan['kind']}, {plan['size']})")
        for text in plan["logs"]:
            front.log(text, level=30)
        front.send(request, "queue")
        worker = workers[plan["instance"]]
        worker.receive(request, "queue").enter("load")
        wait(plan["work"])
        worker.send(("done", request), "queue").exit("load")
        front.join(("done", request), "queue")
        for call in plan["calls"]:
            front.enter(call).exit(call)
        front.exit("serve")
    return clew.open(run.write())


@pytest.fixture(scope="module")
def healthy(make_run):
    return recorded(make_run, "healthy", 1)


def first_difference(before, after, **thresholds):
    changed = before.requests.diff(after.requests, **thresholds)
    return changed.differences(changed.rows[0])


def test_traits_with_one_slow_instance_name_the_call_that_ran_there(make_run, healthy):
    def slow(plan, chance):
        plan["work"] *= 1.5 if plan["instance"] == 2 else 1

    told = first_difference(healthy, recorded(make_run, "slow-c", 2, slow))
    first = told.rows[0]
    assert (first.kind, first.subject, first.conditions) == ("instance", "app:load", ("app:load ran on store-c",))
    assert first.share > 0.9 > 0.3 > first.other_share and first.p < 1e-6
    assert "in 100% of the changed requests" in told.sentence() or f"{first.share:.0%}" in told.sentence()


def test_traits_name_value_that_only_the_new_flow_has(make_run, healthy):
    def audits(plan, chance):
        if plan["size"] > 100:
            plan["calls"].append("audit")

    told = first_difference(healthy, recorded(make_run, "audited", 3, audits))
    first = told.rows[0]
    assert first.kind == "parameter" and first.subject == "app:serve"
    assert first.conditions[0] in ("call[1] of app:serve was above 30", "call[1] of app:serve was 400")
    assert (first.share, first.others) == (1.0, pytest.approx(first.of_others / 7, rel=1))


def test_traits_name_log_line_of_the_new_flow(make_run, healthy):
    def retries(plan, chance):
        if chance.random() < 0.3:
            plan["logs"].append(f"lost peer {chance.randrange(1000)}, trying again")
            plan["calls"].append("retry")

    told = first_difference(healthy, recorded(make_run, "retrying", 4, retries))
    assert told.rows[0].kind == "log" and told.rows[0].conditions == ("“lost peer …, trying again” was logged",)
    assert told.rows[0].share == 1.0 and told.rows[0].others == 0


def test_traits_join_two_conditions(make_run, healthy):
    def slow(plan, chance):
        plan["work"] *= 2 if plan["instance"] == 1 and plan["kind"] == "'write'" else 1

    told = first_difference(healthy, recorded(make_run, "both", 5, slow, requests=240))
    assert set(told.rows[0].conditions) == {"app:load ran on store-b", "call[0] of app:serve was 'write'"}
    assert told.rows[0].share > 0.9 and told.rows[0].other_share < 0.15


def test_traits_leave_out_a_call_that_was_slow_before(make_run):
    def large_is_slow(factor):
        def change(plan, chance):
            plan["work"] *= factor * (1.3 if plan["size"] > 100 else 1)

        return change

    before = recorded(make_run, "large", 6, large_is_slow(1))
    after = recorded(make_run, "large-slower", 7, large_is_slow(1.15))
    told = first_difference(before, after)
    assert all("call[1]" not in condition for row in told.rows for condition in row.conditions)


def test_traits_leave_out_renamed_instances(make_run, healthy):
    renamed = recorded(make_run, "renamed", 9, lambda plan, chance: plan.update(work=300), names="efgh")
    assert first_difference(healthy, renamed).rows == ()


def test_traits_are_empty_if_all_requests_got_slower(make_run, healthy):
    def slow(plan, chance):
        plan["work"] *= 1.5

    told = first_difference(healthy, recorded(make_run, "all-slow", 8, slow))
    assert told.rows == () and told.sentence().startswith("none of ") and told.tried > 4
    assert "at most 1% of cases" in told.explain()


def test_traits_of_new_flow_without_precursor_are_empty(make_run, healthy):
    flows = healthy.requests.flows()
    from clew.compare.requests.diff import compare

    new = compare(flows.take(np.zeros(len(flows), bool)), flows)
    told = new.differences(new.rows[0])
    assert told.rows == () and "no requests to compare" in told.sentence()


@given(st.integers(0, 2**32), st.integers(8, 60), st.integers(1, 6))
def test_decision_tree_splits_by_largest_gain_with_p_of_g_test(seed, count, width):
    chance = np.random.default_rng(seed)
    true = chance.random((count, width)) < 0.5
    target = chance.random(count) < np.where(true[:, 0], 0.9, 0.1)
    traits = [Trait("log", str(place), f"{place}", f"not {place}") for place in range(width)]
    chosen = Thresholds(alpha=1.0, told=0.0, leaf=2, depth=1)
    split = decision_tree._Tree(traits, true, target, chosen)._split(np.ones(count, bool), ())
    gains, p = [], []
    for column in true.T:
        table = np.array([[(column == a)[target == b].sum() for a in (0, 1)] for b in (0, 1)])
        if table.sum(0).min() < 2 or table.sum(1).min() == 0:
            continue
        shares = table / table.sum()
        base = stats.entropy(shares.sum(1), base=2)
        gains.append(base - sum(shares[:, a].sum() * stats.entropy(shares[:, a], base=2) for a in (0, 1)))
        p.append(stats.chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue)
    if not gains:
        assert split is None
        return
    _, told, found = split
    assert told == pytest.approx(max(gains) / base, abs=1e-9)
    assert found == pytest.approx(min(1, p[int(np.argmax(gains))] * len(gains)), rel=1e-6)


def test_decision_tree_seldom_names_random_traits():
    chance = np.random.default_rng(7)
    named = 0
    traits = [Trait("log", str(place), f"{place}", f"not {place}") for place in range(40)]
    for _ in range(300):
        true, target = chance.random((60, 40)) < 0.3, chance.random(60) < 0.4
        named += bool(list(decision_tree._Tree(traits, true, target, Thresholds(told=0.0)).leaves()))
    assert named <= 300 * 0.01 + 6
