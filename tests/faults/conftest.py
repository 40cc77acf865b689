"""Programs run untraced and traced under the same fault: their output and exit status must be equal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import clew.instrument.startup
from clew.records.plan.plan import LogCapture, Plan, Rule, Target, dump
from clew.records.run.directory import create_run
from tests.support.programs.fault_programs import Recorded

HERE = Path(__file__).parent
STARTUP = Path(clew.instrument.startup.__file__).parent
ADAPTERS = ("threads", "executors", "queues", "tasks", "processes", "http")
INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
OURS = "clew: "


@pytest.fixture
def both(tmp_path, request) -> Callable[..., Recorded]:
    """`both(source)` runs `source` as a script untraced, then recorded; asserts that output and exit status are equal.

    FAULT_FOLDER in the program's environment is the run's folder, or an empty folder when untraced.
    """

    def run(
        source: str,
        *,
        fault: str = "",
        plan: Plan | None = None,
        shell: str = "{command}",
        prepare: Callable[[Path], object] | None = None,
        launcher: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        folder: Path | None = None,
    ) -> Recorded:
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        (workspace / "program.py").write_text(textwrap.dedent(source))
        wanted = plan or Plan(
            rules=(Rule(Target("**", "**", root=str(workspace))),), adapters=ADAPTERS, logs=LogCapture()
        )
        run_folder, _ = create_run(folder or workspace, name="program", command=[], spec="", plan=dump(wanted))
        empty = tmp_path / "untraced"
        empty.mkdir()
        if prepare:
            prepare(run_folder)
        command = shell.format(command=" ".join([*launcher, sys.executable, "program.py"]))
        outcomes = []
        for where, extra in (
            (empty, {}),
            (run_folder, {"CLEW_RUN": str(run_folder), "PYTHONPATH": str(STARTUP)}),
        ):
            given = {**INHERITED, "PYTHONDONTWRITEBYTECODE": "1", "FAULT_FOLDER": str(where), **extra}
            if fault:
                # Append to the libraries that are preloaded already: a sanitizer has to come first.
                libraries = [given.get("LD_PRELOAD", ""), str(request.getfixturevalue("preload"))]
                given |= {"CLEW_FAULT": fault, "LD_PRELOAD": " ".join(filter(None, libraries))}
            given |= environment or {}
            done = subprocess.run(
                ["bash", "-c", command], cwd=workspace, env=given, capture_output=True, text=True, timeout=120
            )
            outcomes.append(done)
        plain, traced = outcomes
        lines = traced.stderr.splitlines(keepends=True)
        said = [line.strip() for line in lines if line.startswith(OURS)]
        rest = "".join(line for line in lines if not line.startswith(OURS))
        assert (traced.stdout, rest, traced.returncode) == (plain.stdout, plain.stderr, plain.returncode)
        return Recorded(traced.returncode, traced.stdout, said, run_folder)

    return run


@pytest.fixture(scope="session")
def preload(tmp_path_factory) -> Path:
    """Build the library that makes calls fail. Skip with a loud message if there is no compiler."""
    compiler = shutil.which(os.environ.get("CC") or "gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("FAULTS OF THE C LIBRARY ARE NOT TESTED HERE: there is no C compiler for a library to preload")
    library = tmp_path_factory.mktemp("preload") / "preload.so"
    source = str(HERE / "preload.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(library), source, "-ldl"], check=True)
    return library
