"""What is done with a run whose processes have ended, by whoever recorded it: its sources are kept, and its notes are found."""

from __future__ import annotations

from pathlib import Path

from clew.records import sources
from clew.records.counted import counted_calls, only_counted
from clew.records.reader import read_run


def conclude(run_folder: Path) -> list[str]:
    """Keeps the text of the run's source files; the notes to keep with the run."""
    processes = read_run(run_folder, events=False).processes
    sources.keep(run_folder, processes)
    calls = counted_calls(processes)
    return [only_counted(calls)] if calls else []
