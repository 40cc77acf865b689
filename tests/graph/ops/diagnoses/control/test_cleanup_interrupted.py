from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.diagnoses.control.cleanup_interrupted import find
from tests.support.diagnoses.made import check
from tests.support.diagnoses.makers import left_open
from tests.support.diagnoses.makers.cleanup_interrupted import make
from tests.support.examples import examples


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_cleanup_interrupted_planted_is_found_and_named(seed):
    check(find, make, seed, fault=True)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_cleanup_interrupted_near_miss_finds_nothing(seed):
    check(find, make, seed, fault=False)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_cleanup_interrupted_that_left_a_connection_open_is_found_and_named(seed):
    check(find, left_open.make, seed, fault=True)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_cleanup_interrupted_of_a_connection_that_was_closed_or_used_finds_nothing(seed):
    check(find, left_open.make, seed, fault=False)
