"""What is told of each function of a run and of what contains it, and what its being faster would save, kept as JSON beside the
run's store.

Finding it takes a look at the whole run, which of a large one is taken in a process of its own: so it costs the one who asks
neither memory nor turns, and whoever no longer wants it ends it at once. Invariant: what is kept is used only when it is of
exactly the files that the graph is of; it is written beside its place and renamed, and what cannot be read is found anew.
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

from clew.graph import aside
from clew.graph.model import ExecutionGraph
from clew.graph.ops.aggregate_edges import EdgeColumns
from clew.graph.ops.drill import Leaves, leaves
from clew.graph.ops.profiles import Link, Profile, Profiles, Raised, Value, Wait, find_profiles
from clew.graph.ops.savings import Saving, Savings, find_savings
from clew.graph.ops.statistics import FunctionStatistics
from clew.graph.progress import Progress, nobody
from clew.graph.store import fingerprint, open_graph
from clew.graph.workplace import workplace
from clew.records.alive import has_all

T = TypeVar("T")

FORMAT = 2
FOLDER = "figures"
SMALL = 200_000
"""Events of a run whose figures are found as fast as they would be read."""
LARGE = 1_000_000
"""Events of a run from which on another process looks at it."""

Maker = Callable[[ExecutionGraph, Progress], Any]


def profiles_of(folder: Path, graph: ExecutionGraph, progress: Progress = nobody) -> Profiles:
    """Of a run's functions. Raises what `progress` raises."""
    known = kept_profiles(folder, graph)
    return known or _profiles_from(_find(folder, graph, "profiles", _find_profiles, progress))


def kept_profiles(folder: Path, graph: ExecutionGraph) -> Profiles | None:
    """If they were found before."""
    return _read(folder, graph, "profiles", _profiles_from)


def savings_of(folder: Path, graph: ExecutionGraph, percent: float, progress: Progress = nobody) -> Savings:
    """With functions so much faster. Raises what `progress` raises."""
    known = kept_savings(folder, graph, percent)
    made = known or _savings_from(_find(folder, graph, _name(percent), _FindSavings(percent), progress))
    return made


def kept_savings(folder: Path, graph: ExecutionGraph, percent: float) -> Savings | None:
    """If they were found before."""
    return _read(folder, graph, _name(percent), _savings_from)


def leaves_of_run(folder: Path, graph: ExecutionGraph, strands: str, progress: Progress = nobody) -> Leaves:
    """What its boxes consist of. Raises what `progress` raises."""
    known = _read(folder, graph, f"leaves-{strands}", _leaves_from)
    return known or _leaves_from(_find(folder, graph, f"leaves-{strands}", _FindLeaves(strands), progress))


def is_over(folder: Path, graph: ExecutionGraph) -> bool:
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
        progress("figures of threads and tasks", 0, 1)
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
    of = _of(folder, graph)
    found = None
    # Of a run that goes on there is nothing that another process could read.
    over = is_over(folder, graph)
    if over and len(graph) >= LARGE and aside.is_possible() and os.access(folder, os.W_OK):
        with contextlib.suppress(OSError, aside.NoRoom), workplace(folder, FOLDER) as place:
            found = aside.run(_find_aside, (folder, make), place, progress, large=aside.PARTS)
    if found is None:
        found = make(graph, progress)
    # As it will be read: what is told does not depend on whether it was kept.
    text = json.dumps(found)
    with contextlib.suppress(OSError):
        if over and len(graph) >= SMALL and os.access(folder, os.W_OK):
            _write(folder, name, json.dumps({"format": FORMAT, "of": of}) + "\n" + text)
    return json.loads(text)


def _find_aside(folder: Path, make: Maker, progress: Progress) -> Any:
    graph = open_graph(folder, spare=True)[0]
    return make(graph, progress)


def _of(folder: Path, graph: ExecutionGraph) -> list[Any]:
    return [fingerprint(folder), len(graph), len(graph.sites)]


def _write(folder: Path, name: str, text: str) -> None:
    (folder / FOLDER).mkdir(exist_ok=True)
    with workplace(folder, FOLDER) as place:
        (place / name).write_text(text, encoding="utf-8")
        (place / name).replace(folder / FOLDER / f"{name}.json")


def _read(folder: Path, graph: ExecutionGraph, name: str, made: Callable[[Any], T]) -> T | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        head, _, text = (folder / FOLDER / f"{name}.json").read_text(encoding="utf-8").partition("\n")
        if json.loads(head) == {"format": FORMAT, "of": _of(folder, graph)}:
            return made(json.loads(text))
    return None


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
