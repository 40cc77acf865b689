"""`pytest --clew`: the tests behave as without it, and each is a request of one run."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import clew
from clew.instrument import pytest_plugin
from clew.records.format.event import Kind
from clew.records.read.reader import read_run
from clew.records.run.directory import list_runs, load_run, trace_files
from tests.support.programs.pytest_sessions import INHERITED, PLUGINS, run

APP = """
import asyncio

def work(n):
    return [1, n]

async def step():
    await asyncio.sleep(0)
    return 5

if __name__ == "__main__":
    print(work(2))
"""
TESTS = """
import asyncio, subprocess, sys
import pytest
import app

@pytest.fixture
def made():
    yield app.work(7)

@pytest.fixture
def broken():
    raise ValueError("fixture")

def test_passes(made):
    assert made == [1, 7]

@pytest.mark.parametrize("n", [3, 2.5])
def test_fails(n):
    assert app.work(n) == [1, 3]

def test_errs(broken):
    pass

def test_skips():
    pytest.skip("no")

class TestProgram:
    def test_prints(self):
        done = subprocess.run([sys.executable, "app.py"], capture_output=True, text=True)
        assert done.stdout == "[1, 2]\\n"

async def test_async():
    assert await asyncio.create_task(app.step()) == 5
"""
OUTCOMES = {
    "test_it.py::test_passes": ["passed"],
    "test_it.py::test_fails[3]": ["passed"],
    "test_it.py::test_fails[2.5]": ["failed"],
    "test_it.py::test_errs": ["failed at setup"],
    "test_it.py::test_skips": ["skipped"],
    "test_it.py::TestProgram::test_prints": ["passed"],
    "test_it.py::test_async": ["passed"],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\naddopts = -p no:cacheprovider\n"
    )
    return folder


def the_run(folder: Path) -> Path:
    ((found, _),) = list_runs(folder)
    return found


def requests(folder: Path) -> dict[str, list[str]]:
    """Return, for each test of a run, the outcomes of its phases."""
    found: dict[str, list[str]] = {}
    for process in read_run(folder).processes:
        assert process.readable and not process.problems
        for serial in process.threads:
            name = ""
            for event in process.events(serial):
                if event.kind == Kind.REQUEST:
                    name = process.strings[event.extension.channel]
                    assert name not in found, "a test runs once"
                    found[name] = []
                elif event.kind == Kind.PAYLOAD and process.strings[event.extension.channel] == "outcome":
                    found[name].append(event.extension.text)
    return found


def same_in_every_run(text: str) -> str:
    # The sections of suspects have tests of their own.
    text = re.sub(r"^-+ clew: suspects -+\n(.+\n)*?.*details: `clew why .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\d+\.\d+s|0x[0-9a-f]+|^clew: .*\n", "…", text, flags=re.MULTILINE).replace("…", "")


def test_pytest_plugin_leaves_output_and_makes_each_test_a_request(project):
    plain, recorded = run(project, "-v"), run(project, "-v", "--clew")
    assert plain.returncode == recorded.returncode == 1
    # pytest's first lines list its plugins; compare only its lines about the tests.
    assert same_in_every_run(recorded.stdout) == same_in_every_run(plain.stdout)
    assert "assert [1, 2.5] == [1, 3]" in recorded.stdout
    assert recorded.stderr == plain.stderr
    folder = the_run(project)
    info = load_run(folder)
    assert (info.name, info.exit_code, info.workspace) == ("shop-tests", 1, str(project))
    assert f"clew: recorded as run {info.id}; " in recorded.stdout
    assert requests(folder) == OUTCOMES
    functions = {
        f"{site.module}:{site.qualname}" for found in read_run(folder).processes for site in found.sites.values()
    }
    assert {"app:work", "app:step", "test_it:made", "test_it:TestProgram.test_prints"} <= functions
    assert len(trace_files(folder)) == 2, "the process of the tests, and the program that one test starts"


def test_pytest_plugin_records_xdist_workers_in_the_same_run(project):
    done = run(project, "--clew", "-n", "2", plugins=[*PLUGINS, "-p", "xdist"])
    assert "2 failed" not in done.stdout and "1 failed, 4 passed, 1 skipped, 1 error" in done.stdout
    folder = the_run(project)
    assert requests(folder) == OUTCOMES
    assert len(trace_files(folder)) == 4, "controller, two workers, one program"
    assert load_run(folder).exit_code == 1


def test_pytest_plugin_session_started_by_a_test_is_a_separate_run(project):
    of_test = {"PYTEST_XDIST_WORKER": "gw0", "PYTEST_CURRENT_TEST": "test_outer.py::test_starts_pytest (call)"}
    for words, plugins, traces in (((), PLUGINS, 2), (("-n", "2"), [*PLUGINS, "-p", "xdist"], 4)):
        before = {folder for folder, _ in list_runs(project)}
        done = run(project, "--clew", *words, plugins=plugins, env=of_test)
        assert "1 failed, 4 passed, 1 skipped, 1 error" in done.stdout
        ((folder, _),) = (found for found in list_runs(project) if found[0] not in before)
        assert requests(folder) == OUTCOMES
        assert len(trace_files(folder)) == traces


def test_pytest_plugin_slice_of_a_test_has_only_its_own_calls(project):
    run(project, "--clew")
    graph = clew.open(the_run(project))
    for name, expected, others in (
        ("test_it.py::test_async", {"app:step"}, {"app:work"}),
        ("test_it.py::test_passes", {"app:work", "test_it:made"}, {"app:step", "test_it:broken"}),
    ):
        functions = {row.function for row in graph.requests.named(name).slice().select("function")}
        assert expected <= functions and not others & functions, name


def test_pytest_plugin_without_option_imports_only_itself(project):
    (project / "test_it.py").write_text(
        "import os, sys\ndef test_modules():\n"
        "    print(sorted(name for name in sys.modules if name.startswith('clew')), 'CLEW_RUN' in os.environ)\n"
    )
    done = run(project, "-s")
    assert "['clew', 'clew.instrument', 'clew.instrument.pytest_plugin'] False" in done.stdout
    assert not (project / ".clew").exists()


def test_pytest_plugin_inside_clew_run_adds_requests_to_that_run(project):
    command = [
        sys.executable,
        "-m",
        "clew",
        "run",
        "-q",
        "--name",
        "mine",
        "--",
        sys.executable,
        "-m",
        "pytest",
        *PLUGINS,
    ]
    done = subprocess.run(
        [*command, "--clew"], cwd=project, env={**INHERITED, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    folder = the_run(project)
    assert load_run(folder).name == "mine" and requests(folder) == OUTCOMES


def test_pytest_plugin_plan_option_selects_functions(project):
    (project / "app.esl").write_text("scope app:work;\n")
    check = [sys.executable, "-m", "clew", "check", "app.esl", "--plan", "app.plan"]
    assert subprocess.run(check, cwd=project, env=INHERITED, capture_output=True, check=False).returncode == 0
    run(project, "--clew", "--clew-plan", "app.plan")
    (first, _second) = read_run(the_run(project)).processes
    assert {
        f"{site.module}:{site.qualname}" for site in first.sites.values() if site.kind not in {"annotation", "line"}
    } == {"app:work"}


def test_pytest_plugin_invalid_plan_prints_one_message(project):
    (project / "broken.plan").write_text("{")
    for words, expected in (
        (["--clew-plan", "absent.plan"], "absent.plan: cannot be read (No such file or directory)"),
        (["--clew", "--clew-plan", "broken.plan"], "broken.plan: not a probe plan"),
    ):
        done = run(project, *words)
        assert done.returncode == pytest.ExitCode.USAGE_ERROR and "Traceback" not in done.stderr
        assert done.stderr.startswith(f"ERROR: --clew: {expected}")
    assert list_runs(project) == []


def test_pytest_plugin_leaves_the_environment_unchanged(project):
    (project / "main.py").write_text(
        "import os, pytest\nbefore = dict(os.environ)\n"
        f"code = pytest.main({[*PLUGINS, '-q', '--clew', '-k', 'test_passes']!r})\n"
        "changed = [name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)]\n"
        "print(int(code), [name for name in changed if not name.startswith('PYTEST')])\n"
    )
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=project, env={**INHERITED, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0 []", done.stdout + done.stderr
    assert list(requests(the_run(project))) == ["test_it.py::test_passes"]


def test_pytest_plugin_notes_functions_that_were_only_counted(project):
    (project / "app.py").write_text("def tiny(n):\n    return n\n")
    (project / "test_it.py").write_text(
        "import app\ndef test_often():\n    assert sum(app.tiny(n) for n in range(300_000))\n"
    )
    assert run(project, "--clew").returncode == 0
    (note,) = load_run(the_run(project)).notes
    assert note.startswith("1 function ran too often for the budget and was only counted for a time: app:tiny (")


def test_pytest_plugin_is_an_entry_point():
    root = Path(__file__).resolve().parents[3]
    found = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert found == {"clew": pytest_plugin.__name__}


def test_pytest_plugin_recorded_from_start_causes_no_rewrite_warning(project):
    # As pytest does for the packages of each installed plugin, in a process that is recorded from its start.
    (project / "conftest.py").write_text("import clew, pytest\npytest.register_assert_rewrite('clew')\n")
    done = run(project, "--clew", "-k", "test_passes")
    assert "1 passed" in done.stdout and "warning" not in done.stdout
