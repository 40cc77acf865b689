"""Record a program by a spec, and write the recorded events as text that is the same in every run.

Each line is an event: its kind, its place and its contents. Keys without a text are numbered #1, #2 … in order of appearance,
and so are the ids of objects.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import clew.instrument.startup
from clew.esl import compile_text
from clew.records.format.event import CALLS, FLAG_AMBIGUOUS, FLAG_FAILED, FLAG_OVER, FLAG_TRUNCATED, Kind
from clew.records.plan import plan as plans
from clew.records.read.process_records import ProcessRecords
from clew.records.read.reader import read_run
from clew.records.run.directory import RUN_VARIABLE, create_run

STARTUP = Path(clew.instrument.startup.__file__).parent
_FLAGS = {FLAG_TRUNCATED: "cut", FLAG_FAILED: "failed", FLAG_AMBIGUOUS: "by address", FLAG_OVER: "over"}


def record(
    program: Path,
    spec: str,
    folder: Path,
    *arguments: str,
    settings: dict[str, str] | None = None,
) -> list[ProcessRecords]:
    """Record `program` by a spec of this text and return the processes of the run."""
    return list(read_run(run_of(program, spec, folder, *arguments, settings=settings)).processes)


def run_of(program: Path, spec: str, folder: Path, *arguments: str, settings: dict[str, str] | None = None) -> Path:
    """Record `program` and return the folder of the run."""
    compiled = compile_text(spec, f"{program.stem}.esl", program.parent, settings)
    plan = plans.dump(compiled.require())
    run, _ = create_run(folder, name="golden", command=[str(program)], spec="", plan=plan)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_RUN", "PYTHON"))}
    path = os.pathsep.join(filter(None, (str(STARTUP), os.environ.get("PYTHONPATH", ""))))
    environment |= {RUN_VARIABLE: str(run), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(program), *arguments]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return run


def written(processes: list[ProcessRecords], *, notes: bool = True) -> str:
    """Return all recorded events as text, by process and thread."""
    writer = _Writer()
    lines: list[str] = []
    for process in processes:
        for serial, thread in sorted(process.threads.items()):
            lines += ([f"[{thread.name}]"] if len(process.threads) > 1 else []) + list(writer.thread(process, serial))
        if notes:
            lines += [f"note: {note.text}" for note in process.notes]
    return "\n".join(lines) + "\n"


def entities(processes: list[ProcessRecords]) -> list[dict]:
    """Return the entity events in their stored order."""
    found = []
    for process in processes:
        for serial in sorted(process.threads):
            events = [event for event in process.events(serial) if event.kind == Kind.ENTITY]
            found += [json.loads(event.extension.text) for event in events if not event.extension.flags & FLAG_FAILED]
    return found


ROOT = Path(__file__).resolve().parents[3]


class _Writer:
    def __init__(self) -> None:
        self.keys: dict[int, str] = {}
        self.ids: dict[str, str] = {}

    def thread(self, process: ProcessRecords, serial: int):
        depth = 0
        for event in process.events(serial):
            kind, extension = Kind(event.kind), event.extension
            if kind is Kind.PAUSE:
                continue  # the operating system decides about these
            depth -= kind in (Kind.EXIT, Kind.UNWIND, Kind.SUSPEND)
            site = process.sites.get(event.site)
            name = site.qualname.replace("<locals>.", "") if site else ""
            words = [kind.name, name if kind in CALLS or kind in (Kind.LOG, Kind.GAP) else ""]
            if extension is not None:
                words += [process.strings.get(extension.channel, ""), self.key(kind, extension.key, extension.text)]
                words += [self.text(extension.text)]
                words += [word for flag, word in _FLAGS.items() if extension.flags & flag]
            yield "  " * depth + " ".join(word for word in words if word)
            depth += kind in (Kind.ENTER, Kind.RESUME)

    def key(self, kind: Kind, key: int, text: str) -> str:
        if kind in (Kind.LOG, Kind.GAP):
            return str(key)
        return self.keys.setdefault(key, f"#{len(self.keys) + 1}") if key else ""

    def text(self, text: str) -> str:
        def numbered(match: re.Match[str]) -> str:
            return match[1] + self.ids.setdefault(match[2], f"@{len(self.ids) + 1}")

        text = re.sub(r'"stack":\d+', '"stack":_', text)
        return re.sub(r'("id":|^|at 0x)([0-9a-f]{9,})', numbered, text).replace(f"{ROOT}/", "")
