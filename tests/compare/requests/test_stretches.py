"""One run per side: the scatter between runs is estimated from the stretches of the runs."""

from __future__ import annotations

import random

import numpy as np

import clew
from clew.compare.requests.category_pairs import Pairing
from clew.compare.requests.diff import compare
from clew.compare.requests.stretches import dependence, stretch_of

US = 1000


def recorded(make_run, name, seed, load, *, slower=1.0, requests=200, more=None):
    """Record requests; `load(share of the run, chance)` is the factor by which others slow the machine at a time."""
    chance, run = random.Random(seed), make_run(name)
    main = run.process().thread()
    for number in range(requests):
        factor = load(number / requests, chance)
        main.enter("serve").request("show").enter("work")
        run.clock.now += round(200 * US * factor * slower * chance.uniform(0.9, 1.1))
        main.exit("work")
        if more is not None and more(number / requests, chance):
            main.enter("retry").exit("retry")
        main.exit("serve")
    return clew.open(run.write()).requests.flows()


def idle(share, chance):
    return 1.0


def burst(begin, end, factor):
    return lambda share, chance: factor if begin <= share < end else 1.0


def test_stretches_have_equal_numbers_in_order_of_time(make_run):
    flows = recorded(make_run, "one", 1, idle, requests=55)
    stretch = stretch_of(flows, np.zeros(55, np.int64))
    assert stretch.tolist() == sorted(stretch.tolist()) and set(np.bincount(stretch)) == {5, 6}
    assert stretch_of(flows.take(np.arange(3)), np.zeros(3, np.int64)).tolist() == [0, 0, 0]


def test_stretches_of_independent_requests_have_a_factor_near_one(make_run):
    factors = [
        float(
            dependence(Pairing(*(recorded(make_run, f"r{seed}-{side}", 2 * seed + side, idle) for side in range(2))))[0]
        )
        for seed in range(12)
    ]
    assert np.median(factors) == 1 and np.mean(factors) < 1.4


def test_stretches_burst_of_load_in_one_run_is_no_change(make_run):
    """Others used the processor for a fifth of the run after: 40 requests in a row are slow, and no request else."""
    before = recorded(make_run, "before", 1, idle)
    after = recorded(make_run, "after", 2, burst(0.4, 0.6, 3.0))
    changed = compare(before, after)
    assert changed.rows == () and changed.dependence > 5
    assert "times that of independent requests" in changed.certainty()
    # The same number of slow requests all over the run is a change.
    spread = recorded(make_run, "spread", 3, lambda share, chance: 3.0 if chance.random() < 0.2 else 1.0)
    assert [row.is_faster for row in compare(before, spread).rows] == [False]


def test_stretches_planted_change_is_found_in_spite_of_bursts(make_run):
    before = recorded(make_run, "loaded", 1, burst(0.1, 0.2, 2.0))
    after = recorded(make_run, "slower", 2, burst(0.7, 0.8, 2.0), slower=1.2)
    (row,) = compare(before, after).rows
    assert row.edges[0].target == "app:work" and not row.is_faster


def test_stretches_flow_that_is_frequent_for_a_while_is_no_change(make_run):
    def retries(begin, end):
        return lambda share, chance: begin <= share < end

    before = recorded(make_run, "few", 1, idle, more=retries(0.2, 0.3))
    after = recorded(make_run, "many", 2, idle, more=retries(0.5, 0.7))
    assert compare(before, after).of("structural") == ()
    often = recorded(make_run, "often", 3, idle, more=lambda share, chance: chance.random() < 0.4)
    rare = recorded(make_run, "rare", 4, idle, more=lambda share, chance: chance.random() < 0.1)
    assert len(compare(rare, often).of("structural")) == 1


def test_stretches_are_not_needed_with_several_runs_per_side(make_run):
    from clew.graph.ops.flows.flows import concat

    sides = [
        concat(*(recorded(make_run, f"m{side}-{run}", 10 * side + run, idle, requests=60) for run in range(2)))
        for side in range(2)
    ]
    assert compare(*sides).certainty() == ""
    assert (
        compare(sides[0], recorded(make_run, "single", 99, idle, requests=60))
        .certainty()
        .startswith("one run on a side")
    )
