"""Caches the statistics of a run's functions, and the time that faster functions would save, next to the run's store.

Computing them reads the whole run. For a large run a worker process does it: it takes no memory of the caller, does not block
it, and ends at once when the caller cancels. Invariant: a cached answer is used only for exactly the files of the graph.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.aggregation.drill_down import Leaves, leaves
from clew.graph.ops.aggregation.edges import EdgeColumns
from clew.graph.ops.profile.functions import Link, Profile, Profiles, Raised, Value, Wait, find_profiles
from clew.graph.ops.profile.statistics import FunctionStatistics
from clew.graph.ops.timing.function_savings import Saving, Savings, find_savings
from clew.graph.runtime import worker_process
from clew.graph.runtime.progress import Progress, no_progress
from clew.graph.store.sidecar import Sidecar
from clew.graph.store.store import fingerprint, open_graph
from clew.graph.store.temp_dir import workplace
from clew.records.run.liveness import has_all

T = TypeVar("T")

FORMAT = 3
FOLDER = "figures"
SMALL = 200_000
"""Below this number of events a run's statistics are computed as fast as they would be read."""
LARGE = 1_000_000
"""From this number of events on a worker process computes them."""

Maker = Callable[[ExecutionGraph, Progress], Any]


def profiles_of(folder: Path, graph: ExecutionGraph, progress: Progress = no_progress) -> Profiles:
    """Return the statistics of a run's functions. Raises what `progress` raises."""
    cached = cached_profiles(folder, graph)
    return cached or _profiles_from(_find(folder, graph, "profiles", _find_profiles, progress))


def cached_profiles(folder: Path, graph: ExecutionGraph) -> Profiles | None:
    """Return the cached statistics, if any."""
    return _read(folder, graph, "profiles", _profiles_from)


def savings_of(folder: Path, graph: ExecutionGraph, percent: float, progress: Progress = no_progress) -> Savings:
    """Return the time that each function would save if it were `percent` % faster. Raises what `progress` raises."""
    cached = cached_savings(folder, graph, percent)
    return cached or _savings_from(_find(folder, graph, _name(percent), _FindSavings(percent), progress))


def cached_savings(folder: Path, graph: ExecutionGraph, percent: float) -> Savings | None:
    """Return the cached savings, if any."""
    return _read(folder, graph, _name(percent), _savings_from)


def leaves_of_run(folder: Path, graph: ExecutionGraph, strands: str, progress: Progress = no_progress) -> Leaves:
    """Return the leaves that the nodes of a run consist of. Raises what `progress` raises."""
    cached = _read(folder, graph, f"leaves-{strands}", _leaves_from)
    return cached or _leaves_from(_find(folder, graph, f"leaves-{strands}", _FindLeaves(strands), progress))


def is_over(folder: Path, graph: ExecutionGraph) -> bool:
    """Return whether the run is finished and the graph has all of its records."""
    return has_all(folder, graph.info)


def _name(percent: float) -> str:
    return f"savings-{percent:g}"


def _find_profiles(graph: ExecutionGraph, progress: Progress) -> Any:
    return asdict(find_profiles(graph, progress))


class _FindSavings:
    def __init__(self, percent: float) -> None:
        self.percent = percent

    def __call__(self, graph: ExecutionGraph, progress: Progress) -> Any:
        return asdict(find_savings(graph, self.percent, progress))


class _FindLeaves:
    def __init__(self, strands: str) -> None:
        self.strands = strands

    def __call__(self, graph: ExecutionGraph, progress: Progress) -> Any:
        progress("thread and task statistics", 0, 1)
        found = leaves(graph, self.strands)
        return {
            "levels": found.levels,
            "paths": found.paths,
            "own": {name: column.tolist() for name, column in found.own.items()},
            "first_event": found.first_event.tolist(),
            "caller": found.caller.tolist(),
            "callee": found.callee.tolist(),
            "times": {name: column.tolist() for name, column in found.times.items()},
            "edges": {column.name: getattr(found.edges, column.name).tolist() for column in fields(EdgeColumns)},
            "channels": found.channels,
            "counted": found.counted,
        }


def _find(folder: Path, graph: ExecutionGraph, name: str, make: Maker, progress: Progress) -> Any:
    sidecar = _sidecar(folder, graph, name)
    found = None
    # A worker process would not have the same records of a live run.
    over = is_over(folder, graph)
    if over and len(graph) >= LARGE and worker_process.is_possible() and os.access(folder, os.W_OK):
        with contextlib.suppress(OSError, worker_process.NoRoom), workplace(folder, FOLDER) as place:
            found = worker_process.run(_find_in_worker, (folder, make), place, progress, large=worker_process.PARTS)
    if found is None:
        found = make(graph, progress)
    # Convert through JSON even without a cache, so that the answer does not depend on it.
    found = json.loads(json.dumps(found))
    with contextlib.suppress(OSError):
        if over and len(graph) >= SMALL and os.access(folder, os.W_OK):
            (folder / FOLDER).mkdir(exist_ok=True)
            sidecar.write(found)
    return found


def _find_in_worker(folder: Path, make: Maker, progress: Progress) -> Any:
    graph = open_graph(folder, spare=True)[0]
    return make(graph, progress)


def _sidecar(folder: Path, graph: ExecutionGraph, name: str) -> Sidecar:
    return Sidecar(folder / FOLDER / f"{name}.json", FORMAT, [fingerprint(folder), len(graph), len(graph.sites)])


def _read(folder: Path, graph: ExecutionGraph, name: str, made: Callable[[Any], T]) -> T | None:
    found = _sidecar(folder, graph, name).read()
    return None if found is None else made(found.about)


def _profiles_from(data: Any) -> Profiles:
    by_site = {
        int(site): Profile(
            FunctionStatistics(**row["statistics"]),
            row["max_ns"],
            row["first_bin"],
            tuple(row["histogram"]),
            tuple(Wait(**wait) for wait in row["waits"]),
            tuple(Raised(**raised) for raised in row["raised"]),
            tuple(Value(**value) for value in row["values"]),
        )
        for site, row in data["by_site"].items()
    }
    return Profiles(by_site, tuple(Link(**link) for link in data["links"]))


def _leaves_from(data: Any) -> Leaves:
    def columns(table: Any) -> dict[str, Any]:
        return {name: np.array(column, np.int64) for name, column in table.items()}

    ends = columns({name: data[name] for name in ("first_event", "caller", "callee")})
    return Leaves(
        levels=tuple(data["levels"]),
        paths=[tuple(path) for path in data["paths"]],
        own=columns(data["own"]),
        times=columns(data["times"]),
        edges=EdgeColumns(**columns(data["edges"])),
        channels=data["channels"],
        counted=data["counted"],
        **ends,
    )


def _savings_from(data: Any) -> Savings:
    by_label = {label: Saving(**row) for label, row in data["by_label"].items()}
    return Savings(data["percent"], data["requests"], data["sampled"], by_label)
