"""Tests that hang under `pytest --clew`: the report names who waits for whom, with pytest-timeout and pytest-xdist."""

import re
import textwrap

import pytest

from tests.support.programs.pytest_sessions import run

pytest.importorskip("pytest_timeout")
pytest.importorskip("xdist")

TESTS = """
import threading

def transfer(src, dst, both):
    with src:
        both.wait()
        with dst:
            pass

def test_fine():
    pass

def test_hangs():
    a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
    threading.Thread(target=transfer, args=(b, a, both), name="refund", daemon=True).start()
    transfer(a, b, both)
"""
SECTION = re.compile(r"[-+]{3,} clew hang [-+]{3,}$", re.M)


def session(folder, *words, plugins=()):
    (folder / "test_bank.py").write_text(textwrap.dedent(TESTS))
    given = ["-p", "clew.instrument.pytest_plugin", "-p", "pytest_timeout", *plugins, "-p", "no:cacheprovider"]
    return run(folder, "--timeout", "2", *words, plugins=given)


def check_answer(text):
    """Check that an output has one answer, which names the circle."""
    found = SECTION.split(text)
    assert len(found) == 2, text
    main = r"(MainThread|process pytest gw0 \(\d+\))"
    assert re.search(rf"^circle: (refund → {main} → refund|{main} → refund → {main})$", found[1], re.M), found[1]
    assert re.search(r"^refund +dst +\d.* s +transfer, test_bank.py:7 ", found[1], re.M)


def test_timeout_by_signal_adds_the_answer_to_the_report(tmp_path):
    done = session(tmp_path, "--clew", "--timeout-method", "signal")
    assert done.returncode == 1
    check_answer(done.stdout)
    assert "1 failed, 1 passed" in done.stdout
    assert "timed_out" not in done.stdout  # the frame of ours is hidden


def test_timeout_by_thread_prints_the_answer_before_the_end(tmp_path):
    done = session(tmp_path, "--clew", "--timeout-method", "thread")
    assert done.returncode == 1
    check_answer(done.stdout)
    assert "Stack of MainThread" in done.stdout


def test_timeout_without_clew_has_no_answer(tmp_path):
    done = session(tmp_path, "--timeout-method", "signal")
    assert not SECTION.search(done.stdout) and "1 failed, 1 passed" in done.stdout


def test_worker_that_died_is_named_with_the_answer_for_its_test(tmp_path):
    done = session(tmp_path, "--clew", "--timeout-method", "thread", "-n1", plugins=("-p", "xdist.plugin"))
    assert "crashed while running 'test_bank.py::test_hangs'" in done.stdout
    check_answer(done.stdout[done.stdout.index("crashed while running") :])


def test_timeout_in_a_worker_adds_the_answer_to_the_report(tmp_path):
    done = session(tmp_path, "--clew", "--timeout-method", "signal", "-n1", plugins=("-p", "xdist.plugin"))
    check_answer(done.stdout)
