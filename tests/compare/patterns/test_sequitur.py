"""Run-length Sequitur: its invariants, by expansion and by looking at every digram; C and Python give one grammar."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compare.patterns import sequitur
from clew.compare.patterns.sequitur import infer
from tests.oracles import sequitur as sequitur_reference
from tests.support.examples import examples

anything = st.integers(1, 5).flatmap(lambda letters: st.lists(st.integers(0, letters - 1), max_size=80))
blocks = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=7), min_size=1, max_size=4)
repetitive = blocks.flatmap(
    lambda known: st.lists(st.tuples(st.sampled_from(known), st.integers(1, 5)), max_size=40).map(
        lambda parts: [letter for block, times in parts for letter in block * times]
    )
)


def check(sequence):
    """The grammar, after all that has to hold of it."""
    grammar = infer(sequence)
    assert grammar.expand().tolist() == list(sequence)
    rules = [grammar.rule(number) for number in range(len(grammar))]
    digrams = Counter((*left, *right) for rule in rules for left, right in zip(rule, rule[1:], strict=False))
    assert all(times == 1 for times in digrams.values()), "no digram is there twice"
    used = Counter()
    for rule in rules:
        assert all(left[0] != right[0] for left, right in zip(rule, rule[1:], strict=False)), "neighbours differ"
        for symbol, exponent in rule:
            if symbol < 0:
                used[~symbol] += min(exponent, 2)
    for number, rule in enumerate(rules[1:], 1):
        assert len(rule) >= 2 and used[number] >= 2
        begin = int(grammar.start[number])
        assert grammar.expand(number).tolist() == list(sequence[begin : begin + int(grammar.length[number])])
    return grammar


@given(anything | repetitive)
@settings(max_examples=examples(150))
def test_the_grammar_expands_to_the_sequence_and_keeps_its_properties(sequence):
    check(sequence)


@given(anything | repetitive)
@settings(max_examples=examples(150))
def test_c_and_python_give_one_grammar(sequence):
    grammar = infer(sequence)
    expected = sequitur_reference.infer(sequence)
    assert [
        column.tolist() for column in (grammar.first, grammar.symbol, grammar.exponent, grammar.start, grammar.length)
    ] == list(expected)


@given(repetitive)
@settings(max_examples=examples(60))
def test_uses_are_those_met_when_all_is_expanded(sequence):
    grammar = infer(sequence)
    met = Counter()

    def expand(rule):
        met[rule] += 1
        for symbol, exponent in grammar.rule(rule):
            for _ in range(exponent if symbol < 0 else 0):
                expand(~symbol)

    expand(0)
    assert grammar.uses().tolist() == [met[rule] for rule in range(len(grammar))]


def test_the_example_of_the_paper():
    grammar = infer([ord(letter) for letter in "abcdbcabcdbc"])
    assert [(symbol < 0, exponent) for symbol, exponent in grammar.rule(0)] == [(True, 2)]
    assert grammar.length.tolist() == [12, 6, 2]


def test_a_loop_is_one_symbol_however_often_it_goes_round():
    grammar = infer([0, 1, 2] * 1000)
    assert [grammar.rule(number) for number in range(len(grammar))] == [[(-2, 1000)], [(0, 1), (1, 1), (2, 1)]]


def test_a_rule_that_becomes_a_run_of_another_is_written_as_that():
    grammar = check([0, 1, 0, 1, 2, 0, 1, 0, 1, 2, 0, 1])
    assert all(len(grammar.rule(number)) > 1 for number in range(1, len(grammar)))


@pytest.mark.parametrize("sequence", [[], [7], [7] * 9, [0, 1], [1, 0, 0, 1]])
def test_grammar_of_sequence_without_repetition_has_no_rules(sequence):
    assert len(check(sequence)) == 1


def test_numbers_may_be_any():
    sequence = [-5, 1 << 40, -5, 1 << 40, 3]
    assert infer(sequence).expand().tolist() == sequence


def test_the_text_of_a_large_file():
    text = (Path(sequitur.__file__).parents[2] / "graph" / "build" / "builder.py").read_text()
    sequence = [ord(letter) for letter in text]
    grammar = check(sequence)
    assert len(grammar.symbol) < len(sequence) / 2


def test_a_grammar_takes_as_long_as_its_sequence():
    """Steps, not seconds: what is made of the twin's lists at most."""
    steps = []
    for size in (2_000, 8_000):
        state = np.random.default_rng(3).integers(0, 6, size).tolist()
        made = sequitur_reference._Grammar()
        count = 0
        original = made.check

        def counted(left, original=original):
            nonlocal count
            count += 1
            original(left)

        made.check = counted
        for symbol in state:
            made.append(symbol, 1)
        steps.append(count / size)
    assert steps[1] < steps[0] * 1.3


def test_symbols_that_cannot_be_are_refused():
    from clew.compare.patterns import _sequitur

    with pytest.raises(ValueError, match="sequence"):
        _sequitur.infer(np.array([-1], np.int32))
    with pytest.raises(ValueError, match="bytes"):
        _sequitur.infer(np.zeros(3, np.uint8))
