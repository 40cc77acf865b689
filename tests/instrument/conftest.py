"""Runs small programs through the real start-up and pairs what they recorded, without the graph's code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import clew.instrument.startup
from clew.records.event import FLAG_BYTES, Kind
from clew.records.found import Event, ProcessRecords
from clew.records.plan import LogCapture, Plan, Rule, Target, dump
from clew.records.reader import read_run
from clew.records.run import create_run
from tests.instrument.waiting import PREFIX

STARTUP = Path(clew.instrument.startup.__file__).parent
ADAPTERS = ("threads", "executors", "queues", "tasks", "processes", "http")
INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}

USES = ({Kind.SEND}, {Kind.RECEIVE, Kind.JOIN, Kind.SCOPE_BEGIN})
SYNCS = ({Kind.RELEASE}, {Kind.ACQUIRE})
"""What a use edge and a sync edge lead from and to."""


@dataclass
class Placed:
    """One event, its process, its strand's name and the innermost recorded function it happened in."""

    event: Event
    process: ProcessRecords
    strand: str
    function: str

    @property
    def key(self) -> int:
        return self.event.extension.key if self.event.extension else 0

    @property
    def channel(self) -> str:
        return self.process.strings.get(self.event.extension.channel, "") if self.event.extension else ""

    @property
    def text(self) -> str:
        return self.event.extension.text if self.event.extension else ""

    @property
    def site(self) -> Any:
        return self.process.sites.get(self.event.site)

    def __str__(self) -> str:
        return f"{self.strand}/{self.function}" if self.function else self.strand


def place(process: ProcessRecords, *, whole: bool = True) -> Iterable[Placed]:
    """Follows strands and call stacks of every thread; not `whole` when recording ended in the middle."""
    for serial, thread in process.threads.items():
        strands = [thread.name]
        stacks: dict[str, list[str]] = defaultdict(list)
        for event in process.events(serial):
            if event.kind == Kind.STEP_BEGIN:
                strands.append(process.strands[event.extension.key].name)
            stack = stacks[strands[-1]]
            if event.kind in (Kind.ENTER, Kind.RESUME):
                stack.append(process.sites[event.site].qualname)
            yield Placed(event, process, strands[-1], stack[-1] if stack else "")
            # A frame that an exception was thrown into goes on without a RESUME.
            if event.kind in (Kind.EXIT, Kind.UNWIND, Kind.SUSPEND) and stack[-1:] == [
                process.sites[event.site].qualname
            ]:
                stack.pop()
            if event.kind == Kind.STEP_END:
                strands.pop()
        assert len(strands) == 1 or not whole, "every step ends"


@pytest.fixture
def follow() -> Callable[..., Iterable[Placed]]:
    """`follow(process, whole=…)` places the events of a process that was recorded in another way than by `record`."""
    return place


@dataclass
class Recording:
    code: int
    stdout: str
    stderr: str
    folder: Path
    events: list[Placed] = field(default_factory=list)

    @property
    def processes(self) -> list[ProcessRecords]:
        return read_run(self.folder).processes

    def edges(self, *channels: str) -> Counter[tuple[str, str, str]]:
        """(channel, source, target) of every target that has a source; all channels when none is named."""
        return Counter((target.channel, str(source), str(target)) for source, target in self.pairs(*channels))

    def syncs(self, *channels: str) -> Counter[tuple[str, str, str]]:
        """As `edges`, of sync edges."""
        pairs = self.pairs(*channels, kinds=SYNCS)
        return Counter((target.channel, str(source), str(target)) for source, target in pairs)

    def pairs(self, *channels: str, kinds: tuple[set[Kind], set[Kind]] = USES) -> list[tuple[Placed, Placed]]:
        """(source, target) of the same edges, by time; without those of raw bytes, which no time tells."""
        sources, targets = kinds
        last: dict[tuple[int, int], Placed] = {}
        anywhere: dict[int, Placed] = {}
        found = []
        for placed in sorted(self.events, key=lambda placed: placed.event.ticks):
            if placed.event.extension and placed.event.extension.flags & FLAG_BYTES:
                continue
            if placed.event.kind in sources:
                last[placed.process.header.uid, placed.key] = anywhere[placed.key] = placed
            elif placed.event.kind in targets:
                source = last.get((placed.process.header.uid, placed.key)) or anywhere.get(placed.key)
                if source is not None:
                    assert source.channel == placed.channel, "a key belongs to one channel"
                    found.append((source, placed))
        return [pair for pair in found if not channels or pair[1].channel in channels]

    def of(self, *kinds: Kind) -> list[Placed]:
        return [placed for placed in self.events if placed.event.kind in kinds]


@pytest.fixture
def record(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Recording]:
    """`record(source)` runs `source` as a script, recorded by a plan that names every function of the project.

    Tests of a module that is parametrized by `record`, indirectly, run with the recorders that it names.
    """
    recorder = getattr(request, "param", "")

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
            "CLEW_RECORDER": recorder,
            "CLEW_RUN": str(folder),
            "PYTHONPATH": str(STARTUP),
            **(environment or {}),
        }
        done = subprocess.run(
            [*(command or [sys.executable, f"{name}.py"]), *arguments],
            cwd=workspace, env=given, capture_output=True, text=True, timeout=60, check=False,
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
    """A private folder of its own for the entries, with a path short enough for a socket."""
    folder = tempfile.mkdtemp(prefix="clew", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def program(private, tmp_path):
    from tests.instrument.attached import Program

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
