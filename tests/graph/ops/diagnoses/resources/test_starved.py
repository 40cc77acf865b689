from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.diagnoses.resources.starved import find
from tests.support.diagnoses.made import check
from tests.support.diagnoses.makers.starved import make
from tests.support.examples import examples


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_starved_planted_is_found_and_named(seed):
    check(find, make, seed, fault=True)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_starved_near_miss_finds_nothing(seed):
    check(find, make, seed, fault=False)
