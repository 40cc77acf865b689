"""Select threads and tasks: `run.strands`, `.named(NAME)`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from clew.graph.errors import QueryError
from clew.graph.model.graph import ExecutionGraph
from clew.query.plan import Leaf


@dataclass(frozen=True)
class Strands(Leaf):
    """Threads and tasks; with `name`, those whose `process / strand` contains it."""

    name: str = ""
    noun = "strand"

    def answer(self) -> list[int]:
        return strands_named(self.run.graph, self.name)

    def step(self) -> str:
        return "strands" + (f".named({self.name!r})" if self.name else "")


def strands_named(graph: ExecutionGraph, part: str) -> list[int]:
    """Return the threads and tasks whose names contain `part`, in the order of the run. Raises `QueryError` without a match."""
    names = [strand_name(graph, strand.index) for strand in graph.strands]
    found = [index for index, name in enumerate(names) if part.lower() in name.lower()]
    if part and not found:
        near = difflib.get_close_matches(part, dict.fromkeys(names), 3, 0.3) or list(dict.fromkeys(names))[:3]
        hint = f"some of {len(names):,} are {', '.join(map(repr, near))}" if near else "the run has no threads or tasks"
        raise QueryError(f"no thread or task has {part!r} in its name; {hint}")
    return found


def strand_name(graph: ExecutionGraph, strand: int) -> str:
    """Return `process / strand`, the full name of a thread or task."""
    of = graph.strands[strand]
    return f"{graph.processes[of.process].name} / {of.name}"
