"""The columnar store of a run, `store/` in its folder: plain arrays that are memory-mapped, and tables for any Parquet reader.

Invariant: the store is a cache. It is written beside its place and renamed, and is used only when its manifest names this
format and exactly the trace files that are there; in any doubt it is made anew.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from clew.graph.build import build
from clew.graph.formats.reading import read_again
from clew.graph.model import Calls, ExecutionGraph, Extensions, Machine, Process, Regions, Site, Strand, Texts
from clew.graph.structure import Structure, StructureError
from clew.records.alive import is_abandoned
from clew.records.errors import Problem
from clew.records.plan import Level, Target, plain
from clew.records.run import IMPORT_FILE, PLAN_FILE, STORE_FOLDER, load_run, record_files

STORE_FORMAT = 6
"""Goes up with every change of what is stored or of how a graph is built."""
MANIFEST = "manifest.json"
EVENT_COLUMNS = ("ts", "kind", "site", "strand", "region", "ext", "call", "inner", "idle")
EDGE_COLUMNS = ("edge_src", "edge_dst", "edge_kind", "edge_channel")
STRUCTURE_FOLDER = "structure"


class StaleStore(Exception):
    """The store is not there, or not of these files, or not whole; it has to be made anew."""


def open_graph(folder: Path) -> tuple[ExecutionGraph, list[Problem]]:
    """The graph of a run: from its store when that is whole and of these trace files, else built and stored.

    Raises `RunError` when the folder is no run.
    """
    info = load_run(folder)
    try:
        return load(folder)
    except StaleStore:
        pass
    before = fingerprint(folder)
    over = info.finished is not None or is_abandoned(folder, info)
    graph, problems = read_again(folder, info) if info.imported else build(folder)
    # What is still growing would be stale at once.
    if over and fingerprint(folder) == before:
        try:
            save(folder, graph, problems, before)
        except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            what = f"the graph cannot be kept there ({why}); it is built anew each time"
            problems.append(Problem(str(folder / STORE_FOLDER), what))
    return graph, problems


def fingerprint(folder: Path) -> list[list[Any]]:
    """Name, size and time of change (ns) of the files that a graph is made of."""
    found = []
    for path in [*record_files(folder), folder / PLAN_FILE, folder / IMPORT_FILE]:
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append([path.name, status.st_size, status.st_mtime_ns])
    return found


def save(folder: Path, graph: ExecutionGraph, problems: list[Problem], of: list[list[Any]]) -> None:
    """Writes the store whole or not at all; `of` is the fingerprint of the files it was built from. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=f".{STORE_FOLDER}-", dir=folder))
    try:
        arrays = _arrays(graph)
        # Through Python's own files: their errors say why.
        for name, array in arrays.items():
            with (made / f"{name}.npy").open("wb") as file:
                np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
                file.write(np.ascontiguousarray(array).data)
        graph.structure.save(made / STRUCTURE_FOLDER)
        for name, table in _tables(graph).items():
            with (made / f"{name}.parquet").open("wb") as file:
                pq.write_table(table, file, compression="zstd")
        manifest = {
            "format": STORE_FORMAT,
            "fingerprint": of,
            "arrays": {name: len(array) for name, array in arrays.items()},
            "strings": graph.strings,
            "machines": [asdict(machine) for machine in graph.machines],
            "levels": [plain(level) for level in graph.levels],
            "counted": [[site, count] for site, count in graph.counted.items()],
            "problems": [problem._asdict() for problem in problems],
        }
        (made / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        _put_in_place(made, folder / STORE_FOLDER)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put_in_place(made: Path, place: Path) -> None:
    """A folder cannot be renamed over one that has files: the old one is moved away first."""
    if place.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{STORE_FOLDER}-", dir=place.parent))
        with contextlib.suppress(OSError):
            place.rename(old / "old")
        shutil.rmtree(old, ignore_errors=True)
    # When another process was faster, its store is as good as this one.
    with contextlib.suppress(FileExistsError, OSError):
        made.rename(place)


def load(folder: Path) -> tuple[ExecutionGraph, list[Problem]]:
    """The stored graph and its problems. Raises `StaleStore`, and `RunError` when the folder is no run."""
    info = load_run(folder)
    store = folder / STORE_FOLDER
    try:
        manifest: dict[str, Any] = json.loads((store / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != STORE_FORMAT or manifest["fingerprint"] != fingerprint(folder):
            raise StaleStore
        arrays = {name: _array(store, name, length) for name, length in manifest["arrays"].items()}
        graph = ExecutionGraph(
            info=info,
            **{name: arrays[name] for name in (*EVENT_COLUMNS, *EDGE_COLUMNS)},
            extensions=Extensions(
                arrays["ext_key"], arrays["ext_channel"], arrays["ext_flags"], StoredTexts(store / "texts.parquet")
            ),
            regions=Regions(**{field.name: arrays[f"region_{field.name}"] for field in fields(Regions)}),
            calls=Calls(**{field.name: arrays[f"call_{field.name}"] for field in fields(Calls)}),
            strings=manifest["strings"],
            sites=[Site(**row) for row in _rows(store, "sites")],
            strands=[Strand(**row) for row in _rows(store, "strands")],
            processes=[Process(**{**row, "argv": tuple(row["argv"])}) for row in _rows(store, "processes")],
            machines=tuple(Machine(**machine) for machine in manifest["machines"]),
            levels=tuple(_level(level) for level in manifest["levels"]),
            counted=dict(manifest["counted"]),
            stored_structure=Structure.load(store / STRUCTURE_FOLDER),
        )
        if (graph.structure.events, graph.structure.edges) != (len(graph), len(graph.edge_src)):
            raise StaleStore("its structure is of another graph")
        return graph, [Problem(**problem) for problem in manifest["problems"]]
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
        raise StaleStore(str(error)) from error


def _array(store: Path, name: str, length: int) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.load(store / f"{name}.npy", mmap_mode="r" if length else None, allow_pickle=False)
    if array.shape != (length,):
        raise ValueError(name)
    return array


def _rows(store: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(store / f"{name}.parquet").to_pylist()
    return rows


def _level(data: dict[str, Any]) -> Level:
    return Level(data["name"], tuple((label, Target(**target)) for label, target in data["labels"]))


def _arrays(graph: ExecutionGraph) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(graph, name) for name in (*EVENT_COLUMNS, *EDGE_COLUMNS)}
    extensions = graph.extensions
    arrays |= {"ext_key": extensions.key, "ext_channel": extensions.channel, "ext_flags": extensions.flags}
    arrays |= {f"region_{field.name}": getattr(graph.regions, field.name) for field in fields(Regions)}
    return arrays | {f"call_{field.name}": getattr(graph.calls, field.name) for field in fields(Calls)}


def _tables(graph: ExecutionGraph) -> Mapping[str, pa.Table]:
    return {
        "sites": _table([asdict(site) for site in graph.sites], Site),
        "processes": _table([asdict(process) for process in graph.processes], Process),
        "strands": _table([asdict(strand) for strand in graph.strands], Strand),
        "texts": _texts(graph),
    }


_TYPES = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "tuple[str, ...]": pa.list_(pa.string())}
_UNSIGNED = frozenset({"uid", "parent_uid", "key"})


def _table(rows: list[dict[str, Any]], of: type) -> pa.Table:
    schema = pa.schema(
        [(field.name, pa.uint64() if field.name in _UNSIGNED else _TYPES[str(field.type)]) for field in fields(of)]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def _texts(graph: ExecutionGraph) -> pa.Table:
    """The texts that are not empty: row in the extensions, event, the name of the channel, text."""
    texts = graph.extensions.texts
    if isinstance(texts, Texts):
        rows = np.flatnonzero(texts.start[1:] > texts.start[:-1])
        column = _strings(texts, rows)
    else:
        every = [(row, text) for row in range(len(graph.extensions.key)) if (text := texts[row])]
        rows = np.array([row for row, _ in every], np.int64)
        column = pa.array([text for _, text in every], pa.large_string())
    row_of = np.full(len(graph.extensions.key), -1, np.int64)
    extended = np.flatnonzero(graph.ext >= 0)
    row_of[graph.ext[extended]] = extended
    channel = pa.array(graph.strings, pa.string()).take(pa.array(graph.extensions.channel[rows]))
    return pa.table({"extension": rows, "event": row_of[rows], "channel": channel, "text": column})


def _strings(texts: Texts, rows: npt.NDArray[np.int64]) -> pa.Array:
    """The texts of some rows; those left out have to be empty, so that the others follow each other."""
    offsets = np.append(texts.start[rows], texts.start[-1]).astype(np.int64)
    column = pa.LargeStringArray.from_buffers(
        len(rows), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(texts.data))
    )
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        # A text that was cut inside a character.
        return pa.array([texts[row] for row in rows.tolist()], pa.large_string())
    return column


class StoredTexts:
    """The texts of a store's `texts.parquet`, read when the first one is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise FileNotFoundError(path)

    @cached_property
    def _columns(self) -> tuple[npt.NDArray[np.int64], pa.ChunkedArray]:
        table = pq.read_table(self._path, columns=["extension", "text"])
        return table.column("extension").to_numpy(), table.column("text").combine_chunks()

    def __getitem__(self, row: int) -> str:
        rows, texts = self._columns
        place = int(np.searchsorted(rows, row))
        return str(texts[place]) if place < len(rows) and rows[place] == row else ""
