"""An open run: its description, folder and graph, and the engine that executes plans on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clew.graph.model.graph import I64, ExecutionGraph
from clew.records.errors import Problem
from clew.records.run.directory import RunInfo


class Engine(Protocol):
    """Executes plans of `clew.query` on a run."""

    def execute(self, node: Any) -> Any: ...
    def events(self, node: Any) -> I64:
        """Return the numbers of the events that a plan selects."""

    def records(self, ids: I64) -> Sequence[Any]:
        """Return events by number, each with the attributes of an `Event`."""

    def close(self) -> None: ...


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A recorded run whose graph is open."""

    info: RunInfo
    folder: Path
    problems: list[Problem]
    graph: ExecutionGraph
    engine: Engine | None = None
    """The engine that executes plans on the run; None for the local executor on the graph."""

    def __repr__(self) -> str:
        return f"run({self.info.id!r})"
