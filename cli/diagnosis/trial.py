"""Records a small program in a temporary folder and asks why its log line was written: the check that all parts work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.cli.diagnosis.finding import Finding
from clew.records.attach.registry import CONTROL_VARIABLE
from clew.records.format.header import Clock
from clew.records.run.directory import CAUSE_VARIABLE, RUN_VARIABLE

if TYPE_CHECKING:
    from clew.records.read.process_records import ProcessRecords

PROGRAM = """\
import logging, threading

def work():
    logging.error("clew doctor")

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
SECONDS = 60.0


def trial() -> Iterator[Finding]:
    """Record `PROGRAM` in an interpreter like this one."""
    from clew.records.read.reader import read_run

    with tempfile.TemporaryDirectory(prefix="clew-doctor-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
        code, output = _clew(folder, "run", "--json", "--workspace", name, "--", sys.executable, "program.py")
        counted = _document(output)
        if code or not counted.get("events"):
            yield Finding(
                "recording", _why(output, counted), "problem", "recording does not work here: see the lines above"
            )
            return
        yield Finding("recording", f"works: {counted['events']} events of {counted['processes']} process")
        processes = read_run(Path(counted["folder"]), events=False).processes
        yield Finding("event clock", _clock(processes))
        yield _pauses(processes)
        code, output = _clew(folder, "why", "--workspace", name, "clew doctor")
        if code:
            yield Finding(
                "answering", _last_line(output), "note", "recorded runs cannot be read here; see the libraries above"
            )
        else:
            yield Finding("answering", "works: `clew why` explains a log line of the recorded program")


def _clew(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command of this clew outside of any recording. Return its exit code, and stderr with stdout before it."""
    hidden = (RUN_VARIABLE, CAUSE_VARIABLE, CONTROL_VARIABLE)
    given = {name: value for name, value in os.environ.items() if name not in hidden}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "clew", *arguments],
            cwd=folder, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, f"`clew {arguments[0]}` did not end within {SECONDS:.0f} seconds"
    return done.returncode, done.stdout + done.stderr


def _document(output: str) -> dict[str, Any]:
    """Return the last line as JSON, or an empty document."""
    try:
        found = json.loads(_last_line(output))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _why(output: str, counted: dict[str, Any]) -> str:
    return "; ".join(counted["notes"]) if counted.get("notes") else _last_line(output)


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "the command printed nothing"


def _clock(processes: Sequence[ProcessRecords]) -> str:
    """Return which clock the events have: the processor's cycle counter, or the monotonic clock."""
    names = {Clock.CYCLES: "cycle counter", Clock.MONOTONIC: "monotonic clock"}
    return ", ".join(sorted({names[Clock(process.header.clock)] for process in processes})) or "unknown"


def _pauses(processes: Sequence[ProcessRecords]) -> Finding:
    """Return whether records separate work from the time in which others had the processor."""
    source = next((str(process.info.get("pauses") or "") for process in processes), "")
    if "schedstat" in source:
        return Finding("lost time", "separate from work: clew knows when others had the processor")
    if source:
        return Finding(
            "lost time", "separate from work, but not from sleep", "note", "the kernel does not count delays"
        )
    advice = "a function looks slow when others have the processor; clew needs glibc 2.35 or later to know it"
    return Finding("lost time", "counted as work", "note", advice)
