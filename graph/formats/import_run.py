"""Runs made of foreign traces: by `clew import`, and wherever a run is asked for and a foreign file is given.

Invariant: a file is imported once: as long as it does not change, the run that was made of it is used.
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
from clew.graph.runtime.progress import Progress, nobody
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
    folder: Path
    info: RunInfo
    read: Imported


class Foreign(NamedTuple):
    """What a run is made of; see `read_files`."""

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
    progress: Progress = nobody,
) -> NewRun:
    """Makes a run of foreign files. `out` is its name, or a folder for it when it has a path's separator; without it the run is
    named after the first file. Raises `ClewError`; then there is no run."""
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
        raise RunError(f"{folder}: the run cannot be kept there ({why}); make room, or name another place") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return NewRun(folder, load_run(folder), read)


def _made(folder: Path, info: RunInfo, of: Foreign, progress: Progress) -> Imported:
    """Beside this process what would not fit into memory. Raises `ClewError` and what cannot be kept raises."""
    need = sum(map(need_of_file, of.files))
    try:
        if not outgrows(need):
            return _make(folder, info, of, progress)
        told = worker_process.run(_make_in_worker, (folder, info, of), folder, progress)
    except worker_process.NoRoom as error:
        raise RunError(no_room(folder, need, str(error))) from None
    except RecursionError:
        files = ", ".join(map(str, of.files))
        raise RunError(f"{files}: it is nested too deeply to be read; write or download it again") from None
    return Imported(load(folder)[0], *told)


def _make(folder: Path, info: RunInfo, of: Foreign, progress: Progress) -> Imported:
    read = read_files(info, of.files, of.format_, of.pattern, progress)
    if not (folder / ORIGIN_FILE).exists():  # else its files are another machine's, and their texts come from there
        lines: dict[str, int] = {}
        for site in read.graph.sites:
            if site.file:
                lines[site.file] = max(lines.get(site.file, 0), site.line)
        source_snapshots.keep_named(folder, lines, read.graph.info.started)
    # The origins come first: a run that says that it is imported can be read at once.
    (folder / IMPORT_FILE).write_text(origins_text(read.origins, of.pattern), encoding="utf-8")
    now = time.time_ns()
    save_run(folder, read.graph.info._replace(imported=now, finished=now, launcher=0))
    save(folder, read.graph, read.problems, fingerprint(folder), progress)
    return read


def is_imported(folder: Path, info: RunInfo) -> bool:
    """Is all there that the run's graph is made of? Who was killed over it may have said only that it is imported."""
    return info.imported > 0 and (folder / IMPORT_FILE).exists()


def finish_import(folder: Path, file: Path) -> None:
    """Makes an imported run of one that was begun for a foreign file, which is full now. What cannot be imported is over all
    the same, with a note that says why. Raises `RunError` and `OSError` where the run cannot be written at all."""
    info, notes = load_run(folder), []
    if file.stat().st_size:
        try:
            _made(folder, info, Foreign((file,), "otlp", ""), nobody)
            return
        except (ClewError, OSError, ValueError, OverflowError, pa.ArrowException) as error:
            notes = [f"what came cannot be imported: {error}"]
    over = load_run(folder)
    save_run(folder, over._replace(finished=time.time_ns(), launcher=0, notes=[*over.notes, *notes]))


def _make_in_worker(
    folder: Path, info: RunInfo, of: Foreign, progress: Progress
) -> tuple[list[Problem], list[Origin], int, int]:
    """As `_make`; all but the graph, which is in the store."""
    read = _make(folder, info, of, progress)
    return read.problems, read.origins, read.spans, read.logs


def _place(workspace: Path, name: str, command: list[str], out: str) -> tuple[Path, RunInfo]:
    plan = dump(Plan())
    if not out or os.sep not in out:
        return create_run(workspace, name=name, command=command, spec="", plan=plan)
    folder = Path(out).absolute()
    if folder.exists():
        raise RunError(f"{folder}: there is something already; name a folder that is not there yet, or remove it")
    try:
        folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise RunError(f"{folder}: cannot be made ({error.strerror}); name another place") from None
    info = RunInfo(folder.name, name, command, str(Path.cwd()), str(workspace), "", 0)
    save_plan(folder, plan)
    save_run(folder, info)
    return folder, info


def run_name(path: Path) -> str:
    """A file's name without what says its format."""
    name = path.name
    suffixes = {*COMPRESSED_SUFFIXES, *(end for each in formats() for end in each.suffixes)}
    while (stem := next((name.removesuffix(end) for end in suffixes if name.endswith(end)), "")) and stem != name:
        name = stem
    return name or "trace"


def run_folder(workspace: Path, which: str | None = None, progress: Progress = nobody) -> Path:
    """The folder of a run by path, id or name, as `find_run`; of a foreign file, or several with commas between (spans and
    their logs), the run that is made of them, which the workspace keeps. Raises `ClewError`."""
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
        raise RunError(f"{missing}: no such file; between commas are the files of one foreign trace")
    return [part.resolve() for part in parts] if all(there) else []


def _is_run(workspace: Path, which: str) -> bool:
    """A run may be called as a file that happens to be there, `app.py` say."""
    return os.sep not in which and any(
        which in (info.id, info.name) and not info.imported
        for _, info in list_runs(workspace)
        if isinstance(info, RunInfo)
    )


def _made_of(workspace: Path, files: Sequence[Path]) -> Path | None:
    """The newest run made of these files alone, as they are now."""
    now = [(str(file), status.st_size, status.st_mtime_ns) for file in files for status in (file.stat(),)]
    for folder, info in list_runs(workspace):
        if not isinstance(info, RunInfo) or not info.imported:
            continue
        try:
            said = json.loads((folder / IMPORT_FILE).read_text(encoding="utf-8"))
            origins = [(one["path"], one["size"], one["modified"]) for one in said["files"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if origins == now and (folder / PLAN_FILE).exists():
            load_run(folder)
            return folder
    return None
