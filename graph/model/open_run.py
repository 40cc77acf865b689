"""A recorded run that is open: its description, its folder, its graph and the engine that answers for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clew.graph.model.graph import I64, ExecutionGraph
from clew.records.errors import Problem
from clew.records.run.directory import RunInfo


class Engine(Protocol):
    """Answers the plans of `clew.query` for a run."""

    def execute(self, node: Any) -> Any: ...
    def events(self, node: Any) -> I64:
        """The numbers of the events that a plan means."""

    def records(self, ids: I64) -> Sequence[Any]:
        """Some events by number, each with the attributes of an `Event`."""

    def close(self) -> None: ...


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A recorded run whose graph is open."""

    info: RunInfo
    folder: Path
    problems: list[Problem]
    graph: ExecutionGraph
    engine: Engine | None = None
    """Answers plans for the run; None: the local executor, on the graph."""

    def __repr__(self) -> str:
        return f"run({self.info.id!r})"
