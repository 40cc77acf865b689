from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.diagnoses.control.endless_reschedule import find
from clew.graph.ops.diagnoses.resources import loop_blocked
from tests.support.diagnoses.made import check
from tests.support.diagnoses.makers.endless_reschedule import make
from tests.support.examples import examples


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_endless_reschedule_planted_is_found_and_named(seed):
    check(find, make, seed, fault=True)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_endless_reschedule_near_miss_finds_nothing(seed):
    check(find, make, seed, fault=False)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 1 << 40))
def test_endless_reschedule_with_a_long_run_is_no_blocked_loop(seed):
    assert loop_blocked.find(make(Random(seed), True).facts()) == []
