"""Finish a run whose processes have ended: save its sources and collect its notes."""

from __future__ import annotations

from pathlib import Path

from clew.records.read.reader import read_run
from clew.records.run import source_snapshots
from clew.records.run.budget_notes import counted_calls, only_counted


def conclude(run_folder: Path) -> list[str]:
    """Save the texts of the run's source files, and return the notes to store with the run."""
    processes = read_run(run_folder, events=False).processes
    source_snapshots.keep(run_folder, processes)
    calls = counted_calls(processes)
    return [only_counted(calls)] if calls else []
