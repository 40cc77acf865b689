"""The accesses of a run to states outside of the processes, rows of databases and keys of servers: which write a read saw.

Writes and reads of all processes have a common order by their clocks. A write in a transaction counts from its commit on, for
its own connection at once, and never if it was undone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind
from clew.records.format.states import HIDDEN
from clew.records.format.stored_states import (
    DEFINE,
    DELETE,
    END,
    FIELD,
    KEY,
    READ,
    ROW,
    UNDONE,
    UNKNOWN,
    WRITE,
    Access,
    loaded,
)

Relation = Literal["same", "maybe", "no"]
MOST_HISTORY = 8
CLOSE_NS = 1_000_000
"""Clocks do not tell the order of two accesses that are this near."""
PARTS = frozenset({"APPEND", "SETRANGE", "SETBIT", "LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "SADD", "SREM", "ZREM"})
"""Commands that change a part of a key's value."""
COMPUTED = frozenset({"INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT", "HINCRBY", "HINCRBYFLOAT", *PARTS})
"""Commands whose result depends on the value before."""
_WHOLE = frozenset({"GET", "GETEX", "MGET", "HGET", "HMGET"})
_ABOUT_EXPIRY = frozenset({"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST"})
_INSERTS = frozenset({"INSERT", "REPLACE"})


@dataclass(frozen=True)
class Seen:
    """A read of a stored state, with the write that it saw."""

    read: int
    write: int
    name: str
    """`stock['teapot']`, or the table or key alone."""
    some_row: bool
    """The read is of several rows, or of one that is not known, and the write is of one of them."""
    unsure: bool
    """It is not known whether the write is of the row that was read."""
    history: tuple[int, ...]
    """The last writes of the state before the read, the newest first."""
    overwritten: int
    """A write that the writer of `write` had not read before it wrote, -1 if there is none."""
    base: int
    """The last read of the state by the same thread or task before it wrote, -1 without `overwritten`."""
    is_other: bool
    """What was read is not what `write` wrote, so that a later write was not recorded."""


class StoredStates:
    """The accesses of a run. Use `StoredStates.of`, which caches them with the graph."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph
        self._accesses: dict[int, Access] = {}
        for row in graph.rows_of([Kind.ACCESS]).tolist():
            access = loaded(graph.text(row))
            if access is not None:
                self._accesses[row] = access

    @classmethod
    def of(cls, graph: ExecutionGraph) -> StoredStates:
        return cached(graph, "stored states", lambda: cls(graph))

    def __bool__(self) -> bool:
        return bool(self._accesses)

    def at(self, row: int) -> Access:
        return self._accesses[row]

    def has(self, row: int) -> bool:
        return row in self._accesses

    @cached_property
    def writes(self) -> list[int]:
        """The writes and deletions of all states, by the time of their statement or command."""
        rows = [row for row, access in self._accesses.items() if access.do in {WRITE, DELETE}]
        return sorted(rows, key=lambda row: (self.graph.at("ts", row), row))

    def writes_of(self, name: str) -> list[int]:
        """Return the writes of a table or a key, by time; of `stock['teapot']` those that are, or may be, of that row."""
        table, _, item = name.removesuffix("]").partition("[") if name.endswith("]") else (name, "", "")
        rows = [row for row in self.writes if self._accesses[row].name in {table, table.lower()}]
        wanted = [value.strip() for value in item.split(",")] if item else []
        return [row for row in rows if self._may_be(row, wanted)] or [
            row for row in self.writes if self.at(row).name == name
        ]

    def _may_be(self, write: int, wanted: list[str]) -> bool:
        access = self._accesses[write]
        known = access.values if access.command in _INSERTS else access.row
        unknown = not known or HIDDEN in known.values() or UNKNOWN in known.values()
        return unknown or all(any(equal(value, one) for value in known.values()) for one in wanted)

    def reads_of(self, call: int, strand: int) -> list[int]:
        """Return the reads of a call, -1 for the code of a module in a strand, in order."""
        return self._reads.get((call, strand), [])

    @cached_property
    def _reads(self) -> dict[tuple[int, int], list[int]]:
        return self._grouped_reads(self.graph.owner_of)

    @cached_property
    def _reads_of_state(self) -> dict[tuple[int, int], list[int]]:
        return self._grouped_reads(self.graph.key)

    def _grouped_reads(self, group: Callable[[int], int]) -> dict[tuple[int, int], list[int]]:
        found: dict[tuple[int, int], list[int]] = {}
        for row in sorted(row for row, access in self._accesses.items() if access.do == READ):
            found.setdefault((group(row), self.graph.at("strand", row)), []).append(row)
        return found

    @cached_property
    def _ends(self) -> dict[int, list[int]]:
        """The ends of transactions by the connection's key, by time."""
        rows = [row for row, access in self._accesses.items() if access.do in {END, UNDONE}]
        found: dict[int, list[int]] = {}
        for row in sorted(rows, key=lambda row: (self.graph.at("ts", row), row)):
            found.setdefault(self.graph.key(row), []).append(row)
        return found

    @cached_property
    def _by_key(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for row in self.writes:
            found.setdefault(self.graph.key(row), []).append(row)
        return found

    @cached_property
    def _columns(self) -> dict[int, tuple[str, ...]]:
        """The columns of the tables whose creation was recorded, by key."""
        rows = sorted(row for row, access in self._accesses.items() if access.do == DEFINE)
        return {self.graph.key(row): self._accesses[row].columns for row in rows}

    def _end(self, write: int) -> int:
        """Return the end of the transaction of a write, -1 if it has none of its own or did not end."""
        access, ns = self._accesses[write], self.graph.at("ts", write)
        ends = self._ends.get(access.connection, []) if access.open else []
        return next((end for end in ends if self.graph.at("ts", end) >= ns), -1)

    def since(self, write: int) -> int:
        """Return from when on other connections see a write, -1 for never."""
        if not self._accesses[write].open:
            return self.graph.at("ts", write)
        end = self._end(write)
        return self.graph.at("ts", end) if end >= 0 and self._accesses[end].do == END else -1

    def is_undone(self, write: int) -> bool:
        end = self._end(write)
        return end >= 0 and self._accesses[end].do == UNDONE

    def values(self, row: int) -> dict[str, str]:
        """Return what a write wrote, by column; by number where the columns are not known."""
        access, columns = self._accesses[row], self._columns.get(self.graph.key(row), ())
        return {
            columns[int(name) - 1] if name.isdigit() and int(name) <= len(columns) else name: value
            for name, value in access.values.items()
        }

    def seen(self, read: int) -> list[Seen]:
        """Return the last write of the state before a read, and a later one that may be of the same row."""
        wanted = self._accesses[read]
        same: list[int] = []
        maybe = -1
        for row in self._before(read):
            relation = self.relation(row, wanted)
            if relation == "same":
                same.append(row)
            elif relation == "maybe" and not same and maybe < 0:
                maybe = row
            if len(same) == MOST_HISTORY:
                break
        is_close = bool(same) and self.graph.at("ts", read) - self.since(same[0]) < CLOSE_NS
        if is_close and len(same) > 1 and self._is_other(read, same[0]) and not self._is_other(read, same[1]):
            same = same[1:]
        found = [self._seen(read, same, unsure=False)] if same else []
        return found if maybe < 0 else [*found, self._seen(read, [maybe, *same], unsure=True)]

    def _before(self, read: int) -> list[int]:
        """Return the writes of the state's table or key that a read could see, the last one first."""
        graph = self.graph
        connection, strand, ns = self._accesses[read].connection, graph.at("strand", read), graph.at("ts", read)
        found: list[tuple[int, int]] = []
        for row in self._by_key.get(graph.key(read), []):
            if connection and self._accesses[row].connection == connection:
                end, since = self._end(row), graph.at("ts", row)
                undone = end >= 0 and self._accesses[end].do == UNDONE and graph.at("ts", end) <= ns
                before = not undone and (row < read if graph.at("strand", row) == strand else since <= ns)
            else:
                since = self.since(row)
                before = 0 <= since <= ns
            if before:
                found.append((since, row))
        return [row for _, row in sorted(found, reverse=True)]

    def _seen(self, read: int, rows: list[int], *, unsure: bool) -> Seen:
        wanted = self._accesses[read]
        overwritten, base = self._overwritten(rows[0])
        some_row = not wanted.row and self._has_rows(rows[0])
        return Seen(
            read,
            rows[0],
            self.name_of(wanted),
            some_row,
            unsure,
            tuple(rows),
            overwritten,
            base,
            self._is_other(read, rows[0]),
        )

    def _is_other(self, read: int, write: int) -> bool:
        """Return whether a read of a key certainly gave another value than a write."""
        found, written = self._accesses[read], self._accesses[write]
        if "" not in found.values or list(written.values) != [""] or written.command in PARTS:
            return found.missing and written.do == WRITE and not written.expires and found.command in _WHOLE
        return equal(found.values[""], written.values[""]) is False

    def _has_rows(self, write: int) -> bool:
        return self.graph.channel(write) == ROW or bool(self._accesses[write].row)

    def _overwritten(self, write: int) -> tuple[int, int]:
        """Return the write that another one overwrote unread, and the read that was too early for it; -1 for none."""
        graph, written = self.graph, self._accesses[write]
        strand, key = graph.at("strand", write), graph.key(write)
        if UNKNOWN in written.values.values() or written.command in COMPUTED:
            return -1, -1  # the database computed the value from the present one
        own = (row for row in reversed(self._reads_of_state.get((key, strand), [])) if row < write)
        is_key = graph.channel(write) == KEY
        base = next(
            (row for row in own if (is_key or self.at(row).row) and self.relation(write, self.at(row)) == "same"), -1
        )
        if base < 0:
            return -1, -1
        wanted, ns, until = self.at(base), graph.at("ts", base), graph.at("ts", write)
        between = [row for row in self._by_key.get(key, []) if ns < self.since(row) <= until and row != write]
        between = [row for row in between if self.relation(row, wanted) == "same" and self._replaces(write, row)]
        if not between or any(graph.at("strand", row) == strand for row in between):
            return -1, -1
        return between[-1], base

    def _replaces(self, write: int, other: int) -> bool:
        """Return whether a write replaces what another one of the same row wrote."""
        own, before = self._accesses[write], self._accesses[other]
        if own.command != "UPDATE" or before.command != "UPDATE":
            return True
        return not set(own.values).isdisjoint(before.values)

    def after(self, seen: Seen) -> int:
        """Return the first write of the same row after a read, by another thread, task or process; -1 for none."""
        graph, wanted = self.graph, self._accesses[seen.read]
        ns, strand = graph.at("ts", seen.read), graph.at("strand", seen.read)
        for row in self._by_key.get(graph.key(seen.read), []):
            if self.since(row) > ns and graph.at("strand", row) != strand and self.relation(row, wanted) == "same":
                return row
        return -1

    # ---- Rows ----

    @staticmethod
    def name_of(access: Access) -> str:
        keys = ", ".join(shown(value) for value in access.row.values())
        return f"{access.name}[{keys}]" if keys else access.name

    def relation(self, write: int, read: Access) -> Relation:
        """Return whether a write is of a row that a read reads."""
        access, values = self._accesses[write], self.values(write)
        if self.graph.channel(write) == KEY:
            if access.command in _ABOUT_EXPIRY and not read.missing:
                return "no"
            if access.do == DELETE and not read.missing and not access.row:
                return "no"  # an unrecorded write came after it
        is_insert = access.command in _INSERTS
        unknown = {name for name in values if name.isdigit()}
        if is_insert and not values:
            return "maybe" if read.row else "same"
        is_update = access.do == WRITE and not is_insert
        if is_update and read.columns and values and set(values).isdisjoint(read.columns):
            return "no"
        row = values if is_insert else access.row
        covered = True
        for column, wanted in read.row.items():
            if not is_insert and column in values and column != FIELD:
                covered = covered and equal(values[column], wanted) is True
            elif column in row:
                is_equal = equal(row[column], wanted)
                if is_equal is False:
                    return "no"
                covered = covered and is_equal is True
            elif is_insert and unknown:
                if all(equal(values[name], wanted) is False for name in unknown):
                    return "no"
                covered = False
            else:
                # A write of all rows with a part of the conditions is one of this row.
                covered = covered and access.exact and not is_insert and set(access.row) <= set(read.row)
        return "same" if covered else "maybe"


def equal(one: str, other: str) -> bool | None:
    """Return whether two recorded values are equal, None if that is not known."""
    if {one, other} & {HIDDEN, UNKNOWN}:
        return None
    return _plain(one) == _plain(other)


def _plain(value: str) -> str:
    # A database converts between numbers and their texts.
    value = value[1:-1] if value[:1] == "'" else value
    whole, _, fraction = value.partition(".")
    return whole if fraction == "0" else {"True": "1", "False": "0"}.get(value, value)


def shown(value: str) -> str:
    """Return a recorded value for people: "…" for one of which only a hash was recorded."""
    kind, hashed, _ = value.partition(" #")
    return f"a {kind}" if hashed and kind.isidentifier() else value
