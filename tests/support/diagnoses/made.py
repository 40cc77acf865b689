"""A made run for a diagnosis: with a planted fault, or without one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.diagnoses.finding import Finding
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel, Frame, Wait, Wake
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run
from tests.support.diagnoses.evidence import Evidence, unconfirmed
from tests.support.runs.records import ProcessFile, RunFolder, Thread

NAMES = ("alice", "bob", "orders", "billing", "mail", "index", "report", "import")


@dataclass
class Made:
    """A run of one process that a test fills with records, and the fault that it has."""

    random: Random
    fault: str = ""
    """What was planted, "" for nothing."""
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="clew-made-")))

    @cached_property
    def run(self) -> RunFolder:
        folder, info = create_run(
            self.folder, name="made", command=["python", "app.py"], spec="", plan=dump(Plan()), cwd=self.folder
        )
        return RunFolder(folder, info)

    @cached_property
    def process(self) -> ProcessFile:
        return self.run.process()

    @cached_property
    def thread(self) -> Thread:
        return self.process.thread()

    def names(self, count: int) -> list[str]:
        """Return different names of tasks."""
        chosen = self.random.sample(NAMES, count)
        return [f"{name}-{self.random.randrange(100)}" for name in chosen]

    def pause(self, most: int = 1000) -> None:
        """Let some time pass."""
        self.run.clock.now += self.random.randrange(1, most)

    def key(self, task: str) -> int:
        return self.process.strand(task, self.thread.serial)

    def cancel(self, task: str, channel: str = "asyncio.task", **more) -> None:
        self.thread.fact(Kind.CANCEL, self.key(task), channel, Cancel(target=task, **more))

    def wait(self, key: int, channel: str, line: int = 10, function: str = "work", **more) -> None:
        at = (Frame("/src/app.py", line, function),)
        self.thread.fact(Kind.WAIT, key, channel, Wait(at=more.pop("at", at), **more))

    def wake(self, key: int, channel: str, end: str = "satisfied", **more) -> None:
        self.thread.fact(Kind.WAKE, key, channel, Wake(end, **more))

    def noise(self, task: str) -> None:
        """Add harmless events of another task: a wait that ends, a lock, a log line, a cancellation that is obeyed."""
        thread, number = self.thread, self.random.randrange(1 << 40)
        thread.step(task)
        for _ in range(self.random.randrange(4)):
            self.pause()
            match self.random.randrange(3):
                case 0:
                    self.wait(number, "asyncio.event", line=self.random.randrange(100, 200))
                    self.wake(number, "asyncio.event")
                case 1:
                    thread.log(f"{task} works")
                case 2:
                    thread.enter("step").exit("step")
        thread.stop(task)

    def graph(self) -> ExecutionGraph:
        return self.run.graph()

    def facts(self) -> Facts:
        """Return the facts of the run, and delete its files."""
        try:
            return Facts.of(self.graph())
        finally:
            shutil.rmtree(self.folder)


def check(find: Callable[[Facts], list[Finding]], make: Callable[[Random, bool], Made], seed: int, fault: bool) -> None:
    """Assert that a diagnosis finds the planted fault of a made run, names all its parts, and finds nothing without one."""
    made = make(Random(seed), fault)
    facts = Facts.of(made.graph())
    evidence = Evidence(made.run.folder, facts.graph)
    shutil.rmtree(made.folder)
    found = find(facts)
    if not fault:
        assert [finding.text for finding in found] == []
        return
    (finding,) = found
    missing = [word for word in made.fault.split() if word not in finding.text]
    assert not missing, finding.text
    assert all(claim.events for claim in finding.claims)
    assert 1 <= len(finding.claims) <= 3
    assert all(0 <= event < len(facts.graph) for event in finding.events)
    assert finding.victims
    assert unconfirmed(evidence, finding.claims) == []
