"""A run's timeline, `timeline/` in its folder: the arrays as they are, mapped into memory.

Of a large run another process lays it out. Invariant: it is a cache beside the store. It is written beside its place and
renamed, and used only when it is of exactly the files that the graph is of, whole, and as it was written; else it is made anew.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from clew.graph import aside
from clew.graph.bars import BAR, Array
from clew.graph.kernel import kernel
from clew.graph.model import ExecutionGraph
from clew.graph.ops.timeline import ARROW, CLASSES, Timeline, from_arrays
from clew.graph.progress import ALWAYS, Progress, Wanted, nobody
from clew.graph.store import fingerprint, open_graph
from clew.graph.workplace import workplace
from clew.records.alive import has_all
from clew.records.run import RunInfo

FORMAT = 1
FOLDER = "timeline"
MANIFEST = "timeline.json"
SMALL = 200_000
"""Events of a run whose timeline is made as fast as it would be read."""
LARGE = 4_000_000
"""Events of a run from which on another process lays it out."""
_TYPES = {"depths": np.dtype("<u4"), "arrows": ARROW}


def timeline_of(folder: Path, info: RunInfo, graph: ExecutionGraph, wanted: Wanted = ALWAYS) -> Timeline:
    """Of a large run that is over from its files, which are made the first time; else made anew. Raises what `wanted` raises
    while another process makes them."""
    if len(graph) < SMALL or not has_all(folder, info):
        return Timeline.of(graph)
    of = [fingerprint(folder), len(graph), len(graph.strands), len(graph.sites)]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return _load(folder / FOLDER, of)
    if os.access(folder, os.W_OK) and len(graph) >= LARGE and aside.is_possible():
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, aside.NoRoom):
            with workplace(folder, FOLDER) as place:
                aside.run(_make, (folder, of), place, nobody, wanted, large=aside.PARTS)
            return _load(folder / FOLDER, of)
    made = Timeline.of(graph)
    if os.access(folder, os.W_OK):
        # What cannot be kept is made anew each time.
        with contextlib.suppress(OSError):
            _save(folder, made, of)
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return _load(folder / FOLDER, of)  # mapped, it can be let go by the system
    return made


def _make(folder: Path, of: list[Any], _progress: Progress) -> None:
    _save(folder, Timeline.of(open_graph(folder)[0]), of)


def _save(folder: Path, timeline: Timeline, of: list[Any]) -> None:
    with workplace(folder, FOLDER) as place:
        about = {}
        for name, array in timeline.arrays.items():
            data = np.ascontiguousarray(array)
            with (place / f"{name}.bin").open("wb") as file:
                file.write(data.view(np.uint8).data)
            about[name] = [len(data), *kernel.checksum(data.view(np.uint8))]
        (place / MANIFEST).write_text(json.dumps({"format": FORMAT, "of": of, "arrays": about}), encoding="utf-8")
        if (folder / FOLDER).exists():
            with contextlib.suppress(OSError):
                shutil.rmtree(folder / FOLDER)
        # When another process was faster, its files are as good as these.
        with contextlib.suppress(FileExistsError, OSError):
            place.rename(folder / FOLDER)


def _load(place: Path, of: list[Any]) -> Timeline:
    """Raises OSError, ValueError, KeyError or TypeError when it is not there, not of these files, or damaged."""
    about = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    if about["format"] != FORMAT or about["of"] != of:
        raise ValueError("it is of other files")
    found = {name: _mapped(place / f"{name}.bin", name, *said) for name, said in about["arrays"].items()}
    timeline = from_arrays(found)
    rows = int(timeline.bars.depths.sum())
    lengths = [len(timeline.bars.depths) == of[2], len(timeline.site_ns) == of[3], len(timeline.row_ns) == rows]
    lengths += [len(level.row_start) == rows + 1 for level in timeline.bars.levels]
    if not all(lengths) or timeline.bars.levels[0].shift >= 0 or len(timeline.arrow_class) != CLASSES + 1:
        raise ValueError("its arrays are not those of one run")
    return timeline


def _mapped(path: Path, name: str, length: int, *expected: int) -> Array:
    dtype = _TYPES.get(name) or (BAR if name.startswith("bars") else np.dtype("<i8"))
    if path.stat().st_size != length * dtype.itemsize:
        raise ValueError(f"{name} is not whole")
    if not length:
        return np.zeros(0, dtype)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), length * dtype.itemsize, access=mmap.ACCESS_READ)
    array: Array = np.frombuffer(mapped, dtype)
    if list(kernel.checksum(array.view(np.uint8))) != list(expected):
        raise ValueError(f"{name} has changed")
    if hasattr(mmap, "MADV_DONTNEED"):
        # All of it was looked at, and takes no memory until it is again.
        mapped.madvise(mmap.MADV_DONTNEED)
    return array
