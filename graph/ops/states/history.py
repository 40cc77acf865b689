"""The history of a state: every recorded write of it, by whom."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.diagnoses import words
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.work.work_units import request_of
from clew.graph.ops.states import claims, stored_claims
from clew.graph.ops.states.stored import StoredStates
from clew.graph.ops.states.writes import Writes
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.records.format.states import CLOSURE, GLOBAL, ITEM, METHOD

MOST_NEAR = 5
NOT_RECORDED = "this run recorded no writes; record them with `clew run --writes` or `pytest --clew-writes`"


@dataclass(frozen=True)
class HistoryRow:
    """One write of a state."""

    event: int
    ns: int
    """The time since the run's start."""
    object: int
    """The number of the object, database or server, from 1, where several have a state of that name; else 0."""
    state: str
    """The attribute, variable, table or key that was written: `Cart.discount`, `stock`; "" if the name is not known."""
    change: str
    """`= 110`, `['book'] = 2`, `.append(5)`, `['teapot'] pieces = 9` or `deleted`."""
    writer: str
    caller: str
    who: str
    """The thread, task or process."""
    request: str
    """The request on whose behalf it was written; "" outside requests."""
    path: str
    line: int


@dataclass(frozen=True)
class History:
    """The events that gave a state its values, the oldest first: its writes, or recorded values of a parameter."""

    graph: ExecutionGraph
    rows: tuple[int, ...]
    objects: dict[int, int] = field(default_factory=dict)
    """Numbers of objects by their key, where several have the state."""
    several: int = 0
    """The number of objects that have the state; 0 for one."""

    def described(self, rows: Iterable[int]) -> list[HistoryRow]:
        """Return some of `rows` in words."""
        facts, writes = Facts.of(self.graph), Writes.of(self.graph)
        return [_row(facts, writes, row, self.objects) for row in rows]


def is_recorded(graph: ExecutionGraph) -> bool:
    """Return whether a run was asked to record writes, or has some."""
    return Writes.of(graph).is_recorded or bool(StoredStates.of(graph))


def history_of(graph: ExecutionGraph, name: str) -> History:
    """Return the writes of a state: `Cart.discount`, `discount` of any class, or a variable.

    A table of a database and a key of a server have their own name; `stock['teapot']` is one row, or one field of a hash. The
    writes of the containers that an attribute or a variable held are among them. Raise `ClewError` with similar names if
    nothing of that name was written, or if the run recorded no writes.
    """
    writes, stored = Writes.of(graph), StoredStates.of(graph)
    if not is_recorded(graph):
        raise ClewError(NOT_RECORDED)
    known = states_of(writes)
    own = {row for state, rows in known.items() if state == name or state.rpartition(".")[2] == name for row in rows}
    of_store = stored.writes_of(name)
    if not own and not of_store:
        names = [*known, *(stored.at(row).name for row in stored.writes)]
        near = difflib.get_close_matches(name, dict.fromkeys(names), MOST_NEAR, 0.5)
        did_you_mean = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ClewError(f"no write of {name!r} was recorded{did_you_mean}")
    program = with_contents(writes, own)
    keys = list(dict.fromkeys(map(graph.key, of_store)))
    numbers = {key: place for place, key in enumerate(keys, 1)} if len(keys) > 1 else {}
    rows = sorted({*program.rows, *of_store}, key=lambda row: (graph.at("ts", row), row))
    return History(graph, tuple(rows), program.objects | numbers, max(program.several, len(numbers)))


def with_contents(writes: Writes, own: set[int]) -> History:
    """Return a history of writes of attributes and variables, with the writes of the containers that these held."""
    graph = writes.graph
    containers = {writes.at(row).value.key for row in own} - {0}
    inside = {row for key in containers for row in writes.of_key(key) if writes.at(row).changes_content}
    rows = sorted(own | inside, key=lambda row: (graph.at("ts", row), row))
    owners = list(dict.fromkeys(graph.key(row) for row in rows if row in own))
    number = {key: place for place, key in enumerate(owners, 1)} if len(owners) > 1 else {}
    for row in sorted(own, key=lambda row: graph.at("ts", row)):
        held = writes.at(row).value.key
        if held and graph.key(row) in number:
            number.setdefault(held, number[graph.key(row)])
    return History(graph, tuple(rows), number, len(owners) if len(owners) > 1 else 0)


def states_of(writes: Writes) -> dict[str, list[int]]:
    """Return the rows of the writes of attributes and variables, by `Class.attribute`, `attribute` or the variable."""
    found: dict[str, list[int]] = {}
    for row in writes.rows:
        name = state_of(writes, row)
        if name:
            found.setdefault(name, []).append(row)
    for (_, path), rows in writes.by_name.items():
        if "." not in path and path not in found:
            found[path] = [row for row in rows if writes.at(row).changes_content]
    return {name: rows for name, rows in found.items() if rows}


def state_of(writes: Writes, row: int) -> str:
    """Return the attribute or variable that a row wrote, "" where it changed the content of a container."""
    write = writes.at(row)
    if write.channel.startswith((GLOBAL, CLOSURE)):
        return write.channel.partition(" ")[2]
    if write.changes_content:
        return ""
    owner = writes.classes.get(writes.graph.key(row), "")
    name = writes.source_name(write.channel)
    return f"{owner}.{name}" if owner else name


def _row(facts: Facts, writes: Writes, row: int, number: dict[int, int]) -> HistoryRow:
    graph = facts.graph
    site = graph.sites[graph.at("site", row) or graph.function_site(row)]
    request = request_of(graph, row)
    if graph.at("kind", row) == Kind.PAYLOAD:
        function = graph.sites[graph.function_site(row)]
        site, state, change, writer = (
            function,
            graph.channel(row),
            f"= {graph.text(row)}",
            claims.short(function.qualname),
        )
    elif StoredStates.of(graph).has(row):
        state, change, writer = (
            StoredStates.of(graph).at(row).name,
            _stored_change(facts, row),
            claims.writer(facts, row),
        )
    else:
        state, change, writer = state_of(writes, row), _change(writes, row), claims.writer(facts, row)
    return HistoryRow(
        row, graph.at("ts", row), number.get(graph.key(row), 0), state, change, writer, claims.caller(facts, row),
        words.who(facts, graph.at("strand", row)), graph.channel(request) if request >= 0 else "", site.file, site.line,
    )  # fmt: skip


def _change(writes: Writes, row: int) -> str:
    write = writes.at(row)
    value = claims.value_text(write)
    if write.channel.startswith(METHOD):
        return f"{write.channel}({value})"
    if write.deletes:
        return f"[{write.item_name}] deleted" if write.channel == ITEM else "deleted"
    return f"[{write.item_name}] = {value}" if write.channel == ITEM else f"= {value}"


def _stored_change(facts: Facts, row: int) -> str:
    stored = StoredStates.of(facts.graph)
    change = f"{stored_claims.row_text(stored.at(row))} {stored_claims.change_text(facts, row)}".strip()
    if stored.since(row) >= 0:
        return change
    return f"{change} (rolled back)" if stored.is_undone(row) else f"{change} (not committed)"
