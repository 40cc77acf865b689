"""CPython's own tests have the same outcomes when recorded, and its library is rewritten correctly."""

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
def test_cpython_tests_recorded_have_the_same_outcomes(tmp_path):
    output = tmp_path / "differences.json"
    done = run("run.py", "--json", str(output), *SAMPLE)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(output.read_text())
    assert found["different"] == {}
    assert found["tests"] > 250


@pytest.mark.slow
def test_rewrite_stdlib_sample_has_no_failed_module():
    done = run("rewrite_stdlib.py", "--every", "50")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 modules failed" in done.stdout


def test_run_reports_a_difference_of_outcomes(tmp_path):
    """A difference must be reported: a test that needs an unmodified function fails only when recorded."""
    done = run("run.py", "--match", "test_foreign_code", "--json", str(tmp_path / "found.json"), "test_import")
    assert done.returncode == 0
    assert "ok without clew, error recorded (allowed: " in done.stdout


def test_run_absent_module_or_class_fails(tmp_path):
    output = tmp_path / "found.json"
    absent, without = "test_of_another_version", "test_copyreg.NoSuchClass"
    done = run("run.py", "--json", str(output), absent, without)
    assert done.returncode == 1
    assert f"{absent}: not present in this interpreter\n" in done.stdout
    assert f"{without}: could not be loaded: AttributeError: " in done.stdout
    found = json.loads(output.read_text())
    assert (found["tests"], found["different"], sorted(found["missing"])) == (0, {}, sorted([absent, without]))


def test_run_module_that_ends_the_plain_process_fails(tmp_path):
    (tmp_path / "test_of_ours.py").write_text("import os\nos._exit(3)\n")
    done = run("run.py", "--also", str(tmp_path), "test_of_ours")
    assert done.returncode == 1 and "test_of_ours: failed without clew: exit code 3: \n" in done.stdout, done.stdout


def test_run_module_without_passing_plain_tests_fails(tmp_path):
    (tmp_path / "test_of_ours.py").write_text(
        "import unittest\nclass Ours(unittest.TestCase):\n    def test_it(self): self.no_such_thing()\n"
    )
    done = run("run.py", "--also", str(tmp_path), "test_of_ours")
    said = "test_of_ours: no test of it passes without clew: AttributeError: 'Ours' object has no attribute 'no_such_thing'\n"
    assert done.returncode == 1 and said in done.stdout, done.stdout


def test_run_also_folder_has_modules_missing_from_interpreter(tmp_path):
    (tmp_path / "test_of_ours.py").write_text(
        "import unittest\nclass Ours(unittest.TestCase):\n    def test_it(self): self.assertEqual(1 + 1, 2)\n"
    )
    done = run("run.py", "--also", str(tmp_path), "test_of_ours")
    assert done.returncode == 0 and "test_of_ours: 1 tests, 1 ok without clew, 0 differ" in done.stdout, done.stdout


def test_cpython_scripts_help_shows_usage():
    for script in ("run.py", "rewrite_stdlib.py"):
        done = run(script, "--help")
        assert done.returncode == 0 and "python tests/cpython" in done.stdout
