"""Run small programs of real libraries with and without a pack, and query their graphs for causes.

The programs log `ask NUMBER` where a client begins, and `answer NUMBER` in the handler that its request reaches.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import clew
import clew.instrument.startup
from clew.esl import compile_text
from clew.records.format.event import Kind
from clew.records.plan import plan as plans
from clew.records.read.process_records import ProcessRecords
from clew.records.read.reader import read_run
from clew.records.run.directory import RUN_VARIABLE, create_run
from tests.support.programs.pack_programs import AROUND
from tests.support.programs.pack_twice import redis_server, said, twice

__all__ = ["redis_server", "said", "twice"]

STARTUP = Path(clew.instrument.startup.__file__).parent


@dataclass
class Traced:
    run: Any
    stdout: str
    folder: Path

    @property
    def graph(self) -> Any:
        return self.run.graph

    @property
    def processes(self) -> list[ProcessRecords]:
        return list(read_run(self.folder).processes)

    def values(self, name: str) -> list[str]:
        """Return the values of the payloads of a name, in order of time."""
        return [event.text for event in self.run.events.where(kind="payload", channel=name).order_by("ts")]

    def requests(self) -> list[str]:
        """Return the names of all requests, sorted."""
        return sorted(self.graph.channel(row) for row in self.graph.rows_of([Kind.REQUEST]).tolist())

    def led_to(self, text: str) -> set[str]:
        """Return the lines among the causes of a line."""
        (event,) = self.run.events.where(kind="log", text=text)
        return {event.text for event in self.run.events.where(id=event.id).slice("backward") if event.kind == "log"}

    def came_of(self, text: str) -> set[str]:
        """Return the lines among the effects of a line."""
        (event,) = self.run.events.where(kind="log", text=text)
        return {event.text for event in self.run.events.where(id=event.id).slice("forward") if event.kind == "log"}

    def requests_are_apart(self, numbers: Iterable[int]) -> None:
        """Assert that each answer is caused by exactly its own question."""
        asked, answered = ({f"{word} {number}" for number in numbers} for word in ("ask", "answer"))
        for number in numbers:
            assert self.led_to(f"answer {number}") & asked == {f"ask {number}"}
            assert self.came_of(f"ask {number}") & answered == {f"answer {number}"}


@pytest.fixture
def traced(tmp_path: Path) -> Callable[..., Traced]:
    """`traced(program, spec)` records a program by a spec, and asserts that its behaviour equals a plain run."""

    def trace(source: str, spec: str) -> Traced:
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(AROUND) + textwrap.dedent(source), encoding="utf-8")
        text = f"{spec}\nlogs from program; scope program;"
        plan = compile_text(text, "program.esl", tmp_path).require()
        folder, _ = create_run(tmp_path, name="program", command=["program"], spec=text, plan=plans.dump(plan))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
        inherited["PYTHONDONTWRITEBYTECODE"] = "1"
        path = os.pathsep.join(filter(None, (str(STARTUP), os.environ.get("PYTHONPATH", ""))))
        results = []
        for environment in (inherited, {**inherited, RUN_VARIABLE: str(folder), "PYTHONPATH": path}):
            done = subprocess.run(
                [sys.executable, str(program)],
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            results.append((done.returncode, done.stdout, done.stderr))
        plain, recorded = results
        assert recorded == plain
        assert plain[0] == 0, plain[2]
        return Traced(clew.open(folder), recorded[1], folder)

    return trace
