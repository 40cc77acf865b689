"""What holds one part of a run and answers for it: in this process, or as an actor on another machine.

Invariants: events go in and out by the run's numbers (mail excepted, which is rows of the part that gets it); a worker knows
nothing of other workers, so that it can be started again anywhere from its part and the state of its slices.
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
from clew.query.engines.merge_aggregates import Nodes, OfPart
from clew.query.engines.partial_slice import Ask, Mail, Search, search
from clew.query.engines.partition import Piece
from clew.query.engines.partition_files import Manifest, read_part
from clew.query.fields import column
from clew.query.operators.requests import request_roots, requests_named
from clew.query.operators.where import matching
from clew.query.plan import Condition
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
EVERYTHING, REQUESTS = "everything", "requests"
SUMS = ("calls", "self_ns", "total_ns", "waiting_ns", "errors")
"""The sums that a node of a partial aggregate has."""
Source = str | int | I64 | tuple[str, str | None]
"""Events of a part: everything, the requests of a name, those of a slice by its session, or some by number."""


@dataclass(frozen=True)
class FarEvent:
    """An event of another process's graph, with what an `Event` says of it."""

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
    piece: Piece
    searches: dict[int, Search] = field(default_factory=dict)
    """The slices in progress or in use, by session."""

    def __post_init__(self) -> None:
        self.piece.graph.answers["numbering"] = self.piece.ids

    @staticmethod
    def of(where: str | Path, manifest: Manifest, number: int) -> Worker:
        return Worker(read_part(where, manifest, number))

    def pid(self) -> int:
        return os.getpid()

    # Slices

    def begin(self, session: int, ask: Ask) -> None:
        self.searches[session] = search(self.piece, ask)

    def go_on(self, session: int, mail: Mail, rounds: int = -1) -> tuple[dict[int, Mail], bool]:
        """What is to be sent to other parts, and whether nothing is left to be done here."""
        found = self.searches[session]
        return found.go_on(mail, rounds), found.idle

    def save(self, session: int) -> Any:
        return self.searches[session].save()

    def load(self, session: int, ask: Ask, state: Any) -> None:
        self.begin(session, ask)
        if state is not None:
            self.searches[session].load(state)

    def end(self, session: int) -> None:
        self.searches.pop(session, None)

    def size(self, session: int) -> tuple[int, int]:
        """Return the number of events of the slice here, and the number of followed edges."""
        made = self._slice(session)
        return made.count, self.searches[session].followed

    def slice_edges(self, session: int) -> tuple[I64, I64, I64]:
        """The run's numbers of the slice's edges here, and of those whose beginning (end) alone is here."""
        made = self._slice(session)
        outgoing, incoming = (
            self._of_slice(session, edges)["number"] for edges in (self.piece.outgoing, self.piece.incoming)
        )
        return self.piece.edges[made.edges()], outgoing, incoming

    def _slice(self, session: int) -> Slice:
        found = self.searches[session]
        direction: Literal["forward", "backward"] = "forward" if found.ask.forward else "backward"
        made = Slice(self.piece.graph, direction, (), found.allowed)
        made.__dict__["reached"] = found.reached()
        return made

    def _of_slice(self, session: int, edges: npt.NDArray[Any]) -> npt.NDArray[Any]:
        edges = edges[self.searches[session].remote_allowed(edges)]
        return edges[self._slice(session).holds(edges["near"].astype(np.int64))] if len(edges) else edges

    # Events

    def _rows(self, source: Source) -> I64:
        graph = self.piece.graph
        if isinstance(source, np.ndarray):
            return self.piece.rows(source)
        if isinstance(source, int):
            return self._slice(source).events()
        if isinstance(source, tuple):
            return requests_named(graph, source[1])
        return np.arange(len(graph), dtype=np.int64)

    def choose(self, source: Source, conditions: tuple[Condition, ...]) -> tuple[I64, I64]:
        """Return the events that meet the conditions, and their times, in the order of the source."""
        rows = matching(self.piece.graph, self._rows(source), tuple(self._asked_by_number(conditions)))
        return self.piece.ids(rows), self.piece.graph.ts[rows]

    def _asked_by_number(self, conditions: tuple[Condition, ...]) -> list[Condition]:
        """Functions get events that have the run's numbers."""
        return [
            (name, comparison, _on_far(self.piece, wanted)) if comparison == "call" else (name, comparison, wanted)
            for name, comparison, wanted in conditions
        ]

    def values(self, ids: I64, names: tuple[str, ...]) -> list[list[Any]]:
        """Return the values of some events, per field."""
        rows = self.piece.rows(ids)
        return [column(self.piece.graph, rows, name).to_list() for name in names]

    def events(self, ids: I64) -> list[FarEvent]:
        rows = self.piece.rows(ids)
        return [
            FarEvent.of(self.piece.graph.event(row), number)
            for row, number in zip(rows.tolist(), ids.tolist(), strict=True)
        ]

    def request_names(self) -> list[str]:
        graph = self.piece.graph
        return sorted({graph.channel(row) for row in graph.rows_of([Kind.REQUEST]).tolist()})

    def mail_of(self, ids: I64, direction: str, of_requests: bool, limited: bool) -> tuple[Mail, I64]:
        """Mail that starts a slice from events (from requests, where their flow begins or ends), and those events."""
        rows = self.piece.rows(ids)
        if of_requests:
            rows = request_roots(self.piece.graph, rows, direction)
        mail = rows.astype(np.uint32)
        nothing = np.zeros_like(mail)
        return np.stack((mail, nothing, nothing), axis=1) if limited else mail, self.piece.ids(rows)

    # Aggregates

    def condense(self, session: int | None, level: str | LabelFunction) -> OfPart:
        """Aggregate the local share of the slice of a session, or of the whole run."""
        graph, piece = self.piece.graph, self.piece
        labels = labels_of(graph, _on_far(piece, level) if callable(level) else level)
        cut = None if session is None else self._slice(session)
        outgoing, incoming = piece.outgoing, piece.incoming
        if session is not None:
            outgoing, incoming = self._of_slice(session, outgoing), self._of_slice(session, incoming)
        found = Gathered(graph, cut, labels)
        return OfPart(
            self._nodes(found, level),
            found.columns,
            (outgoing, _nodes_of(found, outgoing)),
            (incoming, _nodes_of(found, incoming)),
            labels.located,
        )

    def _nodes(self, found: Gathered, level: str | LabelFunction) -> Nodes:
        graph, piece, rows, nodes = self.piece.graph, self.piece, found.rows, found.nodes
        node, count = found.node_of_row.astype(np.int64), len(nodes)
        begin = np.arange(count)

        def pick(*keys: I64) -> I64:
            order = np.lexsort((*keys, node))
            picked: I64 = order[np.searchsorted(node[order], begin)]
            return picked

        first, last = nodes["first_event"].astype(np.int64), nodes["last_event"].astype(np.int64)
        if level in RUNTIME and graph.structure.steady:
            rank = piece.rank[graph.structure.locate(rows)[0]].astype(np.int64)
            order = (rank[pick(rank)], np.zeros(count, np.int64))
        else:
            smallest = rows[pick(rows, graph.region[rows].astype(np.int64))]
            order = (piece.region_ids(graph.region[smallest].astype(np.int64)), piece.ids(smallest))
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
            (graph.ts[first], piece.ids(first)),
            (graph.ts[last], piece.ids(last)),
            order,
            {name: nodes[name].astype(np.int64) for name in SUMS},
            (pairs[0], piece.strands[pairs[1]]),
            (kinds & HAS_REQUEST != 0) + 2 * (kinds & HAS_ENTER != 0).astype(np.int64),
            names,
        )

    def _names(self, labels: Labels, level: str | LabelFunction, row: int) -> tuple[Any, ...]:
        graph = self.piece.graph
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

    def whole(self) -> Piece:
        """The part itself, for what is answered where it was asked."""
        return self.piece.loose()


def _nodes_of(found: Gathered, edges: npt.NDArray[Any]) -> I64:
    """Return the node of the near end of each edge that leads to or from another part."""
    near: I64 = found.node_of_row[np.searchsorted(found.rows, edges["near"])].astype(np.int64)
    return near


def _on_far(piece: Piece, function: Any) -> Any:
    """A user's function of an event, given events that have the run's numbers."""

    def asked(event: Event) -> Any:
        return function(FarEvent.of(event, int(piece.ids(np.array([event.id]))[0])))

    asked.__name__ = getattr(function, "__name__", "label")
    return asked
