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

from clew.graph.columns import Column, Table
from clew.graph.engines.cut import REMOTE, Piece, join
from clew.graph.engines.folder import Manifest
from clew.graph.engines.nodes import PartsAggregate, together
from clew.graph.engines.search import Ask, Mail, chosen
from clew.graph.engines.traverse import Crew, Session, Traffic
from clew.graph.engines.worker import EVERYTHING, REQUESTS, FarEvent, Source
from clew.graph.execute import execute, execute_events, origin, refuse_requests
from clew.graph.levels import LabelFunction, labels_of
from clew.graph.model import ExecutionGraph
from clew.graph.nodes import (
    Aggregate,
    Beside,
    Chosen,
    Columns,
    Compare,
    Condition,
    Cut,
    EventNode,
    Events,
    Gaps,
    Grouped,
    Kinds,
    Limit,
    Machines,
    Node,
    OpenRun,
    OrderBy,
    PathNode,
    Requests,
    Strands,
    Where,
)
from clew.graph.ops.critical_path import Branch, CriticalPath, critical_path
from clew.graph.ops.slice import Mask, Slice, slice_events
from clew.graph.ops.what_if import WhatIf
from clew.records.errors import ClewError
from clew.records.event import EdgeKind

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
        """What it cost."""
        return self.session.traffic

    @cached_property
    def _sizes(self) -> dict[int, tuple[int, int]]:
        return self.engine.everywhere("size", self.session.number)

    @property
    def count(self) -> int:
        return sum(events for events, _ in self._sizes.values())

    @property
    def followed(self) -> int:
        """How many edges were looked at."""
        return sum(followed for _, followed in self._sizes.values())

    @property
    def parts(self) -> list[int]:
        """Those that have an event in the slice."""
        return [part for part, (events, _) in sorted(self._sizes.items()) if events]

    @cached_property
    def _events(self) -> I64:
        return np.sort(self.engine.chosen(self.session.number, ())[0])

    def events(self) -> I64:
        """The slice's events, ascending."""
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
        """What every worker answers, by part."""
        found = self.crew.ask(dict.fromkeys(range(self.crew.pool.parts), arguments), method)
        return dict(sorted(found.items()))

    def parts_of(self, ids: I64) -> I64:
        """The part of each event."""
        return self.part_of_strand[np.searchsorted(self.starts, ids, "right") - 1]

    def _split(self, ids: I64) -> dict[int, I64]:
        """Places in `ids`, by part."""
        parts = self.parts_of(ids)
        return {part: np.flatnonzero(parts == part) for part in np.unique(parts).tolist()}

    # Events

    def execute(self, node: Node) -> Any:
        match node:
            case Cut() if _goes_one_way(node):
                return self.slice(node)
            case Aggregate(source=source) if isinstance(source, Events) or _goes_one_way(source):
                return self.aggregate(node)
            case PathNode():
                return self.path(node)
            case Cut() | Aggregate() | Compare() | Grouped() | Beside() | Kinds() | Gaps() | Machines() | Strands():
                return execute(_gathered(node))
            case Columns():
                return self._columns(node)
            case _:
                return self.events(node)

    def chosen(self, source: Source, conditions: tuple[Condition, ...]) -> tuple[I64, I64]:
        found = self.everywhere("choose", source, conditions)
        ids, times = zip(*found.values(), strict=True)
        return np.concatenate(ids), np.concatenate(times)

    def _by_time(self, source: Source, conditions: tuple[Condition, ...]) -> I64:
        ids, times = self.chosen(source, conditions)
        return ids[np.lexsort((ids, times))]

    def events(self, node: EventNode, conditions: tuple[Condition, ...] = ()) -> I64:
        """The events that a plan chooses, in its order, as far as the conditions hold for them."""
        match node:
            case Events():
                return self._by_time(EVERYTHING, conditions)
            case Requests():
                found = self._by_time((REQUESTS, node.name), conditions)
                if node.name is not None and not len(found):
                    known = {name for names in self.everywhere("request_names").values() for name in names}
                    if node.name not in known:
                        refuse_requests(node, known)
                return found
            case Cut() if not _goes_one_way(node):
                return self._held(execute_events(_gathered(node)), conditions)
            case Cut():
                cut = self.slice(node)  # workers forget it when it is gone
                return self._by_time(cut.session.number, conditions)
            case Where():
                return self.events(node.source, (*node.conditions, *conditions))
            case Chosen():
                return self._held(self._checked(np.array(node.events, np.int64)), conditions)
            case OrderBy():
                ids = self.events(node.source, conditions)
                values = self.values(ids, (node.field,))[0]
                distinct = sorted(set(values))
                place = {value: number for number, value in enumerate(distinct)}
                rank = np.array([place[value] for value in values], np.int64)
                return ids[np.argsort(-rank if node.descending else rank, kind="stable")]
            case Limit():
                return self._held(self.events(node.source)[: node.count], conditions)

    def _checked(self, ids: I64) -> I64:
        if len(ids) and not (ids.min() >= 0 and ids.max() < self.manifest.events):
            raise ClewError(f"a slice starts at events of the run, 0 to {self.manifest.events - 1}; got {ids.max()}")
        return ids

    def _held(self, ids: I64, conditions: tuple[Condition, ...]) -> I64:
        """Those of some events for which conditions hold, in their order."""
        if not conditions or not len(ids):
            return ids
        calls = {part: (ids[places], conditions) for part, places in self._split(ids).items()}
        held = [chosen for chosen, _ in self.crew.ask(calls, "choose").values()]
        return ids[np.isin(ids, np.concatenate(held))]

    def values(self, ids: I64, names: tuple[str, ...]) -> list[list[Any]]:
        """Per field the values of some events."""
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

    def _columns(self, node: Columns) -> Table:
        ids = self.events(node.source)
        places, values = np.arange(len(ids)), self.values(ids, node.names)
        return Table({name: Column(places, column) for name, column in zip(node.names, values, strict=True)})

    # Slices

    def slice(self, node: Cut) -> PartsSlice:
        ids = self.events(node.source)
        if not isinstance(origin(node.source), Requests):
            ids = np.unique(ids)
        return self.slice_of(
            ids,
            Ask(
                node.direction == "forward",
                node.max_hops,
                node.max_network_hops,
                self._filter(node.edge_filter),
                None if node.edge_kinds is None else tuple(int(EdgeKind[kind.upper()]) for kind in node.edge_kinds),
            ),
            of_requests=isinstance(origin(node.source), Requests),
        )

    def _filter(self, edge_filter: Any) -> Any:
        if edge_filter is None or callable(edge_filter):
            return edge_filter
        mask = np.asarray(edge_filter, bool)
        if mask.shape != (self.manifest.edges,):
            raise ClewError(
                f"an edge filter has one truth value per edge, {self.manifest.edges}; this one has {mask.size}"
            )
        return mask

    def slice_of(self, ids: I64, ask: Ask, *, of_requests: bool = False) -> PartsSlice:
        """The slice of some events. Raises `ClewError` for a negative limit."""
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

    def aggregate(self, node: Aggregate) -> Any:
        if node.reduce is not None:
            return execute(_gathered(node))
        cut = self.slice(node.source) if isinstance(node.source, Cut) else None
        made = self.condense(cut, node.level)
        counted = self.manifest.counted
        if cut is not None or not counted:
            return made
        tables = self._tables
        of_site = labels_of(tables, node.level).of_site
        named: dict[str, int] = {}
        unplaced = 0
        for site, calls in counted.items():
            if of_site is None:
                unplaced += calls
            else:
                named[of_site(site)] = named.get(of_site(site), 0) + calls
        return made.with_counted(named, unplaced)

    def condense(self, cut: PartsSlice | None, level: str | LabelFunction) -> PartsAggregate:
        """A slice, or everything, at a level."""
        number = None if cut is None else cut.session.number
        found = self.everywhere("condense", number, level)
        name = getattr(level, "__name__", "label") if callable(level) else level
        return together(list(found.values()), name, self._tables.strings)

    @cached_property
    def _tables(self) -> ExecutionGraph:
        """A part's graph, for the tables that all have."""
        return self._piece(0).graph

    def _piece(self, part: int) -> Piece:
        if part not in self.pieces:
            self.pieces[part] = self.crew.ask({part: ()}, "whole")[part]
        return self.pieces[part]

    def gather(self, parts: list[int]) -> Piece:
        """Some parts put together here."""
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

    def path(self, node: PathNode) -> CriticalPath:
        """Whoever had a lock that was waited for is on a path back without being in the slice: that takes more parts."""
        cut = self.slice(node.source)
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

        def whole() -> CriticalPath:
            path: CriticalPath = execute(_gathered(node))
            return path

        return _told(critical_path(of.graph, made, node.level), of, whole)


def _allowed(of: Piece, ask: Ask) -> Mask | None:
    """Which edges of some parts put together may be followed."""
    if ask.edge_filter is None and ask.edge_kinds is None:
        return None
    edges = np.zeros(len(of.edges), REMOTE)
    edges["number"], edges["kind"], edges["channel"] = of.edges, of.graph.edge_kind, of.graph.edge_channel
    return chosen(of.graph, edges, ask)


def _goes_one_way(node: Cut) -> bool:
    return node.direction != "both" and node.until is None


def _gathered(node: Any) -> Any:
    """The same plan, for the run put together from all its parts."""
    if isinstance(node, Events | Chosen | Requests | Gaps | Machines | Strands):
        run = node.run
        return replace(node, run=OpenRun(run.info, run.folder, run.problems, run.graph))
    if isinstance(node, Compare):
        return Compare(_gathered(node.before), _gathered(node.after))
    if isinstance(node, Cut) and node.until is not None and not callable(node.until):
        node = replace(node, until=_gathered(node.until))
    return replace(node, source=_gathered(node.source))
