"""`pytest --clew` with failed tests: each report has the suspects, everywhere and only there, and nothing else changes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clew.records.run import test_outcomes
from clew.records.run.directory import list_runs
from tests.support.programs.pytest_sessions import INHERITED, PLUGINS, run

SHOP = """
def check(price):
    if price < 0:
        raise ValueError(f"negative {price}")
    return price

class Cart:
    def __init__(self):
        self.prices, self.discount = [], 0

    def __repr__(self):
        return f"Cart({self.prices})"

    def add(self, price):
        self.prices.append(check(price))

    def apply_coupon(self, percent):
        self.discount += percent

    def total(self):
        return sum(self.prices) * (100 - self.discount) // 100
"""
TESTS = """
import unittest
import pytest
from shop import Cart

def filled():
    cart = Cart()
    cart.add(100)
    return cart

def test_sum():
    assert filled().total() == 100

def test_discount():
    cart = filled()
    cart.apply_coupon(110)
    assert cart.total() >= 0 and cart

@pytest.mark.parametrize("price", [1, -1])
def test_add(price):
    Cart().add(price)

@pytest.fixture
def broken():
    return Cart().add(-2)

def test_fixture(broken):
    pass

class TestOld(unittest.TestCase):
    def test_old(self):
        cart = filled()
        cart.apply_coupon(10)
        self.assertEqual(cart.total(), 100)
"""
ID = "tests/test_shop.py::"
FIRST = {
    f"{ID}test_discount": "Cart.apply_coupon",
    f"{ID}test_add[-1]": "shop.check",
    f"{ID}TestOld::test_old": "Cart.apply_coupon",
    f"{ID}test_fixture": "shop.check",
}
"""The first suspect of each failed test."""
XDIST = [*PLUGINS, "-p", "xdist"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "tests").mkdir(parents=True)
    (folder / "shop.py").write_text(SHOP)
    (folder / "tests" / "test_shop.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(
        "[pytest]\npythonpath = .\naddopts = -p no:cacheprovider\nasyncio_default_fixture_loop_scope = function\n"
    )
    return folder


def sections(output: str) -> list[list[str]]:
    """Return the lines of each section of suspects."""
    found = re.findall(r"^-+ clew: suspects -+\n((?:.+\n)*?.*details: `clew why .*)\n", output, re.MULTILINE)
    return [text.splitlines() for text in found]


def first_suspects(lines: list[str]) -> dict[str, str]:
    """Return the first suspect of each test, from lines with the command about it."""
    found: dict[str, str] = {}
    first = ""
    for line in lines:
        row = re.match(r"\s*1  (\S+)", line)
        first = row[1] if row else first
        asked = re.search(r"details: `clew why --test '?([^'`]+)'?`", line)
        if asked:
            found[asked[1]] = first
    return found


@pytest.mark.parametrize("words", [(), ("-n", "2"), ("--tb=short",), ("--tb=native",)])
def test_report_of_each_failed_test_ends_with_suspects(project, words):
    done = run(project, "--clew", *words, plugins=XDIST)
    assert done.returncode == 1 and "3 failed, 2 passed, 1 error" in done.stdout
    found = sections(done.stdout)
    assert all(len(lines) <= 5 for lines in found)
    assert first_suspects([line for lines in found for line in lines]) == FIRST
    assert "shop.py:4" in done.stdout and "ValueError raised here" in done.stdout
    assert "next: `clew view` or `clew why --test NODEID`" in done.stdout


def test_report_without_tracebacks_has_suspects_in_the_own_section(project):
    done = run(project, "--clew", "--tb=no")
    assert not sections(done.stdout)
    assert first_suspects(done.stdout.splitlines()) == FIRST


def test_report_of_a_session_that_stops_early_has_suspects(project):
    done = run(project, "--clew", "-x")
    assert "1 failed, 1 passed" in done.stdout
    ((row, *_, last),) = sections(done.stdout)
    assert "Cart.apply_coupon" in row and "ran in 1 of 1 failing and 0 of 1 passing tests" in row
    assert last.endswith(f"details: `clew why --test {ID}test_discount`")


def test_junit_report_has_suspects_as_a_property(project):
    run(project, "--clew", "--junit-xml", "report.xml")
    cases = ElementTree.parse(project / "report.xml").iter("testcase")
    found = [
        each.get("value", "") for case in cases for each in case.findall("properties/property[@name='clew_suspects']")
    ]
    assert first_suspects([line for text in found for line in text.splitlines()]) == FIRST


def test_session_leaves_outcomes_for_later_ones(project):
    run(project, "--clew", "-n", "2", plugins=XDIST)
    ((folder, _),) = list_runs(project)
    assert test_outcomes.load(folder) == {
        f"{ID}test_sum": "passed",
        f"{ID}test_discount": "failed",
        f"{ID}test_add[1]": "passed",
        f"{ID}test_add[-1]": "failed",
        f"{ID}test_fixture": "failed at setup",
        f"{ID}TestOld::test_old": "failed",
    }


def test_function_edited_since_the_test_passed_comes_first(project):
    shop = project / "shop.py"
    shop.write_text(SHOP.replace("return sum", "return 0 * sum"))
    assert "1 failed" in run(project, "--clew", "-k", "test_sum").stdout
    shop.write_text(SHOP)
    assert "1 passed" in run(project, "--clew", "-k", "test_sum").stdout
    shop.write_text(
        "# moved\n" + SHOP.replace("self.prices.append(check(price))", "self.prices.append(check(-price) + 1)")
    )
    done = run(project, "--clew", "-k", "test_sum")
    ((row, *_),) = sections(done.stdout)
    assert row.split()[:3] == ["1", "Cart.add", "shop.py:16"] and "changed since the test passed (run " in row


def test_why_tells_what_else_was_edited_since_the_test_passed(project):
    def limits() -> list[str]:
        assert "1 failed" in run(project, "--clew", "-k", "test_sum").stdout
        command = [sys.executable, "-m", "clew", "why", "--json"]
        told = subprocess.run(
            command, cwd=project, env=INHERITED, capture_output=True, text=True, timeout=120, check=False
        )
        found = json.loads(told.stdout)["answers"][0]["answer"]["failedTest"]["limits"]
        return [re.sub(r"\(run .*?\)", "(run)", each) for each in found]

    shop, tests, switch = (project / name for name in ("shop.py", "tests/test_shop.py", "switch"))
    shop.write_text("import os\n" + SHOP.replace("return sum", "return os.path.exists('switch') or sum"))
    assert "1 passed" in run(project, "--clew", "-k", "test_sum").stdout
    switch.touch()
    assert limits() == [
        "No function that ran in the test changed since the test passed (run): the order of tests, time, data or the "
        "environment may differ."
    ]
    switch.unlink()
    tests.write_text(TESTS.replace("== 100\n\ndef test_d", "== 101\n\ndef test_d"))
    assert limits() == ["The test itself changed since the test passed (run)."]
    tests.write_text(TESTS)
    shop.write_text("import os\nSALE = 1\n" + SHOP.replace("// 100", "// 200"))
    assert limits() == ["shop.py also changed outside of functions since the test passed (run)."]


def test_report_goes_without_suspects_when_they_cannot_be_found(project):
    (project / "conftest.py").write_text("from clew.instrument.testing import suspects\nsuspects._PATIENCE = 1e-9\n")
    done = run(project, "--clew")
    assert done.returncode == 1 and "3 failed, 2 passed, 1 error" in done.stdout
    assert "suspects" not in done.stdout and "clew: recorded as run" in done.stdout and not done.stderr


def test_why_of_a_test_answers_by_the_end_of_its_id(project):
    run(project, "--clew")

    def why(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "clew", "why", *words]
        return subprocess.run(
            command, cwd=project, env=INHERITED, capture_output=True, text=True, timeout=120, check=False
        )

    done = why("--test", "test_discount")
    assert done.returncode == 0, done.stderr
    assert f"{ID}test_discount failed: " in done.stdout and "assert (-10 >= 0)" in done.stdout
    assert re.search(
        r"^   1  Cart.apply_coupon  shop.py:18 +ran in 2 of 4 failing and 0 of 2 passing", done.stdout, re.MULTILINE
    )
    assert "How sure: the exception is recorded, the suspects are inferred from the traceback and " in done.stdout
    answer = json.loads(why("--test", "test_discount", "--json").stdout)["answers"][0]["answer"]["failedTest"]
    assert answer["suspects"][0]["function"] == "shop:Cart.apply_coupon"
    assert answer["location"] == {"path": str(project / "tests/test_shop.py"), "line": 17, "endLine": 0}
    assert "1. `Cart.apply_coupon` (`shop.py:18`): ran in 2 of 4" in why("--test", "test_discount", "--markdown").stdout
    assert why().stdout.count(f"{ID}TestOld::test_old failed: AssertionError: 90 != 100") == 1, "the newest failed test"
    assert "4 failed tests" in why("--failed").stdout
    assert set(json.loads(why("--failed", "--json").stdout)["reports"]) == set(FIRST)
    for words, message in (
        (("--test", "test_dicount"), f"no test of the run is called 'test_dicount'; the nearest: {ID}test_discount"),
        (("--test", "test_sum"), f"{ID}test_sum passed in run shop-tests, so there is no failure to explain"),
        (("--failed", "--test", "test_sum"), "--failed takes no --test"),
        (("--event", "1", "--test", "test_sum"), "use only one of TEXT, --at, --event and --test"),
    ):
        refused = why(*words)
        assert refused.returncode != 0 and message in refused.stderr and "Traceback" not in refused.stderr


def test_failed_test_alone_is_compared_with_an_earlier_session(project):
    run(project, "--clew", "--deselect", f"{ID}test_discount")
    done = run(project, "--clew", "-k", "test_discount")
    assert "1 failed" in done.stdout
    ((first, *_),) = sections(done.stdout)
    assert "Cart.apply_coupon" in first and "ran in 1 of 1 failing and 0 of 2 passing tests" in first
    command = [sys.executable, "-m", "clew", "why", "--test", "test_discount"]
    told = subprocess.run(command, cwd=project, env=INHERITED, capture_output=True, text=True, timeout=120, check=False)
    assert "1 failing and 2 passing tests (with those of run " in told.stdout
