"""`clew why --test` runs the failed test again by itself: suspects, lines, values and what did not run are one answer."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.programs.recorded_program import clew

SHOP = """
class Cart:
    def __init__(self):
        self.items = []
        self.member = False

    def add(self, price):
        pass

    def join(self):
        self.member = True

    def total(self):
        total = sum(self.items)
        if total > 100:
            total = discounted(total)
        return total


def discounted(total):
    return total - 10


def rate(country):
    if country == "de":
        return 19
    return 0


def checked(age):
    if age < 0:
        raise ValueError(
            f"{age} is no age"
        )
    return age


def price(net, country):
    percent = rate(country.upper())
    return net + net * percent / 100


class Order:
    def __init__(self, spent):
        self.level = "gold"
        if spent > 1000:
            self.level = "platinum"


def points(order):
    found = 0
    if order.level == "gold":
        found = 10
    return found
"""
TESTS = """
import pathlib
import pytest
from shop import Cart, Order, checked, discounted, points, price, rate


def test_empty():
    assert Cart().total() == 0


def test_member():
    cart = Cart()
    cart.join()
    assert cart.total() == 0 and cart.member


def test_added():
    cart = Cart()
    cart.add(20)
    assert cart.total() == 20


@pytest.mark.parametrize("net", [100, 200])
def test_price(net):
    assert price(net, "de") == net * 1.19


def test_age_is_refused():
    with pytest.raises(ValueError):
        checked(10)


def test_rate():
    assert rate("de") == 19


def test_rate_twice():
    assert rate("de") + rate("de") == 38


@pytest.mark.parametrize("spent", [50, 500, 5000])
def test_points(spent):
    assert points(Order(spent)) == 10


@pytest.mark.clew_no_second_look
def test_once():
    pathlib.Path("ran").write_text(pathlib.Path("ran").read_text() + "x" if pathlib.Path("ran").exists() else "x")
    assert price(1, "de") == 1.19
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looks")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / ".clew").mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "--clew", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    return folder


def asked(session, *words):
    done = clew(session, "why", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["answers"][0]["answer"]["failedTest"]


def test_values_suspects_and_lines_are_one_answer(session):
    done = clew(session, "why", "--test", "test_price[100]")
    assert done.returncode == 0, done.stderr
    assert "How the values came about (second look: " in done.stdout
    assert "percent is 0" in done.stdout and "rate('DE') returned 0" in done.stdout
    assert "the lines from a second look at the test and 2 similar passing tests" in done.stdout
    lines = done.stdout.partition("Lines to look at first:")[2].partition("How the values")[0]
    assert (
        "percent = rate(country.upper())" in lines and "ran in 2 of 2 failing and 0 of 2 similar passing tests" in lines
    )


def test_branch_that_passing_tests_took_is_told(session):
    failed = asked(session, "--test", "test_price[200]")
    told = {one["text"]: one["steps"] for one in failed["unreached"]}
    # The chain above explains the value already.
    (step,) = told["shop.rate did not reach line 26, which 2 of 2 similar passing tests that called it ran"]
    assert step["text"] == "country == \"de\" was False, because country is 'DE'" and step["location"]["line"] == 25
    assert any(one["text"] == step["text"] for one in failed["value"]["steps"])
    assert failed["suspects"][0]["title"] in ("shop.price", "shop.rate")


def test_value_of_the_branch_that_kept_a_line_from_running_is_followed(session):
    failed = asked(session, "--test", "test_points[5000]")
    told = {one["text"]: one["steps"] for one in failed["unreached"]}
    first, *rest = told["shop.points did not reach line 53, which 2 of 2 similar passing tests that called it ran"]
    assert first["text"] == "order.level == \"gold\" was False, because order.level is 'platinum'"
    assert any(step["location"]["line"] == 47 and "self.level" in step["source"] for step in rest)
    done = clew(session, "why", "--test", "test_points[5000]")
    below = done.stdout.partition("did not reach line 53")[2].splitlines()
    assert below[1].startswith("    order.level == ") and below[2].startswith("      ")


def test_number_of_steps_holds_for_the_chain_of_values(session):
    assert len(asked(session, "--test", "test_price[200]", "--steps", "2")["value"]["steps"]) == 2


def test_line_of_a_suspect_tells_in_which_tests_it_ran(session):
    failed = asked(session, "--test", "test_price[100]")
    (price,) = (one for one in failed["suspects"] if one["title"] == "shop.price")
    assert any("ran in 2 of 2 failing and 0 of" in one and one.startswith("line ") for one in price["evidence"])


def test_method_whose_effect_is_missing_is_told(session):
    failed = asked(session, "--test", "test_added")
    assert "Cart.add" in failed["suspects"][0]["title"]
    assert any("Cart.add(20) changed nothing" in one["text"] for one in failed["value"]["omitted"])


def test_exception_that_was_not_raised_is_explained_by_the_branch_that_decided(session):
    steps = [one["text"] for one in asked(session, "--test", "test_age_is_refused")["value"]["steps"]]
    assert "`raise ValueError(…)` (shop.py:32) did not run: age < 0 was False, because age is 10" in steps
    assert "test_age_is_refused called checked(10)" in steps


def test_no_again_leaves_the_second_look_out(session):
    failed = asked(session, "--test", "test_added", "--no-again")
    assert failed["value"] is None and not failed["lines"] and not failed["noValue"] and failed["suspects"]


def test_marked_test_is_answered_without_a_second_look(session):
    before = (session / "ran").read_text()
    failed = asked(session, "--test", "test_once")
    assert "it has the marker clew_no_second_look" in failed["noValue"] and failed["suspects"]
    assert (session / "ran").read_text() == before


def test_many_failed_tests_do_not_run_again(session):
    before = (session / "ran").read_text()
    done = clew(session, "why", "--failed")
    assert done.returncode == 0 and "second look" not in done.stdout and (session / "ran").read_text() == before


def test_markdown_has_the_chain(session):
    done = clew(session, "why", "--test", "test_price[100]", "--markdown")
    assert "```text\nLines to look at first:" in done.stdout and "rate('DE') returned 0" in done.stdout


def test_session_that_loads_its_plugins_by_name_is_looked_at_again(tmp_path):
    (tmp_path / "shop.py").write_text("def add(a, b):\n    return a - b\n")
    (tmp_path / "test_shop.py").write_text("from shop import add\n\n\ndef test_add():\n    assert add(2, 1) == 3\n")
    (tmp_path / ".clew").mkdir()
    plugins = ["-p", "clew.instrument.pytest_plugin", "-p", "no:cacheprovider"]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--clew", *plugins],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    failed = asked(tmp_path, "--test", "test_add")
    assert any("add(2, 1) returned 1" in one["text"] for one in failed["value"]["steps"]), failed["noValue"]


def test_second_look_finds_modules_by_the_pythonpath_of_the_run(tmp_path):
    (tmp_path / ".clew").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "shop.py").write_text(SHOP)
    (tmp_path / "test_rate.py").write_text("from shop import rate\n\n\ndef test_rate():\n    assert rate('DE') == 19\n")
    command = [sys.executable, "-m", "pytest", "-q", "--clew", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": "src"}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=120)
    steps = asked(tmp_path, "--test", "test_rate")["value"]["steps"]
    assert any("rate('DE') returned 0" in step["text"] for step in steps)
