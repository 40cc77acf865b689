"""Import foreign traces as runs: by `clew import`, and wherever a foreign file is given in place of a run.

Invariant: a file is imported once; its run is reused until the file changes.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from clew.graph.formats.read_files import Imported, Origin, origins_text, read_files
from clew.graph.formats.registry import AUTO, formats
from clew.graph.formats.source import COMPRESSED_SUFFIXES
from clew.graph.runtime import worker_process
from clew.graph.runtime.memory_limit import need_of_file, no_room, outgrows
from clew.graph.runtime.progress import Progress, no_progress
from clew.graph.store.store import fingerprint, load, save
from clew.records.errors import ClewError, Problem, RunError
from clew.records.plan.plan import Plan, dump
from clew.records.run import source_snapshots
from clew.records.run.directory import (
    IMPORT_FILE,
    IMPORTING,
    ORIGIN_FILE,
    PLAN_FILE,
    RunInfo,
    create_run,
    find_run,
    list_runs,
    load_run,
    save_plan,
    save_run,
)


@dataclass(frozen=True)
class NewRun:
    """An imported run."""

    folder: Path
    info: RunInfo
    read: Imported


class Foreign(NamedTuple):
    """The source of an imported run; see `read_files`."""

    files: tuple[Path, ...]
    format_: str
    pattern: str


def import_run(
    workspace: Path,
    files: Sequence[Path],
    *,
    out: str = "",
    format_: str = AUTO,
    pattern: str = "",
    progress: Progress = no_progress,
) -> NewRun:
    """Import foreign files as a run.

    `out` is the run's name, or its folder if it contains a path separator. Without it, the run is named after the first file.
    Raises `ClewError`, and removes the run in that case.
    """
    name = out if out and os.sep not in out else run_name(Path(out) if out else files[0])
    command = [*IMPORTING, *(str(file) for file in files)]
    made = _place(workspace, name, command, out)
    folder, info = made
    try:
        read = _made(folder, info, Foreign(tuple(files), format_, pattern), progress)
        progress("", 1, 1)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        shutil.rmtree(folder, ignore_errors=True)
        why = getattr(error, "strerror", None) or str(error)
        raise RunError(
            f"{folder}: the run cannot be saved there ({why}); free disk space, or name another folder"
        ) from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return NewRun(folder, load_run(folder), read)


def _made(folder: Path, info: RunInfo, of: Foreign, progress: Progress) -> Imported:
    """Import the files, in a worker process if they would not fit into memory.

    Raises `ClewError`, and the errors of saving the run.
    """
    need = sum(map(need_of_file, of.files))
    try:
        if not outgrows(need):
            return _make(folder, info, of, progress)
        answer = worker_process.run(_make_in_worker, (folder, info, of), folder, progress)
    except worker_process.NoRoom as error:
        raise RunError(no_room(folder, need, str(error))) from None
    except RecursionError:
        files = ", ".join(map(str, of.files))
        raise RunError(f"{files}: nested too deeply to be read; write or download it again") from None
    return Imported(load(folder)[0], *answer)


def _make(folder: Path, info: RunInfo, of: Foreign, progress: Progress) -> Imported:
    read = read_files(info, of.files, of.format_, of.pattern, progress)
    if not (
        folder / ORIGIN_FILE
    ).exists():  # otherwise the source files are on another machine, which sends their texts
        lines: dict[str, int] = {}
        for site in read.graph.sites:
            if site.file:
                lines[site.file] = max(lines.get(site.file, 0), site.line)
        source_snapshots.keep_named(folder, lines, read.graph.info.started)
    # Write the origins first: a run that is marked as imported must be readable.
    (folder / IMPORT_FILE).write_text(origins_text(read.origins, of.pattern), encoding="utf-8")
    now = time.time_ns()
    save_run(folder, read.graph.info._replace(imported=now, finished=now, launcher=0))
    save(folder, read.graph, read.problems, fingerprint(folder), progress)
    return read


def is_imported(folder: Path, info: RunInfo) -> bool:
    """Return whether an import completed. A killed import can leave a run without its list of files."""
    return info.imported > 0 and (folder / IMPORT_FILE).exists()


def finish_import(folder: Path, file: Path) -> None:
    """Turn a run that received a foreign file into an imported run, now that the file is complete.

    If the import fails, the run ends with a note of the reason. Raises `RunError` and `OSError` if it cannot be written.
    """
    info, notes = load_run(folder), []
    if file.stat().st_size:
        try:
            _made(folder, info, Foreign((file,), "otlp", ""), no_progress)
            return
        except (ClewError, OSError, ValueError, OverflowError, pa.ArrowException) as error:
            notes = [f"the received data cannot be imported: {error}"]
    over = load_run(folder)
    save_run(folder, over._replace(finished=time.time_ns(), launcher=0, notes=[*over.notes, *notes]))


def _make_in_worker(
    folder: Path, info: RunInfo, of: Foreign, progress: Progress
) -> tuple[list[Problem], list[Origin], int, int]:
    """Do the same as `_make`; return everything but the graph, which is in the store."""
    read = _make(folder, info, of, progress)
    return read.problems, read.origins, read.spans, read.logs


def _place(workspace: Path, name: str, command: list[str], out: str) -> tuple[Path, RunInfo]:
    plan = dump(Plan())
    if not out or os.sep not in out:
        return create_run(workspace, name=name, command=command, spec="", plan=plan)
    folder = Path(out).absolute()
    if folder.exists():
        raise RunError(f"{folder}: the folder exists already; remove it, or name another one")
    try:
        folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise RunError(f"{folder}: cannot be created ({error.strerror}); name another folder") from None
    info = RunInfo(folder.name, name, command, str(Path.cwd()), str(workspace), "", 0)
    save_plan(folder, plan)
    save_run(folder, info)
    return folder, info


def run_name(path: Path) -> str:
    """Return a file's name without the suffixes of formats."""
    name = path.name
    suffixes = {*COMPRESSED_SUFFIXES, *(end for each in formats() for end in each.suffixes)}
    while (stem := next((name.removesuffix(end) for end in suffixes if name.endswith(end)), "")) and stem != name:
        name = stem
    return name or "trace"


def run_folder(workspace: Path, which: str | None = None, progress: Progress = no_progress) -> Path:
    """Return the folder of a run by path, id or name, like `find_run`.

    For a foreign file, or comma-separated files (spans and their logs), return the imported run in the workspace, and import
    it if necessary. Raises `ClewError`.
    """
    files = _foreign_files(which) if which else []
    if not which or not files or _is_run(workspace, which):
        return find_run(workspace, which)
    known = _made_of(workspace, files)
    return known or import_run(workspace, files, progress=progress).folder


def _foreign_files(which: str) -> list[Path]:
    if Path(which).is_file():
        return [Path(which).resolve()]
    parts = [Path(part) for part in which.split(",")]
    there = [part.is_file() for part in parts]
    if len(parts) > 1 and any(there) and not all(there):
        missing = parts[there.index(False)]
        raise RunError(f"{missing}: no such file; commas separate the files of one foreign trace")
    return [part.resolve() for part in parts] if all(there) else []


def _is_run(workspace: Path, which: str) -> bool:
    """Return whether a text is a run's id or name; a run can have the name of an existing file, such as `app.py`."""
    return os.sep not in which and any(
        which in (info.id, info.name) and not info.imported
        for _, info in list_runs(workspace)
        if isinstance(info, RunInfo)
    )


def _made_of(workspace: Path, files: Sequence[Path]) -> Path | None:
    """Return the newest run imported from exactly these files in their present state."""
    now = [(str(file), status.st_size, status.st_mtime_ns) for file in files for status in (file.stat(),)]
    for folder, info in list_runs(workspace):
        if not isinstance(info, RunInfo) or not info.imported:
            continue
        try:
            data = json.loads((folder / IMPORT_FILE).read_text(encoding="utf-8"))
            origins = [(one["path"], one["size"], one["modified"]) for one in data["files"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if origins == now and (folder / PLAN_FILE).exists():
            load_run(folder)
            return folder
    return None
