"""The entities of a run: those that its spec tells of, else those that every run has."""

from __future__ import annotations

from typing import Literal

from clew.graph.entities.events import EntityEvents
from clew.graph.entities.from_spec import recorded
from clew.graph.entities.from_strands import of_strands
from clew.graph.model.graph import ExecutionGraph
from clew.records.errors import ClewError

Source = Literal["spec", "strands"]
SOURCES: tuple[Source, ...] = ("spec", "strands")


def entities_of(graph: ExecutionGraph, source: str = "") -> tuple[EntityEvents, Source]:
    """And where they are from, which `source` may say. Raises `ClewError` where there is no such thing."""
    if source not in ("", *SOURCES):
        raise ClewError(f'entities are of the "spec" or of the run\'s "strands", not of {source!r}')
    with graph.passing():
        found = recorded(graph) if source != "strands" else None
        if found is not None:
            return found, "spec"
        if source != "spec":
            return of_strands(graph), "strands"
    raise no_such_entities(graph.info.name)


def no_such_entities(run: str) -> ClewError:
    return ClewError(f"run {run} recorded no event of an entity; a spec with `entity` rules records them (docs/esl.md)")
