"""Answer query plans for a partitioned run. Each worker computes what its part allows, and only answers are transferred.

Operators that need the events of several parts at once (critical paths, comparisons, a reduce function) run in this process, on
the joined parts. Invariants: every answer equals the answer for the whole run; events and edges always have the numbers of
the run.
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
from clew.query.engines.distributed_slice import Coordinator, Session, Traffic
from clew.query.engines.merge_aggregates import PartsAggregate, merge_parts
from clew.query.engines.partial_slice import Mail, SliceOptions, chosen
from clew.query.engines.partition import REMOTE, Partition, join
from clew.query.engines.partition_files import Manifest
from clew.query.engines.worker import FarEvent, Source
from clew.query.plan import Condition, EventNode, Node
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PartsSlice:
    """A slice of a partitioned run, with the interface of `Slice`; the workers that hold it answer its methods."""

    engine: PartsEngine
    session: Session
    roots: tuple[int, ...]

    @property
    def direction(self) -> Literal["forward", "backward"]:
        return "forward" if self.forward else "backward"

    @property
    def forward(self) -> bool:
        return self.session.options.forward

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
        """Return the parts that have an event in the slice."""
        return [part for part, (events, _) in sorted(self._sizes.items()) if events]

    @cached_property
    def _events(self) -> I64:
        return np.sort(self.engine.chosen(self.session.number, ())[0])

    def events(self) -> I64:
        """Return the events of the slice, ascending."""
        return self._events

    @cached_property
    def whole(self) -> Slice:
        """Return the same slice, computed in this process on all parts joined."""
        joined, options = self.engine.gather(list(range(len(self.engine.manifest.parts)))), self.session.options
        return slice_events(
            joined.graph,
            self.roots,
            self.direction,
            max_hops=options.max_hops,
            max_network_hops=options.max_network_hops,
            edge_filter=_allowed(joined, options),
        )

    def __getattr__(self, name: str) -> Any:
        # All other attributes of a `Slice` need the events of all parts at once: dominators, drawings, gaps.
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
        """Return the numbers of the edges that the filter admits and that have both ends in the slice, ascending."""
        return self._edges


@dataclass(frozen=True, eq=False)
class GatheredPath(CriticalPath):
    """A critical path on some joined parts, in numbers of the run. Its `pieces` have numbers of the joined parts."""

    joined: Partition | None = None
    whole: Callable[[], CriticalPath] | None = None
    """The function that computes the same path in the whole run."""

    def branches(self) -> list[Branch]:
        assert self.joined is not None
        return [
            replace(branch, event=_number(self.joined, branch.event), joined_by=_number(self.joined, branch.joined_by))
            for branch in super().branches()
        ]

    def what_if(self, label: str, percent: float) -> WhatIf:
        # The estimate includes work off the path, which may be in parts that the path does not touch.
        assert self.whole is not None
        return self.whole().what_if(label, percent)

    def project(self, level: str | LabelFunction) -> CriticalPath:
        assert self.joined is not None
        assert self.whole is not None
        whole = self.whole
        return _in_run_numbers(super().project(level), self.joined, lambda: whole().project(level))


def _number(joined: Partition, event: int) -> int:
    return int(joined.ids(np.array([event]))[0])


def _in_run_numbers(path: CriticalPath, joined: Partition, whole: Callable[[], CriticalPath]) -> GatheredPath:
    """Convert a path on joined parts to numbers of the run."""
    segments = [
        replace(
            segment,
            strand=int(joined.strands[segment.strand]),
            first_event=_number(joined, segment.first_event),
            last_event=_number(joined, segment.last_event),
            edge=int(joined.edges[segment.edge]) if segment.edge >= 0 else -1,
        )
        for segment in path.segments
    ]
    return GatheredPath(
        path.graph,
        path.level,
        segments,
        path.total_ns,
        path.pieces,
        path.labels,
        path.since_ns,
        path.limits,
        path.after_ns,
        joined,
        whole,
    )


class PartsEngine:
    """The engine of a partitioned run. It answers plans with the workers of a pool."""

    def __init__(self, manifest: Manifest, coordinator: Coordinator) -> None:
        self.manifest, self.coordinator = manifest, coordinator
        self.starts = np.array(manifest.strand_start, np.int64)
        self.part_of_strand = np.array(manifest.strand_part, np.int64)
        self.partitions: dict[int, Partition] = {}

    @property
    def name(self) -> str:
        return self.coordinator.pool.name

    def close(self) -> None:
        self.coordinator.pool.close()

    def everywhere(self, method: str, *arguments: Any) -> dict[int, Any]:
        """Return the answer of every worker, by part."""
        found = self.coordinator.ask(dict.fromkeys(range(self.coordinator.pool.parts), arguments), method)
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
        """Return the events of a source for which the conditions hold, sorted by time."""
        ids, times = self.chosen(source, conditions)
        return ids[np.lexsort((ids, times))]

    def checked(self, ids: I64) -> I64:
        """Return the event numbers unchanged. Raises `ClewError` for a number that the run does not have."""
        if len(ids) and not (ids.min() >= 0 and ids.max() < self.manifest.events):
            raise ClewError(f"a slice starts at events of the run, 0 to {self.manifest.events - 1}; got {ids.max()}")
        return ids

    def filtered(self, ids: I64, conditions: tuple[Condition, ...]) -> I64:
        """Return the given events for which the conditions hold, in their order."""
        if not conditions or not len(ids):
            return ids
        calls = {part: (ids[places], conditions) for part, places in self._split(ids).items()}
        passed = [chosen for chosen, _ in self.coordinator.ask(calls, "choose").values()]
        return ids[np.isin(ids, np.concatenate(passed))]

    def values(self, ids: I64, names: tuple[str, ...]) -> list[list[Any]]:
        """Return, per field, the values of the given events."""
        split = self._split(ids)
        found = self.coordinator.ask({part: (ids[places], names) for part, places in split.items()}, "values")
        columns: list[list[Any]] = [[None] * len(ids) for _ in names]
        for part, places in split.items():
            for column, values in zip(columns, found[part], strict=True):
                for place, value in zip(places.tolist(), values, strict=True):
                    column[place] = value
        return columns

    def records(self, ids: I64) -> list[FarEvent]:
        """Return the given events with all their fields."""
        split = self._split(ids)
        found = self.coordinator.ask({part: (ids[places],) for part, places in split.items()}, "events")
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

    def slice_of(self, ids: I64, options: SliceOptions, *, of_requests: bool = False) -> PartsSlice:
        """Return the slice of some events. Raises `ClewError` for a negative limit."""
        for name, limit in (("max_hops", options.max_hops), ("max_network_hops", options.max_network_hops)):
            if limit is not None and limit < 0:
                raise ClewError(f"{name} is {limit}; give 0 or more, or None for no limit")
        direction = "forward" if options.forward else "backward"
        split = self._split(ids) if len(ids) else {}
        calls = {part: (ids[places], direction, of_requests, options.limited) for part, places in split.items()}
        starts: dict[int, tuple[Mail, I64]] = self.coordinator.ask(calls, "initial_mail")
        session = self.coordinator.begin(options)
        self.coordinator.slice(session, {part: mail for part, (mail, _) in starts.items()})
        roots = sorted(root for _, found in starts.values() for root in found.tolist())
        made = PartsSlice(self, session, tuple(roots))
        weakref.finalize(made, self.coordinator.ended.append, session.number)
        return made

    # Aggregates and paths

    def condense(self, cut: PartsSlice | None, level: str | LabelFunction) -> PartsAggregate:
        """Aggregate a slice, or the whole run, at a level."""
        number = None if cut is None else cut.session.number
        found = self.everywhere("condense", number, level)
        name = getattr(level, "__name__", "label") if callable(level) else level
        return merge_parts(list(found.values()), name, self.tables.strings)

    @cached_property
    def tables(self) -> ExecutionGraph:
        """Return the graph of one part, for the tables that all parts share."""
        return self._partition(0).graph

    def _partition(self, part: int) -> Partition:
        if part not in self.partitions:
            self.partitions[part] = self.coordinator.ask({part: ()}, "whole")[part]
        return self.partitions[part]

    def gather(self, parts: list[int]) -> Partition:
        """Join some parts in this process."""
        chosen_parts = set(parts)
        given = [self._partition(part) if part in chosen_parts else None for part in range(self.coordinator.pool.parts)]
        return join(given, self.manifest.counted)

    def _with_predecessors(self, parts: list[int]) -> list[int]:
        """Return some parts and all parts from which edges lead into them, directly or through other parts."""
        found, new = set(parts), list(parts)
        while new:
            before = self.manifest.parts[new.pop()]["incoming_parts"]
            new.extend(part for part in before if part not in found)
            found.update(before)
        return sorted(found)

    def path(self, cut: PartsSlice, level: str | LabelFunction, whole: Callable[[], CriticalPath]) -> CriticalPath:
        """Return the critical path of a slice; `whole` finds the same path in the whole run.

        A path can contain the holder of a lock that a strand waited for. The holder is not in the slice, so a path also
        needs the parts with edges into the slice."""
        options = cut.session.options
        parts = self._with_predecessors(cut.parts)
        joined = self.gather(parts or [0])
        roots = np.array(cut.roots, np.int64)
        made = slice_events(
            joined.graph,
            joined.rows(roots) if len(roots) else roots,
            cut.direction,
            max_hops=options.max_hops,
            max_network_hops=options.max_network_hops,
            edge_filter=_allowed(joined, options),
        )
        return _in_run_numbers(critical_path(joined.graph, made, level), joined, whole)


def _allowed(joined: Partition, options: SliceOptions) -> Mask | None:
    """Return the mask of the edges of some joined parts that the slice may follow; None without a filter."""
    if options.edge_filter is None and options.edge_kinds is None:
        return None
    edges = np.zeros(len(joined.edges), REMOTE)
    edges["number"], edges["kind"], edges["channel"] = joined.edges, joined.graph.edge_kind, joined.graph.edge_channel
    return chosen(joined.graph, edges, options)
