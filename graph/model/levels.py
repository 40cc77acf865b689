"""Labels of events at an aggregation level: code (function … component, or the spec's own) and runtime (task … machine).

Invariant: labels of one program are the same in every recording of it, so that two runs can be compared by them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.model.event import Event
from clew.graph.model.graph import UNNAMED_MACHINE, ExecutionGraph, Site
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.records.plan.match import matches

I64 = npt.NDArray[np.int64]

STATIC = ("function", "class", "module", "component")
RUNTIME = ("task", "thread", "process", "machine")
LEVELS = ("event", *STATIC, *RUNTIME)
OTHER = "other"
"""The label, at a level of the spec, of what none of its patterns matches."""

LabelFunction = Callable[[Event], str]


@dataclass(frozen=True)
class Labels:
    """A level applied to a graph."""

    level: str
    of: Callable[[I64], I64]
    """Codes of some events."""
    running: Callable[[I64], I64]
    """Codes of what runs right after these events; -1 where no recorded call does."""
    name: Callable[[int], str]
    """The label that a code stands for."""
    located: bool
    """Does a label name a place in the source?"""
    of_site: Callable[[int], str] | None = None
    """The label of a code location, at levels that have one."""
    codes: tuple[I64 | None, I64] | None = None
    """Codes by site, of what happens in calls and at places of the program, and by strand of everything else; without those by
    site all events of a strand have the same. None where neither tells."""

    @property
    def of_strand(self) -> I64 | None:
        """Code per strand, at levels where all its events have the same."""
        return self.codes[1] if self.codes is not None and self.codes[0] is None else None


def level_names(graph: ExecutionGraph) -> list[str]:
    """The levels that the graph can be aggregated at, the spec's own ones last."""
    return [*LEVELS, *(level.name for level in graph.levels if level.name not in LEVELS)]


def labels_of(graph: ExecutionGraph, level: str | LabelFunction | Labels) -> Labels:
    """Those of a level with a name are kept: to find them takes a look at all places and strands, a small slice much less.

    Raises `ClewError` for a level that there is not, naming the nearest."""
    if isinstance(level, Labels):
        return level
    if callable(level):
        return _by_function(graph, level)
    kept: dict[object, Labels] = graph.answers.setdefault("labels", {})
    known = kept.get(level) if isinstance(level, str) else None
    if known is None:
        known = kept[level] = _of_name(graph, level)
    return known


def _of_name(graph: ExecutionGraph, level: str) -> Labels:
    if level == "event":
        return Labels(level, lambda rows: rows, lambda rows: rows, lambda code: _describe(graph, code), True)
    if level in RUNTIME:
        return _runtime(graph, level)
    if level in STATIC:
        names = [_static(site, level) for site in graph.sites]
    else:
        chosen = next((known for known in graph.levels if known.name == level), None)
        if chosen is None:
            raise ClewError(_no_such_level(graph, level))
        names = [
            next(
                (label for label, target in chosen.labels if matches(target, site.module, site.qualname, site.file)),
                OTHER,
            )
            for site in graph.sites
        ]
    return _static_labels(graph, level, names)


def _no_such_level(graph: ExecutionGraph, level: object) -> str:
    known = level_names(graph)
    near = difflib.get_close_matches(str(level), known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"there is no level {level!r}; {hint}levels: {', '.join(known)}, or a function of an event"


def _static(site: Site, level: str) -> str:
    if level == "function":
        return site.label
    if level == "class":
        owner = site.qualname.split(".<locals>")[0].rpartition(".")[0]
        return f"{site.module}:{owner}" if owner else site.module
    return site.module if level == "module" else site.component


def _static_labels(graph: ExecutionGraph, level: str, site_names: list[str]) -> Labels:
    names: dict[str, int] = {}
    site_code = np.array([names.setdefault(name, len(names)) for name in site_names], np.int64)
    # What happened outside any function of the program is named after its strand.
    strand_code = np.array(
        [names.setdefault(strand_label(strand.kind, strand.name), len(names)) for strand in graph.strands], np.int64
    )
    texts = list(names)

    def of(rows: I64) -> I64:
        owner = graph.owner[rows].astype(np.int64)
        site = graph.site[np.where(owner >= 0, owner, rows)]
        own = (owner >= 0) | graph.site_is_named[site]
        return np.where(own, site_code[site], strand_code[graph.strand[rows]])

    def running(rows: I64) -> I64:
        inner = graph.inner[rows].astype(np.int64)
        return np.where(inner >= 0, site_code[graph.site[inner]], -1)

    located = level in ("function", "class")
    codes = (site_code, strand_code)
    return Labels(level, of, running, texts.__getitem__, located, site_names.__getitem__, codes)


def strand_label(kind: str, name: str) -> str:
    """A strand's name without the number that tells it from others of its kind: "thread disk" for "disk_0"."""
    return f"{kind} {re.sub(r'[-_ #]*[0-9]+$', '', name) or name}"


def _runtime(graph: ExecutionGraph, level: str) -> Labels:
    names: dict[str, int] = {}
    codes = []
    for strand in graph.strands:
        process = graph.processes[strand.process]
        text = {
            "task": f"{process.name}/{strand.name}",
            "thread": f"{process.name}/{strand.thread_name}",
            "process": process.name,
            "machine": process.host or UNNAMED_MACHINE,
        }[level]
        codes.append(names.setdefault(text, len(names)))
    strand_code = np.array(codes, np.int64)
    texts = list(names)

    def of(rows: I64) -> I64:
        return strand_code[graph.strand[rows]]

    def running(rows: I64) -> I64:
        return np.where(graph.inner[rows] >= 0, of(rows), -1)

    return Labels(level, of, running, texts.__getitem__, False, codes=(None, strand_code))


def _by_function(graph: ExecutionGraph, function: LabelFunction) -> Labels:
    names: dict[str, int] = {}
    known: dict[int, int] = {}

    def code(row: int) -> int:
        if row not in known:
            label = function(graph.event(row))
            if not isinstance(label, str):
                raise ClewError(f"a label is a str; the function gave {label!r} for event {row}")
            known[row] = names.setdefault(label, len(names))
        return known[row]

    def of(rows: I64) -> I64:
        return np.array([code(row) for row in rows.tolist()], np.int64)

    def running(rows: I64) -> I64:
        inner = graph.inner[rows].tolist()
        return np.array([code(row) if row >= 0 else -1 for row in inner], np.int64)

    return Labels(getattr(function, "__name__", "label"), of, running, lambda number: list(names)[number], False)


def _describe(graph: ExecutionGraph, event: int) -> str:
    """A label for one event: what it is, and where."""
    kind, function = int(graph.kind[event]), graph.function(event)
    if kind == Kind.LOG:
        return graph.text(event)
    name = graph.event(event).kind
    channel, key = graph.channel(event), graph.key_text(event)
    return " ".join(part for part in (name, channel, key, function) if part)
