"""Caches a run's timeline in `timeline/` in its folder, as arrays that are mapped into memory.

A worker process lays out the timeline of a large run. Invariant: the cache is used only for exactly the files of the graph.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.timeline.bars import BAR
from clew.graph.ops.timeline.layout import ARROW, CLASSES, Timeline, from_arrays
from clew.graph.runtime import worker_process
from clew.graph.runtime.progress import NEVER_CANCELLED, Cancellation, Progress, no_progress
from clew.graph.store.sidecar import Sidecar
from clew.graph.store.store import fingerprint, open_graph
from clew.graph.store.temp_dir import workplace
from clew.records.run.directory import RunInfo
from clew.records.run.liveness import has_all

FORMAT = 2
FOLDER = "timeline"
FILE = "timeline.bin"
SMALL = 200_000
"""Below this number of events a run's timeline is made as fast as it would be read."""
LARGE = 4_000_000
"""From this number of events on a worker process lays it out."""
_TYPES = {"depths": np.dtype("<u4"), "arrows": ARROW}


def timeline_of(
    folder: Path, info: RunInfo, graph: ExecutionGraph, cancellation: Cancellation = NEVER_CANCELLED
) -> Timeline:
    """Return a run's timeline, and cache it for a large finished run.

    Raises what `cancellation` raises while a worker process lays it out.
    """
    if len(graph) < SMALL or not has_all(folder, info):
        return Timeline.of(graph)
    of = [fingerprint(folder), len(graph), len(graph.strands), len(graph.sites)]
    cached = _load(folder, of)
    if cached is not None:
        return cached
    if os.access(folder, os.W_OK) and len(graph) >= LARGE and worker_process.is_possible():
        with contextlib.suppress(OSError, worker_process.NoRoom), workplace(folder, FOLDER) as place:
            worker_process.run(_make, (folder, of), place, no_progress, cancellation, large=worker_process.PARTS)
        cached = _load(folder, of)
        if cached is not None:
            return cached
    made = Timeline.of(graph)
    if os.access(folder, os.W_OK):
        with contextlib.suppress(OSError):
            _save(folder, made, of)
            return _load(folder, of) or made  # the system can release the memory of a mapped file
    return made


def _make(folder: Path, of: list[Any], _progress: Progress) -> None:
    _save(folder, Timeline.of(open_graph(folder)[0]), of)


def _sidecar(folder: Path, of: list[Any]) -> Sidecar:
    return Sidecar(folder / FOLDER / FILE, FORMAT, of)


def _save(folder: Path, timeline: Timeline, of: list[Any]) -> None:
    (folder / FOLDER).mkdir(exist_ok=True)
    _sidecar(folder, of).write(None, timeline.arrays)
    for path in (folder / FOLDER).iterdir():
        if path.name != FILE:  # of an earlier format
            path.unlink(missing_ok=True)


def _load(folder: Path, of: list[Any]) -> Timeline | None:
    """Return the cached timeline; None when it is missing, for other files, or damaged."""
    found = _sidecar(folder, of).read(_type_of)
    if found is None:
        return None
    with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
        timeline = from_arrays(found.arrays)
        rows = int(timeline.bars.depths.sum())
        lengths = [len(timeline.bars.depths) == of[2], len(timeline.site_ns) == of[3], len(timeline.row_ns) == rows]
        lengths += [len(level.row_start) == rows + 1 for level in timeline.bars.levels]
        if all(lengths) and timeline.bars.levels[0].shift < 0 and len(timeline.arrow_class) == CLASSES + 1:
            return timeline
    return None


def _type_of(name: str) -> np.dtype[Any]:
    return _TYPES.get(name) or (BAR if name.startswith("bars") else np.dtype("<i8"))
