"""The graph of a store: its columns are read, or follow from others, when they are first looked at.

Invariant: it answers as the graph that was stored; a table that turns out damaged is made anew before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting, nest
from clew.graph.build.call_times import call_times
from clew.graph.model.graph import I64, U8, U32, Calls, ExecutionGraph, Extensions, Regions, Rows, Strand
from clew.graph.model.ownership import owners
from clew.graph.model.text_templates import Templated, TemplatedTexts
from clew.graph.runtime.mmap_arrays import Room, Spilled
from clew.graph.store.parquet_read import ROWS_A_GROUP, DamagedTable, Table

T = TypeVar("T")

_EVENT_COLUMNS = {
    "ts": "ts",
    "kind": "kind",
    "site": "location",
    "strand": "strand",
    "region": "region",
    "idle": "idle",
}
"""Columns of a graph's events by those of the table."""


LARGE = 1 << 22
"""Events of a graph whose columns are not kept by chance."""
NESTED = 1 << 25
"""Events of the strands whose calls are kept when they were asked for one event at a time."""
PARTS, PARTS_IN_FILES = 16, 128
"""Columns in a group of rows that are kept: decoded they have some megabytes each."""
_SMALL = frozenset({"regions", "channel_ids", "site_is_adapter", "strand_process", "answers", "_spilled"})


class StoredTables:
    """The tables in a store's folder. `again` makes the store anew when one is damaged, and gives what its manifest says of
    the new ones; it raises `RunError` where that cannot be done."""

    def __init__(
        self, folder: Path, written: Mapping[str, Any], again: Callable[[DamagedTable], Mapping[str, Any]]
    ) -> None:
        self.folder = folder
        """Where they are kept, wherever they were opened."""
        self._again = again
        self._tables = {name: Table(folder, name, said) for name, said in written.items()}

    def get(self, name: str, read: Callable[[Table], T]) -> T:
        """What `read` makes of a table."""
        try:
            return read(self._tables[name])
        except (DamagedTable, OSError) as error:
            damage = error if isinstance(error, DamagedTable) else DamagedTable(str(error))
            written = self._again(damage)
            self._tables = {name: Table(self.folder, name, said) for name, said in written.items()}
            return read(self._tables[name])

    def length(self, name: str) -> int:
        return len(self._tables[name])

    @property
    def names(self) -> list[str]:
        return list(self._tables)

    @property
    def identity(self) -> list[Any]:
        """Equal for equal tables: their names and checksums."""
        return [[name, table.sums] for name, table in sorted(self._tables.items())]

    def numbers(
        self, name: str, column: str, dtype: type, *, group: int | None = None, room: Room = np.empty
    ) -> npt.NDArray[Any]:
        return self.get(name, lambda table: table.numbers(column, dtype, group=group, room=room))


class StoredTexts(TemplatedTexts):
    """The texts of a store's payloads."""

    def __init__(self, tables: StoredTables) -> None:
        super().__init__(
            partial(_templates, tables),
            partial(tables.numbers, "payloads", "template", np.uint32),
            partial(_parameters, tables, None),
        )
        self._tables = tables
        self._group = lru_cache(2)(self._read_group)

    def __getitem__(self, row: int, /) -> str:
        if "_all" in self.__dict__:
            return super().__getitem__(row)
        group, first = self._tables.get("payloads", lambda table: table.group_of(row))
        return self._group(group).text(row - first)

    def parts(self) -> Iterator[tuple[int, Templated]]:
        """A group of rows at a time, none of which is kept."""
        first = 0
        for group in range(self._tables.get("payloads", lambda table: table.groups)):
            part = self._read_group(group)
            yield first, part
            first += len(part.template)

    def _read_group(self, group: int) -> Templated:
        template = self._tables.numbers("payloads", "template", np.uint32, group=group)
        return Templated(*self._templates, template, *_parameters(self._tables, group))


def _templates(tables: StoredTables) -> tuple[list[str], npt.NDArray[np.bool_]]:
    read = tables.get("templates", lambda table: table.read("template", "numeric"))
    return read.column(0).to_pylist(), np.array(read.column(1).to_pylist(), bool)


def _parameters(tables: StoredTables, group: int | None) -> tuple[Any, I64]:
    lists = tables.get(
        "payloads", lambda table: table.read("parameters", groups=None if group is None else [group])
    ).column(0)
    import pyarrow as pa

    # Combined by hand: offsets of 32 bits may not reach.
    values = [chunk.flatten().cast(pa.large_string()) for chunk in lists.chunks]
    counts = [np.diff(np.asarray(chunk.offsets)) for chunk in lists.chunks]
    first = np.concatenate(([0], np.cumsum(np.concatenate(counts)))) if counts else np.zeros(1)
    return pa.concat_arrays(values) if values else pa.array([], pa.large_string()), first.astype(np.int64)


class StoredGraph(ExecutionGraph):
    """A graph of which `tables` has the columns; made by `of`."""

    tables: StoredTables

    @staticmethod
    def of(tables: StoredTables, known: Mapping[str, Any]) -> StoredGraph:
        """`known` are the attributes that are no columns."""
        graph: StoredGraph = object.__new__(StoredGraph)
        graph.__dict__.update(known, tables=tables)
        return graph

    def __len__(self) -> int:
        return self.tables.length("events")

    def spare(self) -> None:
        if len(self) > LARGE and "_spilled" not in self.__dict__:
            self.__dict__["_spilled"] = Spilled(self.tables.folder)
            self.__dict__.pop("_parts", None)

    @property
    def room(self) -> Room:
        spilled: Spilled | None = self.__dict__.get("_spilled")
        return spilled.room if spilled else np.empty

    def let_go(self) -> None:
        spilled: Spilled | None = self.__dict__.get("_spilled")
        if spilled:
            spilled.let_go()

    def _made(self, make: Callable[[], T]) -> T:
        """What takes a look at all of some columns, which are not looked at again soon."""
        made = make()
        self.let_go()
        return made

    def _column(self, name: str, dtype: type) -> npt.NDArray[Any]:
        return self._made(lambda: self.tables.numbers("events", _EVENT_COLUMNS[name], dtype, room=self.room))

    @cached_property
    def ts(self) -> I64:
        return self._column("ts", np.int64)

    @cached_property
    def kind(self) -> U8:
        return self._column("kind", np.uint8)

    @cached_property
    def site(self) -> U32:
        return self._column("site", np.uint32)

    @cached_property
    def strand(self) -> U32:
        return self._column("strand", np.uint32)

    @cached_property
    def region(self) -> U32:
        return self._column("region", np.uint32)

    @cached_property
    def idle(self) -> npt.NDArray[np.bool_]:
        return self._column("idle", np.bool_)

    @cached_property
    def ext(self) -> npt.NDArray[np.int32]:
        rows: npt.NDArray[np.int32] = self.room(len(self), np.int32)
        rows[:] = -1
        events = self.tables.numbers("payloads", "event", np.int64)
        rows[events] = np.arange(len(events), dtype=np.int32)
        return rows

    @cached_property
    def edge_src(self) -> I64:
        return self.tables.numbers("edges", "source", np.int64)

    @cached_property
    def edge_dst(self) -> I64:
        return self.tables.numbers("edges", "target", np.int64)

    @cached_property
    def edge_kind(self) -> U8:
        return self.tables.numbers("edges", "kind", np.uint8)

    @cached_property
    def edge_channel(self) -> U32:
        return self.tables.numbers("edges", "channel", np.uint32)

    @cached_property
    def extensions(self) -> Extensions:
        return Extensions(
            self.tables.numbers("payloads", "key", np.uint64),
            self.tables.numbers("payloads", "channel", np.uint32),
            self.tables.numbers("payloads", "flags", np.uint16),
            StoredTexts(self.tables),
        )

    @cached_property
    def regions(self) -> Regions:
        read = partial(self.tables.numbers, "regions")
        return Regions(
            read("strand", np.uint32),
            read("kind", np.uint8),
            read("opener", np.int64),
            read("first", np.int64),
            read("last", np.int64),
            read("parent", np.int64),
        )

    @contextmanager
    def passing(self) -> Iterator[Callable[[], None]]:
        known = set(self.__dict__)

        def let_go() -> None:
            if len(self) > LARGE:
                for name in set(self.__dict__) - known - _SMALL:
                    self.__dict__.pop(name, None)

        try:
            yield let_go
        finally:
            let_go()

    # One event at a time

    def at(self, column: str, event: int) -> int:
        if column in self.__dict__ or len(self) <= ROWS_A_GROUP:
            return super().at(column, event)
        if event < 0:
            event += len(self)
        if column == "ext":
            row = int(np.searchsorted(self._extended, event))
            return row if row < len(self._extended) and self._extended[row] == event else -1
        if column == "strand":
            return int(np.searchsorted(self._strand_start, event, "right")) - 1
        if column in ("call", "inner"):
            if "_nesting" in self.__dict__:
                return super().at(column, event)
            strand = self.strands[self.at("strand", event)]
            calls: I64 = getattr(self._strand_nesting(strand), column)
            value = int(calls[event - strand.start])
            return value + strand.start if value >= 0 else -1
        if column == "owner":
            return self._owner(event)
        group, first = self.tables.get("events", lambda table: table.group_of(event))
        return int(self._parts(_EVENT_COLUMNS[column], group)[event - first])

    @cached_property
    def _extended(self) -> I64:
        return self.tables.numbers("payloads", "event", np.int64)

    @cached_property
    def _parts(self) -> Callable[[str, int], npt.NDArray[Any]]:
        """A column in a group of rows; the last ones are kept."""

        def read(column: str, group: int) -> npt.NDArray[Any]:
            types = {"ts": np.int64, "kind": np.uint8, "idle": np.bool_}
            return self.tables.numbers("events", column, types.get(column, np.uint32), group=group, room=self.room)

        return lru_cache(PARTS_IN_FILES if "_spilled" in self.__dict__ else PARTS)(read)

    def _part(self, column: str, start: int, stop: int) -> npt.NDArray[Any]:
        """A column of the events in the rows from `start` up to `stop`."""
        if column in self.__dict__:
            whole: npt.NDArray[Any] = getattr(self, column)[start:stop]
            return whole
        low, first = self.tables.get("events", lambda table: table.group_of(start))
        high, _ = self.tables.get("events", lambda table: table.group_of(stop - 1))
        parts = [self._parts(_EVENT_COLUMNS[column], group) for group in range(low, high + 1)]
        return np.concatenate(parts)[start - first : stop - first]

    def _strand_nesting(self, strand: Strand) -> Nesting:
        """The calls of a strand, its rows counted from its first; the last ones are kept."""
        kept = self._nestings
        found = kept.pop(strand.index, None)
        if found is None:
            part, bounds = partial(self._part, start=strand.start, stop=strand.stop), [0, strand.stop - strand.start]
            found = self._made(lambda: nest(part("kind"), part("site"), np.array(bounds, np.int64), self.room))
            while kept and sum(len(one.call) for one in kept.values()) + bounds[1] > NESTED:
                del kept[next(iter(kept))]
        kept[strand.index] = found
        return found

    @cached_property
    def _nestings(self) -> dict[int, Nesting]:
        return {}

    def _owner(self, event: int) -> int:
        """One value of `owner`: what names an event lies in its region and, of a task, in the steps around it."""
        strand = self.strands[self.at("strand", event)]
        region = self.at("region", event)
        start, stop = strand.start, strand.stop
        if strand.kind == "thread":
            start, stop = max(int(self.regions.first[region]) - 1, start), int(self.regions.last[region]) + 1
        kept, of = self._owners, (strand.index, start, stop)
        found = kept.pop(of, None)
        if found is None:
            found = self._owners_within(strand, start, stop)
            while kept and sum(len(one) for one in kept.values()) + len(found) > NESTED:
                del kept[next(iter(kept))]
        kept[of] = found
        return int(found[event - start])

    @cached_property
    def _owners(self) -> dict[tuple[int, int, int], Rows]:
        return {}

    def _owners_within(self, strand: Strand, start: int, stop: int) -> Rows:
        part = partial(self._part, start=start, stop=stop)
        if "_nesting" in self.__dict__:
            call, inner = self.call[start:stop], self.inner[start:stop]
        else:
            nesting, first = self._strand_nesting(strand), strand.start

            def of_graph(rows: Rows) -> Rows:
                found = rows[start - first : stop - first].astype(self._rows)
                found[found >= 0] += first
                return found

            call, inner = of_graph(nesting.call), of_graph(nesting.inner)
        is_outcome = np.zeros(stop - start, bool)
        low, high = np.searchsorted(self._extended, [start, stop]).tolist()
        outcome = np.isin(self.extensions.channel[low:high], self.outcome_channels)
        is_outcome[self._extended[low:high] - start] = outcome
        return owners(part("kind"), part("region"), part("strand"), call, inner, is_outcome=is_outcome, room=self.room)

    def exit_of(self, enter: int) -> int:
        if "calls" in self.__dict__:
            return super().exit_of(enter)
        strand = self.strands[self.at("strand", enter)]
        nesting, first = (
            (self._nesting, 0) if "_nesting" in self.__dict__ else (self._strand_nesting(strand), strand.start)
        )
        place = int(np.searchsorted(nesting.enter, enter - first))
        if place == len(nesting.enter) or nesting.enter[place] != enter - first:
            raise KeyError(enter)
        end = int(nesting.exit[place])
        return end + first if end >= 0 else -1

    # What follows from the columns

    @cached_property
    def _strand_start(self) -> I64:
        return np.array([*(strand.start for strand in self.strands), len(self)], np.int64)

    @property
    def _rows(self) -> type[np.signedinteger[Any]]:
        """The type of rows."""
        return np.int32 if len(self) < 1 << 31 else np.int64

    @cached_property
    def _nesting(self) -> Nesting:
        made = self._made(lambda: nest(self.kind, self.site, self._strand_start, self.room))
        # It tells what these do.
        self.__dict__.pop("_nestings", None)
        return made

    @cached_property
    def call(self) -> Rows:
        return self._nesting.call.astype(self._rows, copy=False)

    @cached_property
    def inner(self) -> Rows:
        return self._nesting.inner.astype(self._rows, copy=False)

    @cached_property
    def owner(self) -> Rows:
        return self._made(lambda: super(StoredGraph, self).owner)

    @cached_property
    def calls(self) -> Calls:
        start = self._strand_start
        return self._made(lambda: call_times(self._nesting, self.ts, self.strand, start, self.idle, room=self.room))
