"""Makes execution graphs of the paper's shape as arrays in a folder; the simulation is `generate.c`, compiled when needed.

Invariant: rows are sorted by strand and time, regions by their first row, edges by their source; no effect precedes its cause.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
HERE = Path(__file__).parent
JOB = 150_000_000
"""Events of one job at most; a larger graph is several jobs, one after the other in its rows."""
MACHINES = 60
PER_REGION, PER_EDGE = 5.5, 5.0
"""Room is made for a region in so many events, and for an edge."""


TYPES = {
    "run_row": "u4",
    "src": "u4",
    "dst": "u4",
    "edge_kind": "u1",
    "ts": "i8",
    "strand_start": "i8",
    "strand_process": "u4",
    "process_machine": "u4",
}


class _Wanted(ctypes.Structure):
    _fields_ = [
        ("events", ctypes.c_uint64),
        ("machines", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
        ("remote", ctypes.c_double),
        ("local", ctypes.c_double),
        ("region_room", ctypes.c_uint64),
        ("edge_room", ctypes.c_uint64),
        ("strand_room", ctypes.c_uint64),
        ("process_room", ctypes.c_uint64),
    ]


class _Made(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("events", "regions", "edges", "strands", "processes")]


COLUMNS = {
    "region": {"strand": "u4", "offset": "u4", "size": "u4", "step": "u4", "time": "i8"},
    "edge": {"src": "u4", "src_offset": "u4", "dst": "u4", "dst_offset": "u4", "edge_kind": "u1"},
    "strand": {"strand_process": "u4", "strand_events": "u4"},
    "process": {"process_machine": "u4", "process_kind": "u4"},
}


class _Tables(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for columns in COLUMNS.values() for name in columns]


@dataclass(frozen=True)
class Data:
    """A generated graph, mapped from its files."""

    folder: Path
    events: int
    root: int
    """The row where the first job begins."""
    run_row: Array
    """First row of each region, ascending."""
    src: Array
    dst: Array
    edge_kind: Array
    ts: Array
    strand_start: Array
    strand_process: Array
    process_machine: Array

    @property
    def regions(self) -> int:
        return len(self.run_row)


def library(folder: Path) -> ctypes.CDLL:
    """The compiled simulation. Exits where there is no C compiler."""
    made = folder / "generate.so"
    source = HERE / "generate.c"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            sys.exit("there is no C compiler to build the generator with: apt-get install gcc")
        command = [compiler, "-O2", "-std=c11", "-shared", "-fPIC", str(source), "-o", str(made), "-lm"]
        subprocess.run(command, check=True)
    return ctypes.CDLL(str(made))


def make(events: int, folder: Path, seed: int = 1) -> Data:
    """Generates a graph of about so many events, unless the folder has it already."""
    place = folder / f"{events}-{seed}"
    if not (place / "about.json").exists():
        place.mkdir(parents=True, exist_ok=True)
        made = library(folder)
        jobs = max(1, round(events / JOB))
        rows = strands = processes = root = 0
        with contextlib.ExitStack() as files:
            out = {name: files.enter_context((place / f"{name}.bin").open("wb")) for name in TYPES}
            for job in range(jobs):
                tables, job_root = _job(made, events // jobs, seed + job)
                root = root or job_root
                offsets = {"strand_process": processes, "strand_start": rows, "run_row": rows, "src": rows, "dst": rows}
                for name, table in tables.items():
                    (table + offsets.get(name, 0)).astype(TYPES[name]).tofile(out[name])
                rows += len(tables["ts"])
                strands += len(tables["strand_process"])
                processes += len(tables["process_machine"])
            np.array([rows], TYPES["strand_start"]).tofile(out["strand_start"])
        (place / "about.json").write_text(json.dumps({"events": rows, "root": root}))
    return load(place)


def load(place: Path) -> Data:
    about = json.loads((place / "about.json").read_text())
    arrays = {name: np.asarray(np.memmap(place / f"{name}.bin", dtype, "r")) for name, dtype in TYPES.items()}
    return Data(place, about["events"], about["root"], **arrays)


def _job(made: ctypes.CDLL, events: int, seed: int) -> tuple[dict[str, Array], int]:
    """One job's tables, rows counted from 0, and the row where it begins."""
    workers = events // 45_000 + 6
    rooms = {
        "region": int(events / PER_REGION) + 100_000,
        "edge": int(events / PER_EDGE) + 100_000,
        "process": workers + 2 * MACHINES + 2,
        "strand": 6 * workers + 24 * MACHINES + 10,
    }
    t = {name: np.empty(rooms[of], dtype) for of, columns in COLUMNS.items() for name, dtype in columns.items()}
    wanted = _Wanted(
        events, MACHINES, seed, 0.0015, 0.0015, *(rooms[of] for of in ("region", "edge", "strand", "process"))
    )
    tables, counts = _Tables(*(array.ctypes.data for array in t.values())), _Made()
    if made.generate(ctypes.byref(wanted), ctypes.byref(tables), ctypes.byref(counts)):
        sys.exit("the generated graph is larger than there is room for")
    found = {"region": counts.regions, "edge": counts.edges, "process": counts.processes, "strand": counts.strands}
    t = {name: t[name][: found[of]] for of, columns in COLUMNS.items() for name in columns}

    start = np.concatenate(([0], np.cumsum(t["strand_events"], dtype=np.int64)))
    row = start[t["strand"]] + t["offset"]
    ends = {end: (row[t[end]] + t[f"{end}_offset"]).astype(np.uint32) for end in ("src", "dst")}
    ts = np.empty(counts.events, np.int64)
    columns = (row.astype(np.uint64), t["size"], t["step"], t["time"], ts)
    made.fill_times(ctypes.c_uint64(counts.regions), *(ctypes.c_void_p(column.ctypes.data) for column in columns))
    order = np.argsort(ends["src"], kind="stable")
    tables_ = {
        "run_row": np.sort(row),
        "src": ends["src"][order],
        "dst": ends["dst"][order],
        "edge_kind": t["edge_kind"][order],
        "ts": ts,
        "strand_start": start[:-1],
        "strand_process": t["strand_process"],
        "process_machine": t["process_machine"],
    }
    return tables_, int(row[0])
