"""Run small programs through the real start-up and pair their records, without the graph's code."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from clew.records.plan.plan import LogCapture, Plan, Rule, Target, dump
from clew.records.run.directory import create_run
from tests.support.programs.attached_program import Program
from tests.support.programs.recording import ADAPTERS, INHERITED, STARTUP, Placed, Recording, place
from tests.support.programs.waiting import PREFIX


@pytest.fixture
def follow() -> Callable[..., Iterable[Placed]]:
    """`follow(process, whole=…)` places the events of a process that was recorded in another way than by `record`."""
    return place


@pytest.fixture
def record(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Recording]:
    """`record(source)` runs `source` as a script, recorded by a plan that names every function of the project."""

    def run(
        source: str,
        *arguments: str,
        adapters: tuple[str, ...] = ADAPTERS,
        rules: bool = True,
        logs: LogCapture | None = LogCapture(),  # noqa: B008 - frozen
        command: list[str] | None = None,
        environment: dict[str, str] | None = None,
        files: dict[str, str] | None = None,
        name: str = "program",
        change: Callable[[Plan], Plan] = lambda plan: plan,
        unhooked: tuple[str, ...] = (),
    ) -> Recording:
        workspace = tmp_path / "workspace"
        workspace.mkdir(exist_ok=True)
        for file, text in {f"{name}.py": source, **(files or {})}.items():
            (workspace / file).parent.mkdir(parents=True, exist_ok=True)
            (workspace / file).write_text(textwrap.dedent(text))
        chosen = (Rule(Target("**", "**", root=str(workspace))),) if rules else ()
        plan = Plan(rules=chosen, adapters=adapters, logs=logs)
        folder, _ = create_run(workspace, name=name, command=[], spec="", plan=dump(change(plan)))
        given = {
            **INHERITED,
            "CLEW_RUN": str(folder),
            "PYTHONPATH": str(STARTUP),
            **(environment or {}),
        }
        done = subprocess.run(
            [*(command or [sys.executable, f"{name}.py"]), *arguments],
            cwd=workspace, env=given, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        result = Recording(done.returncode, done.stdout, done.stderr, folder)
        for process in result.processes:
            assert process.readable and not process.problems, process.problems
            result.events.extend(place(process))
            assert [note.text for note in process.notes if "causality is not recorded" in note.text] == [*unhooked]
        return result

    return run


@pytest.fixture
def locks(record):
    def run(source, **options):
        result = record(PREFIX + source, adapters=("threads", "locks"), **options)
        assert result.code == 0, result.stderr
        return result

    return run


@pytest.fixture
def private(monkeypatch):
    """Make a private folder for the registry entries, with a path short enough for a socket."""
    folder = tempfile.mkdtemp(prefix="clew", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def program(private, tmp_path):
    started = []

    def start(**options):
        started.append(Program(tmp_path, **options))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            stream.close()


@pytest.fixture
def new_run(tmp_path):
    def make(rules=(Rule(Target("prog", "**"), origin="everything"),), pid=0, adapters=ADAPTERS, logs=None):
        plan = Plan(rules=rules, adapters=adapters, logs=logs, spec="a test's")
        return create_run(tmp_path, name="live", command=[], spec="", plan=dump(plan), attached_to=pid)[0]

    return make
