"""A failed test runs again as it failed: with Hypothesis' example, its parameters, alone after xdist, with its `subTest`."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.programs.recorded_program import clew

pytest.importorskip("attrs")
pytest.importorskip("pydantic")

LIB = """
import attrs, pydantic


@attrs.define
class Point:
    x: int
    y: int = 0


class User(pydantic.BaseModel):
    name: str
    age: int = 0


def absolute(number):
    return number


def settings(env):
    found = {"host": env.get("HOST")}
    if env.get("PORT"):
        found["port"] = int(env["PORT"])
    return found


def user_of(rows, name):
    for row in rows:
        if row["name"] == name:
            return User(**row)
    return None


def greet(rows, name):
    user = user_of(rows, name.strip())
    return "hello " + user.name


def move(point, by):
    return Point(point.x + by, point.y)
"""
TESTS = """
import os
import pathlib
import time
import unittest
import pytest
from hypothesis import given, strategies as st
from lib import Point, User, absolute, greet, move, settings


@given(st.integers(-100, 100))
def test_absolute(number):
    assert absolute(number) >= 0


@pytest.mark.parametrize("by", [1, 2])
def test_move(by):
    assert move(Point(1, 2), by) == Point(9, 2)


def test_user():
    assert User(name="ann", age=absolute(3)) == User(name="ann", age=4)


def test_missing_key():
    assert settings({"HOST": "a"})["port"] == 80


def test_get():
    found = settings({"HOST": "a"})
    assert found.get("port") == 80


def test_none():
    assert greet([{"name": "bob"}], "ann ") == "hello ann"


class TestParts(unittest.TestCase):
    def test_parts(self):
        for number in (0, 1, -3):
            with self.subTest(number=number):
                self.assertGreaterEqual(absolute(number), 0)


def test_port():
    assert settings({"PORT": "1"})["port"] == 1


def test_another_port():
    assert settings({"PORT": "2"})["port"] == 2


def test_slow():
    if os.environ.get("SLOW"):
        pathlib.Path(os.environ["SLOW"]).write_text(str(os.getpid()))
        time.sleep(600)
    assert absolute(1) == 2
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "lib.py").write_text(LIB)
    (folder / "test_lib.py").write_text(TESTS)
    (folder / ".clew").mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "--clew", "-n", "2"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=180)
    return folder


def steps(session, *words):
    done = clew(session, "why", "--json", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    answer = found["answer"] if "answer" in found else found["answers"][0]["answer"]["failedTest"]["value"]
    return [step["text"] for step in answer["steps"]]


def test_failing_example_of_hypothesis_runs_again(session):
    assert any("absolute(-1) returned -1" in one for one in steps(session, "--test", "test_absolute"))
    assert "another path" not in clew(session, "why", "--test", "test_absolute").stdout


def test_parametrized_test_with_values_of_attrs_is_explained(session):
    told = steps(session, "--test", "test_move[2]")
    assert "Point(x=3, y=2)" in told[0] and "Point(x=9, y=2)" in told[0]
    assert any("move(Point(x=1, y=2), 2) returned Point(x=3, y=2)" in one for one in told)


def test_values_of_pydantic_are_written_as_in_the_source(session):
    assert "User(name='ann', age=3)" in steps(session, "--test", "test_user")[0]


def test_failed_part_of_a_unittest_is_explained(session):
    told = steps(session, "--test", "test_parts")
    assert "absolute(number) is -3" in told[0]


def test_key_that_is_missing_leads_to_who_did_not_put_it(session):
    done = clew(session, "why", "--test", "test_missing_key")
    assert "raised KeyError('port')" in done.stdout and "found is {'host': 'a'}" in done.stdout
    assert "lib.settings did not reach line 23, which 2 of 2 similar passing tests that called it ran" in done.stdout


def test_none_of_get_is_explained_by_the_container(session):
    told = steps(session, "--test", "test_get", "--value", 'found.get("port")')
    assert told[0].startswith("found.get(\"port\") is None, because found is {'host': 'a'}")


def test_attribute_of_none_leads_to_who_returned_none(session):
    told = steps(session, "--test", "test_none")
    assert "has no attribute 'name'" in told[0] and "user is None" in told[0]
    assert any("user_of([{'name': 'bob'}], 'ann') returned None" in one for one in told)


def test_interrupt_ends_the_second_look_and_its_test(session, tmp_path):
    told = tmp_path / "process"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    command = [sys.executable, "-m", "clew", "why", "--test", "test_slow"]
    process = subprocess.Popen(
        command, cwd=session, env=environment | {"SLOW": str(told)}, stderr=subprocess.PIPE, text=True
    )
    while not (told.exists() and told.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT) and "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)
