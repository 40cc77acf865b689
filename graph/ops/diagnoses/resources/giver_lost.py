"""Find a wait for what a thread, task or process would have given, had it not been lost first (`LostStrands`).

The wait must have failed after at least 1 ms, and name neither a holder nor the end or the work that it is for. The lost strand
is its giver if one of these holds, in this order:
 * the wait is for a place in a queue or for its items to be done, and all that took items from the queue have ended;
 * the wait is at a barrier, and it took part in an earlier round;
 * all that ever ended such a wait for the same object have ended;
 * it was lost while it worked on what the waiting strand had handed over last;
 * the waiting strand started it, the code that it did not reach gives the object by its name, and no other strand can;
 * it is the only work that the waiting strand started before it began to wait.
All but the first are inferences. The third and the last are not made for a strand that waits again and again for one object in
vain, as a strand that polls does. Another process that was killed is lost when its end was noticed, not at its last event.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from clew.graph.model.graph import I64, Site
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.lost import how_lost, lost_name
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.significance import failed_waits, victims
from clew.graph.ops.facts.blockers import Blockers
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Resource, Waiting
from clew.graph.ops.facts.lost_strands import Lost, LostStrands
from clew.graph.ops.facts.process_ends import ProcessEnds
from clew.graph.ops.facts.work.work_items import WorkItems
from clew.records.format.event import Kind

KIND = "giver-lost"
_GIVING = {
    "event": ("set",),
    "condition": ("notify", "notify_all"),
    "queue": ("put", "put_nowait"),
    "queue.done": ("task_done",),
    "barrier": ("wait",),
    "semaphore": ("release",),
    "executor.result": ("set_result", "set_exception"),
    "future": ("set_result", "set_exception"),
}
"""The methods that end a wait, by its channel without the library."""
_HANDED = frozenset({"queue", "asyncio.queue", "multiprocessing.pool", "multiprocessing.queue", "multiprocessing.pipe"})
_STARTS = frozenset({"thread.start", "asyncio.handle", "executor.submit", "process.start"})
_QUEUES = frozenset({"queue", "asyncio.queue", "multiprocessing.queue"})
_TAKING = frozenset({"get", "get_nowait"})
MOST_ROWS = 256
"""The rows before a wait among which started work is searched."""
MOST_HOPS = 5
_LAST_WORK = "it was the last work that was handed over before the wait, and nobody else had such work"


@dataclass(frozen=True)
class _Relation:
    """Why a lost strand is the one that would have given."""

    lost: list[Lost]
    text: str
    """What the strand had to do with the wait, as a part of a sentence after its name; "" for nothing to tell."""
    rows: tuple[int, ...] = ()
    basis: str = ""


def find(facts: Facts) -> list[Finding]:
    lost = LostStrands.of(facts).all
    if not lost:
        return []
    search, found = _Search(facts, lost), []
    for wait in failed_waits(facts):
        if giving(wait) and not _is_explained(facts, wait):
            relation = search.relation(wait)
            if relation is not None:
                found.append(_finding(facts, wait, relation))
    return found


def _is_explained(facts: Facts, wait: Waiting) -> bool:
    if wait.begin.text.target or wait.begin.text.targets or wait.begin.text.holders:
        return True
    if wait.resource in WorkItems.of(facts).by_key:
        return True
    links = Blockers.of(facts).links(wait, Ends.of(facts).until_ns(wait))
    return any(not link.basis for link in links)


class _Search:
    """Searches the lost strand that a wait needed."""

    def __init__(self, facts: Facts, lost: dict[int, Lost]) -> None:
        self._facts, self._graph, self._lost, self._all = facts, facts.graph, lost, lost
        self._ends = Ends.of(facts)
        self._known_givers: dict[Resource, list[tuple[int, int]]] = {}
        self._failures: dict[tuple[Resource, int], int] = {}

    @cached_property
    def _by_target(self) -> tuple[I64, I64]:
        """The targets of all edges in order, and the numbers of these edges."""
        order = np.argsort(self._graph.edge_dst, kind="stable")
        return self._graph.edge_dst[order], order

    @cached_property
    def _by_source(self) -> tuple[I64, I64]:
        order = np.argsort(self._graph.edge_src, kind="stable")
        return self._graph.edge_src[order], order

    def _sources(self, row: int) -> list[tuple[int, str]]:
        """Return the sources of a row, with the channels of their edges."""
        rows, order = self._by_target
        edges = order[np.searchsorted(rows, row) : np.searchsorted(rows, row, "right")].tolist()
        graph = self._graph
        return [(int(graph.edge_src[edge]), graph.strings[int(graph.edge_channel[edge])]) for edge in edges]

    def _targets(self, row: int) -> list[int]:
        rows, order = self._by_source
        edges = order[np.searchsorted(rows, row) : np.searchsorted(rows, row, "right")]
        found: list[int] = self._graph.edge_dst[edges].tolist()
        return found

    def relation(self, wait: Waiting) -> _Relation | None:
        self._lost = {strand: lost for strand, lost in self._all.items() if self._was_gone(lost, wait)}
        return self._relation(wait)

    def _was_gone(self, lost: Lost, wait: Waiting) -> bool:
        """Return whether a strand was lost before a wait ended; a killed process may have lived on after its last event."""
        process = self._graph.strands[lost.strand].process
        if process == wait.begin.process or lost.strand not in LostStrands.of(self._facts).killed:
            return True
        end = ProcessEnds.of(self._facts).end_of(process)
        return end is not None and end.ns <= ProcessEnds.of(self._facts).alive_until(wait)

    def _relation(self, wait: Waiting) -> _Relation | None:
        until = self._ends.until_ns(wait)
        if all(lost.ns >= until for lost in self._lost.values()):
            return None
        if _is_for_room(self._facts, wait):
            return self._takers(wait, until)
        if wait.begin.channel.endswith("barrier"):
            return self._parties(wait, until)
        return (
            self._givers(wait, until)
            or self._in_hand(wait, until)
            or self._named_in_source(wait, until)
            or self._only_started(wait, until)
        )

    # ---- Takers of a queue ----

    def _takers(self, wait: Waiting, until: int) -> _Relation | None:
        """Return the strands that took items from a queue, if they have all ended and some of them were lost."""
        facts = self._facts
        takers = {each.strand for each in facts.waits_for.of(*wait.resource) if _last_name(facts, each) in _TAKING}
        channel = wait.begin.channel.removesuffix(".done")
        asking = {wait.strand}
        waiter = facts.waiter_for(wait.strand)
        if waiter is not None:
            asking.add(waiter.strand)
        pairs = self._hand_overs(channel)
        takers |= {taker for putter, taker in pairs if putter in asking}
        putters = asking | {putter for putter, taker in pairs if taker in takers}
        takers |= {taker for putter, taker in pairs if putter in putters}
        takers -= {wait.strand}
        lost = [self._lost[strand] for strand in takers if strand in self._lost and self._lost[strand].ns < until]
        if not lost or any(strand not in self._lost and not self._has_ended(strand, until) for strand in takers):
            return None
        if len(lost) < len([strand for strand in takers if strand in self._lost]):
            return None
        number = len(takers)
        text = "the only one that took items from it" if number == 1 else ""
        return _Relation(sorted(lost, key=lambda each: each.ns), text)

    @cache  # noqa: B019  # the search lives as long as one call of `find`
    def _hand_overs(self, channel: str) -> set[tuple[int, int]]:
        """Return the pairs of strands of which one got an item that the other one had put into a queue."""
        graph = self._graph
        edges = graph.edge_channel == graph.channel_ids.get(channel, -1)
        strands = graph.strand[graph.edge_src[edges]].tolist(), graph.strand[graph.edge_dst[edges]].tolist()
        return set(zip(*strands, strict=True))

    def _has_ended(self, strand: int, ns: int) -> bool:
        end = self._ends.ns_of(strand)
        return end is not None and end <= ns

    # ---- Those that ended such waits before ----

    def _givers(self, wait: Waiting, until: int) -> _Relation | None:
        """Return the lost strands that ended earlier waits for the object, if no other strand did that and is still there."""
        givers = {strand for ns, strand in self._givers_of(wait.resource) if ns <= until}
        lost = [self._lost[strand] for strand in givers if strand in self._lost and self._lost[strand].ns < until]
        if not lost or any(strand not in self._lost and not self._has_ended(strand, until) for strand in givers):
            return None
        if len(lost) < len([strand for strand in givers if strand in self._lost]):
            return None
        text = "the only one that had given it before" if len(givers) == 1 else ""
        basis = "nobody else ended an earlier wait for it"
        return _Relation(sorted(lost, key=lambda each: each.ns), text, (), basis)

    def _givers_of(self, resource: Resource) -> list[tuple[int, int]]:
        """Return the strands that ended waits for an object, each with the time."""
        known = self._known_givers.get(resource)
        if known is not None:
            return known
        graph, found = self._graph, self._known_givers.setdefault(resource, [])
        for other in self._facts.waits_for.of(*resource):
            if other.wake is None or other.end != "satisfied":
                continue
            for row in range(other.wake.row + 1, min(other.wake.row + 4, graph.strands[other.strand].stop)):
                if graph.at("kind", row) not in (Kind.ACQUIRE, Kind.RECEIVE, Kind.JOIN):
                    break
                found += ((other.wake.ns, graph.at("strand", source)) for source, _channel in self._sources(row))
        return found

    def _parties(self, wait: Waiting, until: int) -> _Relation | None:
        """Return the lost strands that had waited at a barrier or arrived there last."""
        parties = {other.strand for other in self._facts.waits_for.of(*wait.resource) if other.begin.ns < until}
        parties |= {strand for ns, strand in self._givers_of(wait.resource) if ns <= until}
        lost = [each for each in self._lost.values() if each.strand in parties and each.ns < until]
        if not lost:
            return None
        text = "which had taken part before" if len(lost) == 1 else ""
        return _Relation(sorted(lost, key=lambda each: each.ns), text, (), "it took part in an earlier round")

    # ---- Work in hand ----

    def _in_hand(self, wait: Waiting, until: int) -> _Relation | None:
        """Return the strand that was lost while it worked on what the waiting strand had handed over last."""
        graph = self._graph
        if self._is_poll(wait) or self._another_gives(-1, wait, until):
            return None
        for lost in self._lost.values():
            if lost.ns >= until:
                continue
            for source, channel in self._handed(lost):
                if graph.at("strand", source) != wait.strand:
                    continue
                if (
                    source < wait.begin.row
                    and self._is_last(source, channel, wait)
                    and self._others_idle(source, channel, lost, until)
                ):
                    sent = place(self._facts, source)
                    at = words.offset(graph.at("ts", source))
                    text = f"which worked last on what {words.who(self._facts, wait.strand)} had handed over at {at}"
                    return _Relation([lost], text + in_brackets(sent), (source,), _LAST_WORK)
        return None

    def _handed(self, lost: Lost) -> Iterator[tuple[int, str]]:
        """Yield the hand-overs that the last work of a strand came from, the nearest first, with their channels."""
        graph = self._graph
        strand = graph.strands[lost.strand]
        last = (
            lost.exception.row if lost.exception is not None and lost.exception.strand == lost.strand else lost.rows[0]
        )
        last = min(last, strand.stop - 1)
        row = next((at for at in range(last, strand.start - 1, -1) if graph.at("kind", at) == Kind.RECEIVE), -1)
        for at in range(row + 1, last + 1):
            # It asked for other work, or answered.
            if graph.at("kind", at) == Kind.WAIT and graph.channel(at) in _HANDED:
                return
            if graph.at("kind", at) == Kind.SEND and graph.channel(at) == graph.channel(row):
                return
        for _hop in range(MOST_HOPS):
            source, channel = next(((s, c) for s, c in self._sources(row) if c in _HANDED), (-1, ""))
            if source < 0:
                return
            yield source, channel
            row = int(graph.regions.opener[graph.at("region", source)])
            if row < 0 or graph.at("kind", row) != Kind.RECEIVE:
                return

    def _is_last(self, source: int, channel: str, wait: Waiting) -> bool:
        """Return whether a strand handed over nothing else between a SEND and a wait."""
        graph = self._graph
        rows = range(source + 1, wait.begin.row)
        return not any(graph.at("kind", row) == Kind.SEND and graph.channel(row) == channel for row in rows)

    def _others_idle(self, source: int, channel: str, lost: Lost, until: int) -> bool:
        """Return whether no other strand may still work on what the sender of a row handed over."""
        graph = self._graph
        sender = graph.strand_of(source)
        for row in range(sender.start, source):
            if graph.at("kind", row) != Kind.SEND or graph.channel(row) != channel:
                continue
            for target in self._targets(row):
                strand = graph.strand_of(target)
                if strand.index == lost.strand or self._has_ended(strand.index, until):
                    continue
                following = range(target + 1, strand.stop)
                if not any(
                    (graph.at("kind", at) == Kind.WAIT and graph.channel(at) in _HANDED)
                    or (graph.at("kind", at) == Kind.SEND and graph.channel(at) in _HANDED)
                    for at in following
                    if graph.at("ts", at) <= until
                ):
                    return False
        return True

    def _is_poll(self, wait: Waiting) -> bool:
        """Return whether a strand waited several times in vain for an object."""
        if not self._failures:
            for each in failed_waits(self._facts):
                key = each.resource, each.strand
                self._failures[key] = self._failures.get(key, 0) + 1
        return self._failures.get((wait.resource, wait.strand), 0) > 1

    # ---- Started work ----

    def _named_in_source(self, wait: Waiting, until: int) -> _Relation | None:
        """Return the strand that the waiting one started, and whose source gives the object by its name."""
        name = self._name(wait)
        if not name:
            return None
        found: list[tuple[Lost, str]] = []
        for lost in self._lost.values():
            if lost.ns < until and LostStrands.of(self._facts).starter(lost.strand)[0] == wait.strand:
                found += [(lost, where) for where in self._giving_place(lost, name, giving(wait))]
        if len(found) != 1 or self._another_gives(found[0][0].strand, wait, until):
            return None
        lost, where = found[0]
        basis = f"its source gives {name} ({where}), which it did not reach"
        return _Relation([lost], "which was to give it", lost.rows, basis)

    def _giving_place(self, lost: Lost, name: str, methods: tuple[str, ...]) -> list[str]:
        """Return where the source would have given an object if the strand had continued, empty if it would not."""
        at = lost.exception.text.at if lost.exception else ()
        waits = self._facts.waits_of.of(lost.strand)
        if lost.exception is None and waits and waits[-1].wake is None:
            at = waits[-1].begin.text.at
        for frame in at:
            line = giving_line(frame.file, frame.line, name, methods)
            if line:
                return [f"{frame.function.rpartition('.<locals>.')[2]}, {words.base_name(frame.file)}:{line}"]
        return []

    def _name(self, wait: Waiting) -> str:
        """Return the last name of the object that a wait is for, such as `ready` for `self.ready`; "" if it has none."""
        name = words.thing(wait, self._facts).rpartition(".")[2]
        return name if name.isidentifier() else ""

    def _another_gives(self, lost: int, wait: Waiting, until: int) -> bool:
        """Return whether a strand that has not ended runs a function whose source gives an object of the wait's name."""
        graph, name = self._graph, self._name(wait)
        if not name:
            return False
        for strand in graph.strands:
            if (
                strand.index in (lost, wait.strand)
                or self._has_ended(strand.index, until)
                or strand.index in self._lost
            ):
                continue
            for row in range(strand.start, min(strand.stop, strand.start + MOST_ROWS)):
                site: Site = graph.sites[graph.at("site", row)]
                if graph.at("kind", row) == Kind.ENTER and giving_line(site.file, site.line, name, giving(wait)):
                    return True
        return False

    def _only_started(self, wait: Waiting, until: int) -> _Relation | None:
        """Return a lost strand if nothing else was started before the wait since its strand last ran on."""
        if self._is_poll(wait):
            return None
        graph = self._graph
        strand, call = graph.strand_of(wait.begin.row), graph.call_of(wait.begin.row)
        started: set[int] = set()
        source = -1
        for row in range(wait.begin.row - 1, max(strand.start, wait.begin.row - MOST_ROWS) - 1, -1):
            kind = graph.at("kind", row)
            if kind in (Kind.STEP_BEGIN, Kind.RESUME, Kind.WAKE) or (kind == Kind.ENTER and row == call):
                break
            if kind == Kind.SEND and graph.channel(row) in _STARTS | _HANDED:
                targets = {graph.at("strand", target) for target in self._targets(row)} - {strand.index}
                if targets:
                    source = row
                started |= targets or {-1}
        if len(started) != 1:
            return None
        lost = self._lost.get(started.pop())
        if lost is None or lost.ns >= until or self._another_gives(lost.strand, wait, until):
            return None
        at = words.offset(graph.at("ts", source))
        text = (
            f"which {words.who(self._facts, wait.strand)} had started at {at}{in_brackets(place(self._facts, source))}"
        )
        basis = "it is the only work that the strand started before it began to wait"
        return _Relation([lost], text, (source,), basis)


def _is_for_room(facts: Facts, wait: Waiting) -> bool:
    """Return whether a wait is for a place in a queue, or for its items to be done."""
    is_queue = wait.begin.channel.removesuffix(".done") in _QUEUES
    return is_queue and _last_name(facts, wait) in ("put", "join")


def _last_name(facts: Facts, wait: Waiting) -> str:
    """Return the name of the queue's method that waits: that of the outermost frame of a class of queues."""
    names = [frame.function for frame in facts.blocked_at(wait)[:3]]
    return next((name.rpartition(".")[2] for name in names if "Queue." in name), "")


def giving(wait: Waiting) -> tuple[str, ...]:
    """Return the names of the methods that end a wait, empty for a wait that this diagnosis is not about."""
    return _GIVING.get(wait.begin.channel.removeprefix("asyncio.").removeprefix("multiprocessing."), ())


@lru_cache(maxsize=4096)
def giving_line(file: str, line: int, name: str, methods: tuple[str, ...]) -> int:
    """Return a line from `line` on in the function around it that gives an object, such as `self.ready.set()`; else 0."""
    for number, own, method in _calls_from(file, line):
        if number >= line and own == name and method in methods:
            return number
    return 0


@lru_cache(maxsize=1024)
def _calls_from(file: str, line: int) -> list[tuple[int, str, str]]:
    """Return the calls of methods in the innermost function around a line: the line, the object's name, the method's name.

    What a function does only while it handles an exception is left out.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    found, queue = [], [max(functions, key=lambda node: node.lineno)] if functions else []
    nodes: list[ast.AST] = list(queue)
    while nodes:
        node = nodes.pop(0)
        nodes += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.ExceptHandler))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            own = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
            found.append((node.lineno, own, node.func.attr))
    return sorted(found)


def _finding(facts: Facts, wait: Waiting, relation: _Relation) -> Finding:
    first = Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows)
    rows = tuple(dict.fromkeys((*relation.rows, *(row for lost in relation.lost for row in lost.rows))))
    lost = relation.lost
    if len(lost) == 1:
        between = f", {relation.text}," if relation.text else ""
        text = f"{lost_name(facts, lost[0])}{between} {how_lost(facts, lost[0])}."
    else:
        ends = "; ".join(f"{lost_name(facts, each)} {how_lost(facts, each)}" for each in lost[:3])
        is_barrier = wait.begin.channel.endswith("barrier")
        did = "took items from it" if _is_for_room(facts, wait) else "had given it before"
        text = f"{'Of those that took part before' if is_barrier else f'All that {did} have ended'}: {ends}."
    harmed = victims(facts, [wait, *_beside(facts, wait)])
    if not relation.basis:
        return Finding(KIND, Reason.RESOURCE, (first, Claim(text, rows)), harmed)
    basis = f"{', '.join(lost_name(facts, each) for each in lost)}: {relation.basis}"
    return Finding(KIND, Reason.RESOURCE, (first, Claim(text, rows)), harmed, "inferred", basis)


def _beside(facts: Facts, wait: Waiting) -> list[Waiting]:
    """Return the other waits at a barrier, which breaks for all of them."""
    if not wait.begin.channel.endswith("barrier"):
        return []
    until = Ends.of(facts).until_ns(wait)
    return [other for other in facts.waits_for.of(*wait.resource) if other is not wait and other.covers(until - 1)]
