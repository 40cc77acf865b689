"""`clew why --value`: a failing test, or with the user's word a program, runs again, and the answer is the chain of a value."""

import json
import subprocess
import sys

import pytest

from tests.support.programs.recorded_program import clew, record

SHOP = """
import logging, threading
logging.basicConfig(level="INFO")
log = logging.getLogger("shop")


class Cart:
    def __init__(self):
        self.items = {}
        self.discount = 0

    def add(self, sku, count):
        self.items[sku] = count

    def apply_coupon(self, percent):
        self.discount = percent

    def total(self, prices):
        full = sum(prices[sku] * count for sku, count in self.items.items())
        return full * (100 - self.discount) / 100


def marketing(cart):
    cart.apply_coupon(110)


def checkout(cart, prices):
    total = cart.total(prices)
    if total < 0:
        log.error("negative total %s", total)
    return total


def main():
    cart = Cart()
    cart.add("book", 2)
    worker = threading.Thread(target=marketing, args=(cart,), name="campaign")
    worker.start()
    worker.join()
    checkout(cart, {"book": 10})


if __name__ == "__main__":
    main()
"""
TESTS = """
import pytest
from app import Cart


class Vat:
    def __init__(self, rate):
        self.rate = rate


class Reduced(Vat):
    def __init__(self):
        pass


def test_total():
    cart = Cart()
    cart.add("book", 2)
    assert cart.total({"book": 10}) == 21


def test_rate():
    assert Reduced().rate == 7


@pytest.mark.parametrize("number", [1, 2])
def test_number(number):
    assert number == 1
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return record(tmp_path_factory.mktemp("value"), SHOP)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tests")
    (folder / "app.py").write_text(SHOP)
    (folder / "test_app.py").write_text(TESTS)
    (folder / ".clew").mkdir()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--clew"], cwd=folder, capture_output=True, check=False, timeout=120
    )
    return folder


def test_log_line_is_explained_by_who_wrote_the_value_in_another_thread(program):
    done = clew(program, "why", "negative total", "--value", "--again")
    assert done.returncode == 0, done.stderr
    steps = done.stdout.splitlines()[2:5]
    assert "total is -2.0" in steps[0] and "Cart.total({'book': 10}) returned -2.0" in steps[1]
    assert "self.discount was set to 110 by Cart.apply_coupon(110), called by marketing" in steps[2]
    assert "in thread campaign" in steps[2] and "(app.py:16)" in steps[2]


def test_expression_at_a_line_is_explained(program):
    done = clew(program, "why", "--value", "self.discount", "--at", "app.py:20", "--again", "--json")
    steps = json.loads(done.stdout)["answer"]["steps"]
    assert steps[0]["text"].startswith("self.discount was set to 110 by Cart.apply_coupon(110)")
    assert steps[0]["location"]["line"] == 16 and steps[0]["function"].endswith(":Cart.apply_coupon")


def test_program_does_not_run_again_without_the_users_word(program):
    done = clew(program, "why", "negative total", "--value")
    assert done.returncode == 2 and "app.py` again, which took" in done.stderr and "--again" in done.stderr


def test_failed_test_runs_again_and_its_assertion_is_explained(session):
    done = clew(session, "why", "--test", "test_total", "--value")
    assert done.returncode == 0, done.stderr
    assert "test_app.py::test_total failed with AssertionError" in done.stdout
    assert 'cart.total({"book": 10}) is 20.0' in done.stdout
    assert "full is 20 and self.discount is 0" in done.stdout


def test_constructor_that_did_not_set_a_missing_attribute_is_listed(session):
    done = clew(session, "why", "--test", "test_rate", "--value")
    assert "has no attribute 'rate'" in done.stdout
    assert "What could have changed these values and did not:" in done.stdout
    assert "Reduced.__init__() did not set the Reduced's rate  (test_app.py:12)" in done.stdout


def test_parametrized_test_runs_with_its_own_parameter(session):
    done = clew(session, "why", "--test", "test_number[2]", "--value")
    assert "number == 1 was False, because number is 2" in done.stdout


def test_same_path_as_the_run_has_no_note(session):
    assert "another path" not in clew(session, "why", "--test", "test_total", "--value").stdout


def test_edited_function_is_named_where_the_path_parts(session):
    text = (session / "app.py").read_text()
    try:
        edited = text.replace("full = sum(", "self.add('pen', 0); full = 0 * sum(")
        (session / "app.py").write_text(edited.replace("prices[sku] * count", "2"))
        done = clew(session, "why", "--test", "test_total", "--value")
    finally:
        (session / "app.py").write_text(text)
    assert "took another path than the run: after 4 equal calls, the run called nothing more" in done.stdout
    assert "the second look app:Cart.add" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--value", "nonsense", "--at", "app.py:20", "--again"], "has no value 'nonsense'"),
        (["--value", "self", "--at", "app.py:1", "--again"], "did not run in the second look"),
        (["--value", "self", "--at", "other.py:3", "--again"], "no function of it ran"),
        (["--again"], "only for --value and --test"),
        (["--value", "--no-again"], "it takes no --no-again"),
        (["--value", "--all"], "--value takes no --all"),
        (["--value", "x", "--at", "app.py"], "expected FILE:LINE"),
    ],
)  # fmt: skip
def test_question_without_an_answer_is_refused_with_a_reason(program, words, message):
    done = clew(program, "why", *words)
    assert done.returncode != 0 and message in done.stderr and "Traceback" not in done.stderr
