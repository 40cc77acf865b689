"""Labels of events at an aggregation level: of code (function … component, or the spec's levels) or runtime (task … machine).

Invariant: a program has the same labels in every recording, so that two runs can be compared by label.
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
"""The label, at a level of the spec, of functions that match none of its patterns."""

LabelFunction = Callable[[Event], str]


@dataclass(frozen=True)
class Labels:
    """An aggregation level applied to a graph. Each label has an integer code."""

    level: str
    of: Callable[[I64], I64]
    """Returns the codes of events."""
    running: Callable[[I64], I64]
    """Returns the codes of the calls that run right after the events; -1 for none."""
    name: Callable[[int], str]
    """Returns the label of a code."""
    located: bool
    """Whether a label names a place in the source."""
    of_site: Callable[[int], str] | None = None
    """Returns the label of a site, at levels of code."""
    codes: tuple[I64 | None, I64] | None = None
    """Codes by site, for events in calls and at sites of the program, and codes by strand for all other events.

    Without codes by site, all events of a strand have the strand's code. None: neither site nor strand determines the code."""

    @property
    def of_strand(self) -> I64 | None:
        """The code per strand, at levels where all events of a strand have one code; else None."""
        return self.codes[1] if self.codes is not None and self.codes[0] is None else None


def level_names(graph: ExecutionGraph) -> list[str]:
    """Return the levels that the graph can be aggregated at, the spec's last."""
    return [*LEVELS, *(level.name for level in graph.levels if level.name not in LEVELS)]


def labels_of(graph: ExecutionGraph, level: str | LabelFunction | Labels) -> Labels:
    """Return the labels of a level.

    The labels of a named level are cached with the graph: they take a pass over all sites and strands, far more than a small
    slice needs. Raises `ClewError` for an unknown level; the message suggests the nearest.
    """
    if isinstance(level, Labels):
        return level
    if callable(level):
        return _by_function(graph, level)
    cache: dict[object, Labels] = graph.answers.setdefault("labels", {})
    labels = cache.get(level) if isinstance(level, str) else None
    if labels is None:
        labels = cache[level] = _by_name(graph, level)
    return labels


def _by_name(graph: ExecutionGraph, level: str) -> Labels:
    if level == "event":
        return Labels(level, lambda rows: rows, lambda rows: rows, lambda code: _describe(graph, code), True)
    if level in RUNTIME:
        return _runtime(graph, level)
    if level in STATIC:
        names = [_static(site, level) for site in graph.sites]
    else:
        chosen = next((candidate for candidate in graph.levels if candidate.name == level), None)
        if chosen is None:
            raise ClewError(_unknown_level(graph, level))
        names = [
            next(
                (label for label, target in chosen.labels if matches(target, site.module, site.qualname, site.file)),
                OTHER,
            )
            for site in graph.sites
        ]
    return _static_labels(graph, level, names)


def _unknown_level(graph: ExecutionGraph, level: object) -> str:
    names = level_names(graph)
    near = difflib.get_close_matches(str(level), names, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown level {level!r}; {hint}levels: {', '.join(names)}, or a function of an event"


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
    # An event outside the program's functions is named after its strand.
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
    """Return a strand's kind and its name without a trailing number: "thread disk" for "disk_0"."""
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
    codes: dict[int, int] = {}

    def code(row: int) -> int:
        if row not in codes:
            label = function(graph.event(row))
            if not isinstance(label, str):
                raise ClewError(f"a label has to be a str; the function returned {label!r} for event {row}")
            codes[row] = names.setdefault(label, len(names))
        return codes[row]

    def of(rows: I64) -> I64:
        return np.array([code(row) for row in rows.tolist()], np.int64)

    def running(rows: I64) -> I64:
        inner = graph.inner[rows].tolist()
        return np.array([code(row) if row >= 0 else -1 for row in inner], np.int64)

    return Labels(getattr(function, "__name__", "label"), of, running, lambda number: list(names)[number], False)


def _describe(graph: ExecutionGraph, event: int) -> str:
    """Return a label for one event: a log's message, else its kind, channel, key and function."""
    kind, function = int(graph.kind[event]), graph.function(event)
    if kind == Kind.LOG:
        return graph.text(event)
    name = graph.event(event).kind
    channel, key = graph.channel(event), graph.key_text(event)
    return " ".join(part for part in (name, channel, key, function) if part)
