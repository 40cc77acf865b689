"""Programs with probes: a log of the probes' records, and processes that are really recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.instrument.probes.bytecode.rewrite import Call, Probes, rewrite
from clew.records.format.event import Kind
from clew.records.plan import plan as plans
from clew.records.read.reader import RunRecords, read_run
from clew.records.run.directory import RUN_VARIABLE, create_run, trace_files

ROOT = Path(__file__).resolve().parents[3]


class Trace:
    """Log of records as text: `ENTER f`, `EXIT f`, …; `start f (1, 2)` for calls of actions."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.names: list[str] = [""]
        self.calls: Callable[[types.CodeType], dict[str, Call]] = lambda code: {}

    def take(self) -> list[str]:
        log, self.log = self.log, []
        return log

    def make_probe(self, site: int, kind: int) -> object:
        return _Probe(self.log_line, f"{Kind(kind).name} {self.names[site]}")

    def log_line(self, line: str) -> None:
        self.log.append(line)

    def choose(self, code: types.CodeType) -> Probes:
        self.names.append(code.co_qualname.replace("<locals>.", ""))
        return Probes(len(self.names) - 1, **self.calls(code))

    def rewrite(self, code: types.CodeType) -> types.CodeType:
        return rewrite(code, self.choose, self.make_probe)

    def instrument(self, function: Any) -> Any:
        """Add probes to `function` and return it."""
        function.__code__ = self.rewrite(function.__code__)
        return function

    def load(self, source: str, *, traced: bool = True, file: str = "program.py") -> dict[str, Any]:
        """Return the names that a module of this source defines."""
        code = compile(source, file, "exec", dont_inherit=True)
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(self.rewrite(code) if traced else code, namespace)
        return namespace


class _Probe:
    __slots__ = ("line", "log")

    def __init__(self, log: Callable[[str], None], line: str) -> None:
        self.log, self.line = log, line

    def __invert__(self) -> None:
        self.log(self.line)


@pytest.fixture
def trace() -> Trace:
    return Trace()


class Recorded:
    def __init__(self, done: subprocess.CompletedProcess[str], records: RunRecords) -> None:
        self.done, self.records = done, records
        self.out, self.err = done.stdout, done.stderr

    def calls(self, process: int = 0) -> list[str]:
        """Return the events of a process's main thread as text."""
        found = self.records.processes[process]
        return [
            f"{Kind(event.kind).name} {found.sites[event.site].module}:{found.sites[event.site].qualname}"
            for event in found.events(1)
            if event.site in found.sites
        ]

    def functions(self) -> set[str]:
        return {f"{site.module}:{site.qualname}" for found in self.records.processes for site in found.sites.values()}

    def notes(self) -> list[str]:
        return [note.text for found in self.records.processes for note in found.notes]


class Workshop:
    """A folder to write programs in and to run them from, plain and recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / (name.replace("__SLASH__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def plain(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return self._run([sys.executable, *command], {}, options)

    def recorded(self, rules: list[plans.Rule], *command: str, **options: Any) -> Recorded:
        plan = plans.dump(plans.Plan(rules=tuple(rules)))
        run, _ = create_run(self.folder, name="test", command=list(command), spec="", plan=plan)
        startup = str(ROOT / "instrument" / "startup")
        done = self._run([sys.executable, *command], {RUN_VARIABLE: str(run), "PYTHONPATH": startup}, options)
        assert trace_files(run), f"nothing was recorded: {done.stderr}"
        return Recorded(done, read_run(run))

    def _run(
        self, command: list[str], more: dict[str, str], options: dict[str, Any]
    ) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW", "PYTHON"))}
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**environment, **more},
            capture_output=True,
            text=True,
            timeout=300,
            **options,
        )


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def scope(module: str, qualname: str = "**", *actions: plans.Action) -> plans.Rule:
    return plans.Rule(plans.Target(module, qualname), actions=actions, origin="test.esl:1")


@pytest.fixture(name="scope")
def scope_fixture() -> Callable[..., plans.Rule]:
    """A rule: module glob, qualname glob, actions."""
    return scope
