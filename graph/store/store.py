"""Reads and writes the columnar store of a run, `store/` in its folder: Parquet tables and the arrays of the structure plane.

Invariant: the store is a cache. It is written to a temporary folder and renamed. It is used only if its manifest has this
format and lists exactly the present trace files, and only bytes with their original checksums are used; otherwise it is
rebuilt. After all trace files have been removed, the store replaces them.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from clew.graph.model.graph import ExecutionGraph, Gap, Process, Site, Strand
from clew.graph.model.machines import Machine
from clew.graph.model.structure_plane import MANIFEST as STRUCTURE_MANIFEST
from clew.graph.model.structure_plane import Structure, StructureError
from clew.graph.runtime import worker_process
from clew.graph.runtime.memory_limit import need_of_file, need_of_records, no_memory, no_room, outgrows
from clew.graph.runtime.progress import Progress, no_progress
from clew.graph.store.incremental_cache import discard
from clew.graph.store.lazy_graph import StoredGraph, StoredTables
from clew.graph.store.parquet_read import DamagedTable, sums_of
from clew.graph.store.parquet_write import write_tables
from clew.graph.store.program_texts import ProgramTexts
from clew.graph.store.temp_dir import workplace
from clew.records.errors import Problem, RunError
from clew.records.plan.plan import Level, plain, target_from
from clew.records.run.directory import (
    IMPORT_FILE,
    IMPORTING,
    PLAN_FILE,
    STORE_FOLDER,
    RunInfo,
    load_run,
    record_files,
)
from clew.records.run.liveness import is_abandoned
from clew.records.run.relocated_paths import moved

STORE_FORMAT = 9
"""The version of the store; increment it with every change of its contents or of how a graph is built."""
MANIFEST = "manifest.json"
STRUCTURE_FOLDER = "structure"
_INDEXING = "the index"


class StaleStore(Exception):
    """Raised when the store is missing or belongs to other files, so that it has to be rebuilt."""


class DamagedStore(StaleStore):
    """Raised when the store is incomplete or damaged; the message names the place."""


def open_graph(
    folder: Path, progress: Progress = no_progress, *, spare: bool = False
) -> tuple[ExecutionGraph, list[Problem]]:
    """Return the graph of a run with its problems: from the store if that is valid, else built and stored.

    Building calls `progress`; an exception that it raises stops the build and leaves the old store unchanged. Pass `spare` to
    keep the graph for long: then a worker process builds a large graph, and its columns are in memory only while they are used.

    Raises `RunError` when the folder is not a run, or a damaged store cannot be rebuilt.
    """
    info = load_run(folder)
    graph, problems = _load_or_build(folder, info, progress, spare)
    if spare:
        graph.spare()
    place = moved(folder, info)
    if place is not None:
        graph.sites[:] = [replace(site, file=place(site.file)) for site in graph.sites]
    graph.answers[ProgramTexts.NAME] = ProgramTexts(folder, info.started, place)
    return graph, problems


def _load_or_build(
    folder: Path, info: RunInfo, progress: Progress, spare: bool
) -> tuple[ExecutionGraph, list[Problem]]:
    try:
        found = load(folder)
        discard(folder)  # a process that read the live run may have left its cache
        return found
    except DamagedStore as error:
        return _after_damage(folder, info, str(error), progress, spare)
    except StaleStore:
        return _make(folder, info, progress, spare)


def _make(folder: Path, info: RunInfo, progress: Progress, spare: bool = False) -> tuple[ExecutionGraph, list[Problem]]:
    before, need = fingerprint(folder), _need(folder, info)
    over = info.finished is not None or is_abandoned(folder, info)
    try:
        if outgrows(need, spare=spare) and os.access(folder, os.W_OK):
            # The store of a live run must never be valid: add a file that does not exist.
            made = _make_in_worker(folder, before if over else [*before, _NO_FILE], need, progress)
            if over:
                discard(folder)
            return made
        return _make_here(folder, info, before if over else None, progress)
    except MemoryError:
        raise RunError(no_memory(folder, need)) from None


_NO_FILE = ["", 0, 0]


def _make_here(
    folder: Path, info: RunInfo, before: list[list[Any]] | None, progress: Progress
) -> tuple[ExecutionGraph, list[Problem]]:
    graph, problems = _graph_of(folder, info, progress)
    # The store of a live run would be stale at once.
    if before is not None and fingerprint(folder) == before:
        try:
            save(folder, graph, problems, before, progress)
            discard(folder)
        except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            problem = f"the graph cannot be stored there ({why}); it is rebuilt each time"
            problems.append(Problem(str(folder / STORE_FOLDER), problem))
    progress("", 1, 1)
    return graph, problems


def _graph_of(folder: Path, info: RunInfo, progress: Progress) -> tuple[ExecutionGraph, list[Problem]]:
    if info.imported:
        from clew.graph.formats.read_files import read_again

        return read_again(folder, info, progress)
    if tuple(info.command[:2]) == IMPORTING and not record_files(folder):
        raise RunError(
            f"{folder}: a trace is being imported there, or the import was interrupted; then remove the folder and import again"
        )
    from clew.graph.build.builder import build

    return build(folder, progress, keep=True)


def _need(folder: Path, info: RunInfo) -> int:
    """Return about how many bytes of memory building the run's graph takes."""
    if info.imported:
        from clew.graph.formats.read_files import sources

        return sum(need_of_file(path) for path in sources(folder))
    return sum(need_of_records(path) for path in record_files(folder))


def _make_in_worker(
    folder: Path, of: list[list[Any]], need: int, progress: Progress
) -> tuple[ExecutionGraph, list[Problem]]:
    """Build the store in a worker process and open it, even if it is stale at once: the graph does not fit in memory."""
    try:
        with workplace(folder, STORE_FOLDER) as made:
            worker_process.run(_write_graph, (folder, made, of), made, progress)
            # Open it before the rename: another builder may put its store in place.
            graph, problems = _opened(folder, load_run(folder), made, of)
            _put_in_place(made, folder / STORE_FOLDER)
    except (worker_process.NoRoom, OSError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RunError(no_room(folder, need, why)) from None
    except StaleStore as error:
        raise RunError(f"{folder / STORE_FOLDER}: the newly written store cannot be read ({error})") from None
    progress("", 1, 1)
    return graph, problems


def _write_graph(folder: Path, made: Path, of: list[list[Any]], progress: Progress) -> None:
    graph, problems = _graph_of(folder, load_run(folder), progress)
    _write(made, graph, problems, of, progress)


def _after_damage(
    folder: Path, info: RunInfo, damage: str, progress: Progress = no_progress, spare: bool = False
) -> tuple[ExecutionGraph, list[Problem]]:
    if not info.imported and not record_files(folder):
        raise RunError(
            f"{folder / STORE_FOLDER}: damaged ({damage}), and the trace files to rebuild it from are missing"
        )
    graph, problems = _make(folder, info, progress, spare)
    problems.append(Problem(str(folder / STORE_FOLDER), f"it was damaged ({damage}) and has been rebuilt"))
    return graph, problems


def fingerprint(folder: Path) -> list[list[Any]]:
    """Return the name, size and modification time (ns) of the files that a graph is built from."""
    found = []
    for path in [*record_files(folder), folder / PLAN_FILE, folder / IMPORT_FILE]:
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append([path.name, status.st_size, status.st_mtime_ns])
    return found


def save(
    folder: Path, graph: ExecutionGraph, problems: list[Problem], of: list[list[Any]], progress: Progress = no_progress
) -> None:
    """Write the store, completely or not at all. `of` is the fingerprint of the files it was built from. Raises OSError."""
    with workplace(folder, STORE_FOLDER) as made:
        _write(made, graph, problems, of, progress)
        _put_in_place(made, folder / STORE_FOLDER)


def _write(made: Path, graph: ExecutionGraph, problems: list[Problem], of: list[list[Any]], progress: Progress) -> None:
    progress(_INDEXING, 0, 1)
    structure = graph.structure
    progress(_INDEXING, 1, 1)
    tables = write_tables(made, graph, progress, partial(structure.save, made / STRUCTURE_FOLDER))
    manifest = {
        "format": STORE_FORMAT,
        "fingerprint": of,
        "tables": tables,
        "structure": sums_of((made / STRUCTURE_FOLDER / STRUCTURE_MANIFEST).read_bytes()),
        "strings": graph.strings,
        "machines": [asdict(machine) for machine in graph.machines],
        "levels": [plain(level) for level in graph.levels],
        "counted": [[site, count] for site, count in graph.counted.items()],
        "lost": [asdict(gap) for gap in graph.lost],
        "problems": [problem._asdict() for problem in problems],
    }
    text = json.dumps(manifest)
    (made / MANIFEST).write_text(f"{text}\n{json.dumps(sums_of(text.encode()))}\n", encoding="utf-8")


def _put_in_place(made: Path, place: Path) -> None:
    """Rename the new store into place. A folder cannot replace a non-empty one, so the old store is moved away first."""
    if place.exists():
        with workplace(place.parent, STORE_FOLDER) as old, contextlib.suppress(OSError):
            place.rename(old / "old")
    # If another process was faster, its store is as good as this one.
    with contextlib.suppress(FileExistsError, OSError):
        made.rename(place)


def load(folder: Path) -> tuple[ExecutionGraph, list[Problem]]:
    """Return the stored graph and its problems. Raises `StaleStore`, and `RunError` when the folder is not a run."""
    info = load_run(folder)
    store = folder / STORE_FOLDER
    if not (store / MANIFEST).exists():
        raise DamagedStore(f"{MANIFEST} is missing") if store.exists() else StaleStore
    return _opened(folder, info, store)


def _opened(
    folder: Path, info: RunInfo, store: Path, of: list[list[Any]] | None = None
) -> tuple[ExecutionGraph, list[Problem]]:
    """Open the store in the folder `store`. It may also have the fingerprint `of`, even if files have grown since."""
    try:
        manifest = _manifest(store)
        if manifest["fingerprint"] != of and not _is_of(manifest["fingerprint"], folder):
            raise StaleStore
        if sums_of((store / STRUCTURE_FOLDER / STRUCTURE_MANIFEST).read_bytes()) != manifest["structure"]:
            raise DamagedStore(f"{STRUCTURE_FOLDER}/{STRUCTURE_MANIFEST} has changed")
        problems = [Problem(**problem) for problem in manifest["problems"]]
        tables = StoredTables(store, manifest["tables"], partial(_rebuild, folder, manifest["fingerprint"], problems))
        tables.folder = folder / STORE_FOLDER
        graph = _graph(info, tables, manifest, Structure.load(store / STRUCTURE_FOLDER))
        if (graph.structure.events, graph.structure.edges) != (len(graph), tables.length("edges")):
            raise DamagedStore("its structure belongs to another graph")
        if not info.imported and graph.processes and not record_files(folder):
            problems.append(
                Problem(str(folder), "its trace files are missing; this is the graph that was built from them")
            )
        return graph, problems
    except (
        StructureError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        pa.ArrowException,
    ) as error:
        raise DamagedStore(str(error)) from error


def _manifest(store: Path) -> dict[str, Any]:
    text, _, sums = (store / MANIFEST).read_text(encoding="utf-8").removesuffix("\n").rpartition("\n")
    manifest: dict[str, Any] = json.loads(text or sums)
    if manifest["format"] != STORE_FORMAT:
        raise StaleStore
    if json.loads(sums) != sums_of(text.encode()):
        raise DamagedStore(f"{MANIFEST} has changed")
    return manifest


def _is_of(stored: list[list[Any]], folder: Path) -> bool:
    now = fingerprint(folder)
    if now == stored:
        return True
    # If all trace files have been removed, the store replaces them.
    return not record_files(folder) and [one for one in stored if (folder / one[0]).exists()] == now != stored


def _rebuild(folder: Path, of: list[list[Any]], problems: list[Problem], damage: DamagedTable) -> Mapping[str, Any]:
    """Rebuild a store that was found damaged after it was opened. Return the tables' entry of the new manifest."""
    if _is_of(of, folder):
        _, found = _after_damage(folder, load_run(folder), str(damage))
        problems.append(found[-1])
        with contextlib.suppress(OSError, ValueError, KeyError, StaleStore):
            manifest = _manifest(folder / STORE_FOLDER)
            if manifest["fingerprint"] == of:
                tables: Mapping[str, Any] = manifest["tables"]
                return tables
    raise RunError(f"{folder / STORE_FOLDER}: damaged ({damage}), and rebuilding it failed; open the run again")


def _graph(info: RunInfo, tables: StoredTables, manifest: Mapping[str, Any], structure: Structure) -> StoredGraph:
    rows = {name: tables.get(name, lambda table: table.rows()) for name in ("locations", "processes", "strands")}
    return StoredGraph.of(
        tables,
        {
            "info": info,
            "strings": manifest["strings"],
            "sites": [Site(**_without(row, "location")) for row in rows["locations"]],
            "strands": [Strand(**row) for row in rows["strands"]],
            "processes": [Process(**{**row, "argv": tuple(row["argv"])}) for row in rows["processes"]],
            "machines": tuple(Machine(**machine) for machine in manifest["machines"]),
            "levels": tuple(_level(level) for level in manifest["levels"]),
            "counted": dict(manifest["counted"]),
            "lost": tuple(Gap(**gap) for gap in manifest["lost"]),
            "made_structure": structure,
        },
    )


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _level(data: dict[str, Any]) -> Level:
    return Level(data["name"], tuple((label, target_from(target)) for label, target in data["labels"]))
