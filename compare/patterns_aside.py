"""The patterns of a large run, found in a process of their own: whoever asks has their columns as files.

Invariant: what is found aside is what `find_patterns` finds. The columns' file has no name any more when they are looked at, so
that nothing is left of it whatever ends us; and nobody else wrote it.
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

from clew.compare.patterns import Patterns, Thresholds, find_patterns
from clew.graph import aside
from clew.graph.figures import LARGE, is_over
from clew.graph.model import ExecutionGraph
from clew.graph.progress import Progress, Wanted, nobody
from clew.graph.query import Run
from clew.graph.store import open_graph
from clew.graph.workplace import workplace

PLACE = "patterns"
COLUMNS = "columns"
_ALIGNED = 64
Part = tuple[int, int]
"""Of a file: from where on, and how many bytes."""


def found_aside(
    run: Run, strands: Sequence[int], level: str, thresholds: Thresholds, wanted: Wanted
) -> Patterns | None:
    """None where the graph is small or a process of its own is not possible. Raises what `find_patterns` raises, and what
    `wanted` raises, which ends the process."""
    folder, graph = run.folder, run.graph
    if len(graph) < LARGE or not (is_over(folder, graph) and aside.is_possible() and os.access(folder, os.W_OK)):
        return None
    with contextlib.suppress(OSError, aside.NoRoom), workplace(folder, PLACE) as place:
        given = folder, list(strands), level, thresholds, place / COLUMNS
        text, parts = aside.run(_find, given, place, nobody, wanted)
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
