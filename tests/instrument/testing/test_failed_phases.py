"""A failed phase is recorded with its exceptions and their frames, without a call of the program's own code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.records.format.event import MAX_TEXT, Kind
from clew.records.format.failed_phase import FAILURE, FailedPhase, Frame, Raised, dump, load
from clew.records.read.reader import read_run
from clew.records.run.directory import list_runs
from tests.support.programs.pytest_sessions import run

TESTS = """
import pytest, unittest

class Odd(Exception):
    called = []
    def __init__(self, value):
        super().__init__(value, object())
    def __getattribute__(self, name):
        Odd.called.append(name)
        return super().__getattribute__(name)

def deep(n):
    return deep(n + 1)

def caused():
    try:
        {}["key"]
    except KeyError as error:
        raise ValueError("caused") from error

def test_cause():
    caused()

def test_context():
    try:
        {}["key"]
    except KeyError:
        raise ValueError("token=abc")

def test_group():
    members = []
    for value in (1, 2):
        try:
            raise TypeError(value)
        except TypeError as error:
            members.append(error)
    raise ExceptionGroup("both", members)

def test_recursion():
    deep(0)

def test_compared():
    assert [1, 2] == [1, 3]

class TestOld(unittest.TestCase):
    def test_old(self):
        self.assertEqual(1, 2)

@pytest.fixture
def late():
    yield
    raise RuntimeError("late")

def test_teardown(late):
    pass

def test_odd():
    raise Odd(3)

def test_skipped():
    pytest.skip("no")

@pytest.mark.xfail
def test_expected():
    assert False
"""


@pytest.fixture(scope="module")
def failures(tmp_path_factory) -> dict[str, FailedPhase]:
    folder = tmp_path_factory.mktemp("failures")
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    done = run(folder, "--clew", "-p", "no:cacheprovider")
    assert "7 failed, 1 passed, 1 skipped, 1 xfailed, 1 error" in done.stdout, done.stdout
    ((where, _),) = list_runs(folder)
    found = {}
    for process in read_run(where).processes:
        for serial in process.threads:
            node = ""
            for event in process.events(serial):
                if event.kind == Kind.REQUEST:
                    node = process.strings[event.extension.channel]
                elif event.kind == Kind.PAYLOAD and process.strings[event.extension.channel] == FAILURE:
                    assert node not in found
                    found[node.partition("::")[2]] = load(event.extension.text)
    return found


def told(failed: FailedPhase) -> list[tuple[str, str, str, list[str]]]:
    return [(each.link, each.type, each.message, [frame.function for frame in each.frames]) for each in failed.raised]


def test_failures_are_those_of_failed_tests(failures):
    assert {node: failed.phase for node, failed in failures.items()} == {
        **dict.fromkeys(
            (
                "test_cause",
                "test_context",
                "test_group",
                "test_recursion",
                "test_compared",
                "TestOld::test_old",
                "test_odd",
            ),
            "call",
        ),
        "test_teardown": "teardown",
    }


def test_failure_has_the_exceptions_behind_it(failures):
    assert told(failures["test_cause"]) == [
        ("", "ValueError", "caused", ["caused", "test_cause"]),
        ("cause", "KeyError", "key", ["caused"]),
    ]
    assert told(failures["test_context"])[1] == ("context", "KeyError", "key", ["test_context"])
    assert told(failures["test_group"])[1:] == [("member", "TypeError", str(each), ["test_group"]) for each in (1, 2)]
    assert told(failures["test_teardown"]) == [("", "RuntimeError", "late", ["late"])]


def test_failure_frames_are_places_innermost_first(failures):
    first, second = failures["test_cause"].raised[0].frames
    assert (first.line, first.first_line, second.line, second.first_line) == (19, 15, 22, 21)
    assert first.file == second.file and first.file.endswith("test_it.py")
    frames = [frame.function for frame in failures["TestOld::test_old"].raised[0].frames]
    assert frames[:3] == ["TestCase._baseAssertEqual", "TestCase.assertEqual", "TestOld.test_old"]


def test_failure_of_a_recursion_keeps_both_ends(failures):
    (raised,) = failures["test_recursion"].raised
    assert raised.type == "RecursionError" and len(raised.frames) == 32
    assert {frame.function for frame in raised.frames} == {"deep", "test_recursion"}


def test_failure_of_an_assertion_has_its_first_lines(failures):
    assert failures["test_compared"].raised[0].message.startswith("assert [1, 2] == [1, 3]\n")


FRAMES = st.builds(Frame, st.text(max_size=300), st.integers(1, 10**6), st.text(max_size=80), st.integers(1, 10**6))
PHASES = st.builds(
    FailedPhase,
    st.sampled_from(["setup", "call", "teardown"]),
    st.lists(
        st.builds(
            Raised,
            st.text(max_size=60),
            st.text(max_size=6000),
            st.sampled_from(["", "cause", "context", "member"]),
            st.lists(FRAMES, max_size=40).map(tuple),
        ),
        max_size=12,
    ).map(tuple),
)


@given(PHASES)
def test_dump_fits_a_record_and_load_reads_it(failed):
    text = dump(failed)
    assert len(text.encode("utf-8", "replace")) <= MAX_TEXT
    found = load(text)
    assert found is not None and found.phase == failed.phase
    assert found.omitted == failed.omitted + len(failed.raised) - len(found.raised)
    for mine, whole in zip(found.raised, failed.raised, strict=False):
        assert (mine.type, mine.link) == (whole.type, whole.link)
        assert set(mine.frames) <= set(whole.frames)


@given(
    st.text()
    | st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5).map(str)
)
def test_load_accepts_any_text(text):
    found = load(text)
    assert found is None or isinstance(found, FailedPhase)
