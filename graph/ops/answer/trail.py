"""Walk back from an event to what it depended on, reason by reason, and stay in its request as long as reasons allow.

A position is a strand and a row: everything in the same unit of work (a request, a work item, a task) before the row may
have led to the event. From a position the walk goes, cheapest first, to the exception that was handled there, to the
strands whose end or result was awaited, to the holders of what was waited for, to those who cancelled it, to the writers
of a state, to the caller, and last to the strand that started the unit. Invariant: a step to another request carries data,
a resource or a message; starting and waking never lead out of a request.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count, islice

import numpy as np

from clew.graph.model.graph import ExecutionGraph, RegionKind
from clew.graph.ops.answer import phrases
from clew.graph.ops.answer.comparison.usual_waits import UsualWaits
from clew.graph.ops.answer.edge_reasons import is_no_cause, is_outcome, reason_of
from clew.graph.ops.answer.relevance import is_fresh, last_waits, waits_during
from clew.graph.ops.answer.sent_requests import sent_request
from clew.graph.ops.causes.state_waits import edges_into, path_to_state
from clew.graph.ops.causes.why import why
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.control.cancelled_by import cancelled_at, cancelled_by
from clew.graph.ops.diagnoses.finding import Finding, Reason
from clew.graph.ops.facts.blockers import Blockers
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.exceptions.handled import handled_at
from clew.graph.ops.facts.facts import Facts, Holding, Waiting, Waits
from clew.graph.ops.facts.unfollowed import unfollowed_at
from clew.graph.ops.facts.work.work_units import request_of, unit_of
from clew.records.format.event import EdgeKind, Kind
from clew.records.format.facts import Frame

MOST_POSITIONS = 300
MOST_EDGES = 40
"""The latest edges of a region that are followed."""
MOST_WAITS = 40
"""The waits of one unit that are followed: those that did not end well first, then the longest."""
WAITS_SEARCHED = 2000
"""Of a longer unit, only its last waits are considered."""
_COST = {Reason.DATA: 1, Reason.RESOURCE: 1, Reason.CONTROL: 2, Reason.CALL: 4, Reason.SCHEDULING: 8}
_CANCELLATIONS = frozenset({"CancelledError", "TimeoutError", "BaseExceptionGroup", "ExceptionGroup"})
_UNITS = frozenset({RegionKind.REQUEST, RegionKind.SCOPE})


@dataclass(frozen=True)
class Position:
    """A place that the event depended on."""

    strand: int
    row: int
    first: int
    """The first row of the unit of work that `row` is in."""
    reason: Reason
    """How the position before depends on this one."""
    text: str
    """The step in words; "" for the event itself."""
    events: tuple[int, ...]
    cost: int
    depth: int
    edge: int = -1
    """The number of the recorded edge between them, -1 for none."""
    came_from: Position | None = field(default=None, repr=False)
    since_ns: int = -1
    """The beginning of the wait during which the position before depended on this one, in ns; -1 if it was no wait."""
    is_sent_request: bool = False
    """Whether it tells what became of a request that the position before had sent."""

    def path(self) -> list[Position]:
        """Return the positions from the event to this one."""
        found = [self]
        while found[-1].came_from is not None:
            found.append(found[-1].came_from)
        return found[::-1]


class Trail:
    """The walk from one event. `positions` yields what is near first."""

    def __init__(self, graph: ExecutionGraph, event: int) -> None:
        self.graph = graph
        self.facts = Facts.of(graph)
        self.event = event
        self.usual_waits = UsualWaits(self.facts, event)

    def positions(self) -> Iterator[Position]:
        """Yield the event's own position, then what it depended on, by rising cost; stop where execution was not followed."""
        start = self._at(self.event, Reason.CALL, "", (self.event,), None)
        order = count()
        heap = [(0, next(order), start)]
        seen: set[tuple[int, int]] = set()
        found = 0
        while heap and found < MOST_POSITIONS:
            _, _, position = heapq.heappop(heap)
            place = position.strand, position.row
            if place in seen:
                continue
            seen.add(place)
            found += 1
            yield position
            if unfollowed_at(self.graph, position.row) is not None:
                continue
            for following in self.reasons(position):
                heapq.heappush(heap, (following.cost, next(order), following))

    def _at(  # noqa: PLR0917  # the fields of a position
        self, row: int, reason: Reason, text: str, events: tuple[int, ...], before: Position | None, extra: int = 0,
        edge: int = -1,
    ) -> Position:  # fmt: skip
        cost = before.cost + _COST[reason] + extra if before else 0
        depth = before.depth + 1 if before else 0
        strand = self.graph.at("strand", row)
        return Position(strand, row, unit_of(self.graph, row), reason, text, events, cost, depth, edge, before)

    def reasons(self, position: Position) -> Iterator[Position]:
        """Yield the positions that one position directly depended on."""
        yield from self._exceptions(position)
        yield from self._sent(position)
        yield from self._waits(position)
        yield from self._cancels(position)
        yield from self._cancelled_children(position)
        yield from self._edges(position)

    # ---- Data: the exception that was handled ----

    def _exceptions(self, position: Position) -> Iterator[Position]:
        for handled in handled_at(self.facts, position.row):
            fact, first = handled.fact, handled.first
            text = f"{words.exception(fact)} was {phrases.raised(self.facts, handled) or 'raised in unrecorded code'}"
            if first.row != position.row:
                yield self._at(first.row, Reason.DATA, text, handled.rows, position)
            for ended in Ends.of(self.facts).by_exception.get(fact.resource, ()):
                if ended.ns <= self.graph.at("ts", position.row) and ended.row != position.row:
                    text = f"{words.exception(fact)} ended {words.who(self.facts, ended.strand)}"
                    yield self._at(ended.row, Reason.DATA, text, (fact.row, ended.row), position)

    # ---- Data: the answer to a request that was sent ----

    def _sent(self, position: Position) -> Iterator[Position]:
        """Yield what became of the request that failed at the position, which an exception or the event itself shows."""
        if position.depth and position.reason is not Reason.DATA:
            return
        if position.edge < 0 and self.graph.at("kind", position.row) in (Kind.EXCEPTION, Kind.LOG, Kind.OUTPUT):
            found = sent_request(self.facts, position.row)
            if found is not None:
                following = self._at(found.row, Reason.DATA, found.text, found.events, position)
                yield replace(following, is_sent_request=True)

    # ---- Resources and awaited strands ----

    def waits_before(self, position: Position) -> list[Waiting]:
        """Return the waits of the position's strand that may have led to its row, the most telling first.

        While another strand waited for this one, all its waits count.
        """
        if self.is_context(position):
            return []
        if position.since_ns >= 0:
            ns = self.graph.at("ts", position.row)
            near = waits_during(self.facts, position.strand, position.since_ns, ns)[-WAITS_SEARCHED:]
        else:
            anchors = [position.row]
            for handled in handled_at(self.facts, position.row):
                if handled.first.strand == position.strand:
                    anchors.append(handled.first.row)
                anchors += self._failed_at(position, handled.at)
            near = last_waits(self.facts, position.strand, min(anchors))
        inside = self._without_inner(near)
        bad = np.where(inside.ended("timeout", "never"), 0, np.where(inside.ended("failed", "cancelled"), 1, 2))
        shortness = np.where(bad < 2, -inside.row, inside.begin_ns - inside.until_ns(self.facts.last_ns))
        ordered = inside.take(np.lexsort((shortness, bad)))
        return list(islice((wait for wait in ordered if not self.usual_waits.has(wait)), MOST_WAITS))

    def _failed_at(self, position: Position, at: tuple[Frame, ...]) -> Iterator[int]:
        """Yield the end of the last wait of the position's unit that failed at the line where an exception was raised."""
        waits = self.facts.waits_of.of(position.strand)
        waits = waits.take(
            (waits.row >= position.first) & (waits.row < position.row) & waits.ended("timeout", "failed")
        )
        for wait in list(waits[-MOST_WAITS:])[::-1] if at else ():
            blocked = self.facts.blocked_at(wait)
            if blocked and blocked[0][:2] == at[0][:2] and wait.wake is not None:
                yield wait.wake.row
                break

    def _without_inner(self, waits: Waits) -> Waits:
        """Leave out waits inside a call that takes a slot of a declared pool: that is how the pool waits."""
        outer = waits.is_declared
        inner = np.zeros(len(waits), bool)
        last_ns = self.facts.last_ns
        for begin, until in zip(waits.begin_ns[outer], waits.until_ns(last_ns)[outer], strict=True):
            inner |= (waits.begin_ns >= begin) & (waits.begin_ns <= until)
        return waits.take(~inner | outer) if inner.any() else waits

    def is_context(self, position: Position) -> bool:
        """Return whether a position was reached by scheduling: what it went through before is no reason."""
        return any(step.reason is Reason.SCHEDULING for step in position.path()[1:])

    def concerns(self, position: Position, row: int) -> bool:
        """Return whether a wait, an exception or a callback at a row of the position's strand may have led to the position."""
        kind = self.graph.at("kind", row)
        if kind == Kind.SCOPE_BEGIN:
            return position.first == unit_of(self.graph, row)
        if kind == Kind.WAIT:
            return any(row in wait.rows for wait in self.waits_before(position))
        if kind == Kind.EXCEPTION:
            key, ended = self.graph.key(row), self.facts.ended.get(position.strand)
            if row == position.row or any(
                key in (each.fact.key, each.first.key) for each in handled_at(self.facts, position.row)
            ):
                return True
            return position.depth > 0 and ended is not None and ended.text.exception == key
        return True

    def _waits(self, position: Position) -> Iterator[Position]:
        for rank, wait in enumerate(self.waits_before(position)):
            # That what it waited for came is when the canceller cancelled, and not why.
            if position.reason is Reason.CONTROL and wait.end == "satisfied":
                continue
            extra = 0 if wait.end != "satisfied" else 1
            extra += min(rank, 3)
            last_ns = wait.until_ns(self.facts.last_ns)
            for place, (row, target) in enumerate(self.awaited_at(wait, last_ns)):
                text = phrases.waited_for_end(self.facts, wait, target)
                following = self._at(row, Reason.DATA, text, wait.rows, position, extra + min(place, 3))
                yield replace(following, since_ns=wait.begin.ns)
            for holding in self.holdings(wait):
                row = self._row_at(holding.strand, last_ns)
                if row >= 0:
                    text = phrases.waited_for_slot(self.facts, wait, holding)
                    rows = (*wait.rows, *holding.rows)
                    following = self._at(row, Reason.RESOURCE, text, rows, position, extra)
                    yield replace(following, since_ns=wait.begin.ns)
            for holder in wait.begin.text.holders:
                strand = self.facts.strand_of(wait.begin.process, holder)
                row = self._row_at(strand, last_ns) if strand >= 0 else -1
                if row >= 0:
                    text = phrases.waited_for_holder(self.facts, wait, holder, strand)
                    following = self._at(row, Reason.RESOURCE, text, wait.rows, position, extra)
                    yield replace(following, since_ns=wait.begin.ns)

    def holdings(self, wait: Waiting) -> list[Holding]:
        """Return the recorded holders of the slots that a wait is for, if others had all of them during all of it."""
        if wait.begin.text.holders or wait.end == "satisfied":
            return []  # the wait names them, or nothing was amiss
        blockers = Blockers.of(self.facts)
        until = max(wait.begin.ns, wait.until_ns(self.facts.last_ns) - 1)
        first = {each.rows for each, _basis in blockers.holders(wait, wait.begin.ns)}
        held = [each for each, basis in blockers.holders(wait, until) if not basis and each.rows in first]
        return [each for each in held if each.strand not in (-1, wait.strand)]

    def awaited_at(self, wait: Waiting, ns: int) -> list[tuple[int, int]]:
        """Return the last row at a time of each strand whose end a wait is for, and the strand; the latest row first."""
        found = []
        for number in (wait.begin.text.target, *wait.begin.text.targets):
            if number:
                target = self.facts.strand_with_key(wait.begin.process, number)
                target = target if target >= 0 else self.facts.thread_with_serial(wait.begin.process, number)
                row = self._row_at(target, ns) if target >= 0 else -1
                if row >= 0 and not self.usual_waits.is_usual_target(target):
                    found.append((row, target))
        return sorted(found, key=lambda each: -self.graph.at("ts", each[0]))

    def _row_at(self, strand: int, ns: int) -> int:
        """Return a strand's last row at a time, -1 if it had none yet."""
        found = self.graph.strands[strand]
        if found.start >= found.stop:
            return -1
        at = int(np.searchsorted(self.graph.ts[found.start : found.stop], ns, "right")) - 1
        return found.start + at if at >= 0 else -1

    # ---- Control ----

    def cancelled(self, position: Position) -> Finding | None:
        """Return who cancelled the position's task, if that may have led to the position."""
        found = cancelled_by(self.facts, position.strand, position.row)
        if found is None or self.is_context(position):
            return None
        shown = found.victims[0].first
        if self.graph.at("kind", shown) == Kind.WAKE:
            interrupted = any(shown in wait.rows for wait in self.waits_before(position))
            if not interrupted and not self._handles_cancellation(position) and not self._is_ending(position):
                return None
        return found

    def _handles_cancellation(self, position: Position) -> bool:
        handled = handled_at(self.facts, position.row)
        return any(each.fact.channel.rpartition(".")[2] in _CANCELLATIONS for each in handled)

    def _is_ending(self, position: Position) -> bool:
        """Return whether the position's task ends by its cancellation, so that its row belongs to the clean-up."""
        return cancelled_at(self.facts, position.row) is not None

    def _cancels(self, position: Position) -> Iterator[Position]:
        found = self.cancelled(position)
        if found is not None:
            text = found.text.removesuffix(".")
            yield self._at(found.events[0], Reason.CONTROL, text, found.events[:1], position)

    def _cancelled_children(self, position: Position) -> Iterator[Position]:
        """Yield the ends of cancelled tasks that this unit started, where a cancellation is being handled.

        They are no reasons if they had ended before the last wait began, or if a time limit cancelled it.
        """
        if not self._handles_cancellation(position):
            return
        if any(wait.end == "timeout" for wait in self.waits_before(position)):
            return
        waits = self.facts.waits_of.of(position.strand)
        last = waits[: int(np.searchsorted(waits.row, position.row))][-1:]
        since = last[0].begin.ns if last else 0
        for strand in Ends.of(self.facts).cancelled_by_starter.get(int(self.graph.region[position.row]), ()):
            fact = self.facts.ended[strand]
            if since <= fact.ns <= self.graph.at("ts", position.row) and not self.usual_waits.is_usual_target(strand):
                text = f"{words.who(self.facts, strand)} was cancelled"
                yield self._at(fact.row, Reason.CONTROL, text, (fact.row,), position)

    # ---- Recorded edges ----

    def _edges(self, position: Position) -> Iterator[Position]:
        """Yield the sources of the edges into the position's region, the latest first."""
        graph = self.graph
        into = edges_into(graph, int(graph.region[position.row]), position.row, causal=True)
        for rank, edge in enumerate(reversed(into[-MOST_EDGES:])):
            source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
            reason = reason_of(self.graph, edge)
            if is_no_cause(self.graph, edge):
                continue
            if reason is Reason.SCHEDULING and request_of(self.graph, position.row) != request_of(self.graph, source):
                continue
            following = self._at(source, reason, "", (source, target), position, min(rank, 3), edge)
            if position.reason is Reason.CONTROL and self.is_plain_end(following):
                continue
            if reason is Reason.SCHEDULING or self.is_reason(following):
                yield following

    def is_reason(self, position: Position) -> bool:
        """Return whether what a recorded edge carried may have led to the position before, and is more than context."""
        before = position.came_from
        if before is None or position.edge < 0:
            return True
        graph, target = self.graph, position.events[-1]
        region = int(graph.region[before.row])
        if graph.regions.kind[region] in _UNITS and int(graph.regions.opener[region]) == target:
            return True
        request = request_of(self.graph, target)
        if (
            graph.edge_kind[position.edge] == EdgeKind.STATE
            and request >= 0
            and request == request_of(self.graph, before.row)
        ):
            return True
        started = self.is_context(before)
        if started and graph.at("kind", target) == Kind.JOIN:
            return False
        return is_fresh(self.facts, target, before.row, started=started)

    def chain(self, start: Position | None = None) -> list[Position]:
        """Return the chain of recorded edges back from a position, by default the event's own.

        In each region it follows the latest use of a state, by the region or on its behalf; else the cause that
        `clew.graph.ops.causes.why` chooses; where that would leave the request by scheduling only, or is the last user of
        a pooled object, the latest data from somewhere new.
        """
        found = [start or self._at(self.event, Reason.CALL, "", (self.event,), None)]
        visited = {(found[0].strand, found[0].first)}
        while len(found) < MOST_POSITIONS:
            following = self._step_back(found[-1], visited)
            if not following:
                break
            found += following
            visited.add((found[-1].strand, found[-1].first))
        # Nobody's code scheduled what only callbacks of libraries scheduled.
        while len(found) > 1 and found[-1].reason is Reason.SCHEDULING and is_library(self.graph, found[-1].row):
            found.pop()
        return found

    def told(self, steps: tuple[tuple[int, Reason, str], ...]) -> list[Position]:
        """Return a path from the event along steps that a verdict names: a row, the kind of reason, and the words."""
        found = [self._at(self.event, Reason.CALL, "", (self.event,), None)]
        for row, reason, text in steps:
            found.append(self._at(row, reason, text, (row,), found[-1]))
        return found

    def _step_back(self, position: Position, visited: set[tuple[int, int]]) -> list[Position]:
        graph = self.graph
        state = path_to_state(graph, int(graph.region[position.row]), position.row)
        if state:
            trip = self._along(position, state)
            if (trip[-1].strand, trip[-1].first) not in visited:
                return trip
        fresh = (
            other
            for other in self._edges(position)
            if other.reason is Reason.DATA and (other.strand, other.first) not in visited
        )
        chosen = [step.edge for step in why(graph, position.row, steps_at_most=1)[1:] if step.edge >= 0]
        for following in self._along(position, chosen):
            known = (following.strand, following.first) in visited
            if known or is_no_cause(self.graph, following.edge):
                continue
            if position.reason is Reason.SCHEDULING and self.is_plain_end(following):
                continue  # what the starter awaited before is its past
            if following.reason is not Reason.SCHEDULING:
                return [following]
            # What a callback of a loop got is its cause, and not who registered it.
            data = next(fresh, None) if graph.regions.kind[graph.region[position.row]] == RegionKind.SCOPE else None
            if data is not None:
                return [data]
            if request_of(self.graph, following.row) == request_of(self.graph, position.row):
                return [following]
        return [other for other in [next(fresh, None)] if other is not None]

    def is_plain_end(self, position: Position) -> bool:
        """Return whether an edge tells only that an awaited thread, task or process ended as the one that awaited it expected:
        without a failure, or cancelled by it."""
        if position.edge < 0 or not is_outcome(self.graph, position.edge):
            return False
        ended = self.facts.ended.get(position.strand)
        if ended is None:
            return True
        cancel = cancelled_at(self.facts, ended.row)
        return cancel is not None and cancel.strand == self.graph.at("strand", position.events[-1])

    def _along(self, position: Position, edges: list[int]) -> list[Position]:
        """Return the positions along edges, each of which leads from the source of the one before."""
        found: list[Position] = []
        for edge in edges:
            source, target = int(self.graph.edge_src[edge]), int(self.graph.edge_dst[edge])
            before = found[-1] if found else position
            found.append(self._at(source, reason_of(self.graph, edge), "", (source, target), before, 0, edge))
        return found


def is_library(graph: ExecutionGraph, row: int) -> bool:
    """Return whether no function of the program owns an event."""
    return graph.owner_of(row) < 0 and bool(graph.site_is_adapter[graph.at("site", row)])
