"""Run-length Sequitur: its invariants, checked by expansion and for every digram; C and Python infer the same grammar."""

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
    """Return the grammar after checking its invariants."""
    grammar = infer(sequence)
    assert grammar.expand().tolist() == list(sequence)
    rules = [grammar.rule(number) for number in range(len(grammar))]
    digrams = Counter((*left, *right) for rule in rules for left, right in zip(rule, rule[1:], strict=False))
    assert all(times == 1 for times in digrams.values()), "every digram occurs once"
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
def test_grammar_expands_to_sequence_and_holds_invariants(sequence):
    check(sequence)


@given(anything | repetitive)
@settings(max_examples=examples(150))
def test_sequitur_kernel_equals_python_reference(sequence):
    grammar = infer(sequence)
    expected = sequitur_reference.infer(sequence)
    assert [
        column.tolist() for column in (grammar.first, grammar.symbol, grammar.exponent, grammar.start, grammar.length)
    ] == list(expected)


@given(repetitive)
@settings(max_examples=examples(60))
def test_grammar_uses_equal_rules_met_in_expansion(sequence):
    grammar = infer(sequence)
    met = Counter()

    def expand(rule):
        met[rule] += 1
        for symbol, exponent in grammar.rule(rule):
            for _ in range(exponent if symbol < 0 else 0):
                expand(~symbol)

    expand(0)
    assert grammar.uses().tolist() == [met[rule] for rule in range(len(grammar))]


def test_sequitur_example_of_the_paper_gives_its_grammar():
    grammar = infer([ord(letter) for letter in "abcdbcabcdbc"])
    assert [(symbol < 0, exponent) for symbol, exponent in grammar.rule(0)] == [(True, 2)]
    assert grammar.length.tolist() == [12, 6, 2]


def test_grammar_of_loop_has_one_symbol_with_exponent():
    grammar = infer([0, 1, 2] * 1000)
    assert [grammar.rule(number) for number in range(len(grammar))] == [[(-2, 1000)], [(0, 1), (1, 1), (2, 1)]]


def test_grammar_has_no_rule_that_is_a_run_of_another():
    grammar = check([0, 1, 0, 1, 2, 0, 1, 0, 1, 2, 0, 1])
    assert all(len(grammar.rule(number)) > 1 for number in range(1, len(grammar)))


@pytest.mark.parametrize("sequence", [[], [7], [7] * 9, [0, 1], [1, 0, 0, 1]])
def test_grammar_of_sequence_without_repetition_has_no_rules(sequence):
    assert len(check(sequence)) == 1


def test_sequitur_accepts_any_integers():
    sequence = [-5, 1 << 40, -5, 1 << 40, 3]
    assert infer(sequence).expand().tolist() == sequence


def test_grammar_of_large_file_has_less_than_half_its_symbols():
    text = (Path(sequitur.__file__).parents[2] / "graph" / "build" / "builder.py").read_text()
    sequence = [ord(letter) for letter in text]
    grammar = check(sequence)
    assert len(grammar.symbol) < len(sequence) / 2


def test_sequitur_steps_are_linear_in_sequence_length():
    """Count steps of the reference implementation instead of seconds."""
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


def test_sequitur_kernel_refuses_invalid_symbols():
    from clew.compare.patterns import _sequitur

    with pytest.raises(ValueError, match="sequence"):
        _sequitur.infer(np.array([-1], np.int32))
    with pytest.raises(ValueError, match="bytes"):
        _sequitur.infer(np.zeros(3, np.uint8))
