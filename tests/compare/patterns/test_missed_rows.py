"""Rows that repeat are found, whatever came first; the rules of the paper's example are."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.compare.patterns.find import find_patterns
from tests.support.examples import examples
from tests.support.runs.pattern_runs import recorded

# Figure 3 of the paper on ThreadViewer, and the rules of figure 4 that stand for more than one function.
TRACE = (
    "load displayDir selectFile renderChar renderChar renderChar renderChar insertChar renderChar insertChar renderChar "
    "select copy paste renderChar renderChar select copy paste renderChar renderChar renderChar saveFile displayDir selectFile "
    "load displayDir selectFile renderChar renderChar renderChar renderChar renderChar renderChar renderChar renderChar "
    "renderChar renderChar renderChar"
).split()
RULES = {
    "load, displayDir, selectFile, renderChar ×4": 2,
    "insertChar, renderChar": 2,
    "select, copy, paste, renderChar ×2": 2,
    "displayDir, selectFile": 3,
}


def listed(make_run, calls, name="rows"):
    """Record calls of one function, in a row."""
    return recorded(make_run, [[(("main", tuple((call, ()) for call in calls)), 1)]], name)


def covered(found):
    """Return, per place of the list of `main`, the patterns with an occurrence there."""
    of = found.activations
    patterns = [set() for _ in range(len(of))]
    for row in found.rows:
        for first, last in zip(*found.occurrences(row.number), strict=True):
            for at in range(first, last + 1):
                patterns[at].add(row.number)
    return patterns[1:]


def content(found, row, calls):
    """Return the calls of a pattern in the list of `main`."""
    first, last = (int(ends[0]) for ends in found.occurrences(row.number))
    return calls[first - 1 : last] if first else []


def contains(calls, row):
    return any(calls[at : at + len(row)] == row for at in range(len(calls)))


def test_missed_rows_papers_example_gives_its_rules(make_run):
    found = find_patterns(listed(make_run, TRACE), [0], calls=2)
    titles = {row.title: row.count for row in found.rows}
    assert {title: titles.get(title) for title in RULES} == RULES
    assert any(title.startswith("renderChar ×") for title in titles)


@pytest.mark.parametrize(
    ("calls", "title"),
    [("dabcddabcddde", "a, b, c, d ×2"), ("abcedabcfded", "a, b, c"), ("xabacyabacz", "a, b, a, c")],
)
def test_missed_rows_row_is_found_whatever_came_first(make_run, calls, title):
    found = find_patterns(listed(make_run, calls), [0])
    assert [(row.title, row.count) for row in found.rows] == [(title, 2)]


@given(
    st.lists(st.sampled_from("abcdef"), min_size=3, max_size=6),
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), min_size=3, max_size=5),
)
@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_missed_rows_planted_row_is_covered_by_patterns(make_run, body, between):
    """A pattern contains the planted row, or the row consists of the rounds of patterns: each of its calls is in one, and so
    is each step to the next call in a round. Rows side by side would be rounds, which may begin elsewhere."""
    calls, planted = list(between[0]), []
    for number, gap in enumerate(between[1:]):
        planted.append(len(calls))
        calls += [*body, f"only{number}", *gap]
    found = find_patterns(listed(make_run, calls), [0])
    if len(set(body)) == 1 or any(contains(content(found, row, calls), body) for row in found.rows):
        return
    at = covered(found)
    earliest = {call: calls.index(call) for call in set(body)}
    least = min(earliest.values())
    for begin in planted:
        for place in range(begin, begin + len(body)):
            assert at[place], (calls, body, [row.title for row in found.rows])
            is_step = place + 1 < begin + len(body) and earliest[calls[place + 1]] > least
            assert not is_step or at[place] & at[place + 1], (calls, body, [row.title for row in found.rows])


def test_missed_rows_of_random_lists_with_a_planted_row_give_patterns(make_run):
    """The lists of the report: 25 of 60 gave nothing."""
    chance = random.Random(1)
    for number in range(60):
        body = [chance.choice("abcdef") for _ in range(chance.randint(3, 5))]
        calls = []
        for _ in range(2):
            calls += [chance.choice("abcdef") for _ in range(chance.randint(0, 4))] + body
        calls += [chance.choice("abcdef") for _ in range(chance.randint(0, 4))]
        found = find_patterns(listed(make_run, calls, f"list-{number}"), [0])
        assert found.rows, (calls, body)


def test_missed_rows_loops_are_still_reduced_to_their_rounds(make_run):
    chance = random.Random(2)
    calls = [call for _ in range(300) for call in chance.choice(("abc", "abcd"))]
    found = find_patterns(listed(make_run, calls), [0])
    counts = {row.title: row.count for row in found.rows}
    assert counts["a, b, c"] == 300 and counts["a, b, c, d"] == "".join(calls).count("d")
    # The grammar has at most one row of several rounds besides.
    assert len(found.rows) <= 3
