"""Find the states that an event depended on, and who wrote each of them last.

The source of the functions that ran says which states those are: what the event's line reads, and what the calls read whose
results the line uses. The recorded identity of an object says which object it is. So the path from the event to the state is
inferred, and the write is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.lost_strands import LostStrands
from clew.graph.ops.slicing.interval import Slice, slice_events
from clew.graph.ops.states.stored import Seen, StoredStates
from clew.graph.ops.states.writes import Writes
from clew.records.format.event import Kind
from clew.records.format.states import CLOSURE, CONTEXT_METHODS, GLOBAL, ITEM, METHOD
from clew.source.state_reads import Path, Reads, Step

MOST_CALLS = 200
"""The calls below the event's own one whose reads are looked at."""
DEEPEST = 6
MOST_CALLERS = 3
LATEST = 3
"""The last calls of one function by one caller that are looked at."""
MOST_HISTORY = 8
MOST_VALUES = 20
"""The last values of an item whose own states are looked at."""
MOST_ITEMS = 3
"""The maximum number of items of a container that an answer lists if it does not know which one was read."""
_LOOKUPS = frozenset({"__hash__", "__eq__"})
"""What a dict or a set calls to find an item."""
_OF_CONTEXT = frozenset(METHOD + name for name in CONTEXT_METHODS)
_TAKING = frozenset({METHOD + name for name in ("pop", "popleft", "popitem")})


@dataclass(frozen=True)
class StateRead:
    """A state that an event depended on, with its last writers."""

    name: str
    """As people call it: `Cart.discount`, `Cart.items['book']`, `stock`."""
    row: int
    """The last write before the event."""
    reader: int
    """The ENTER of the call that read it, -1 outside calls."""
    history: tuple[int, ...]
    """The last writes of the state before the event, the newest first; `row` is the first."""
    is_initial: bool
    """The last write was in the object's own `__init__`."""
    by_name: bool
    """The object is not known: the write is of a state of the same name."""
    order: Literal["same", "before", "unordered"]
    """Whether the reader's own strand wrote it, or recorded synchronisation orders the write before the read."""
    later: tuple[int, ...] = ()
    """The first write of the state after the read, by another strand; empty if there was none."""
    is_own: bool = False
    """The call that read it had written it itself."""
    may_miss: bool = False
    """Later writes may not have been recorded."""
    unsure_item: bool = False
    """An item was read, and it may have been another one."""
    stored: Seen | None = None
    """Of a row of a database or a key of a server, the recorded read; then `row` is not a WRITE."""


def states_before(graph: ExecutionGraph, event: int) -> list[StateRead]:
    """Return the states that an event depended on, the likeliest reason first: written last, and not when it was created.

    If it is not known which object or item was read, one whose value the event names comes first, then one whose write precedes
    the read for certain.
    """
    writes = Writes.of(graph)
    if not writes and not StoredStates.of(graph):
        return []
    finder = _Finder(writes, event)
    return _likeliest(finder, finder.states())


def states_in_call(graph: ExecutionGraph, call: int, row: int, reads: Reads) -> list[StateRead]:
    """Return the states that something in a call depended on at a row of it, as `states_before` does.

    States that `reads` names are preferred to those that the called functions read.
    """
    writes = Writes.of(graph)
    finder, frame = _Finder(writes, row), _Frame(call, row, reads)
    return _likeliest(finder, finder.named(frame)) or _likeliest(finder, finder.all(frame))


def _likeliest(finder: _Finder, states: Iterable[StateRead]) -> list[StateRead]:
    found: dict[int, StateRead] = {}
    for state in states:
        known = found.get(state.row)
        if known is None or (known.by_name and not state.by_name):
            found[state.row] = state
    return sorted(
        found.values(),
        key=lambda state: (
            state.is_initial,
            state.by_name,
            state.unsure_item,
            state.is_own,
            *finder.likeliness(state),
        ),
    )


@dataclass(frozen=True)
class _Frame:
    call: int
    """The ENTER of the call, -1 for a module's own code."""
    row: int
    """What happened up to this row counts."""
    reads: Reads


class _Finder:
    def __init__(self, writes: Writes, event: int) -> None:
        self._writes, self._graph, self._event = writes, writes.graph, event
        self._calls = 0
        self._before: dict[int, bool] = {}

    def states(self) -> Iterator[StateRead]:
        graph = self._graph
        call, where = graph.owner_of(self._event), graph.location(self._event)
        if where is None:
            return
        file, line = where
        source = self._writes.source_of(file)
        if source is None:
            return
        own = graph.sites[graph.at("site", call)] if call >= 0 else None
        first = own.line if own is not None and own.file == file else 0
        if call >= 0 and not first:
            return
        yield from self._in_frame(_Frame(call, self._event, source.reads_at(first, line)), 0)
        yield from self._of_callers(call)

    def named(self, frame: _Frame) -> Iterator[StateRead]:
        """Yield the states that the paths of a frame name."""
        return self._paths(frame)

    def all(self, frame: _Frame) -> Iterator[StateRead]:
        """Yield the states that a frame, and the calls that it depends on, read."""
        return self._in_frame(frame, 0)

    def _of_callers(self, call: int) -> Iterator[StateRead]:
        """Yield the states behind the arguments of the calls around the event, and behind the conditions of these calls."""
        graph = self._graph
        for _ in range(MOST_CALLERS):
            caller = graph.enclosing_call(call) if call >= 0 else -1
            if caller < 0:
                return
            site, name = graph.sites[graph.at("site", caller)], graph.sites[graph.at("site", call)].qualname
            source = self._writes.source_of(site.file)
            if source is None:
                return
            # Where a function is called at several lines, any of them may have been this call.
            for line in source.calls_of(site.line, name.rpartition(".")[2])[-LATEST:]:
                yield from self._in_frame(_Frame(caller, call, source.reads_at(site.line, line)), 1)
            call = caller

    def _in_frame(self, frame: _Frame, depth: int) -> Iterator[StateRead]:
        yield from self._paths(frame)
        yield from self._stored(frame)
        if depth >= DEEPEST:
            return
        # A property is read like an attribute.
        wanted = {call.name for call in frame.reads.calls} | {
            step.name for path in frame.reads.paths for step in path.steps if step.form == "attribute"
        }
        seen: dict[str, int] = {}
        for enter in self._callees(frame):
            site = self._graph.sites[self._graph.at("site", enter)]
            name = site.qualname.rpartition(".")[2]
            class_name = site.qualname.rpartition(".")[0].rpartition(".")[2]
            is_operator = name.startswith("__") and name not in _LOOKUPS
            if not (name in wanted or class_name in wanted or is_operator):
                continue
            seen[name] = seen.get(name, 0) + 1
            self._calls += 1
            if seen[name] > LATEST or self._calls > MOST_CALLS:
                continue
            source = self._writes.source_of(site.file)
            if source is not None:
                exit_ = self._graph.exit_of(enter)
                end = exit_ if exit_ >= 0 else frame.row
                yield from self._in_frame(_Frame(enter, min(end, frame.row), source.reads_of(site.line)), depth + 1)

    def _callees(self, frame: _Frame) -> Iterator[int]:
        """Yield the calls that a frame made before its row, the newest first."""
        graph = self._graph
        start = frame.call if frame.call >= 0 else graph.strand_of(frame.row).start
        enters = self._enters
        first, last = np.searchsorted(enters, start, "right"), np.searchsorted(enters, frame.row)
        for enter in enters[first:last][::-1].tolist():
            if graph.enclosing_call(enter) == frame.call:
                yield enter

    @cached_property
    def _enters(self) -> I64:
        return self._graph.rows_of([Kind.ENTER])

    def _stored(self, frame: _Frame) -> Iterator[StateRead]:
        """Yield the rows and keys that a frame read: at the calls that matter, else the last ones before its row."""
        graph, states = self._graph, StoredStates.of(self._graph)
        reads = [row for row in states.reads_of(frame.call, graph.at("strand", frame.row)) if row < frame.row]
        lines = {line for call in frame.reads.calls for line in range(call.line, call.last_line + 1)}
        reads = [row for row in reads if graph.sites[graph.at("site", row)].line in lines] or reads
        named = [row for row in reads if any(map(self._is_named, states.at(row).row.values()))]
        for read in reversed((named or reads)[-LATEST:]):
            for seen in states.seen(read):
                call = graph.owner_of(seen.write)
                later = states.after(seen)
                yield StateRead(
                    seen.name, seen.write, frame.call, seen.history, is_initial=False, by_name=False,
                    order=self._order(seen.write, frame.row), later=() if later < 0 else (later,),
                    is_own=call == frame.call, unsure_item=seen.unsure, stored=seen,
                )  # fmt: skip

    # ---- From a path in the source to writes ----

    def _paths(self, frame: _Frame) -> Iterator[StateRead]:
        graph = self._graph
        given = self._writes.given(frame.call) if frame.call >= 0 else {}
        ns = graph.at("ts", frame.row)
        site = (
            graph.sites[graph.at("site", frame.call)] if frame.call >= 0 else graph.sites[graph.at("site", self._event)]
        )
        for path in frame.reads.paths:
            key = given.get(path.root, given.get(CLOSURE + path.root, 0))
            owner = self._class_of(key) or path.root
            if key and CLOSURE + path.root in given:
                yield from self._closure(path, key, frame)
            elif key:
                yield from self._follow(owner, key, path.steps, frame, ns)
            elif path.root:
                yield from self._named(path, site.module, frame)
            elif path.steps:
                yield from self._guessed(path, frame)

    def _closure(self, path: Path, cell: int, frame: _Frame) -> Iterator[StateRead]:
        rows = self._writes.before(self._writes.of_object(cell, self._graph.at("ts", frame.row)), frame.row)
        if rows:
            yield self._state(path.root, rows, frame)
        yield from self._named(path, self._graph.sites[self._graph.at("site", frame.call)].module, frame)

    def _follow(self, owner: str, key: int, steps: tuple[Step, ...], frame: _Frame, ns: int) -> Iterator[StateRead]:
        """Yield the states on the way from an object along attributes and items."""
        writes, graph = self._writes, self._graph
        every = writes.before(writes.of_object(key, ns), frame.row)
        # What a call takes out of a container it got from who put it in.
        every = [row for row in every if not (graph.owner_of(row) == frame.call and graph.channel(row) in _TAKING)]
        every = self._of_context(every, frame)
        if not steps:
            yield from self._each_item(owner, [row for row in every if writes.at(row).changes_content], frame)
            return
        step, *rest = steps
        if step.form == "attribute":
            rows = [row for row in every if writes.at(row).channel == step.name]
            name = f"{owner}.{writes.source_name(step.name)}"
            if not rows:
                yield from self._guessed(Path("", steps, 0), frame)
                return
        elif step.name:
            rows = self._items(every, step.name)
            name = f"{owner}[{step.name}]"
        else:
            name, rows = owner, self._items(every, "")
            yield from self._each_item(owner, rows, frame)
        if rows and name != owner:
            yield self._state(name, rows, frame)
        seen: set[int] = set()
        for write in (writes.at(row) for row in reversed(rows[-MOST_VALUES:])):
            value = write.value.key
            if value and value not in seen:
                seen.add(value)
                inside = f"{owner}[{write.item_name}]" if name == owner and write.item else name
                yield from self._follow(self._class_of(value) or inside, value, tuple(rest), frame, ns)
                if step.form == "attribute":
                    break

    def _of_context(self, rows: list[int], frame: _Frame) -> list[int]:
        """Return the rows without changes of a context variable in other contexts.

        A task sees its own changes, else those that the one that started it had made before.
        """
        graph = self._graph
        changes = [row for row in rows if graph.channel(row) in _OF_CONTEXT]
        strand, before = graph.at("strand", frame.row), frame.row
        while changes and strand >= 0:
            own = [row for row in changes if graph.at("strand", row) == strand and row < before]
            if own:
                return own
            strand, before = LostStrands.of(Facts.of(graph)).starter(strand)
        return [] if changes else rows

    def _each_item(self, owner: str, rows: list[int], frame: _Frame) -> Iterator[StateRead]:
        """Yield the last writes of the items of a container, where the source does not say which item is read.

        An item that the event or its exception names was read; else the items that were written last may have been.
        """
        items: dict[str, list[int]] = {}
        for row in rows:
            items.setdefault(self._writes.at(row).item, []).append(row)
        named = [item for item in items if item and self._is_named(item)]
        # A method may have changed any item.
        chosen = (
            [*named, *(item for item in items if not item)]
            if named
            else sorted(items, key=lambda item: self._likeliness(items[item][-1], frame.row))
        )
        for item in chosen[:MOST_ITEMS]:
            state = self._state(owner, items[item], frame)
            yield replace(state, unsure_item=not named and len(items) > 1)

    def _is_named(self, item: str) -> bool:
        text = item.strip("'") if item[:1] == "'" else item
        return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self._text) is not None

    @cached_property
    def _text(self) -> str:
        return self._graph.text(self._event)

    def _items(self, rows: list[int], item: str) -> list[int]:
        writes = [self._writes.at(row) for row in rows]
        return [
            write.row
            for write in writes
            if (write.channel == ITEM and (not item or write.item in {"", item} or write.item[:1] not in {"'", '"'}))
            or (write.changes_content and write.channel != ITEM)
        ]

    def _named(self, path: Path, module: str, frame: _Frame) -> Iterator[StateRead]:
        """Yield the states of a global, or of what the source calls the same in the same module."""
        writes, graph = self._writes, self._graph
        variable = writes.before(writes.by_name.get((module, path.root), []), frame.row)
        variable = [row for row in variable if graph.channel(row) in {GLOBAL + path.root, CLOSURE + path.root}]
        if variable:
            yield self._state(path.root, variable, frame)
        for length in range(len(path.steps) + 1):
            begin, rest = Path(path.root, path.steps[:length], 0), path.steps[length:]
            rows = writes.before(writes.by_name.get((module, begin.text), []), frame.row)
            rows = [row for row in rows if row not in variable]
            keys = dict.fromkeys(graph.key(row) for row in rows if not graph.channel(row).startswith((GLOBAL, CLOSURE)))
            for key in keys:
                yield from self._follow(begin.text, key, rest, frame, graph.at("ts", frame.row))

    def _guessed(self, path: Path, frame: _Frame) -> Iterator[StateRead]:
        """Yield the last write of an attribute of the same name, where the object that was read is not known."""
        last = path.steps[-1]
        if last.form == "attribute":
            objects: dict[int, list[int]] = {}
            for row in self._writes.before(self._writes.by_attribute.get(last.name, []), frame.row):
                objects.setdefault(self._graph.key(row), []).append(row)
            if objects:
                rows = min(objects.values(), key=lambda rows: self._likeliness(rows[-1], frame.row))
                name = self._name_of(rows[-1], self._writes.source_name(last.name))
                yield self._state(name, rows, frame, by_name=True)

    def _name_of(self, row: int, attribute: str) -> str:
        return f"{self._class_of(self._graph.key(row))}.{attribute}".lstrip(".")

    def _class_of(self, key: int) -> str:
        """Return the name of an object's class, "" if no method of it was recorded."""
        return self._writes.classes.get(key, "")

    def _state(self, name: str, rows: list[int], frame: _Frame, *, by_name: bool = False) -> StateRead:
        graph = self._graph
        row = rows[-1]
        call = graph.owner_of(row)
        initial = call >= 0 and graph.sites[graph.at("site", call)].qualname.endswith(".__init__")
        history = tuple(reversed(rows[-MOST_HISTORY:]))
        return StateRead(
            name,
            row,
            frame.call,
            history,
            initial,
            by_name,
            self._order(row, frame.row),
            self._later(row, frame.row),
            is_own=call == frame.call,
            may_miss=self._writes.may_miss(rows, graph.at("ts", frame.row)),
        )

    def likeliness(self, state: StateRead) -> tuple[bool, bool, int]:
        """Return a key that sorts states of the same sureness, the likeliest first."""
        if not state.by_name and not state.unsure_item:
            return False, False, -self._graph.at("ts", state.row)
        return self._likeliness(state.row, state.reader if state.reader >= 0 else self._event)

    def _likeliness(self, row: int, reader: int) -> tuple[bool, bool, int]:
        states = StoredStates.of(self._graph)
        written = [] if states.has(row) else [self._writes.at(row).value.text]
        named = any(map(self._is_named, filter(None, written or states.at(row).values.values())))
        return not named, self._order(row, reader) == "unordered", -self._graph.at("ts", row)

    def _order(self, row: int, reader: int) -> Literal["same", "before", "unordered"]:
        if self._graph.at("strand", row) == self._graph.at("strand", reader):
            return "same"
        return "before" if self._is_before(row) else "unordered"

    def _later(self, row: int, reader: int) -> tuple[int, ...]:
        """Return the first write of the same state after a read, by another strand."""
        graph, ns = self._graph, self._graph.at("ts", reader)
        write = self._writes.at(row)
        for other in self._writes.of_object(graph.key(row), ns):
            found = self._writes.at(other)
            same = (found.channel, found.item) == (write.channel, write.item) and not write.channel.startswith(METHOD)
            if same and found.ns > ns and graph.at("strand", other) != graph.at("strand", reader):
                return (other,)
        return ()

    def _is_before(self, row: int) -> bool:
        if row not in self._before:
            self._before[row] = self._slice.contains(row)
        return self._before[row]

    @cached_property
    def _slice(self) -> Slice:
        return slice_events(self._graph, [self._event])
