"""Compare the critical path of imported Jaeger traces with hand-computed values and with CRISP's own test files.

CRISP walks back from the root's end to the child that ended last before it, and repeats this from the child's beginning.
"""

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path
from clew.records.format.event import Kind
from tests.support.examples import examples
from tests.support.graphs import span_writers as writers


def trace(*spans):
    """Return a Jaeger trace of spans given as (name, start, end, parent), each in a separate service."""
    names = [name for name, *_ in spans]
    return writers.jaeger(
        [
            writers.Span(name, start, end, names.index(parent) if parent else None, service=f"S{name}")
            for name, start, end, parent in spans
        ]
    )


def path_to_the_end_of_the_request(found, request=0):
    """Return the path's microseconds of work per function, its waiting time (must be 0), and its length."""
    graph = found.graph
    rows = sorted(graph.rows_of([Kind.REQUEST]).tolist(), key=lambda row: graph.ts[row])
    end = graph.exit_of(graph.call_of(rows[request]))
    path = critical_path(graph, slice_events(graph, [end], "backward"))
    work, waits = Counter(), 0
    for segment in path.segments:
        work[segment.label] += segment.self_ns / 1000
        waits += segment.wait_ns
    return {label: time for label, time in work.items() if time}, waits, path.total_ns / 1000


CASES = {
    "a span alone is all of its path": ([("A", 0, 100, "")], {"A": 100}),
    # A works 10 before and 40 after, and waits in between.
    "the caller waits for its call": ([("A", 0, 100, ""), ("B", 10, 60, "A")], {"A": 50, "B": 50}),
    "a call as long as its caller takes all of the path": ([("A", 0, 100, ""), ("B", 0, 100, "A")], {"B": 100}),
    "calls of calls count for themselves": (
        [("A", 0, 100, ""), ("B", 10, 60, "A"), ("C", 20, 30, "B")],
        {"A": 50, "B": 40, "C": 10},
    ),
    "sequential calls are all on the path": (
        [("A", 0, 100, ""), ("B", 10, 30, "A"), ("C", 40, 50, "A"), ("D", 60, 90, "A")],
        {"A": 40, "B": 20, "C": 10, "D": 30},
    ),
    # A's end is when it stopped waiting: B counts up to 100, of which C had 10.
    "a call that outlives its caller counts until the caller's end": (
        [("A", 0, 100, ""), ("B", 10, 110, "A"), ("C", 40, 50, "B")],
        {"A": 10, "B": 80, "C": 10},
    ),
    # C counts until B's end (70): B had 10 to 20 for itself, A 0 to 10 and 70 to 100.
    "a call of a call that outlives its caller counts until the caller's end": (
        [("A", 0, 100, ""), ("B", 10, 70, "A"), ("C", 20, 120, "B")],
        {"A": 40, "B": 10, "C": 50},
    ),
    # B began after A ended, so it cannot have delayed A.
    "a call that began after its caller's end is not on the path": (
        [("A", 0, 100, ""), ("B", 110, 160, "A"), ("C", 120, 150, "B"), ("D", 60, 90, "A")],
        {"A": 70, "D": 30},
    ),
    # B gave up C at 70, and with it D, for which C waited until 90: 60 to 70 belong to D.
    "an abandoned call abandons the calls it waits for": (
        [("A", 0, 100, ""), ("B", 10, 70, "A"), ("C", 20, 95, "B"), ("D", 60, 90, "C")],
        {"A": 40, "B": 10, "C": 40, "D": 10},
    ),
    # Clocks differ: C's recorded start is before B called it, and C counts from the call on.
    "a call that began before its caller counts from the caller's beginning": (
        [("A", 0, 100, ""), ("B", 30, 80, "A"), ("C", 20, 60, "B"), ("D", 10, 60, "C")],
        {"A": 50, "B": 20, "D": 30},
    ),
    # D ended last. C was still running when D began, so C's end did not cause D.
    "among concurrent calls the last to end is on the path": (
        [("A", 0, 100, ""), ("B", 10, 70, "A"), ("C", 25, 45, "B"), ("D", 30, 50, "B")],
        {"A": 40, "B": 40, "D": 20},
    ),
    # D began at 40, after B's end at 30, and C runs until 45: back from 65 to 40 (D), to 30 (A), to 10 (B), to 0.
    "the predecessor is the last call that ended before the beginning": (
        [("A", 0, 80, ""), ("B", 10, 30, "A"), ("C", 20, 45, "A"), ("D", 40, 65, "A")],
        {"A": 35, "B": 20, "D": 25},
    ),
    # Clocks have a resolution of 1 µs: calls that overlap by 1 µs are sequential. The overlap counts once, for the later
    # call's caller: 10 to 209, 209 to 308, 308 to 608. CRISP counts it for both calls and takes it from A (400, 200, 100, 300).
    "calls that overlap by the clock's resolution are sequential": (
        [("A", 0, 1000, ""), ("B", 10, 210, "A"), ("C", 209, 309, "A"), ("D", 308, 608, "A")],
        {"A": 402, "B": 199, "C": 99, "D": 300},
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_critical_path_of_jaeger_trace_equals_hand_computed_values(import_trace, case):
    spans, expected = CASES[case]
    work, waits, total = path_to_the_end_of_the_request(import_trace(trace(*spans)))
    assert work == {f"S{name}:{name}": time for name, time in expected.items()}
    assert waits == 0 and total == sum(expected.values())


def counted(spans):
    """Apply CRISP's rule span by span: calls are cut to their caller's time; go back to the call that ended last."""
    work = Counter()

    def walk(name, start, end):
        at = end
        calls = [(max(begin, start), min(stop, end), call) for call, begin, stop, caller in spans if caller == name]
        for begin, stop, call in sorted((c for c in calls if c[0] < end and c[1] > start), key=lambda c: (-c[1], c[0])):
            if stop <= at:
                work[name] += at - stop
                walk(call, begin, stop)
                at = begin
        work[name] += at - start

    walk("A", spans[0][1], spans[0][2])
    return {name: time for name, time in work.items() if time}


@st.composite
def calls_of_calls(draw):
    """Return spans as (name, start, end, parent) with distinct times in tens of µs; many outlive their callers."""
    times = draw(st.permutations(range(1, 60)).map(lambda order: order[:16]))
    spans = [("A", 0, 600, "")]
    for number in range(8):
        start, end = sorted(10 * time for time in times[2 * number : 2 * number + 2])
        callers = [name for name, begin, stop, _ in spans if begin < start < stop]
        spans.append((chr(ord("B") + number), start, end, draw(st.sampled_from(callers))))
    return spans


def test_critical_path_of_random_trace_follows_crisp_rule(import_trace):
    @settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
    @given(calls_of_calls())
    def check(spans):
        work, waits, total = path_to_the_end_of_the_request(import_trace(trace(*spans)))
        assert work == {f"S{name}:{name}": time for name, time in counted(spans).items()}
        assert waits == 0 and total == 600

    check()


@pytest.mark.parametrize("number", range(1, 16))
def test_critical_path_of_crisp_test_files_equals_documented_one(import_trace, shared_file, number):
    file = shared_file("crisp", f"{number}.json")
    said = json.loads(file.read_text())["testing"]
    said = said[0] if isinstance(said, list) else said["opTimeExclusive"]
    expected = {name[1:].replace("] ", ":"): time for name, time in said.items() if time}
    work, waits, total = path_to_the_end_of_the_request(import_trace(file))
    assert waits == 0 and total == sum(expected.values())
    # File 10 has calls that overlap by a microsecond, see above.
    assert work == pytest.approx(expected, abs=2 if number == 10 else 0)
    assert sum(work.values()) == total
