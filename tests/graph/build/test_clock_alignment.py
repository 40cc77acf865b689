"""Align the clocks of simulated machines, with known offsets and rates, by their messages."""

import math
import random

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.graph.build.builder import build
from clew.graph.build.clock_alignment import Alignment, Messages, align
from clew.graph.store.store import open_graph
from clew.query.results import machine_table
from tests.support.examples import examples


def columns(rows):
    sender, sent, receiver, received = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Messages(
        np.array(sender, np.intp), np.array(sent, np.int64), np.array(receiver, np.intp), np.array(received, np.int64)
    )


def corrected(alignment: Alignment, messages: Messages):
    sent = [
        int(alignment.corrections[clock].apply(np.array([ts]))[0])
        for clock, ts in zip(messages.sender, messages.sent, strict=True)
    ]
    received = [
        int(alignment.corrections[clock].apply(np.array([ts]))[0])
        for clock, ts in zip(messages.receiver, messages.received, strict=True)
    ]
    return list(zip(sent, received, strict=True))


def simulate(machines, count, seed, *, drift=0.0, span=60e9, both=True, least=50_000):
    """Return messages between machines with clock offsets of up to a second and rates within `drift`."""
    rng = random.Random(seed)
    offset = [0, *(rng.randrange(-(10**9), 10**9) for _ in range(machines - 1))]
    rate = [0.0, *(rng.uniform(-drift, drift) for _ in range(machines - 1))]

    def shows(machine, instant):
        return round(instant + offset[machine] + rate[machine] * instant)

    rows = []
    for _ in range(count):
        a, b = rng.sample(range(machines), 2)
        if not both and a > b:
            a, b = b, a
        instant = rng.uniform(0, span)
        arrives = instant + least + rng.expovariate(1 / 200_000)
        rows.append((a, shows(a, instant), b, shows(b, arrives)))
    return columns(rows), offset, rate


def test_alignment_of_machine_without_messages_leaves_its_clock():
    alignment = align(3, columns([]))
    assert not alignment.changes
    assert alignment.backward_ns == 0


def test_alignment_of_two_machines_equals_hand_computed_offset():
    # The second clock is 1000 ahead; delays are 100 there and 300 back.
    alignment = align(2, columns([(0, 0, 1, 1100), (1, 2000, 0, 1300)]))
    found = alignment.corrections[1]
    # The offset is the middle of the range that the two messages allow.
    assert found.offset_ns == (-1099 + -701) // 2
    assert found.offset_ns - found.below_ns <= -1000 <= found.offset_ns + found.above_ns
    assert (found.below_ns, found.above_ns) == (199, 199)
    assert alignment.corrections[0].offset_ns == 0


def test_alignment_by_one_way_messages_moves_clock_minimally():
    early = align(2, columns([(0, 1000, 1, 400)])).corrections[1]
    assert early.offset_ns == 601
    assert early.below_ns == 0
    assert math.isinf(early.above_ns)
    fine = align(2, columns([(0, 1000, 1, 1400)])).corrections[1]
    assert fine.offset_ns == 0
    assert (fine.below_ns, math.isinf(fine.above_ns)) == (399, True)
    sender = align(2, columns([(1, 1000, 0, 400)])).corrections[1]
    assert sender.offset_ns == -601
    assert math.isinf(sender.below_ns)


def test_alignment_of_three_machines_in_a_ring_satisfies_all():
    # The ring 0 -> 1 -> 2 -> 0 bounds every pair from both sides.
    messages = columns([(0, 0, 1, 500), (1, 600, 2, 100), (2, 200, 0, 900)])
    alignment = align(3, messages)
    assert alignment.backward_ns == 0
    assert all(sent < received for sent, received in corrected(alignment, messages))


@pytest.mark.parametrize("seed", range(6))
def test_alignment_true_offset_is_within_the_bound(seed):
    messages, offset, _ = simulate(4, 400, seed)
    alignment = align(4, messages)
    assert alignment.backward_ns == 0
    assert all(sent < received for sent, received in corrected(alignment, messages))
    for machine, found in enumerate(alignment.corrections[1:], 1):
        true = -offset[machine]
        # Check the middle of the run, where the fitted rate has no effect.
        assert found.offset_ns - found.below_ns - 2 <= true <= found.offset_ns + found.above_ns + 2
        assert abs(found.offset_ns - true) < 300_000


@pytest.mark.parametrize("seed", range(6))
def test_alignment_of_drifting_clocks_finds_their_rate(seed):
    messages, offset, rate = simulate(3, 2000, seed, drift=100e-6, span=600e9)
    alignment = align(3, messages)
    assert alignment.backward_ns == 0
    assert all(sent < received for sent, received in corrected(alignment, messages))
    for machine, found in enumerate(alignment.corrections[1:], 1):
        # Without the rate it would be off by up to 60 ms.
        assert abs(found.rate + rate[machine]) < 2e-6
        for instant in (0, 300e9, 600e9):
            shown = np.array([round(instant + offset[machine] + rate[machine] * instant)])
            error = int(found.apply(shown)[0]) - instant
            assert -found.above_ns - 1000 <= error <= found.below_ns + 1000
            assert abs(error) < 1_000_000


def test_alignment_of_clock_that_was_set_spreads_the_error():
    back = [(0, t, 1, t + 100) for t in range(0, 1000, 100)] + [(1, t, 0, t + 100) for t in range(0, 1000, 100)]
    stepped = [(0, 10**6 + t, 1, 10**6 + t - 5000) for t in range(0, 1000, 100)]
    messages = columns(back + stepped)
    alignment = align(2, messages)
    worst = max(sent - received for sent, received in corrected(alignment, messages))
    assert 0 < alignment.backward_ns
    assert worst <= alignment.backward_ns
    # No constant offset has a smaller error.
    assert alignment.backward_ns <= 2600


def test_alignment_unknown_clock_is_refused():
    with pytest.raises(ValueError, match="not one of the 2"):
        align(2, columns([(0, 1, 2, 3)]))


def test_alignment_of_clocks_decades_apart_keeps_nanoseconds():
    far = 1_700_000_000 * 10**9
    messages = columns([(0, far, 1, 500), (1, 700, 0, far + 900)])
    alignment = align(2, messages)
    (sent, received), (sent_back, received_back) = corrected(alignment, messages)
    assert sent < received
    assert sent_back < received_back


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(-1000, 1000), st.integers(0, 4), st.integers(-1000, 1000)), max_size=12
    )
)
def test_alignment_satisfies_every_message_that_can_be_satisfied(rows):
    messages = columns(rows)
    alignment = align(5, messages)
    graph = networkx.DiGraph()
    for sender, sent, receiver, received in rows:
        if sender != receiver:
            weight = received - sent - 1
            if not graph.has_edge(receiver, sender) or graph[receiver][sender]["weight"] > weight:
                graph.add_edge(receiver, sender, weight=weight)
    possible = not networkx.negative_edge_cycle(graph)
    between = messages.sender != messages.receiver
    order = [pair for pair, counts in zip(corrected(alignment, messages), between, strict=True) if counts]
    # A rate may satisfy messages that no constant offset can.
    if possible:
        assert alignment.backward_ns == 0
    if alignment.backward_ns == 0:
        assert all(sent < received for sent, received in order)
    else:
        assert max(sent - received for sent, received in order) < alignment.backward_ns


def exchange(run, ahead: int):
    """Record two machines that ask and answer three times; the second one's clock is `ahead`."""
    client, server = run.process("client", host="north"), run.process("server", host="south", boot_id="other")
    here, there = client.thread(), server.thread()
    now = 1000
    for number in range(3):
        here.send(f"ask {number}", at=now)
        there.receive(f"ask {number}", at=now + 200 + ahead)
        there.send(f"answer {number}", at=now + 300 + ahead)
        here.receive(f"answer {number}", at=now + 450)
        now += 1000
    run.clock.now = 10_000 + abs(ahead)


@pytest.mark.parametrize("ahead", [-5000, -250, 0, 7000, 3 * 10**9])
def test_build_of_two_machines_has_no_effect_before_its_cause(run, ahead):
    exchange(run, ahead)
    graph, problems = build(run.write())
    assert len(graph.edge_src) == 6
    assert (graph.ts[graph.edge_src] < graph.ts[graph.edge_dst]).all()
    first, second = graph.machines
    assert (first.name, first.offset_ns, second.name, second.messages) == ("north", 0, "south", 6)
    # One process started a nanosecond after the other.
    assert abs(second.offset_ns + ahead) <= 26
    assert second.offset_ns - second.below_ns - 1 <= -ahead <= second.offset_ns + second.above_ns + 1
    assert [process.machine for process in graph.processes] == [0, 1]
    assert any("the clocks of 1 of 2 machines were corrected" in problem.what for problem in problems)


def test_store_keeps_clock_offsets_of_machines(run):
    exchange(run, 5000)
    folder = run.write()
    built, _ = open_graph(folder)
    stored, _ = open_graph(folder)
    assert stored.machines == built.machines
    assert stored.machines[1].clock == "−5.03 µs (can be off by 174 ns below, 174 ns above; 6 messages)"


def test_crossing_between_machines_has_its_uncertainty(run):
    exchange(run, 5000)
    opened = clew.open(run.write())
    graph = opened.graph
    (edge,) = [edge for edge in range(len(graph.edge_src)) if graph.key_text(int(graph.edge_src[edge])) == "ask 0"]
    source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
    found = graph.crossing(source, target)
    assert str(found) == "clock of south corrected by −5.03 µs, certain to ±174 ns"
    # The bound is the duration of the fastest message.
    assert not found.hides(int(graph.ts[target] - graph.ts[source]))
    assert found.hides(100)
    assert graph.crossing(source, source) is None
    assert [(machine.name, machine.messages) for machine in opened.machines] == [("north", 6), ("south", 6)]
    assert list(opened.sql("select name, offset_ns, above_ns is null from machines")) == [
        ("north", 0, False),
        ("south", graph.machines[1].offset_ns, False),
    ]
    assert opened.machines.explain(counts=True).endswith(".machines  (2 machines)")


def test_crossing_with_bound_on_one_side_reports_it(run):
    here, there = run.process("client", host="north"), run.process("server", host="south", boot_id="other")
    here.thread().send("one", at=1000)
    there.thread().receive("one", at=900)
    graph = run.graph()
    found = graph.crossing(0, 1)
    assert found.hides(10**12)
    assert "any amount above" in str(found) or "any amount below" in str(found)
    (row,) = [row for row in machine_table(graph.machines).rows if row.name == "south"]
    assert None in (row.below_ns, row.above_ns)


def test_build_machine_without_messages_keeps_its_clock(run):
    run.process("client").thread().enter("app:f")
    run.process("server", host="south", boot_id="other").thread().enter("app:f")
    graph = run.graph()
    assert graph.machines[1].offset_ns == 0
    assert "not corrected: no message bounds its offset" in graph.machines[1].clock
    assert graph.crossing(0, 1) is None
