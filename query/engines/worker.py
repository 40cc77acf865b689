"""Hold one part of a run and answer for it, in this process or as an actor on another machine.

Invariants: methods take and return event numbers of the run, except mail, which has rows of the receiving part. A worker does
not know other workers, so it can restart anywhere from its part and the state of its slices.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clew.graph.model.event import Event
from clew.graph.model.levels import RUNTIME, LabelFunction, Labels, labels_of
from clew.graph.model.structure_layout import HAS_ENTER, HAS_REQUEST
from clew.graph.ops.aggregation.by_event import Gathered
from clew.graph.ops.slicing.interval import Slice
from clew.query.engines.merge_aggregates import Nodes, PartAggregate
from clew.query.engines.partial_slice import Mail, Search, SliceOptions, search
from clew.query.engines.partition import Partition
from clew.query.engines.partition_files import Manifest, read_part
from clew.query.fields import column
from clew.query.operators.events.requests import request_roots
from clew.query.operators.events.where import matching
from clew.query.plan import Condition
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
EVERYTHING, REQUESTS = "everything", "requests"
SUMS = ("calls", "self_ns", "total_ns", "waiting_ns", "errors")
"""The sums that a node of a partial aggregate has."""
Source = str | int | I64 | tuple[str, str | None]
"""A set of events: all (`EVERYTHING`), the requests with a name, a slice by its session number, or events by number."""


@dataclass(frozen=True)
class FarEvent:
    """An event of a partition, with the fields of an `Event` and its number in the run."""

    id: int
    kind: str
    ts: int
    wall_ns: int
    text: str
    channel: str
    key: str
    function: str
    module: str
    file: str
    line: int
    level: str
    process: str
    strand: str
    thread: str

    @staticmethod
    def of(event: Event, id_: int) -> FarEvent:
        return FarEvent(id_, *(getattr(event, field.name) for field in fields(FarEvent)[1:]))

    def __str__(self) -> str:
        return Event.__str__(self)  # type: ignore[arg-type]  # it has the same fields


@dataclass(eq=False)
class Worker:
    """A partition and the slices that are computed on it."""

    partition: Partition
    searches: dict[int, Search] = field(default_factory=dict)
    """The slices in progress or in use, by session."""

    def __post_init__(self) -> None:
        self.partition.graph.answers["numbering"] = self.partition.ids

    @staticmethod
    def of(where: str | Path, manifest: Manifest, number: int) -> Worker:
        return Worker(read_part(where, manifest, number))

    def pid(self) -> int:
        return os.getpid()

    # Slices

    def begin(self, session: int, options: SliceOptions) -> None:
        self.searches[session] = search(self.partition, options)

    def advance(self, session: int, mail: Mail, rounds: int = -1) -> tuple[dict[int, Mail], bool]:
        """Follow the mail. Return the mail to other parts, and whether nothing is left to follow here."""
        found = self.searches[session]
        return found.advance(mail, rounds), found.idle

    def save(self, session: int) -> Any:
        return self.searches[session].save()

    def load(self, session: int, options: SliceOptions, state: Any) -> None:
        self.begin(session, options)
        if state is not None:
            self.searches[session].load(state)

    def end(self, session: int) -> None:
        self.searches.pop(session, None)

    def size(self, session: int) -> tuple[int, int]:
        """Return the number of local events of the slice, and the number of followed edges."""
        made = self._slice(session)
        return made.count, self.searches[session].followed

    def slice_edges(self, session: int) -> tuple[I64, I64, I64]:
        """Return the numbers of the local edges of the slice, and of its edges that leave the part and that enter it."""
        made = self._slice(session)
        outgoing, incoming = (
            self._of_slice(session, edges)["number"] for edges in (self.partition.outgoing, self.partition.incoming)
        )
        return self.partition.edges[made.edges()], outgoing, incoming

    def _slice(self, session: int) -> Slice:
        found = self.searches[session]
        direction: Literal["forward", "backward"] = "forward" if found.options.forward else "backward"
        made = Slice(self.partition.graph, direction, (), found.allowed)
        made.__dict__["reached"] = found.reached()
        return made

    def _of_slice(self, session: int, edges: npt.NDArray[Any]) -> npt.NDArray[Any]:
        edges = edges[self.searches[session].remote_allowed(edges)]
        return edges[self._slice(session).holds(edges["near"].astype(np.int64))] if len(edges) else edges

    # Events

    def _rows(self, source: Source) -> I64:
        graph = self.partition.graph
        if isinstance(source, np.ndarray):
            return self.partition.rows(source)
        if isinstance(source, int):
            return self._slice(source).events()
        if isinstance(source, tuple):
            return graph.rows_of([Kind.REQUEST], source[1])
        return np.arange(len(graph), dtype=np.int64)

    def choose(self, source: Source, conditions: tuple[Condition, ...]) -> tuple[I64, I64]:
        """Return the events that meet the conditions, and their times, in the order of the source."""
        rows = matching(self.partition.graph, self._rows(source), tuple(self._with_run_numbers(conditions)))
        return self.partition.ids(rows), self.partition.graph.ts[rows]

    def _with_run_numbers(self, conditions: tuple[Condition, ...]) -> list[Condition]:
        """Return the conditions with their functions wrapped: these receive events with numbers of the run."""
        return [
            (name, comparison, _on_far(self.partition, operand))
            if comparison == "call"
            else (name, comparison, operand)
            for name, comparison, operand in conditions
        ]

    def values(self, ids: I64, names: tuple[str, ...]) -> list[list[Any]]:
        """Return, per field, the values of the given events."""
        rows = self.partition.rows(ids)
        return [column(self.partition.graph, rows, name).to_list() for name in names]

    def events(self, ids: I64) -> list[FarEvent]:
        rows = self.partition.rows(ids)
        return [
            FarEvent.of(self.partition.graph.event(row), number)
            for row, number in zip(rows.tolist(), ids.tolist(), strict=True)
        ]

    def request_names(self) -> list[str]:
        graph = self.partition.graph
        return sorted({graph.channel(row) for row in graph.rows_of([Kind.REQUEST]).tolist()})

    def initial_mail(self, ids: I64, direction: str, of_requests: bool, limited: bool) -> tuple[Mail, I64]:
        """Return the mail that starts a slice at the given events, and the events where it starts.

        With `of_requests`, these are the events where the flow of each request begins or ends."""
        rows = self.partition.rows(ids)
        if of_requests:
            rows = request_roots(self.partition.graph, rows, direction)
        mail = rows.astype(np.uint32)
        nothing = np.zeros_like(mail)
        return np.stack((mail, nothing, nothing), axis=1) if limited else mail, self.partition.ids(rows)

    # Aggregates

    def condense(self, session: int | None, level: str | LabelFunction) -> PartAggregate:
        """Aggregate the local part of a slice, or of the whole run if `session` is None."""
        graph, partition = self.partition.graph, self.partition
        labels = labels_of(graph, _on_far(partition, level) if callable(level) else level)
        cut = None if session is None else self._slice(session)
        outgoing, incoming = partition.outgoing, partition.incoming
        if session is not None:
            outgoing, incoming = self._of_slice(session, outgoing), self._of_slice(session, incoming)
        found = Gathered(graph, cut, labels)
        return PartAggregate(
            self._nodes(found, level),
            found.columns,
            (outgoing, _nodes_of(found, outgoing)),
            (incoming, _nodes_of(found, incoming)),
            labels.located,
        )

    def _nodes(self, found: Gathered, level: str | LabelFunction) -> Nodes:
        graph, partition, rows, nodes = self.partition.graph, self.partition, found.rows, found.nodes
        node, count = found.node_of_row.astype(np.int64), len(nodes)
        begin = np.arange(count)

        def pick(*keys: I64) -> I64:
            order = np.lexsort((*keys, node))
            picked: I64 = order[np.searchsorted(node[order], begin)]
            return picked

        first, last = nodes["first_event"].astype(np.int64), nodes["last_event"].astype(np.int64)
        if level in RUNTIME and graph.structure.steady:
            rank = partition.rank[graph.structure.locate(rows)[0]].astype(np.int64)
            order = (rank[pick(rank)], np.zeros(count, np.int64))
        else:
            smallest = rows[pick(rows, graph.region[rows].astype(np.int64))]
            order = (partition.region_ids(graph.region[smallest].astype(np.int64)), partition.ids(smallest))
        pairs = np.unique(np.stack((node, graph.strand[rows].astype(np.int64))), axis=1)
        kinds = nodes["kinds"]
        names = np.empty(count, object)
        for number, row in enumerate(first.tolist()):
            names[number] = self._names(found.labels, level, row)
        label = np.empty(count, object)
        label[:] = [found.labels.name(one) for one in nodes["label"].tolist()]
        return Nodes(
            label,
            nodes["events"].astype(np.int64),
            (graph.ts[first], partition.ids(first)),
            (graph.ts[last], partition.ids(last)),
            order,
            {name: nodes[name].astype(np.int64) for name in SUMS},
            (pairs[0], partition.strands[pairs[1]]),
            (kinds & HAS_REQUEST != 0) + 2 * (kinds & HAS_ENTER != 0).astype(np.int64),
            names,
        )

    def _names(self, labels: Labels, level: str | LabelFunction, row: int) -> tuple[Any, ...]:
        graph = self.partition.graph
        event = level == "event"
        kind = graph.event(row).kind if event else ""
        location = None
        if event:
            location = graph.location(row)
        elif labels.located:
            owner = int(graph.owner[row])
            site = graph.sites[int(graph.site[owner if owner >= 0 else row])]
            location = (site.file, site.line) if site.file and not site.is_adapter else None
        return kind, graph.process_of(row).name, graph.strand_of(row).name, location

    def whole(self) -> Partition:
        """Return the partition itself, for queries that the engine answers in its own process."""
        return self.partition.in_memory()


def _nodes_of(found: Gathered, edges: npt.NDArray[Any]) -> I64:
    """Return the node of the near end of each edge that leads to or from another part."""
    near: I64 = found.node_of_row[np.searchsorted(found.rows, edges["near"])].astype(np.int64)
    return near


def _on_far(partition: Partition, function: Any) -> Any:
    """Wrap a user's function of an event, so that it receives events with numbers of the run."""

    def wrapped(event: Event) -> Any:
        return function(FarEvent.of(event, int(partition.ids(np.array([event.id]))[0])))

    wrapped.__name__ = getattr(function, "__name__", "label")
    return wrapped
