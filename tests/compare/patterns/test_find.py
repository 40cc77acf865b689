"""Execution patterns: the tests count them by searching a text of begins and ends, and time each occurrence."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import clew
from clew.compare.patterns.find import Thresholds, find_patterns
from clew.graph.build.builder import build
from clew.graph.errors import QueryError
from tests.support.examples import examples
from tests.support.runs.pattern_runs import loop, record, recorded, rounds, strands


def text_of(of):
    """Return one letter for each begin and end; letters between strands occur once."""
    return "".join(chr(0x4E00 + symbol) for symbol in of.sequence().tolist())


def side_by_side(of, first, last):
    """Return the duration of each call between two siblings."""
    while first <= last:
        yield of.end_ns[first] - of.begin_ns[first]
        first += of.size[first]


def check(graph, **thresholds):
    found = find_patterns(graph, [strand.index for strand in graph.strands], top=10_000, **thresholds)
    of = found.activations
    text = text_of(of)
    seen = set()
    for row in found.rows:
        first, last = found.occurrences(row.number)
        content = {text[of.opens[one] : of.closes[other] + 1] for one, other in zip(first, last, strict=True)}
        assert len(content) == 1, "all occurrences have the same content"
        (content,) = content
        assert content not in seen, "every pattern is reported once"
        seen.add(content)
        assert row.count == len(first) == text.count(content) >= found.thresholds.times
        assert row.calls == len(content) // 2 >= found.thresholds.calls
        took = [sum(side_by_side(of, one, other)) for one, other in zip(first.tolist(), last.tolist(), strict=True)]
        assert row.total_ns == sum(took) and row.mean_ns == pytest.approx(sum(took) / row.count)
        assert row.self_ns == sum(
            of.own_ns[one : other + of.size[other]].sum()
            for one, other in zip(first.tolist(), last.tolist(), strict=True)
        )
        assert row.share == pytest.approx(row.total_ns / found.span_ns) and row.share <= 1
        assert row.first_ns == of.begin_ns[first].min() and row.last_ns == of.end_ns[last].max()
        assert row.strands == len(set(of.strand_of[first].tolist()))
        assert sum(line.repeats * line.calls for line in found.outline(row.number) if line.depth == 0) == row.calls
    assert [row.total_ns for row in found.rows] == sorted((row.total_ns for row in found.rows), reverse=True)
    return found, text, seen


@given(strands)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_find_patterns_count_equals_count_of_text(make_run, forests):
    check(recorded(make_run, forests), calls=1)


@given(rounds)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_find_patterns_of_loops_count_equals_count_of_text(make_run, forests):
    check(recorded(make_run, [[one for body in forests for one in body]]), calls=2)


@given(strands)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_find_patterns_covers_every_repeated_call(make_run, forests):
    graph = recorded(make_run, forests)
    found, text, contents = check(graph, calls=1)
    of = found.activations
    for at in range(len(of)):
        call = text[of.opens[at] : of.closes[at] + 1]
        count = text.count(call)
        if count >= 2 and call not in contents:
            assert any(call in content and text.count(content) == count for content in contents)


def test_find_patterns_of_loop_begin_at_start_of_each_round(make_run):
    graph, _ = build(loop(make_run))
    found, _, _ = check(graph)
    assert [(row.title, row.count) for row in found.rows] == [
        ("read, step(a, b), store", 85), ("read, step(a, b, log), store", 15),
    ]  # fmt: skip
    assert found.rows[0].id == find_patterns(graph, [0]).rows[0].id
    assert {(step.before, step.after): step.times for step in found.successions} == {(0, 0): 70, (1, 0): 15, (0, 1): 14}
    assert "85 times" in found.sentence()


def test_find_patterns_merges_equal_sequences_of_several_strands(make_run):
    graph = recorded(make_run, [[(("f", (("a", ()), ("b", ()))), 1), (("g", ()), 1)]] * 3)
    found, _, _ = check(graph)
    assert [(row.title, row.count, row.strands) for row in found.rows] == [("f(a, b), g", 3, 3)]


def test_find_patterns_leaves_out_part_of_one_larger_pattern(make_run):
    inner = ("g", (("a", ()), ("b", ())))
    once = recorded(make_run, [[(("f", (inner, ("c", ()))), 5)]], "part")
    assert [row.title for row in check(once)[0].rows] == ["f(g(a, b), c)"]
    again = recorded(make_run, [[(("f", (inner, ("c", ()))), 5), (inner, 1)]], "apart")
    assert [(row.title, row.count) for row in check(again)[0].rows] == [("f(g(a, b), c)", 5), ("g(a, b)", 6)]


def test_find_patterns_call_that_raised_is_another_pattern(make_run):
    run = make_run("raised")
    thread = run.process().thread()
    for _ in range(3):
        thread.enter("f").enter("g").exit("g").exit("f")
        thread.enter("f").enter("g").unwind("g").exit("f")
    graph, _ = build(run.write())
    found, _, _ = check(graph, calls=2)
    assert [(row.title, row.raised) for row in found.rows if row.width == 2] == [("f(g), f(g raised)", 1)]


def test_pattern_id_is_equal_in_every_run(make_run):
    before, after = (build(loop(make_run, rounds, name=f"run-{rounds}"))[0] for rounds in (50, 80))
    ids = [{row.title: row.id for row in find_patterns(graph, [0]).rows} for graph in (before, after)]
    assert ids[0] == ids[1] and len(set(ids[0].values())) == len(ids[0])


def test_find_patterns_thresholds_select_rows_and_are_explained(make_run):
    graph, _ = build(loop(make_run))
    found = find_patterns(graph, [0], thresholds=Thresholds(calls=6))
    assert [row.title for row in found.rows] == ["read, step(a, b, log), store"]
    assert find_patterns(graph, [0], times=16).found == 1
    assert find_patterns(graph, [0], top=1).found == 2 and len(find_patterns(graph, [0], top=1).rows) == 1
    assert "at least 6 calls" in found.explain()
    with pytest.raises(QueryError, match="unknown threshold 'call'; thresholds: calls, times, widest, top"):
        find_patterns(graph, [0], call=3)
    with pytest.raises(QueryError, match="'times' is a whole number of at least 2, not 1"):
        find_patterns(graph, [0], times=1)


@pytest.mark.parametrize("forests", [[], [[]], [[(("a", ()), 1)]]])
def test_find_patterns_without_repetition_is_empty(make_run, forests):
    graph = recorded(make_run, forests)
    found = find_patterns(graph, [strand.index for strand in graph.strands])
    assert found.rows == () and found.successions == ()
    assert found.sentence().startswith("no sequence of 3 or more calls repeats")
    assert json.dumps(found.to_json()) and len(found.table()) == 0


def test_patterns_answer_converts_to_table_and_json(make_run):
    run = clew.open(loop(make_run))
    found = run.strands.first().patterns()
    assert found.table().rows[0].title == "read, step(a, b), store"
    told = json.loads(json.dumps(found.to_json()))
    assert told["patterns"][0]["count"] == 85 and told["successions"][0]["times"] == 70
    assert [line["label"] for line in told["patterns"][0]["outline"]][:2] == ["app:read", "app:step"]


def test_strands_named_selects_by_part_of_name(make_run):
    run = make_run("strands")
    process = run.process()
    for name in ("MainThread", "worker"):
        thread = process.thread(name)
        for _ in range(4):
            record(thread, ("f", (("a", ()), ("b", ()))))
    opened = clew.open(run.write())
    assert [(strand.name, strand.events, strand.kind) for strand in opened.strands] == [
        ("MainThread", 24, "thread"), ("worker", 24, "thread"),
    ]  # fmt: skip
    worker = opened.strands.named("worker")
    assert worker.patterns().rows[0].count == 4 and opened.strands.patterns().rows[0].count == 8
    assert repr(worker).endswith(".strands.named('worker')") and worker.count() == 1
    assert opened.strands.table.rows[0].last_ns > 0
    with pytest.raises(QueryError, match="no thread or task has 'walker' in its name; some of 2 are"):
        opened.strands.named("walker").count()
    with pytest.raises(QueryError, match=r"\.named\(PART\)"):
        opened.strands.where(name="worker")


def test_patterns_diagram_has_all_moves_and_marks_those_of_a_pattern(make_run):
    graph, _ = build(loop(make_run, rounds=14))
    found = find_patterns(graph, [0])
    of = found.activations
    drawn = found.diagram
    assert drawn.times.sum() == 2 * len(of) - 1
    assert sum(state.times for state in drawn.states) == 2 * len(of)
    assert sum(state.ns for state in drawn.states) == of.end_ns.max() - of.begin_ns.min()
    in_states, in_moves = drawn.inside(*found.occurrences(0))
    ends = zip(drawn.source.tolist(), drawn.target.tolist(), strict=True)
    named = {
        (drawn.states[a].label, drawn.states[a].what, drawn.states[b].label, drawn.states[b].what): move
        for move, (a, b) in enumerate(ends)
    }
    read = named["app:read", "entered", "app:read", "returned"]
    assert (drawn.times[read], in_moves[read]) == (14, 12)
    assert in_moves[named["app:b", "returned", "app:log", "entered"]] == 0
    counted = {(state.label, state.what): times for state, times in zip(drawn.states, in_states.tolist(), strict=True)}
    assert counted["app:read", "entered"] == 12 and counted["app:main", "entered"] == 0


@given(strands)
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_patterns_diagram_inside_equals_text_of_each_occurrence(make_run, forests):
    found = find_patterns(graph := recorded(make_run, forests), [strand.index for strand in graph.strands], calls=1)
    of, drawn = found.activations, found.diagram
    sequence = of.sequence().tolist()
    assert drawn.first.tolist() == [sequence.index(symbol) for symbol in drawn.code.tolist()]
    for row in found.rows:
        first, last = found.occurrences(row.number)
        states, moves = drawn.inside(first, last)
        symbols, steps = Counter(), Counter()
        for one, other in zip(first, last, strict=True):
            part = sequence[of.opens[one] : of.closes[other] + 1]
            symbols.update(part)
            steps.update(pairwise(part))
        code = drawn.code.tolist()
        assert {code[at]: times for at, times in enumerate(states.tolist()) if times} == symbols
        ends = zip(drawn.source.tolist(), drawn.target.tolist(), moves.tolist(), strict=True)
        assert {(code[a], code[b]): times for a, b, times in ends if times} == steps


def test_find_patterns_deep_recursion_does_not_overflow(make_run):
    run = make_run("deep")
    thread = run.process().thread()
    for _ in range(3):
        for _ in range(3000):
            thread.enter("f")
        for _ in range(3000):
            thread.exit("f")
    graph, _ = build(run.write())
    found = find_patterns(graph, [0])
    assert [(row.calls, row.count) for row in found.rows] == [(3000, 3)]
    assert found.rows[0].title.startswith("f(f(f(")
    assert len(found.outline(0, 10)) == 10
    assert np.all(found.activations.depth[:3000] == np.arange(3000))
