"""Ochiai's coefficient over recorded calls equals the definition by sets."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.compare.failures.shared_words import share, words
from clew.compare.failures.spectrum import likeness, ochiai

FUNCTIONS = 6
SESSION = st.lists(st.tuples(st.booleans(), st.frozensets(st.integers(0, FUNCTIONS - 1))), min_size=1, max_size=12)


def pairs_of(session):
    rows = [(test, function) for test, (_, called) in enumerate(session) for function in sorted(called)]
    return np.array(rows, np.int64).reshape(-1, 2)


@given(SESSION)
def test_ochiai_is_cosine_of_calling_and_failing(session):
    failing = {test for test, (failed, _) in enumerate(session) if failed}
    callers = [
        {test for test, (_, called) in enumerate(session) if function in called} for function in range(FUNCTIONS)
    ]
    failed, passed = (
        np.array([len(each & side) for each in callers]) for side in (failing, set(range(len(session))) - failing)
    )
    found = ochiai(failed, passed, len(failing))
    for function, tests in enumerate(callers):
        length = math.sqrt(len(failing) * len(tests))
        assert math.isclose(found[function], len(tests & failing) / length if length else 0.0)


@given(SESSION)
def test_likeness_is_cosine_of_called_functions(session):
    own = session[0][1]
    found = likeness(pairs_of(session), len(session), np.array(sorted(own), np.int64))
    for test, (_, called) in enumerate(session):
        length = math.sqrt(len(own) * len(called))
        assert math.isclose(found[test], len(own & called) / length if length else 0.0)


def test_words_split_names_and_ignore_common_ones():
    assert words("tests/test_cart.py::TestCart::test_applyCoupon_HTTPError") == {
        "cart",
        "apply",
        "coupon",
        "http",
        "error",
    }
    assert share(words("Cart.apply_coupon"), words("test_apply_twice")) == 1 / 3
    assert share(words("__init__"), words("anything")) == 0.0
