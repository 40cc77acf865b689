"""The critical path of imported Jaeger traces: computed by hand, and what CRISP's own test files say where those are there.

CRISP walks back from the root's end: to the child that ended last before that point, and from its beginning on again.
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
    """(name, start, end, parent): every span in a service of its own name."""
    names = [name for name, *_ in spans]
    return writers.jaeger(
        [
            writers.Span(name, start, end, names.index(parent) if parent else None, service=f"S{name}")
            for name, start, end, parent in spans
        ]
    )


def path_to_the_end_of_the_request(found, request=0):
    """Microseconds of work on the path, per function; the waits, which have to be none; and the sum."""
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
    "the caller waits for what it calls": ([("A", 0, 100, ""), ("B", 10, 60, "A")], {"A": 50, "B": 50}),
    "what is as long as its caller leaves it nothing": ([("A", 0, 100, ""), ("B", 0, 100, "A")], {"B": 100}),
    "calls of calls count for themselves": (
        [("A", 0, 100, ""), ("B", 10, 60, "A"), ("C", 20, 30, "B")],
        {"A": 50, "B": 40, "C": 10},
    ),
    "calls one after the other are all on it": (
        [("A", 0, 100, ""), ("B", 10, 30, "A"), ("C", 40, 50, "A"), ("D", 60, 90, "A")],
        {"A": 40, "B": 20, "C": 10, "D": 30},
    ),
    # A's end is when it stopped waiting: B counts up to 100, of which C had 10.
    "who outlives its caller in another process was waited for until the caller's end": (
        [("A", 0, 100, ""), ("B", 10, 110, "A"), ("C", 40, 50, "B")],
        {"A": 10, "B": 80, "C": 10},
    ),
    # C counts until B's end (70): B had 10 to 20 for itself, A 0 to 10 and 70 to 100.
    "so it is on every level": (
        [("A", 0, 100, ""), ("B", 10, 70, "A"), ("C", 20, 120, "B")],
        {"A": 40, "B": 10, "C": 50},
    ),
    # B began when A was over; nothing of it can have held A up.
    "what began after its caller's end held nobody up": (
        [("A", 0, 100, ""), ("B", 110, 160, "A"), ("C", 120, 150, "B"), ("D", 60, 90, "A")],
        {"A": 70, "D": 30},
    ),
    # B gave up C at 70, and with it D, which C went on waiting for until 90: 60 to 70 are D's.
    "who is given up has given up all that it waits for": (
        [("A", 0, 100, ""), ("B", 10, 70, "A"), ("C", 20, 95, "B"), ("D", 60, 90, "C")],
        {"A": 40, "B": 10, "C": 40, "D": 10},
    ),
    # Clocks that differ: C says that it began before B called it, and counts from then on.
    "what began before it was called counts from the call on": (
        [("A", 0, 100, ""), ("B", 30, 80, "A"), ("C", 20, 60, "B"), ("D", 10, 60, "C")],
        {"A": 50, "B": 20, "D": 30},
    ),
    # D ended last; C was still running when D was begun, so that D was not begun because of C's end; nor is B waited for alone.
    "of calls at once the one that ended last is on it": (
        [("A", 0, 100, ""), ("B", 10, 70, "A"), ("C", 25, 45, "B"), ("D", 30, 50, "B")],
        {"A": 40, "B": 40, "D": 20},
    ),
    # D was begun at 40, after B's end at 30, C goes on until 45: back from 65 to 40 (D), to 30 (A), to 10 (B), to 0.
    "the one before it is the last that had ended by its beginning": (
        [("A", 0, 80, ""), ("B", 10, 30, "A"), ("C", 20, 45, "A"), ("D", 40, 65, "A")],
        {"A": 35, "B": 20, "D": 25},
    ),
    # Clocks of a microsecond: an overlap of one means one after the other. The overlap itself counts once, for the later
    # one's caller: 10 to 209, 209 to 308, 308 to 608; CRISP counts it for both calls, and takes it from A (400, 200, 100, 300).
    "calls that overlap by no more than the clock can tell came one after the other": (
        [("A", 0, 1000, ""), ("B", 10, 210, "A"), ("C", 209, 309, "A"), ("D", 308, 608, "A")],
        {"A": 402, "B": 199, "C": 99, "D": 300},
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_critical_path_of_jaeger_trace_is_that_computed_by_hand(look, case):
    spans, expected = CASES[case]
    work, waits, total = path_to_the_end_of_the_request(look(trace(*spans)))
    assert work == {f"S{name}:{name}": time for name, time in expected.items()}
    assert waits == 0 and total == sum(expected.values())


def counted(spans):
    """CRISP's rule, span by span: calls lie within their caller's time; back from the end, whatever ended last by then."""
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
    """(name, start, end, parent) in tens of microseconds, no two times equal; many outlive their callers."""
    times = draw(st.permutations(range(1, 60)).map(lambda order: order[:16]))
    spans = [("A", 0, 600, "")]
    for number in range(8):
        start, end = sorted(10 * time for time in times[2 * number : 2 * number + 2])
        callers = [name for name, begin, stop, _ in spans if begin < start < stop]
        spans.append((chr(ord("B") + number), start, end, draw(st.sampled_from(callers))))
    return spans


def test_any_calls_of_calls_by_crisps_rule(look):
    @settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
    @given(calls_of_calls())
    def check(spans):
        work, waits, total = path_to_the_end_of_the_request(look(trace(*spans)))
        assert work == {f"S{name}:{name}": time for name, time in counted(spans).items()}
        assert waits == 0 and total == 600

    check()


@pytest.mark.parametrize("number", range(1, 16))
def test_critical_path_of_crisp_test_files_is_the_documented_one(look, shared_file, number):
    file = shared_file("crisp", f"{number}.json")
    said = json.loads(file.read_text())["testing"]
    said = said[0] if isinstance(said, list) else said["opTimeExclusive"]
    expected = {name[1:].replace("] ", ":"): time for name, time in said.items() if time}
    work, waits, total = path_to_the_end_of_the_request(look(file))
    assert waits == 0 and total == sum(expected.values())
    # File 10 has calls that overlap by a microsecond, see above.
    assert work == pytest.approx(expected, abs=2 if number == 10 else 0)
    assert sum(work.values()) == total
