"""Fixtures that run a small program untraced and recorded by a spec; only the records may differ."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.esl import compile_text
from clew.records.format.event import Kind
from tests.support.programs import redis_server as redis_server_of_debian
from tests.support.programs.recording import Placed, Recording

INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}


@pytest.fixture
def twice(record, tmp_path: Path) -> Callable[..., Recording]:
    """Return a function `twice(source, spec)` that returns the recording after comparing output and exit code with untraced."""

    def run(source: str, spec: str, *, environment: dict[str, str] | None = None) -> Recording:
        workspace = tmp_path / "workspace"
        workspace.mkdir(exist_ok=True)
        (workspace / "program.py").write_text(textwrap.dedent(source))
        plan = compile_text(f"{spec}; scope program.**;", workspace / "app.esl", workspace).require()
        plain = subprocess.run(
            [sys.executable, "program.py"],
            cwd=workspace, env={**INHERITED, **(environment or {})}, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        result = record(source, change=lambda _: plan, environment=environment)
        told = result.code, result.stdout, result.stderr
        assert told == (plain.returncode, plain.stdout, plain.stderr)
        assert result.code == 0, result.stderr
        return result

    return run


@pytest.fixture
def said() -> Callable[[Recording, str], list[tuple[str, str]]]:
    """Return a function `said(run, name)` that returns the payloads of that name with their strands."""

    def payloads(run: Recording, name: str) -> list[tuple[str, str]]:
        found = [placed for placed in run.of(Kind.PAYLOAD) if placed.channel == name]
        return [(placed.strand, placed.text) for placed in sorted(found, key=_ticks)]

    return payloads


def _ticks(placed: Placed) -> int:
    return placed.event.ticks


@pytest.fixture(scope="session")
def redis_server():
    with tempfile.TemporaryDirectory(prefix="clew", dir="/tmp") as folder:  # a short path, as a socket needs
        try:
            with redis_server_of_debian.serving(Path(folder)) as path:
                yield path
        except redis_server_of_debian.NotThere as why:
            pytest.skip(str(why))
