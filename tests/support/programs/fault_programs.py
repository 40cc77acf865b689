"""Programs that run under a fault, and their ends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clew.records.format.event import Kind
from clew.records.read.process_records import ProcessRecords
from clew.records.read.reader import read_run


@dataclass
class Recorded:
    """A recorded program that behaved like the untraced program."""

    code: int
    stdout: str
    said: list[str]
    """The lines of clew on its stderr."""
    folder: Path
    """The folder of the run."""

    @property
    def processes(self) -> list[ProcessRecords]:
        return read_run(self.folder).processes

    @property
    def process(self) -> ProcessRecords:
        (process,) = self.processes
        return process

    def calls(self, name: str) -> int:
        """Return how often a function was entered in the records of all processes."""
        return sum(calls(process, name) for process in self.processes)


def calls(process: ProcessRecords, name: str) -> int:
    sites = {site.id for site in process.sites.values() if site.qualname == name}
    return sum(event.kind is Kind.ENTER and event.site in sites for event in process.events())


def quiet(done: Recorded, code: int = 0) -> None:
    """Assert the exit code, and that no message about the recording was printed."""
    assert (done.code, done.said) == (code, [])
