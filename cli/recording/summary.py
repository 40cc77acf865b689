"""Print the summary of a recording: the content of a finished run, the missing events, and the next commands.

Invariant: the summary loads only the standard library and the reader, because the user of a short program waits for it.
"""

import re
import shlex
from array import array
from pathlib import Path
from typing import Any

from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import RECORD_SIZE, Kind, unpack_extension
from clew.records.format.record_scan import extended
from clew.records.read.process_records import ProcessRecords
from clew.records.read.reader import read_run
from clew.records.run.budget_notes import counted_calls, only_counted
from clew.records.run.directory import RunInfo, disk_bytes
from clew.records.run.liveness import died
from clew.server.text import units

COUNTED_BYTES = 256 << 20
"""Maximum bytes of a run that are read for the summary."""
SHOWN_NOTES = 5
NOT_FOLLOWED = "not followed: "
"""The beginning of a note about code whose causality is not recorded; such notes come first."""


class Summary(NamedTuple):
    """The content of a run; the fields of `clew run --json`."""

    functions: int
    events: int
    eventsAreAll: bool
    logLines: int
    processes: int
    bytes: int
    onlyCounted: int
    """Number of functions that ran too often for the budget."""
    countedFunctions: list[str]
    """Names of those functions."""
    countedCalls: dict[str, int]
    """Number of calls that were only counted, by function name."""
    killed: list[int]
    """PIDs of processes that died while they were recorded."""
    notes: list[str]
    worst: str
    """Text of the most severe log line."""


def summary(run_folder: Path) -> Summary:
    """Read a finished run's trace files."""
    processes = read_run(run_folder).processes
    counted = _Counted()
    for process in processes:
        counted.add(process)
    notes = [note.text for process in processes for note in process.notes]
    notes += [problem.what for process in processes for problem in process.problems]
    calls = counted_calls(processes)
    return Summary(
        functions=len(counted.functions),
        events=counted.events,
        eventsAreAll=counted.whole,
        logLines=counted.lines,
        processes=len(processes),
        bytes=disk_bytes(run_folder),
        onlyCounted=len(calls),
        countedFunctions=list(calls),
        countedCalls=calls,
        killed=sorted(died(run_folder)),
        notes=sorted(dict.fromkeys(units.within(run_folder, note) for note in notes), key=_is_minor),
        worst=counted.worst,
    )


def _is_minor(note: str) -> bool:
    """Return whether a note says less than that answers stop somewhere."""
    return not note.startswith(NOT_FOLLOWED)


def as_document(found: Summary) -> dict[str, Any]:
    """Return the fields as printed by `clew run --json` and `clew detach --json`."""
    return found._asdict()


def report_lines(found: Summary, info: RunInfo) -> list[str]:
    """Return lines about the recorded content, missing events, and the next commands."""
    events = units.count(found.events, "event")
    parts = [
        units.count(found.functions, "function"),
        events if found.eventsAreAll else f"more than {events}",
        units.count(found.logLines, "log line"),
        units.count(found.processes, "process"),
        units.size(found.bytes),
    ]
    lines = [f"run {info.id}: {', '.join(parts)}"]
    if found.onlyCounted:
        lines.append(only_counted(found.countedCalls))
    lines += [
        f"process {pid} was killed while it was recorded; all events before that are available" for pid in found.killed
    ]
    lines += [f"note: {text}" for text in found.notes[:SHOWN_NOTES]]
    if len(found.notes) > SHOWN_NOTES:
        lines.append(f"and {units.count(len(found.notes) - SHOWN_NOTES, 'more note')} in the run")
    if found.functions or found.logLines or not found.eventsAreAll:
        following = f"clew why {quoted(found.worst)}" if found.worst.strip() else "clew aggregate"
        lines.append(f"next: `{following}` or `clew view`")
    if not found.functions and found.eventsAreAll and (info.spec or not found.logLines):
        lines.append(_what_to_check(info))
    return lines


def _what_to_check(info: RunInfo) -> str:
    """Explain a run in which no selected function was called."""
    if not info.spec:
        return (
            f"no function below {info.workspace} was called, and only a project's own functions are recorded; check that "
            "the program's source is there, or set its folder with --workspace"
        )
    spec = _shown(Path(info.spec))
    return f"no function that {spec} names was called; run `clew check {spec}` to see the matches of its rules"


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class _Counted:
    """Sums over the processes of a run."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.events = self.lines = self.bytes = 0
        self.whole = True
        self.worst = ""
        """Text of the most severe log line; the last one wins ties."""
        self._level = -1

    def add(self, process: ProcessRecords) -> None:
        names = {site.id: (site.module, site.qualname) for site in process.sites.values()}
        words: set[int] = set()
        for thread in process.threads.values():
            for extent in thread.extents:
                if self.bytes + len(extent) > COUNTED_BYTES:
                    self.whole = False
                    break
                self.bytes += len(extent)
                words |= self._add_extent(extent)
        entered = {word >> 32 for word in words if word & 0xFF == Kind.ENTER}
        self.functions.update(names[site] for site in entered if site in names)

    def _add_extent(self, extent: memoryview) -> set[int]:
        """Return the distinct words of the extent's records."""
        slots = bytes(extent[9::RECORD_SIZE])
        words = array("Q", bytes(extent))[1::2]
        if not slots.strip(b"\0"):
            self.events += len(words)
            return set(words)
        found: set[int] = set()
        start = 0
        for place in extended(slots):
            stop = place + 1
            self.events += stop - start
            found.update(words[start:stop])
            start = stop + slots[place]
            if words[place] & 0xFF == Kind.LOG:
                self._add_line(extent[stop * RECORD_SIZE : start * RECORD_SIZE])
        self.events += len(words) - start
        found.update(words[start:])
        return found

    def _add_line(self, slots: memoryview) -> None:
        self.lines += 1
        level, _, text, _ = unpack_extension(slots)
        if level >= self._level:
            self._level, self.worst = level, text


def quoted(text: str) -> str:
    """Quote the beginning of a message for a shell, in the more readable kind of quotes."""
    text = text.strip().splitlines()[0][:60]
    if "'" in text and _DOUBLE_QUOTED.fullmatch(text):
        return f'"{text}"'
    return shlex.quote(text)


_DOUBLE_QUOTED = re.compile(r"""(?:[^"$`!\\]|\\[^"$`!\\])*""")
"""Text that a shell leaves unchanged between double quotes."""
