"""Slice the graph: `.slice("backward")` returns the causes of events, `.slice("forward")` their effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.errors import QueryError
from clew.graph.model.event import Event
from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.ops.slicing.interval import EdgeFilter, Mask, Slice, slice_events
from clew.graph.ops.slicing.two_way import Direction, Part, slice_parts
from clew.query.operators.events.by_number import ByNumber
from clew.query.operators.events.requests import Requests, request_roots
from clew.query.plan import Condition, EventNode, Node, Step, many, name_of
from clew.records.format.event import EdgeKind

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine, PartsSlice


@dataclass(frozen=True)
class SliceOf(Step, EventNode):
    """A slice."""

    source: EventNode
    direction: Direction
    max_hops: int | None = None
    max_network_hops: int | None = None
    edge_filter: EdgeFilter | None = field(default=None, compare=False)
    edge_kinds: tuple[str, ...] | None = None
    """The kinds of edges that the slice follows; None means all."""
    until: EventNode | Callable[[Event], bool] | None = None
    """The events where the slice stops."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return () if isinstance(self.source, ByNumber) else (self.source,)

    @property
    def goes_one_way(self) -> bool:
        """Return whether the slice has one direction and no early stop."""
        return self.direction != "both" and self.until is None

    @property
    def _of_requests(self) -> bool:
        return isinstance(self.source.origin(), Requests)

    def chosen(self) -> tuple[I64, bool]:
        return self.answer().events(), True

    def answer(self) -> Slice | Part:
        graph = self.open_run().graph
        roots, _ = self.source.chosen()
        if self._of_requests:
            roots = request_roots(graph, roots, self.direction)
        edge_filter = self.edge_filter
        if self.edge_kinds is not None:
            edge_filter = _of_kinds(graph, self.edge_kinds, edge_filter)
        if self.direction != "both" and self.until is None:
            return slice_events(
                graph,
                roots,
                self.direction,
                max_hops=self.max_hops,
                max_network_hops=self.max_network_hops,
                edge_filter=edge_filter,
            )
        return slice_parts(
            graph,
            roots,
            self.direction,
            stops=self._stops(graph),
            max_hops=self.max_hops,
            max_network_hops=self.max_network_hops,
            edge_filter=edge_filter,
        )

    def _stops(self, graph: ExecutionGraph) -> I64 | None:
        until = self.until
        if until is None:
            return None
        if isinstance(until, EventNode):
            return np.unique(until.chosen()[0])
        return np.flatnonzero(
            np.fromiter((bool(until(graph.event(row))) for row in range(len(graph))), bool, len(graph))
        )

    def answer_in_parts(self, engine: PartsEngine) -> Any:
        return self.slice_in_parts(engine) if self.goes_one_way else self.gathered().execute()

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        if not self.goes_one_way:
            return engine.filtered(self.gathered().events(), conditions)
        cut = self.slice_in_parts(engine)  # the workers forget the slice when this is released
        return engine.by_time(cut.session.number, conditions)

    def slice_in_parts(self, engine: PartsEngine) -> PartsSlice:
        """Slice a partitioned run; only for a slice that goes one way."""
        from clew.query.engines.partial_slice import SliceOptions

        ids = self.source.events_in_parts(engine, ())
        if not self._of_requests:
            ids = np.unique(ids)
        options = SliceOptions(
            self.direction == "forward",
            self.max_hops,
            self.max_network_hops,
            engine.checked_filter(self.edge_filter),
            None if self.edge_kinds is None else tuple(int(EdgeKind[kind.upper()]) for kind in self.edge_kinds),
        )
        return engine.slice_of(ids, options, of_requests=self._of_requests)

    def step(self) -> str:
        return f"slice({self._options()})"

    def spell(self) -> str:
        if isinstance(self.source, ByNumber):
            return f"{self.source.run!r}.slice({self.source.listed()}, direction={self._options()})"
        return super().spell()

    def _options(self) -> str:
        options = [repr(self.direction)]
        for name in ("max_hops", "max_network_hops"):
            if getattr(self, name) is not None:
                options.append(f"{name}={getattr(self, name)}")
        if self.edge_kinds is not None:
            options.append(f"edge_kinds={self.edge_kinds!r}")
        if self.edge_filter is not None:
            options.append("edge_filter=…")
        if self.until is not None:
            options.append(f"until={self.until.spell() if isinstance(self.until, EventNode) else name_of(self.until)}")
        return ", ".join(options)

    def size(self) -> str:
        cut = self.answer()
        return f"{many(cut.count, 'event')}, {many(len(cut.edges()), 'edge')}"


def _of_kinds(graph: ExecutionGraph, kinds: tuple[str, ...], edge_filter: EdgeFilter | None) -> Mask:
    """Return the mask of the edges of some kinds that the filter admits; without a filter, exclude mutual exclusion edges."""
    mask: Mask = np.isin(graph.edge_kind, [int(EdgeKind[kind.upper()]) for kind in kinds])
    if callable(edge_filter):
        among = np.flatnonzero(mask)
        mask[among] = np.fromiter(map(edge_filter, among.tolist()), bool, len(among))
        return mask
    if edge_filter is None:
        if graph.edge_excludes is not None:
            mask &= ~graph.edge_excludes
        return mask
    given = np.asarray(edge_filter, bool)
    if given.shape != mask.shape:
        raise QueryError(f"an edge filter has one truth value per edge, {mask.size}; this one has {given.size}")
    mask &= given
    return mask
