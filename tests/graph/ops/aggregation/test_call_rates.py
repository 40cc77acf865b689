import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.aggregation.call_rates import CallRate, CallRates, call_rates, rate_changes


@pytest.fixture
def rates(new_run):
    """Return a function that records one `handle` with N calls of `check` for each N, and returns the rates."""

    def record(numbers):
        run = new_run()
        thread = run.process().thread()
        thread.enter("app:main", at=0)
        for number in numbers:
            thread.enter("app:handle")
            for _ in range(number):
                thread.enter("app:check")
                thread.exit("app:check")
            thread.exit("app:handle")
        thread.exit("app:main")
        return call_rates(aggregate(run.graph(), "function").by_label())

    return record


def test_rates_count_the_calls_of_each_caller(rates):
    found = rates([2, 0, 3])
    assert found.of("app:main", "app:handle") == CallRate(1, 3, 9)
    assert found.of("app:handle", "app:check") == CallRate(3, 5, 13)
    assert found.of("app:check", "app:handle") == CallRate(5, 0, 0)


def test_one_more_call_in_each_call_of_the_caller_is_a_change(rates):
    change = rate_changes(rates([1] * 6), rates([2] * 9))["app:check"]
    assert (change.caller, change.before, change.after, change.calls) == ("app:handle", 1, 2, 9)


def test_function_that_is_called_only_after_is_a_change(rates):
    assert rate_changes(rates([0] * 6), rates([1] * 6))["app:check"].before == 0


def test_more_calls_of_the_caller_are_no_change(rates):
    assert rate_changes(rates([1] * 6), rates([1] * 60)) == {}


def test_few_calls_of_the_caller_tell_no_change(rates):
    assert rate_changes(rates([1] * 4), rates([3] * 4)) == {}


def test_varying_numbers_of_calls_are_no_change(rates):
    # As a loop that polls does.
    assert rate_changes(rates([1, 9, 4, 2, 8, 5]), rates([3, 9, 7, 2, 8, 6])) == {}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_same_calls_are_never_a_change(numbers):
    rate = CallRate(len(numbers), sum(numbers), sum(one * one for one in numbers))
    rates = CallRates({"handle": len(numbers)}, {("handle", "check"): rate})
    assert rate_changes(rates, rates) == {}
