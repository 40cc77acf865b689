"""CPython's own tests have the same outcomes under instrumentation, and its library is rewritten without a loss."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# `make cpython` runs the larger sample, with the whole of test_asyncio.
SAMPLE = ["test_generators", "test_sys_settrace", "test_with", "test_yield_from", "test_asyncio.test_queues"]


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_cpythons_tests_have_the_same_outcomes_when_recorded(tmp_path):
    output = tmp_path / "differences.json"
    done = run("run.py", "--json", str(output), *SAMPLE)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(output.read_text())
    assert found["different"] == {}
    assert found["tests"] > 250


@pytest.mark.slow
def test_a_sample_of_the_library_is_rewritten_without_a_loss():
    done = run("rewrite_stdlib.py", "--every", "50")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 modules failed" in done.stdout


def test_the_comparison_notices_a_difference(tmp_path):
    """A run that differs must not pass: a test that asks for an untouched function fails only when recorded."""
    done = run("run.py", "--match", "test_foreign_code", "--json", str(tmp_path / "found.json"), "test_import")
    assert done.returncode == 0
    assert "ok without clew, error recorded (allowed: " in done.stdout


def test_help_says_how_to_run_it():
    for script in ("run.py", "rewrite_stdlib.py"):
        done = run(script, "--help")
        assert done.returncode == 0 and "python tests/cpython" in done.stdout
