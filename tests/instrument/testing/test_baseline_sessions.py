"""`pytest --clew --clew-baseline`: every output reports exactly the changes since a revision."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clew.records.run.directory import list_runs
from tests.support.programs.pytest_sessions import INHERITED, PLUGINS

pytestmark = pytest.mark.slow

APP = """
import asyncio

def rate(n):
    return sum(range(n))

def price(n):
    return rate(n) + 1

async def fetch(n):
    await asyncio.sleep(0)
    return price(n)
"""
CHANGED = """
import asyncio, time

def audit(n):
    pass

def rate(n):
    return sum(range(n))

def price(n):
    audit(n)
    return rate(n) + 1

async def fetch(n):
    deadline = time.process_time() + 0.4
    while time.process_time() < deadline:
        pass
    return price(n)
"""
TESTS = """
import subprocess, sys, unittest
import pytest
import app

@pytest.fixture(scope="session")
def database():
    return [app.rate(5) for _ in range(3)]

@pytest.fixture
def cart(database):
    yield [app.rate(2)]

@pytest.mark.parametrize("n", [1, 2])
def test_price(n):
    assert app.price(n) == n * (n - 1) / 2 + 1

def test_rate(cart):
    assert app.rate(3) == 3

async def test_fetch():
    assert await app.fetch(2) == 2

def test_program():
    assert subprocess.run([sys.executable, "-c", "import app; app.price(3)"]).returncode == 0

def test_skipped():
    pytest.skip("not here")

class TestOld(unittest.TestCase):
    def setUp(self):
        app.rate(1)

    def test_old(self):
        self.assertEqual(app.rate(4), 6)
"""
ID = "test_shop.py::"
CALLS_PRICE = {f"{ID}test_price[1]", f"{ID}test_price[2]", f"{ID}test_fetch", f"{ID}test_program"}


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def session(folder, *words, plugins=PLUGINS, **environment):
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *words],
        cwd=folder, env={**INHERITED, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def clew(folder, *words):
    command = [sys.executable, "-m", "clew", "diff", *words]
    return subprocess.run(command, cwd=folder, env=INHERITED, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Make a repository with a session of its one commit."""
    folder = tmp_path_factory.mktemp("repository") / "shop"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nclew = true\nasyncio_mode = "auto"\naddopts = "-p no:cacheprovider"\n'
        'asyncio_default_fixture_loop_scope = "function"\n'
    )
    (folder / ".gitignore").write_text("__pycache__\n*.xml\n*.md\n")
    git(folder, "init", "-q", "-b", "main", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    done = session(folder)
    assert done.returncode == 0 and "clew: recorded as run" in done.stdout, done.stdout + done.stderr
    return folder


@pytest.fixture
def project(recorded, tmp_path) -> Path:
    """Copy the recorded repository, so that a test may change it."""
    return Path(shutil.copytree(recorded, tmp_path / "shop"))


@pytest.fixture(scope="module")
def changed(recorded, tmp_path_factory):
    """Make the repository with an uncommitted change, and return it with the output of a session."""
    folder = Path(shutil.copytree(recorded, tmp_path_factory.mktemp("changed") / "shop"))
    (folder / "app.py").write_text(CHANGED)
    words = ["--clew-baseline", "main", "--clew-fail-on", "slower:20%,structure", "--junitxml=report.xml"]
    return folder, session(folder, *words, GITHUB_STEP_SUMMARY=str(folder / "step.md"))


def test_baseline_session_reports_change_with_tests_and_place(changed):
    folder, done = changed
    lines = done.stdout.splitlines()
    (flow,) = (line for line in lines if line.startswith("flow"))
    assert "app:audit is called by app:price, 1 time, never before" in flow and "(app.py:4)" in flow
    # On a busy machine, programs started by tests may take much longer as well.
    (slower,) = (line for line in lines if line.startswith(f"slower   {ID}test_fetch: "))
    assert "of processor time" in slower
    assert lines[lines.index(slower) + 1].strip().startswith("app:fetch itself +")
    assert any(line.endswith(" 4 with a changed flow of 7 tests in 1 session before and 1 after") for line in lines)


def test_baseline_session_fails_on_its_fail_on_conditions(changed, project):
    folder, done = changed
    assert done.returncode == pytest.ExitCode.TESTS_FAILED and "6 passed, 1 skipped" in done.stdout
    assert re.search(
        r"failed: test_shop.* slower by 20% or more and test_shop.* 3 more are with a changed flow", done.stdout
    )
    _, newest = list_runs(folder)[0]
    assert newest.exit_code == pytest.ExitCode.TESTS_FAILED, "the run has pytest's exit status"
    (project / "app.py").write_text(CHANGED)
    assert session(project, "--clew-baseline", "HEAD", "-k", "test_price").returncode == 0, (
        "without --clew-fail-on no session fails"
    )


def test_baseline_session_junit_report_has_a_property_for_each_change(changed):
    folder, _ = changed
    suite = ElementTree.parse(folder / "report.xml").getroot().find("testsuite")
    about = {found.get("name"): found.get("value") for found in suite.findall("properties/property")}
    assert about["clew_run"] in {info.id for _, info in list_runs(folder)}
    assert about["clew_baseline"].startswith("main (") and about["clew_commit"].endswith("-dirty")
    found = {}
    for case in suite.iter("testcase"):
        mine = {each.get("name"): each.get("value") for each in case.findall("properties/property")}
        found[mine.pop("clew_test")] = mine
    assert {test for test, mine in found.items() if "clew_structure" in mine} == CALLS_PRICE
    assert " of processor time (" in found[f"{ID}test_fetch"]["clew_slower"]
    assert len(found) == 7


def test_baseline_session_appends_to_github_step_summary(changed):
    folder, _ = changed
    text = (folder / "step.md").read_text()
    assert re.match(r"### clew: \d slower, 4 with a changed flow of 7 tests", text)
    assert f"| slower | `{ID}test_fetch` |" in text
    assert "| app:audit is called by app:price, 1 time, never before (app.py:4) |" in text


def test_diff_of_revisions_compares_their_test_sessions(changed):
    folder, _ = changed
    done = clew(folder, "HEAD..", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["compared"] == 7
    structure = {change["subject"]["name"] for change in found["changes"] if change["kind"] == "structure"}
    assert structure == CALLS_PRICE
    (fetch,) = (
        change for change in found["changes"] if (change["kind"], change["name"]) == ("slower", f"{ID}test_fetch")
    )
    grown = [function["after_ns"] - function["before_ns"] for function in fetch["functions"]]
    assert 0 < sum(grown) <= 1.001 * (fetch["after_ns"] - fetch["before_ns"]), "independent of the load of the machine"
    failed = clew(folder, "HEAD..", "--fail-on", "structure")
    assert failed.returncode == 3 and failed.stderr.endswith("3 more are with a changed flow\n")
    moved = json.loads(clew(folder, "HEAD..", "--slower", "50%", "--alpha", "0.01", "--json").stdout)["thresholds"]
    assert (moved["change"], moved["alpha"]) == (0.5, 0.01)
    assert clew(folder, "HEAD..", "--markdown").stdout.startswith("### clew: ")
    for words, text in (
        (["nope.."], "git cannot find the revision 'nope'"),
        (["HEAD..", "--fail-on", "sometimes"], "unknown --fail-on condition 'sometimes'"),
        (["main..HEAD"], "main and HEAD are the same commit, "),
        (["HEAD..", "--more", "3"], "--more applies to runs, not to tests of revisions"),
    ):
        wrong = clew(folder, *words)
        assert wrong.returncode == 2 and text in wrong.stderr and "Traceback" not in wrong.stderr


def test_baseline_session_with_xdist_and_without_change_reports_none(project):
    words = ["-n", "2", "--clew-baseline", "HEAD", "--clew-fail-on", "structure", "--clew-summary", "summary.md"]
    done = session(project, *words, plugins=[*PLUGINS, "-p", "xdist"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [line for line in done.stdout.splitlines() if line.startswith(("flow", "outcome"))]
    assert "7 tests in 1 session before and 1 after" in (project / "summary.md").read_text()


def test_baseline_session_reports_undetectable_change_and_needed_sessions(changed):
    _, done = changed
    (line,) = (line for line in done.stdout.splitlines() if "cannot be detected" in line)
    assert re.fullmatch(
        r"a single test that got 20 % slower cannot be detected; that takes at least \d+ sessions per side, not 1 and 1",
        line,
    )


def test_baseline_session_of_selected_tests_reports_changed_outcome(project):
    (project / "app.py").write_text(APP.replace("return sum(range(n))", "assert n != 3\n    return sum(range(n))"))
    done = session(project, "--clew-baseline", "HEAD", "-k", "test_rate or test_price")
    assert done.returncode == 1
    assert f"outcome  {ID}test_rate: passed before, failed now" in done.stdout
    assert "1 with a changed outcome of 3 tests" in done.stdout
    (only,) = (line for line in done.stdout.splitlines() if line.startswith("only before: "))
    assert only.count(ID) == 4 and f"{ID}TestOld::test_old" in only


def test_baseline_session_without_earlier_session_does_not_fail(project):
    shutil.rmtree(project / ".clew")
    done = session(project, "--clew-baseline", "HEAD", "--clew-fail-on", "structure", "-k", "test_rate")
    assert done.returncode == 0 and "not compared with HEAD: no test session of HEAD (" in done.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--clew-baseline", "nope"], "--clew: git cannot find the revision 'nope'"),
        (["--clew-fail-on", "often"], "--clew: unknown --fail-on condition 'often'; expected slower"),
        (["--clew-keep", "none"], "--clew: clew_keep: 'none' is not a number of runs"),
    ],
)
def test_baseline_session_invalid_option_prints_one_message(project, words, text):
    done = session(project, *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert text in done.stderr and "Traceback" not in done.stderr


def test_clew_keep_option_limits_stored_sessions(project):
    assert session(project, "--no-clew").returncode == 0
    assert len(list_runs(project)) == 1
    (project / "pytest.ini").write_text("[pytest]\nclew = true\nclew_keep = 1\nasyncio_mode = auto\n")
    session(project, "-k", "test_rate")
    ((_, info),) = list_runs(project)
    assert not info.dirty and info.tests, "an untracked file is not a change"
    session(project, "-k", "test_rate", "--clew-keep", "5")
    assert len(list_runs(project)) == 2
    assert session(project, "--collect-only").returncode == 0
    assert len(list_runs(project)) == 2, "a session without tests is not stored"


def test_session_inside_clew_run_has_its_commit(project):
    command = ["-m", "clew", "run", "-q", "--", sys.executable, "-m", "pytest", *PLUGINS, "-k", "test_rate", "--clew"]
    done = subprocess.run(
        [sys.executable, *command], cwd=project, env={**INHERITED, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (newest, other) = (info for _, info in list_runs(project))
    assert newest.tests and not newest.dirty and newest.commit == other.commit != ""
    assert newest.finished and newest.exit_code == 0, "`clew run` finishes the run"
    compared = clew(project, "HEAD..", "--json")
    assert compared.returncode == 0 and newest.id in compared.stdout
