"""The containers of a run: machine, process, thread or task, component, function. Each event is in one of each.

Components are the labels of the spec's first level, or packages if the spec has no levels. Events outside the program's
functions are in a component and a function named after their thread or task. Invariant: a leaf is a path from machine to
function. Each event has exactly one leaf, and each leaf has at least one event.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import UNNAMED_MACHINE, ExecutionGraph
from clew.graph.model.levels import Labels, labels_of
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]

Path = tuple[str, ...]
"""Labels from the machine to the function."""

STRANDS = ("thread", "task")
_CHUNK = 1 << 22
"""The number of events whose leaves are computed at a time."""


def container_levels(graph: ExecutionGraph, strands: str) -> tuple[str, ...]:
    """Return the names of the levels, outermost first. Raises `ClewError` unless `strands` is "thread" or "task"."""
    if strands not in STRANDS:
        raise ClewError(f'a process consists of its "thread"s or its "task"s, not of each {strands!r}')
    return "machine", "process", strands, _component(graph), "function"


def _component(graph: ExecutionGraph) -> str:
    return graph.levels[0].name if graph.levels else "component"


def leaves_of(graph: ExecutionGraph, strands: str) -> tuple[list[Path], Labels]:
    """Return the leaves, and labels that give each event the number of its leaf."""
    container_levels(graph, strands)
    places = [_place(graph, strands, index) for index in range(len(graph.strands))]
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    of_strand = np.array([numbers[place] for place in places], np.int64)
    functions = labels_of(graph, "function")
    components = _components_of_functions(graph, functions)

    def key(rows: I64) -> I64:
        keys: I64 = of_strand[graph.strand[rows]] * len(components) + functions.of(rows)
        return keys

    found = [np.zeros(0, np.int64)]
    for first in range(0, len(graph), _CHUNK):
        found.append(np.unique(key(np.arange(first, min(first + _CHUNK, len(graph)), dtype=np.int64))))
    present = np.unique(np.concatenate(found))

    def of(rows: I64) -> I64:
        return _in_chunks(rows, lambda chunk: np.searchsorted(present, key(chunk)))

    def running(rows: I64) -> I64:
        def code(chunk: I64) -> I64:
            inner = graph.inner[chunk].astype(np.int64)
            return np.where(inner >= 0, np.searchsorted(present, key(np.maximum(inner, 0))), -1)

        return _in_chunks(rows, code)

    by_place = list(numbers)
    paths = [
        (*by_place[one // len(components)], components[one % len(components)], functions.name(one % len(components)))
        for one in present.tolist()
    ]
    return paths, Labels("containers", of, running, str, False)


def _place(graph: ExecutionGraph, strands: str, index: int) -> Path:
    strand = graph.strands[index]
    process = graph.processes[strand.process]
    return process.host or UNNAMED_MACHINE, process.name, strand.name if strands == "task" else strand.thread_name


def _components_of_functions(graph: ExecutionGraph, functions: Labels) -> list[str]:
    """Return the component of each function, by the functions' codes."""
    assert functions.codes is not None
    by_site, by_strand = functions.codes
    assert by_site is not None
    name = labels_of(graph, _component(graph)).of_site
    assert name is not None
    found = {code: functions.name(code) for code in by_strand.tolist()}
    for site, code in reversed([*enumerate(by_site.tolist())]):
        found[code] = name(site) or graph.sites[site].module.partition(".")[0] or functions.name(code)
    return [found[code] for code in range(len(found))]


def _in_chunks(rows: I64, code: Callable[[I64], I64]) -> I64:
    """Apply `code` to the rows chunk by chunk, which takes less memory than all at once."""
    codes = np.empty(len(rows), np.int64)
    for first in range(0, len(rows), _CHUNK):
        codes[first : first + _CHUNK] = code(rows[first : first + _CHUNK])
    return codes
