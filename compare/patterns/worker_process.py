"""Find the patterns of a large run in a worker process, which returns the columns in a file.

Invariants: the worker finds the same patterns as `find_patterns`. The file of the columns is unlinked by the time it is
read, so it disappears with this process; only the worker writes it.
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
from clew.graph.runtime.progress import Cancellation, Progress, no_progress
from clew.graph.store.profile_cache import LARGE, is_over
from clew.graph.store.store import open_graph
from clew.graph.store.temp_dir import workplace

PLACE = "patterns"
COLUMNS = "columns"
_ALIGNED = 64
Part = tuple[int, int]
"""Offset and length of a part of the file, in bytes."""


def patterns_in_worker(
    run: OpenRun, strands: Sequence[int], level: str, thresholds: Thresholds, cancellation: Cancellation
) -> Patterns | None:
    """Find patterns in a worker process. Return None for a small graph, or if a worker process is not possible.

    Raises the exceptions of `find_patterns`, and those of `cancellation`, which end the worker.
    """
    folder, graph = run.folder, run.graph
    if len(graph) < LARGE or not (
        is_over(folder, graph) and worker_process.is_possible() and os.access(folder, os.W_OK)
    ):
        return None
    with contextlib.suppress(OSError, worker_process.NoRoom), workplace(folder, PLACE) as place:
        arguments = folder, list(strands), level, thresholds, place / COLUMNS
        text, parts = worker_process.run(_find, arguments, place, no_progress, cancellation)
        found = _read(place / COLUMNS, text, parts, graph)
        return found
    return None


def _find(
    folder: Path, strands: list[int], level: str, thresholds: Thresholds, file: Path, _progress: Progress
) -> tuple[bytes, list[Part]]:
    """Find the patterns in the worker, and write their columns to a file. Return the pickle and the parts of the file."""
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
    """A pickler that omits the graph, because the receiver has it."""

    def persistent_id(self, one: object) -> str | None:
        return "graph" if isinstance(one, ExecutionGraph) else None


class _Unpickler(pickle.Unpickler):
    """An unpickler that inserts the graph."""

    graph: ExecutionGraph

    def persistent_load(self, _name: object) -> ExecutionGraph:
        return self.graph
