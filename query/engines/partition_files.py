"""A run in parts as files, in a folder or an object store: `cluster.json`, and a folder per part.

A part's folder holds a store as a run's does (Parquet and arrays), the edges to other parts as Parquet, and arrays that map
its rows to rows of the run. Invariants: `cluster.json` is written last and has size and checksum of every file of every part.
A mismatch raises an error that names the file, so that a missing or damaged part is an error and never a wrong answer.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from clew.graph.model.graph import ExecutionGraph
from clew.graph.store.store import StaleStore, load, save
from clew.query.engines.partition import REMOTE, Piece, assign, cut
from clew.records.errors import ClewError, Problem
from clew.records.run.directory import RunInfo, save_run

FORMAT = 1
"""The format version; it increases with every change of the files."""
MANIFEST = "cluster.json"
_ARRAYS = ("strands", "starts", "first_region", "edges", "rank")
_REMOTE = ("outgoing", "incoming")
_FIELDS = REMOTE.names or ()


class PartError(ClewError):
    """Raised when a run in parts is unusable; the message names the file."""


@dataclass(frozen=True)
class Manifest:
    """The contents of `cluster.json`."""

    info: RunInfo
    events: int
    edges: int
    regions: int
    parts: tuple[dict[str, Any], ...]
    """Per part its events, edges, remote edges, processes and machines, and per file (size, checksum)."""
    strand_start: tuple[int, ...]
    """Per strand its first event."""
    strand_part: tuple[int, ...]
    strand_process: tuple[int, ...]
    counted: dict[int, int]
    problems: tuple[Problem, ...]


# Where the files are


def place(where: str | Path) -> tuple[pafs.FileSystem, str]:
    """The file system and the path in it: of a local path, of a URL that pyarrow knows (s3://, gs://, hdfs://, …), or of
    another one when fsspec is installed and knows it. Raises `PartError`."""
    text = str(where)
    if "://" not in text:
        return pafs.LocalFileSystem(), str(Path(text).absolute())
    try:
        system, path = pafs.FileSystem.from_uri(text)
        return system, path
    except (pa.ArrowException, OSError, ValueError) as error:
        refused = error
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(text)
        return pafs.PyFileSystem(pafs.FSSpecHandler(system)), path
    except ImportError:
        raise PartError(f"{text}: cannot be reached ({refused}); for other kinds of storage install fsspec") from None
    except (OSError, ValueError) as error:
        raise PartError(f"{text}: cannot be reached ({error}); check the URL and what it needs to log in") from None


def is_partitioned(where: str | Path) -> bool:
    """Return whether a run in parts exists there."""
    if "://" not in str(where):
        return (Path(where) / MANIFEST).is_file()
    system, path = place(where)
    try:
        return bool(system.get_file_info(f"{path}/{MANIFEST}").type == pafs.FileType.File)
    except (OSError, pa.ArrowException) as error:
        raise PartError(f"{where}: cannot be read ({error})") from None


@contextmanager
def _new_folder(where: str | Path) -> Iterator[Path]:
    """Yield a local folder that ends up at `where` complete or not at all."""
    system, path = place(where)
    local = isinstance(system, pafs.LocalFileSystem)
    try:
        if system.get_file_info(path).type != pafs.FileType.NotFound:
            raise PartError(f"{where}: there is something already; name a folder that is not there yet, or remove it")
        if local:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".clew-parts-", dir=Path(path).parent if local else None))
    except OSError as error:
        raise PartError(f"{where}: cannot be made ({error.strerror or error}); name another place") from None
    try:
        yield made
        if local:
            made.rename(path)
        else:
            # The manifest comes last: without it there is no run.
            head = made / MANIFEST
            text = head.read_bytes()
            head.unlink()
            system.create_dir(path)
            pafs.copy_files(str(made), path, source_filesystem=pafs.LocalFileSystem(), destination_filesystem=system)
            with system.open_output_stream(f"{path}/{MANIFEST}") as file:
                file.write(text)
    except (OSError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or error
        raise PartError(f"{where}: cannot be written ({why}); make room, or name another place") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


# Writing


def partition(
    graph: ExecutionGraph, where: str | Path, parts: int | None = None, problems: tuple[Problem, ...] = ()
) -> int:
    """Writes a graph in parts, by machine, then by process; one part per machine unless said otherwise. Gives how many there
    are: no more than processes. Raises `PartError` when it cannot be kept there."""
    processes = max(1, len(graph.processes))
    wanted = parts if parts is not None else max(1, len({process.machine for process in graph.processes}))
    if wanted < 1:
        raise PartError(f"{wanted} parts: give 1 or more")
    part_of_process = assign(graph, min(wanted, processes))
    with _new_folder(where) as folder:
        about = [_write_part(folder, number, piece, graph) for number, piece in enumerate(cut(graph, part_of_process))]
        manifest = {
            "format": FORMAT,
            "info": graph.info._asdict(),
            "events": len(graph),
            "edges": len(graph.edge_src),
            "regions": len(graph.regions),
            "parts": about,
            "strand_start": [strand.start for strand in graph.strands],
            "strand_part": [int(part_of_process[strand.process]) for strand in graph.strands],
            "strand_process": [strand.process for strand in graph.strands],
            "counted": [[site, count] for site, count in graph.counted.items()],
            "problems": [problem._asdict() for problem in problems],
        }
        (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return len(about)


def part_name(number: int) -> str:
    return f"part-{number:04d}"


def _write_part(folder: Path, number: int, piece: Piece, whole: ExecutionGraph) -> dict[str, Any]:
    here = folder / part_name(number)
    here.mkdir()
    save_run(here, piece.graph.info)
    save(here, piece.graph, [], [])
    for name in _ARRAYS:
        np.save(here / f"{name}.npy", getattr(piece, name), allow_pickle=False)
    for name in _REMOTE:
        edges = getattr(piece, name)
        with (here / f"{name}.parquet").open("wb") as file:
            pq.write_table(pa.table({field: edges[field] for field in _FIELDS}), file, compression="zstd")
    processes = sorted({strand.process for strand in piece.graph.strands})
    return {
        "events": len(piece.graph),
        "edges": len(piece.graph.edge_src),
        "outgoing": len(piece.outgoing),
        "incoming": len(piece.incoming),
        "incoming_parts": np.unique(piece.incoming["far_part"]).tolist(),
        "processes": processes,
        "machines": sorted({whole.processes[process].machine for process in processes}),
        "files": {
            path.relative_to(here).as_posix(): [path.stat().st_size, _checksum(path)]
            for path in sorted(here.rglob("*"))
            if path.is_file()
        },
    }


def _checksum(path: Path) -> int:
    total = 0
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            total = zlib.crc32(block, total)
    return total


# Reading


def read_manifest(where: str | Path) -> Manifest:
    """Raises `PartError`."""
    system, path = place(where)
    name = f"{where}/{MANIFEST}"
    try:
        with system.open_input_stream(f"{path}/{MANIFEST}") as file:
            said = json.loads(file.read())
        if said["format"] != FORMAT:
            raise PartError(
                f"{name}: it has format {said['format']}, this clew reads {FORMAT}; partition the run again: "
                "`clew cluster partition RUN -o FOLDER`"
            )
        numbers = {name: tuple(map(int, said[name])) for name in ("strand_start", "strand_part", "strand_process")}
        return Manifest(
            RunInfo(**said["info"]),
            int(said["events"]),
            int(said["edges"]),
            int(said["regions"]),
            tuple(said["parts"]),
            **numbers,
            counted={int(site): int(count) for site, count in said["counted"]},
            problems=tuple(Problem(**problem) for problem in said["problems"]),
        )
    except FileNotFoundError:
        free = "FOLDER" if Path(where).exists() else where
        raise PartError(
            f"{where}: there is no run in parts ({MANIFEST} is missing); make one: `clew cluster partition RUN -o {free}`"
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise PartError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise PartError(f"{name}: damaged ({error}); partition the run again") from None


def read_part(where: str | Path, manifest: Manifest, number: int) -> Piece:
    """Load and verify a part; a part in an object store is fetched first. Raises `PartError`."""
    system, path = place(where)
    name = f"{where}/{part_name(number)}"
    if isinstance(system, pafs.LocalFileSystem):
        return _read(Path(path) / part_name(number), name, manifest, number)
    # What is mapped from the fetched files stays readable when their names are gone.
    with tempfile.TemporaryDirectory(prefix="clew-part-") as fetched:
        try:
            pafs.copy_files(
                f"{path}/{part_name(number)}",
                fetched,
                source_filesystem=system,
                destination_filesystem=pafs.LocalFileSystem(),
            )
        except (OSError, pa.ArrowException) as error:
            raise PartError(f"{name}: cannot be fetched ({error})") from None
        piece = _read(Path(fetched), name, manifest, number)

        if len(piece.graph.extensions.key):
            piece.graph.extensions.text(0)  # texts are read when they are first asked for: now
        return piece


def _read(folder: Path, name: str, manifest: Manifest, number: int) -> Piece:
    if not folder.is_dir():
        raise PartError(f"{name}: this part is missing; copy it there, or partition the run again")
    try:
        for file, (size, checksum) in manifest.parts[number]["files"].items():
            path = folder / file
            if not path.is_file():
                raise PartError(f"{name}/{file}: missing; copy the part again, or partition the run again")
            if path.stat().st_size != size or _checksum(path) != checksum:
                raise PartError(
                    f"{name}/{file}: damaged or of another run; copy the part again, or partition the run again"
                )
        graph, _ = load(folder)
        arrays: dict[str, npt.NDArray[Any]] = {
            array: np.load(folder / f"{array}.npy", allow_pickle=False) for array in _ARRAYS
        }
        return Piece(graph, **arrays, **{edges: _remote(folder / f"{edges}.parquet") for edges in _REMOTE})
    except StaleStore as error:
        raise PartError(f"{name}: its store is of another version of clew ({error}); partition the run again") from None
    except (OSError, pa.ArrowException) as error:
        raise PartError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PartError(f"{name}: damaged ({error}); partition the run again") from None


def _remote(path: Path) -> npt.NDArray[Any]:
    table = pq.read_table(path)
    edges = np.zeros(table.num_rows, REMOTE)
    for field in _FIELDS:
        edges[field] = table.column(field).to_numpy()
    return edges
