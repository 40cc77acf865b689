"""Times of pattern occurrences, compared with a naive scan of each occurrence."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.compare.patterns.find import find_patterns
from clew.compare.patterns.occurrences import moments
from clew.graph.build.builder import build
from tests.support.examples import examples
from tests.support.runs.pattern_runs import loop, recorded, strands


def naive(of, first, last):
    """Return, for each occurrence, its strand and the begin and end of each of its sibling calls."""
    found = []
    for one, other in zip(first.tolist(), last.tolist(), strict=True):
        calls, at = [], one
        while at <= other:
            calls.append((int(of.begin_ns[at]), int(of.end_ns[at])))
            at += int(of.size[at])
        found.append((int(of.strand_of[one]), calls, int(of.first[one])))
    return found


def spent(calls, begin, end):
    return sum(max(0, min(to, end) - max(at, begin)) for at, to in calls)


@given(strands, st.data())
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_timed_bins_equal_scan_of_each_occurrence(make_run, forests, data):
    graph = recorded(make_run, forests)
    found = find_patterns(graph, [strand.index for strand in graph.strands], calls=1)
    of = found.activations
    last_ns = int(of.end_ns.max())
    edges = np.array(sorted(data.draw(st.lists(st.integers(0, last_ns + 2), min_size=2, max_size=6, unique=True))))
    begin, end = int(edges[0]), int(edges[-1])
    every = np.arange(len(of.strands))
    for row in found.rows:
        timed, known = found.timed(row.number), naive(of, *found.occurrences(row.number))
        touching = timed.touching(moments(of, every, begin), moments(of, every, end)).tolist()
        for strand in every.tolist():
            here = [calls for at, calls, _ in known if at == strand]
            begun, ns = timed.bins(strand, edges)
            windows = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
            assert begun.tolist() == [sum(low <= calls[0][0] < high for calls in here) for low, high in windows]
            assert ns.tolist() == [sum(spent(calls, *window) for calls in here) for window in windows]
            assert touching[strand] == sum(
                calls[0][0] < end and (calls[-1][1] > begin or calls[0][0] >= begin) for calls in here
            )
        assert timed.all_bins(edges).tolist() == [
            sum(spent(calls, *window) for _, calls, _ in known)
            for window in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
        assert timed.passed[-1] == row.total_ns
        assert timed.strands().tolist() == sorted({at for at, _, _ in known})


@given(strands, st.data())
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_timed_occurrences_are_ordered_and_found_by_time(make_run, forests, data):
    graph = recorded(make_run, forests)
    found = find_patterns(graph, [strand.index for strand in graph.strands], calls=1)
    of = found.activations
    for row in found.rows[:3]:
        timed, known = found.timed(row.number), naive(of, *found.occurrences(row.number))
        ordered = [timed.occurrence(number) for number in range(len(timed))]
        assert sorted((one.strand, one.begin_ns, one.end_ns, one.event) for one in ordered) == sorted(
            (strand, calls[0][0], calls[-1][1], event) for strand, calls, event in known
        )
        assert [one.begin_ns for one in ordered] == sorted(one.begin_ns for one in ordered)
        at = data.draw(st.integers(0, int(of.end_ns.max()) + 5))
        for strand in range(len(of.strands)):
            distance = [max(one.begin_ns - at, at - one.end_ns, 0) for one in ordered if one.strand == strand]
            number = timed.nearest(strand, at)
            if not distance:
                assert number is None
            else:
                one = ordered[number]
                assert one.strand == strand
                assert max(one.begin_ns - at, at - one.end_ns, 0) == min(distance)


def test_timed_all_bins_of_many_strands_equal_total(make_run, monkeypatch):
    monkeypatch.setattr("clew.compare.patterns.occurrences._AT_ONCE", 7)
    graph, _ = build(loop(make_run, rounds=14))
    found = find_patterns(graph, [0])
    edges = np.arange(0, int(found.activations.end_ns.max()) + 2)
    assert found.timed(0).all_bins(edges).sum() == found.rows[0].total_ns
