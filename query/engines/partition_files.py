"""Write and read the files of a partitioned run, in a folder or an object store: `cluster.json`, and a folder per part.

The folder of a part contains a store (Parquet and arrays) and the edges to and from other parts as Parquet. Further arrays
map its rows to rows of the run. Invariants: `cluster.json` is written last and has the size and checksum of every file of
every part. A mismatch raises an error that names the file: a missing or damaged part never causes a wrong answer.
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
from clew.query.engines.partition import REMOTE, Partition, assign, cut
from clew.records.errors import ClewError, Problem
from clew.records.run.directory import RunInfo, save_run

FORMAT = 1
"""The format version; it increases with every change of the files."""
MANIFEST = "cluster.json"
_ARRAYS = ("strands", "starts", "first_region", "edges", "rank")
_REMOTE = ("outgoing", "incoming")
_FIELDS = REMOTE.names or ()


class PartError(ClewError):
    """Raised for an unusable partitioned run; the message names the file."""


@dataclass(frozen=True)
class Manifest:
    """The contents of `cluster.json`."""

    info: RunInfo
    events: int
    edges: int
    regions: int
    parts: tuple[dict[str, Any], ...]
    """Per part, the numbers of its events, edges and remote edges, its processes and machines, and each file's size and
    checksum."""
    strand_start: tuple[int, ...]
    """The first event of each strand."""
    strand_part: tuple[int, ...]
    strand_process: tuple[int, ...]
    counted: dict[int, int]
    problems: tuple[Problem, ...]


# Where the files are


def place(where: str | Path) -> tuple[pafs.FileSystem, str]:
    """Return the file system of a location, and the path in it. Raises `PartError`.

    A location is a local path, a URL that pyarrow supports (s3://, gs://, hdfs://, …), or a URL that fsspec supports, if it
    is installed."""
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
        raise PartError(f"{text}: cannot be reached ({error}); check the URL and the credentials") from None


def is_partitioned(where: str | Path) -> bool:
    """Return whether a location has a partitioned run."""
    if "://" not in str(where):
        return (Path(where) / MANIFEST).is_file()
    system, path = place(where)
    try:
        return bool(system.get_file_info(f"{path}/{MANIFEST}").type == pafs.FileType.File)
    except (OSError, pa.ArrowException) as error:
        raise PartError(f"{where}: cannot be read ({error})") from None


@contextmanager
def _new_folder(where: str | Path) -> Iterator[Path]:
    """Yield a local folder to fill, which then moves to `where`, complete or not at all."""
    system, path = place(where)
    local = isinstance(system, pafs.LocalFileSystem)
    try:
        if system.get_file_info(path).type != pafs.FileType.NotFound:
            raise PartError(f"{where}: already exists; name a new folder, or remove this one")
        if local:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".clew-parts-", dir=Path(path).parent if local else None))
    except OSError as error:
        raise PartError(f"{where}: cannot be created ({error.strerror or error}); name another folder") from None
    try:
        yield made
        if local:
            made.rename(path)
        else:
            # Copy the manifest last: a folder without a manifest is not a run.
            head = made / MANIFEST
            text = head.read_bytes()
            head.unlink()
            system.create_dir(path)
            pafs.copy_files(str(made), path, source_filesystem=pafs.LocalFileSystem(), destination_filesystem=system)
            with system.open_output_stream(f"{path}/{MANIFEST}") as file:
                file.write(text)
    except (OSError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or error
        raise PartError(f"{where}: cannot be written ({why}); free space, or name another folder") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


# Writing


def partition(
    graph: ExecutionGraph, where: str | Path, parts: int | None = None, problems: tuple[Problem, ...] = ()
) -> int:
    """Write a graph as parts, by machine and then by process, and return the number of parts.

    By default, each machine is a part; the number of parts never exceeds the number of processes. Raises `PartError` if
    `parts` is less than 1 or writing fails."""
    processes = max(1, len(graph.processes))
    count = parts if parts is not None else max(1, len({process.machine for process in graph.processes}))
    if count < 1:
        raise PartError(f"{count} parts: give 1 or more")
    part_of_process = assign(graph, min(count, processes))
    with _new_folder(where) as folder:
        about = [
            _write_part(folder, number, partition, graph)
            for number, partition in enumerate(cut(graph, part_of_process))
        ]
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
    """Return the name of a part's folder."""
    return f"part-{number:04d}"


def _write_part(folder: Path, number: int, partition: Partition, whole: ExecutionGraph) -> dict[str, Any]:
    """Write the files of a part, and return its entry in the manifest."""
    here = folder / part_name(number)
    here.mkdir()
    save_run(here, partition.graph.info)
    save(here, partition.graph, [], [])
    for name in _ARRAYS:
        np.save(here / f"{name}.npy", getattr(partition, name), allow_pickle=False)
    for name in _REMOTE:
        edges = getattr(partition, name)
        with (here / f"{name}.parquet").open("wb") as file:
            pq.write_table(pa.table({field: edges[field] for field in _FIELDS}), file, compression="zstd")
    processes = sorted({strand.process for strand in partition.graph.strands})
    return {
        "events": len(partition.graph),
        "edges": len(partition.graph.edge_src),
        "outgoing": len(partition.outgoing),
        "incoming": len(partition.incoming),
        "incoming_parts": np.unique(partition.incoming["far_part"]).tolist(),
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
    """Read and check `cluster.json`. Raises `PartError`."""
    system, path = place(where)
    name = f"{where}/{MANIFEST}"
    try:
        with system.open_input_stream(f"{path}/{MANIFEST}") as file:
            content = json.loads(file.read())
        if content["format"] != FORMAT:
            raise PartError(
                f"{name}: has format {content['format']}, but this clew reads format {FORMAT}; partition the run again: "
                "`clew cluster partition RUN -o FOLDER`"
            )
        numbers = {name: tuple(map(int, content[name])) for name in ("strand_start", "strand_part", "strand_process")}
        return Manifest(
            RunInfo(**content["info"]),
            int(content["events"]),
            int(content["edges"]),
            int(content["regions"]),
            tuple(content["parts"]),
            **numbers,
            counted={int(site): int(count) for site, count in content["counted"]},
            problems=tuple(Problem(**problem) for problem in content["problems"]),
        )
    except FileNotFoundError:
        free = "FOLDER" if Path(where).exists() else where
        raise PartError(
            f"{where}: not a partitioned run ({MANIFEST} is missing); make one: `clew cluster partition RUN -o {free}`"
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise PartError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise PartError(f"{name}: damaged ({error}); partition the run again") from None


def read_part(where: str | Path, manifest: Manifest, number: int) -> Partition:
    """Load a part and verify its files; fetch it first from an object store. Raises `PartError`."""
    system, path = place(where)
    name = f"{where}/{part_name(number)}"
    if isinstance(system, pafs.LocalFileSystem):
        return _read(Path(path) / part_name(number), name, manifest, number)
    # Memory-mapped files stay readable after the temporary folder is removed.
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
        partition = _read(Path(fetched), name, manifest, number)

        if len(partition.graph.extensions.key):
            partition.graph.extensions.text(0)  # texts are loaded on first use: load them while the files exist
        return partition


def _read(folder: Path, name: str, manifest: Manifest, number: int) -> Partition:
    """Verify and load the files of a part; `name` appears in errors."""
    if not folder.is_dir():
        raise PartError(f"{name}: missing part; copy it there, or partition the run again")
    try:
        for file, (size, checksum) in manifest.parts[number]["files"].items():
            path = folder / file
            if not path.is_file():
                raise PartError(f"{name}/{file}: missing; copy the part again, or partition the run again")
            if path.stat().st_size != size or _checksum(path) != checksum:
                raise PartError(
                    f"{name}/{file}: damaged or from another run; copy the part again, or partition the run again"
                )
        graph, _ = load(folder)
        arrays: dict[str, npt.NDArray[Any]] = {
            array: np.load(folder / f"{array}.npy", allow_pickle=False) for array in _ARRAYS
        }
        return Partition(graph, **arrays, **{edges: _remote(folder / f"{edges}.parquet") for edges in _REMOTE})
    except StaleStore as error:
        raise PartError(f"{name}: written by another version of clew ({error}); partition the run again") from None
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
