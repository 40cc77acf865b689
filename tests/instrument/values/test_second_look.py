"""A second look follows a test or program of its own process, changes nothing for it, and says where it ended early."""

import subprocess
import sys

import pytest

from clew.graph.values.replay import replay
from clew.instrument.values.look_request import LookRequest
from clew.instrument.values.recorder import Limits
from clew.instrument.values.second_look import SecondLookError, look_at_program, look_at_test, program_of, pytest_words
from clew.records.values.trace_files import read_value_trace
from clew.records.values.trace_format import CUTS, STEP
from tests.support.programs.second_look import Looked

SHOP = """
def total(price, count):
    if count < 0:
        raise ValueError("no such count")
    return price * count
"""
TESTS = """
import unittest
import pytest
from shop import total

@pytest.fixture
def price():
    return total(3, 7)

@pytest.mark.parametrize("count", [1, 2])
def test_total(price, count):
    assert total(price, count) == 21

class TestOld(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total(2, 3), 7)

def test_passes():
    assert total(1, 1) == 1

def test_skipped():
    pytest.skip("not now")
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(TESTS)
    return tmp_path


def look(project, test, **options):
    return look_at_test(LookRequest(str(project / "look"), str(project), test, **options))


def told(project):
    return read_value_trace(project / "look")


def functions(trace):
    return {trace.codes[call.code].name for call in replay(trace).calls}


@pytest.mark.parametrize(
    ("test", "error"), [("test_total[2]", "AssertionError"), ("TestOld::test_total", "AssertionError")]
)
def test_failed_test_is_followed_with_its_fixtures(project, test, error):
    assert look(project, f"test_shop.py::{test}").outcome == "failed"
    trace = told(project)
    assert trace.outcome.type == error and trace.outcome.exception >= 0 and not trace.cut
    assert {"total", test.split("[")[0].replace("::", ".")} <= functions(trace)


def test_fixture_of_the_test_is_followed(project):
    look(project, "test_shop.py::test_total[2]")
    assert "price" in functions(told(project))


@pytest.mark.parametrize(("test", "outcome"), [("test_passes", "passed"), ("test_skipped", "skipped")])
def test_outcome_of_a_test_that_does_not_fail_is_told(project, test, outcome):
    assert look(project, f"test_shop.py::{test}").outcome == outcome
    assert told(project).outcome.exception == -1


def test_unknown_test_is_refused_with_what_pytest_said(project):
    with pytest.raises(SecondLookError, match=r"test_shop.py::test_none .* pytest said: ERROR"):
        look(project, "test_shop.py::test_none")


def test_options_of_the_project_stay_in_force(project):
    (project / "pytest.ini").write_text("[pytest]\naddopts = --clew --import-mode=importlib\npythonpath = .\n")
    assert look(project, "test_shop.py::test_passes").outcome == "passed"
    assert not (project / ".clew").exists()


def test_options_of_the_first_run_stay_in_force_except_selections_and_reports(project):
    (project / "conftest.py").write_text(
        "import pytest\ndef pytest_addoption(parser):\n    parser.addoption('--rate')\n"
        "@pytest.fixture\ndef rate(request):\n    return request.config.getoption('--rate')\n"
    )
    (project / "sub").mkdir()
    (project / "sub" / "check_rate.py").write_text("def test_rate(rate):\n    assert rate is None\n")
    for report in ("report.xml", "log.txt"):
        (project / report).write_text("the first run's")
    run = [
        "python",
        "-m",
        "pytest",
        "--clew",
        "-n",
        "2",
        "--rate=3",
        "-o",
        "python_files=check_*.py",
        "-p",
        "no:asyncio",
    ]
    run += [
        "-p",
        "no:cacheprovider",
        "-k",
        "nothing",
        "--junitxml=../report.xml",
        "--log-file=../log.txt",
        "--rootdir=..",
    ]
    request = LookRequest(str(project / "look"), str(project), "sub/check_rate.py::test_rate")
    found = look_at_test(request, words=pytest_words([*run, "."]), cwd=str(project / "sub"))
    assert found.outcome == "failed"
    assert told(project).outcome.type == "AssertionError" and "'3'" in [row.text for row in told(project).objects]
    assert {(project / report).read_text() for report in ("report.xml", "log.txt")} == {"the first run's"}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["python3", "-P", "-m", "pytest", "-q", "tests"], ["-q", "tests"]),
        (["/usr/bin/python3", "/venv/bin/pytest", "-q"], ["-q"]),
        (["python", "run_tests.py", "pytest"], []),
    ],
)
def test_arguments_of_pytest_are_found_in_a_command_line(command, words):
    assert pytest_words(command) == words


def test_cache_of_the_project_still_knows_which_tests_failed(project):
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=project, capture_output=True, check=False, timeout=120)
    cache = project / ".pytest_cache" / "v" / "cache" / "lastfailed"
    before = cache.read_text()
    look(project, "test_shop.py::test_passes")
    assert "test_total[2]" in before and cache.read_text() == before


def test_marked_test_does_not_run_again(project):
    (project / "test_once.py").write_text(
        "import pathlib, pytest\n\n@pytest.mark.clew_no_second_look\ndef test_once():\n    pathlib.Path('ran').touch()\n"
    )
    with pytest.raises(SecondLookError, match="must not run again: it has the marker clew_no_second_look"):
        look(project, "test_once.py::test_once")
    assert not (project / "ran").exists()


def test_configuration_forbids_second_looks(project):
    (project / "pytest.ini").write_text("[pytest]\nclew_second_look = false\n")
    with pytest.raises(SecondLookError, match="must not run again: .* clew_second_look = false"):
        look(project, "test_shop.py::test_passes")


def test_look_is_cancelled_by_its_caller(project):
    (project / "test_slow.py").write_text("import time\ndef test_slow():\n    time.sleep(600)\n")

    class Stop(Exception):
        pass

    def tick(seconds):
        if seconds > 0.2:
            raise Stop

    with pytest.raises(Stop):
        look_at_test(LookRequest(str(project / "look"), str(project), "test_slow.py::test_slow"), tick=tick)


def test_program_prints_and_ends_as_without_a_look(tmp_path):
    looked = Looked(tmp_path, "import sys\nprint(__name__, len(sys.argv))\nsys.exit(3)\n")
    assert looked.look.output == "__main__ 1\n" and looked.trace.outcome.exception == -1


def test_program_that_fails_is_explained(tmp_path):
    looked = Looked(tmp_path, "def parse(text):\n    return int(text)\n\nparse('4x')\n")
    assert looked.trace.outcome.type == "ValueError"
    assert "text is '4x'" in looked.why_failed()[0]


@pytest.mark.parametrize(
    ("limits", "reason"), [(Limits(opcodes=500), 1), (Limits(bytes=1000), 2), (Limits(seconds=0.0), 3)]
)
def test_limit_ends_the_trace_and_not_the_program(tmp_path, limits, reason):
    source = "total = 0\nfor number in range(60000):\n    total += number\nprint(total)\n"
    looked = Looked(tmp_path, source, limits=limits)
    assert looked.look.output == "1799970000\n" and looked.trace.cut == reason and reason in CUTS
    assert len(replay(looked.trace)) > 1


def test_trace_function_of_the_program_ends_the_trace(tmp_path):
    source = """
    import sys

    def first():
        return 1

    def traced(frame, event, argument):
        return None

    def second():
        sys.settrace(traced)
        third = first()
        return third

    first()
    second()
    print(sys.gettrace() is traced)
    """
    looked = Looked(tmp_path, source)
    assert looked.look.output == "True\n"
    assert CUTS[looked.trace.cut] == "the program installed a trace function of its own"


def test_secrets_are_redacted_by_the_rules_of_the_plan(tmp_path):
    (tmp_path / "app.py").write_text(
        "def login(password):\n    return {'password': password, 'note': 'card 4711'}\n\nlogin('hunter2')\n"
    )
    request = LookRequest(str(tmp_path / "look"), str(tmp_path), names=("password",), patterns=("card \\d+",))
    look_at_program([sys.executable, "app.py"], tmp_path, request)
    ends = " ".join(read_value_trace(tmp_path / "look").ends.values())
    assert "hunter2" not in ends and "4711" not in ends and "<redacted>" in ends


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["python3", "-u", "app.py", "x"], ["app.py", "x"]),
        (["/usr/bin/python", "-m", "shop", "--now"], ["-m", "shop", "--now"]),
        (["app.py"], ["app.py"]),
    ],
)
def test_command_of_a_program_is_taken_apart(command, words):
    assert program_of(command) == words


@pytest.mark.parametrize("command", [["gunicorn", "app:app"], ["python", "-c", "print()"], []])
def test_command_that_is_no_python_program_is_refused(command):
    with pytest.raises(SecondLookError, match="cannot run"):
        program_of(command)


def test_every_pushed_object_fits_the_stack(tmp_path):
    """The recorded depths and the numbers of taken values describe one stack: the replay never has to fill a gap."""
    source = """
    import asyncio, contextlib

    def all_of_it(xs, *args, key=None, **named):
        a, (b, *c) = xs[0], xs
        d = {**named, "k": [i for i in c if i] or None}
        try:
            with contextlib.suppress(KeyError):
                d["none"]
            assert a, "no"
            raise ValueError(f"{a!r:>5}")
        except (TypeError, ValueError) as error:
            e = str(error)
        finally:
            f = lambda *x, y=2: (yield)
        del d["k"]
        g = a if b < 2 <= 3 else not b
        for h in range(3):
            if h == 1:
                continue
        else:
            h = xs[1:]
        match xs:
            case [1, *rest]:
                g = rest
            case _:
                g = 0
        class Inner:
            z = a
            def get(self):
                return super().__repr__(), __class__
        return Inner().get(), e, f, g, h, (lambda: h)()

    async def agen():
        yield 1
        await asyncio.sleep(0)
        yield 2

    async def main():
        async with contextlib.AsyncExitStack():
            return [x async for x in agen()]

    def nested():
        try:
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise KeyError from error
        except* KeyError:
            pass
        yield from (x for x in "ab")

    all_of_it([1, 2, 3], 4, key=5, extra=6)
    print(asyncio.run(main()), list(nested()))
    """
    looked = Looked(tmp_path, source)
    assert looked.look.output == "[1, 2] ['a', 'b']\n" and not looked.trace.cut
    trace, words, heights = looked.trace, looked.trace.events, {}
    at, checked = 0, 0
    while at < len(words):
        count = words[at] >> 8
        if words[at] & 255 == STEP:
            frame, _, depth, *pushed = words[at + 1 : at + 1 + count]
            height = heights.get(frame)
            assert depth >= len(pushed)
            if height is not None and pushed and -1 not in pushed:
                checked += 1
            heights[frame] = depth
        at += count + 1
    assert checked > 100 and trace.opcodes > 300
