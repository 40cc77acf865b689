"""Answers query plans over a run in parts: what a worker can do alone is done where the part is, only answers travel.

Invariants: every answer is the one that the run as a whole gives; events and edges have the run's numbers everywhere.
What needs the events of several parts at once (critical paths, comparisons, a reduce function) is answered here, on the
parts that matter.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import LabelFunction
from clew.graph.ops.slicing.interval import Mask, Slice, slice_events
from clew.graph.ops.timing.critical_path import Branch, CriticalPath, critical_path
from clew.graph.ops.timing.what_if import WhatIf
from clew.query.engines.distributed_slice import Crew, Session, Traffic
from clew.query.engines.merge_aggregates import PartsAggregate, together
from clew.query.engines.partial_slice import Ask, Mail, chosen
from clew.query.engines.partition import REMOTE, Piece, join
from clew.query.engines.partition_files import Manifest
from clew.query.engines.worker import FarEvent, Source
from clew.query.plan import Condition, EventNode, Node
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PartsSlice:
    """As a `Slice`, of a run in parts; what is asked of it is found by the workers that hold it."""

    engine: PartsEngine
    session: Session
    roots: tuple[int, ...]

    @property
    def direction(self) -> Literal["forward", "backward"]:
        return "forward" if self.forward else "backward"

    @property
    def forward(self) -> bool:
        return self.session.ask.forward

    @property
    def traffic(self) -> Traffic:
        """The cost of the slice."""
        return self.session.traffic

    @cached_property
    def _sizes(self) -> dict[int, tuple[int, int]]:
        return self.engine.everywhere("size", self.session.number)

    @property
    def count(self) -> int:
        return sum(events for events, _ in self._sizes.values())

    @property
    def followed(self) -> int:
        """The number of edges examined."""
        return sum(followed for _, followed in self._sizes.values())

    @property
    def parts(self) -> list[int]:
        """Those that have an event in the slice."""
        return [part for part, (events, _) in sorted(self._sizes.items()) if events]

    @cached_property
    def _events(self) -> I64:
        return np.sort(self.engine.chosen(self.session.number, ())[0])

    def events(self) -> I64:
        """The events of the slice, ascending."""
        return self._events

    @cached_property
    def whole(self) -> Slice:
        """The same slice of the run put together here."""
        of, ask = self.engine.gather(list(range(len(self.engine.manifest.parts)))), self.session.ask
        return slice_events(
            of.graph,
            self.roots,
            self.direction,
            max_hops=ask.max_hops,
            max_network_hops=ask.max_network_hops,
            edge_filter=_allowed(of, ask),
        )

    def __getattr__(self, name: str) -> Any:
        # What needs the events of all parts at once: dominators, pictures, gaps beside it.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole, name)

    def contains(self, event: int) -> bool:
        place = int(np.searchsorted(self._events, event))
        return place < len(self._events) and bool(self._events[place] == event)

    @cached_property
    def _edges(self) -> I64:
        found = self.engine.everywhere("slice_edges", self.session.number)
        inside, outgoing, incoming = (np.concatenate(edges) for edges in zip(*found.values(), strict=True))
        return np.sort(np.concatenate((inside, np.intersect1d(outgoing, incoming, assume_unique=True))))

    def edges(self) -> I64:
        """The numbers of the edges that the filter allows and whose both ends are in the slice, ascending."""
        return self._edges


@dataclass(frozen=True, eq=False)
class GatheredPath(CriticalPath):
    """A critical path found on some parts put together, told in the run's numbers. Its pieces have those of the parts."""

    of: Piece | None = None
    whole: Callable[[], CriticalPath] | None = None
    """The same path in the whole run."""

    def branches(self) -> list[Branch]:
        assert self.of is not None
        return [
            replace(branch, event=_number(self.of, branch.event), joined_by=_number(self.of, branch.joined_by))
            for branch in super().branches()
        ]

    def what_if(self, label: str, percent: float) -> WhatIf:
        # Work that is not on the path may lie in parts that the path does not touch.
        assert self.whole is not None
        return self.whole().what_if(label, percent)

    def project(self, level: str | LabelFunction) -> CriticalPath:
        assert self.of is not None
        assert self.whole is not None
        whole = self.whole
        return _told(super().project(level), self.of, lambda: whole().project(level))


def _number(of: Piece, event: int) -> int:
    return int(of.ids(np.array([event]))[0])


def _told(path: CriticalPath, of: Piece, whole: Callable[[], CriticalPath]) -> GatheredPath:
    segments = [
        replace(
            segment,
            strand=int(of.strands[segment.strand]),
            first_event=_number(of, segment.first_event),
            last_event=_number(of, segment.last_event),
            edge=int(of.edges[segment.edge]) if segment.edge >= 0 else -1,
        )
        for segment in path.segments
    ]
    return GatheredPath(
        path.graph, path.level, segments, path.total_ns, path.pieces, path.labels, path.since_ns, of, whole
    )


class PartsEngine:
    """Answers for a run in parts, whose workers a pool has."""

    def __init__(self, manifest: Manifest, crew: Crew) -> None:
        self.manifest, self.crew = manifest, crew
        self.starts = np.array(manifest.strand_start, np.int64)
        self.part_of_strand = np.array(manifest.strand_part, np.int64)
        self.pieces: dict[int, Piece] = {}

    @property
    def name(self) -> str:
        return self.crew.pool.name

    def close(self) -> None:
        self.crew.pool.close()

    def everywhere(self, method: str, *arguments: Any) -> dict[int, Any]:
        """Return the answer of every worker, by part."""
        found = self.crew.ask(dict.fromkeys(range(self.crew.pool.parts), arguments), method)
        return dict(sorted(found.items()))

    def parts_of(self, ids: I64) -> I64:
        """Return the part of each event."""
        return self.part_of_strand[np.searchsorted(self.starts, ids, "right") - 1]

    def _split(self, ids: I64) -> dict[int, I64]:
        """Return the positions in `ids`, by part."""
        parts = self.parts_of(ids)
        return {part: np.flatnonzero(parts == part) for part in np.unique(parts).tolist()}

    def execute(self, node: Node) -> Any:
        return node.answer_in_parts(self)

    def events(self, node: EventNode) -> I64:
        return node.events_in_parts(self, ())

    # Events

    def chosen(self, source: Source, conditions: tuple[Condition, ...]) -> tuple[I64, I64]:
        found = self.everywhere("choose", source, conditions)
        ids, times = zip(*found.values(), strict=True)
        return np.concatenate(ids), np.concatenate(times)

    def by_time(self, source: Source, conditions: tuple[Condition, ...]) -> I64:
        """Return the events of a source for which the conditions hold, in the order of time."""
        ids, times = self.chosen(source, conditions)
        return ids[np.lexsort((ids, times))]

    def checked(self, ids: I64) -> I64:
        """Return the numbers of events as they are. Raises `ClewError` for a number that the run does not have."""
        if len(ids) and not (ids.min() >= 0 and ids.max() < self.manifest.events):
            raise ClewError(f"a slice starts at events of the run, 0 to {self.manifest.events - 1}; got {ids.max()}")
        return ids

    def held(self, ids: I64, conditions: tuple[Condition, ...]) -> I64:
        """Return those of some events for which the conditions hold, in their order."""
        if not conditions or not len(ids):
            return ids
        calls = {part: (ids[places], conditions) for part, places in self._split(ids).items()}
        held = [chosen for chosen, _ in self.crew.ask(calls, "choose").values()]
        return ids[np.isin(ids, np.concatenate(held))]

    def values(self, ids: I64, names: tuple[str, ...]) -> list[list[Any]]:
        """Return the values of some events, per field."""
        split = self._split(ids)
        found = self.crew.ask({part: (ids[places], names) for part, places in split.items()}, "values")
        columns: list[list[Any]] = [[None] * len(ids) for _ in names]
        for part, places in split.items():
            for column, values in zip(columns, found[part], strict=True):
                for place, value in zip(places.tolist(), values, strict=True):
                    column[place] = value
        return columns

    def records(self, ids: I64) -> list[FarEvent]:
        """Some events, with all there is to say of them."""
        split = self._split(ids)
        found = self.crew.ask({part: (ids[places],) for part, places in split.items()}, "events")
        records: dict[int, FarEvent] = {event.id: event for events in found.values() for event in events}
        return [records[number] for number in ids.tolist()]

    # Slices

    def checked_filter(self, edge_filter: Any) -> Any:
        """Return an edge filter that the workers can apply. Raises `ClewError` for a mask of the wrong size."""
        if edge_filter is None or callable(edge_filter):
            return edge_filter
        mask = np.asarray(edge_filter, bool)
        if mask.shape != (self.manifest.edges,):
            raise ClewError(
                f"an edge filter has one truth value per edge, {self.manifest.edges}; this one has {mask.size}"
            )
        return mask

    def slice_of(self, ids: I64, ask: Ask, *, of_requests: bool = False) -> PartsSlice:
        """Return the slice of some events. Raises `ClewError` for a negative limit."""
        for name, limit in (("max_hops", ask.max_hops), ("max_network_hops", ask.max_network_hops)):
            if limit is not None and limit < 0:
                raise ClewError(f"{name} is {limit}; give 0 or more, or None for no limit")
        direction = "forward" if ask.forward else "backward"
        split = self._split(ids) if len(ids) else {}
        calls = {part: (ids[places], direction, of_requests, ask.limited) for part, places in split.items()}
        starts: dict[int, tuple[Mail, I64]] = self.crew.ask(calls, "mail_of")
        session = self.crew.begin(ask)
        self.crew.slice(session, {part: mail for part, (mail, _) in starts.items()})
        roots = sorted(root for _, found in starts.values() for root in found.tolist())
        made = PartsSlice(self, session, tuple(roots))
        weakref.finalize(made, self.crew.ended.append, session.number)
        return made

    # Aggregates and paths

    def condense(self, cut: PartsSlice | None, level: str | LabelFunction) -> PartsAggregate:
        """Aggregate a slice, or the whole run, at a level."""
        number = None if cut is None else cut.session.number
        found = self.everywhere("condense", number, level)
        name = getattr(level, "__name__", "label") if callable(level) else level
        return together(list(found.values()), name, self.tables.strings)

    @cached_property
    def tables(self) -> ExecutionGraph:
        """Return the graph of one part, for the tables that all parts share."""
        return self._piece(0).graph

    def _piece(self, part: int) -> Piece:
        if part not in self.pieces:
            self.pieces[part] = self.crew.ask({part: ()}, "whole")[part]
        return self.pieces[part]

    def gather(self, parts: list[int]) -> Piece:
        """Combine some parts in this process."""
        wanted = set(parts)
        given = [self._piece(part) if part in wanted else None for part in range(self.crew.pool.parts)]
        return join(given, self.manifest.counted)

    def _behind(self, parts: list[int]) -> list[int]:
        """Some parts, and all that have an edge into them, or into those."""
        found, new = set(parts), list(parts)
        while new:
            before = self.manifest.parts[new.pop()]["incoming_parts"]
            new.extend(part for part in before if part not in found)
            found.update(before)
        return sorted(found)

    def path(self, cut: PartsSlice, level: str | LabelFunction, whole: Callable[[], CriticalPath]) -> CriticalPath:
        """Return the critical path of a slice; `whole` finds the same path in the whole run.

        The holder of a lock that was waited for is on a path back without being in the slice: that takes more parts."""
        ask = cut.session.ask
        parts = cut.parts if ask.forward else self._behind(cut.parts)
        of = self.gather(parts or [0])
        roots = np.array(cut.roots, np.int64)
        made = slice_events(
            of.graph,
            of.rows(roots) if len(roots) else roots,
            cut.direction,
            max_hops=ask.max_hops,
            max_network_hops=ask.max_network_hops,
            edge_filter=_allowed(of, ask),
        )
        return _told(critical_path(of.graph, made, level), of, whole)


def _allowed(of: Piece, ask: Ask) -> Mask | None:
    """Return which edges of some combined parts may be followed."""
    if ask.edge_filter is None and ask.edge_kinds is None:
        return None
    edges = np.zeros(len(of.edges), REMOTE)
    edges["number"], edges["kind"], edges["channel"] = of.edges, of.graph.edge_kind, of.graph.edge_channel
    return chosen(of.graph, edges, ask)
