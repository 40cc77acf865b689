"""Find the patterns of a large run in a worker process, which hands the columns over in a file.

Invariants: the worker finds what `find_patterns` finds. The file of the columns has no name any more when they are read, so
that it is gone with this process; only the worker wrote it.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from clew.compare.patterns.find import Patterns, Thresholds, find_patterns
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.open_run import OpenRun
from clew.graph.runtime import worker_process
from clew.graph.runtime.progress import Progress, Wanted, nobody
from clew.graph.store.profile_cache import LARGE, is_over
from clew.graph.store.store import open_graph
from clew.graph.store.temp_dir import workplace

PLACE = "patterns"
COLUMNS = "columns"
_ALIGNED = 64
Part = tuple[int, int]
"""Offset and length of a part of the file, in bytes."""


def patterns_in_worker(
    run: OpenRun, strands: Sequence[int], level: str, thresholds: Thresholds, wanted: Wanted
) -> Patterns | None:
    """Return the patterns; None for a small graph, and where no worker process is possible. Raises what `find_patterns` raises,
    and what `wanted` raises, which ends the worker."""
    folder, graph = run.folder, run.graph
    if len(graph) < LARGE or not (
        is_over(folder, graph) and worker_process.is_possible() and os.access(folder, os.W_OK)
    ):
        return None
    with contextlib.suppress(OSError, worker_process.NoRoom), workplace(folder, PLACE) as place:
        given = folder, list(strands), level, thresholds, place / COLUMNS
        text, parts = worker_process.run(_find, given, place, nobody, wanted)
        found = _read(place / COLUMNS, text, parts, graph)
        return found
    return None


def _find(
    folder: Path, strands: list[int], level: str, thresholds: Thresholds, file: Path, _progress: Progress
) -> tuple[bytes, list[Part]]:
    graph = open_graph(folder)[0]
    found = find_patterns(graph, strands, level, thresholds)
    found.look()
    with file.open("wb") as columns:
        parts: list[Part] = []
        text = io.BytesIO()
        _Pickler(text, protocol=5, buffer_callback=partial(_put, columns, parts)).dump(found)
    return text.getvalue(), parts


def _put(columns: IO[bytes], parts: list[Part], buffer: pickle.PickleBuffer) -> None:
    data = buffer.raw()
    columns.write(bytes(-columns.tell() % _ALIGNED))
    parts.append((columns.tell(), data.nbytes))
    columns.write(data)


def _read(file: Path, text: bytes, parts: list[Part], graph: ExecutionGraph) -> Patterns:
    mapped = np.memmap(file, np.uint8, "r") if file.stat().st_size else np.zeros(0, np.uint8)
    unpickler = _Unpickler(io.BytesIO(text), buffers=[mapped[at : at + length].data for at, length in parts])
    unpickler.graph = graph
    found: Patterns = unpickler.load()
    return found


class _Pickler(pickle.Pickler):
    """The graph stays where it is: whoever asks has it."""

    def persistent_id(self, one: object) -> str | None:
        return "graph" if isinstance(one, ExecutionGraph) else None


class _Unpickler(pickle.Unpickler):
    graph: ExecutionGraph

    def persistent_load(self, _name: object) -> ExecutionGraph:
        return self.graph
