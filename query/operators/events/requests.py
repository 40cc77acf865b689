"""Select requests, as their REQUEST events: `run.requests`, `.named(NAME)`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from clew.graph.errors import QueryError
from clew.graph.model.graph import I64, ExecutionGraph
from clew.query.plan import Condition, EventNode, Leaf
from clew.records.format.event import Kind

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class Requests(Leaf, EventNode):
    """The requests with a name, or all requests."""

    name: str | None = None

    def chosen(self) -> tuple[I64, bool]:
        graph = self.run.graph
        rows = graph.rows_of([Kind.REQUEST], self.name)
        if self.name is not None and not len(rows):
            self._refuse({graph.channel(row) for row in graph.rows_of([Kind.REQUEST]).tolist()})
        return rows, True

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        from clew.query.engines.worker import REQUESTS

        found = engine.by_time((REQUESTS, self.name), conditions)
        if self.name is not None and not len(found):
            known = {name for names in engine.everywhere("request_names").values() for name in names}
            if self.name not in known:
                self._refuse(known)
        return found

    def _refuse(self, known: Collection[str]) -> NoReturn:
        """Raise an error that lists the names of the run's requests."""
        what = (
            f"its requests: {', '.join(sorted(known))}" if known else "mark one in the spec: request FUNCTION as NAME"
        )
        raise QueryError(f"run {self.run.info.name} has no request named {self.name!r}; {what}")

    def step(self) -> str:
        return "requests" + (f".named({self.name!r})" if self.name is not None else "")


def request_roots(graph: ExecutionGraph, rows: I64, direction: str) -> I64:
    """Return the event where the slice of each request's flow starts.

    A forward or two-way slice starts at the ENTER of the request's call, a backward slice at the end of that call."""
    region = graph.region[rows]
    if direction != "backward":
        return np.where(graph.regions.opener[region] == rows, graph.regions.first[region], rows)
    ends = []
    for row in rows.tolist():
        call = graph.call_of(row)
        end = graph.exit_of(call) if call >= 0 else -1
        ends.append(end if end >= 0 else int(graph.regions.last[graph.region[row]]))
    return np.array(ends, np.int64)
