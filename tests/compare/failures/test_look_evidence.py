"""Lines of a failed test are ranked by the similar tests that ran them, and by their nearness to the value."""

from clew.compare.failures.look_evidence import look_evidence
from clew.compare.failures.similar_tests import SimilarTest
from clew.compare.failures.unreached import unreached
from clew.graph.values.slice_distance import SliceDistances
from clew.records.values.compared_tests import ComparedTest

FILE = "/shop.py"
PRICE, RATE = (FILE, "price"), (FILE, "rate")


def evidence(*tests, near=None):
    """Compare a test that ran lines 1 to 3 of `price`, and 10 and 13 of `rate`."""
    similar = [SimilarTest(name, outcome == "failed", 1.0, 0.0) for name, outcome, _ in tests]
    compared = [ComparedTest(name, outcome, {FILE: lines}) for name, outcome, lines in tests]
    return look_evidence({PRICE: [1, 2, 3], RATE: [10, 13]}, near or SliceDistances(), similar, compared)


def test_line_that_only_failing_tests_ran_is_the_most_telling():
    found = evidence(("a", "failed", {"price": [1, 3]}), ("b", "passed", {"price": [1, 2]}))
    assert found.failing == 2 and found.passing == 1
    assert found.lines[PRICE][3].score == 1.0 and found.lines[PRICE][3].passed == 0
    assert found.best_line(PRICE) == 3


def test_of_equal_lines_that_nearest_to_the_value_comes_first():
    near = SliceDistances({PRICE: 0.0}, {(FILE, 2): 0.0, (FILE, 3): 1.0})
    found = evidence(("b", "passed", {"price": [1]}), near=near)
    assert found.ranked_lines({PRICE: 1.0}, 2) == [(PRICE, 2), (PRICE, 3)]


def test_test_that_ended_otherwise_in_the_second_look_does_not_count():
    similar = [SimilarTest("a", has_failed=False, likeness=1.0, took=0.0)]
    found = look_evidence(
        {PRICE: [1]}, SliceDistances(), similar, [ComparedTest("a", "failed", {FILE: {"price": [1]}})]
    )
    assert found.passing == 0


def test_line_of_a_comprehension_belongs_to_the_function_around_it():
    similar = [SimilarTest("a", has_failed=False, likeness=1.0, took=0.0)]
    compared = [ComparedTest("a", "passed", {FILE: {"price.<locals>.<listcomp>": [2], "price": [2]}})]
    found = look_evidence({(FILE, "price.<locals>.<listcomp>"): [2]}, SliceDistances(), similar, compared)
    assert found.lines[PRICE][2].passed == 1


def test_what_passing_tests_ran_and_the_failed_one_did_not_is_unreached():
    passed = {"price": [1, 2, 3], "rate": [10, 11, 12], "discount": [20, 21]}
    found = evidence(("a", "passed", passed), ("b", "passed", passed), ("c", "passed", {"rate": [10, 13]}))
    told = [
        (one.function[1], one.line, one.tests, one.of, one.is_function) for one in unreached(found, lambda file: True)
    ]
    assert told == [("discount", 20, 2, 3, True), ("rate", 11, 2, 3, False)]
    assert unreached(found, lambda file: False) == []


def test_line_that_one_test_ran_is_not_told():
    found = evidence(("a", "passed", {"rate": [10, 11]}))
    assert unreached(found, lambda file: True) == []
