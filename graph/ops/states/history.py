"""The history of a state of the program, of a table or of a key: every recorded write of it, by whom."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.diagnoses import words
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.states import claims, stored_claims
from clew.graph.ops.states.stored import StoredStates
from clew.graph.ops.states.writes import Writes
from clew.records.errors import ClewError
from clew.records.format.states import CLOSURE, GLOBAL, ITEM, METHOD

MOST_NEAR = 5


@dataclass(frozen=True)
class HistoryRow:
    """One write of a state."""

    event: int
    ns: int
    """The time since the run's start."""
    object: int
    """The number of the object, database or server, from 1, where several have a state of that name; else 0."""
    change: str
    """`= 110`, `['book'] = 2`, `.append(5)`, `['teapot'] pieces = 9` or `deleted`."""
    writer: str
    caller: str
    who: str
    """The thread, task or process."""
    path: str
    line: int


def history_of(graph: ExecutionGraph, name: str) -> list[HistoryRow]:
    """Return the writes of a state, the oldest first: `Cart.discount`, `discount` of any class, or a variable.

    A table of a database and a key of a server have their own name; `stock['teapot']` is one row, or one field of a hash. The
    writes of the containers that an attribute or a variable held are among them. Raise `ClewError` with similar names if
    nothing of that name was written, or if the run recorded no writes.
    """
    writes = Writes.of(graph)
    stored = StoredStates.of(graph)
    if not writes.is_recorded and not stored:
        raise ClewError("this run recorded no writes; record them with `clew run --writes` or `pytest --clew-writes`")
    known = states_of(writes)
    own = {row for state, rows in known.items() if state == name or state.rpartition(".")[2] == name for row in rows}
    of_store = _stored_rows(Facts.of(graph), stored, stored.writes_of(name))
    if not own and not of_store:
        names = [*known, *(stored.at(row).name for row in stored.writes)]
        near = difflib.get_close_matches(name, dict.fromkeys(names), MOST_NEAR, 0.5)
        did_you_mean = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ClewError(f"no write of {name!r} was recorded{did_you_mean}")
    containers = {writes.at(row).value.key for row in own} - {0}
    inside = {row for key in containers for row in writes.of_key(key) if writes.at(row).changes_content}
    rows = sorted(own | inside, key=lambda row: (graph.at("ts", row), row))
    owners = list(dict.fromkeys(graph.key(row) for row in rows if row in own))
    facts = Facts.of(graph)
    number = {key: place for place, key in enumerate(owners, 1)} if len(owners) > 1 else {}
    for row in sorted(own, key=lambda row: graph.at("ts", row)):
        held = writes.at(row).value.key
        if held and graph.key(row) in number:
            number.setdefault(held, number[graph.key(row)])
    of_program = [_row(facts, writes, row, number) for row in rows]
    return sorted([*of_program, *of_store], key=lambda row: row.ns)


def _stored_rows(facts: Facts, stored: StoredStates, rows: list[int]) -> list[HistoryRow]:
    graph = facts.graph
    keys = list(dict.fromkeys(map(graph.key, rows)))
    found = []
    for row in rows:
        access, site = stored.at(row), graph.sites[graph.at("site", row)]
        change = f"{stored_claims.row_text(access)} {stored_claims.change_text(facts, row)}".strip()
        if stored.since(row) < 0:
            change += " (rolled back)" if stored.is_undone(row) else " (not committed)"
        number = keys.index(graph.key(row)) + 1 if len(keys) > 1 else 0
        found.append(HistoryRow(
            row, graph.at("ts", row), number, change, claims.writer(facts, row), claims.caller(facts, row),
            words.who(facts, graph.at("strand", row)), site.file, site.line,
        ))  # fmt: skip
    return found


def states_of(writes: Writes) -> dict[str, list[int]]:
    """Return the rows of the writes of attributes and variables, by `Class.attribute`, `attribute` or the variable."""
    graph = writes.graph
    found: dict[str, list[int]] = {}
    for row in writes.rows:
        write = writes.at(row)
        if write.channel.startswith((GLOBAL, CLOSURE)):
            found.setdefault(write.channel.partition(" ")[2], []).append(row)
        elif not write.changes_content:
            owner = writes.classes.get(graph.key(row), "")
            name = writes.source_name(write.channel)
            found.setdefault(f"{owner}.{name}" if owner else name, []).append(row)
    for (_, path), rows in writes.by_name.items():
        if "." not in path and path not in found:
            found[path] = [row for row in rows if writes.at(row).changes_content]
    return {name: rows for name, rows in found.items() if rows}


def _row(facts: Facts, writes: Writes, row: int, number: dict[int, int]) -> HistoryRow:
    graph, write = facts.graph, writes.at(row)
    site = graph.sites[graph.at("site", row)]
    value = claims.value_text(write)
    if write.channel.startswith(METHOD):
        change = f"{write.channel}({value})"
    elif write.deletes:
        change = f"[{write.item_name}] deleted" if write.channel == ITEM else "deleted"
    else:
        change = f"[{write.item_name}] = {value}" if write.channel == ITEM else f"= {value}"
    return HistoryRow(
        row, write.ns, number.get(graph.key(row), 0), change, claims.writer(facts, row), claims.caller(facts, row),
        words.who(facts, graph.at("strand", row)), site.file, site.line,
    )  # fmt: skip
