"""Choose the entities of a run: those that its spec records, else its machines, processes, threads and tasks."""

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
    """Return the entity events and their source; `source` selects one. Raises `ClewError` if it has no entities."""
    if source not in ("", *SOURCES):
        raise ClewError(f'unknown source of entities {source!r}; expected "spec" or "strands"')
    with graph.passing():
        found = recorded(graph) if source != "strands" else None
        if found is not None:
            return found, "spec"
        if source != "spec":
            return of_strands(graph), "strands"
    raise no_such_entities(graph.info.name)


def no_such_entities(run: str) -> ClewError:
    return ClewError(f"run {run} recorded no event of an entity; a spec with `entity` rules records them (docs/esl.md)")
