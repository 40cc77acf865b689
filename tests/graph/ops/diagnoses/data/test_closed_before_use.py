from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.diagnoses.data.closed_before_use import find
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame
from tests.support.diagnoses.made import Made, check
from tests.support.diagnoses.makers.closed_before_use import make
from tests.support.examples import examples


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_closed_before_use_planted_is_found_and_named(seed):
    check(find, make, seed, fault=True)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_closed_before_use_near_miss_finds_nothing(seed):
    check(find, make, seed, fault=False)


@pytest.mark.parametrize("returned", [True, False])
def test_executor_without_a_known_closing_names_the_last_call_of_a_main_thread_that_returned(returned):
    made = Made(Random(1))
    main, poller = made.process.thread("MainThread"), made.process.thread("poller")
    main.enter("main")
    if returned:
        main.exit("main")
    message = "cannot schedule new futures after interpreter shutdown"
    at = (Frame("/src/app.py", 12, "poll"),)
    poller.enter("poll").fact(Kind.EXCEPTION, 5, "RuntimeError", Exception_(message, "raised", at)).unwind("poll")
    (found,) = find(made.facts())
    assert ("whose last recorded call (main, app.py" in found.text) is returned
    assert ("does not show who closed it" in found.text) is not returned
