"""The graph of a store, whose columns are read or computed on first use.

Invariant: it gives the same answers as the graph that was stored. A damaged table is rebuilt before it is used.
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
from clew.graph.model.text_templates import Templated, TemplatedTexts, from_templates
from clew.graph.runtime.mmap_arrays import Allocator, MappedFiles
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
"""The columns of the table of events, by the graph's names."""


LARGE = 1 << 22
"""The number of events above which columns are released after a single pass, and may be in memory-mapped temp files."""
NESTED = 1 << 25
"""The number of events whose calls are cached, strand by strand, for queries of single events."""
PARTS, PARTS_IN_FILES = 16, 128
"""The number of cached columns of one group of rows; decoded, each has some megabytes."""
_SMALL = frozenset({"regions", "channel_ids", "site_is_adapter", "strand_process", "answers", "_files"})


class StoredTables:
    """The tables in a store's folder.

    `rebuild` rebuilds the store when a table is damaged, and returns the tables' entry of the new manifest. Raises `RunError`.
    """

    def __init__(
        self, folder: Path, written: Mapping[str, Any], rebuild: Callable[[DamagedTable], Mapping[str, Any]]
    ) -> None:
        self.folder = folder
        """The store's permanent folder, even if the tables were opened elsewhere."""
        self._rebuild = rebuild
        self._tables = {name: Table(folder, name, about) for name, about in written.items()}

    def get(self, name: str, read: Callable[[Table], T]) -> T:
        """Return the result of `read` for a table. Rebuild the store and retry once if the table is damaged."""
        try:
            return read(self._tables[name])
        except (DamagedTable, OSError) as error:
            damage = error if isinstance(error, DamagedTable) else DamagedTable(str(error))
            written = self._rebuild(damage)
            self._tables = {name: Table(self.folder, name, about) for name, about in written.items()}
            return read(self._tables[name])

    def length(self, name: str) -> int:
        return len(self._tables[name])

    @property
    def names(self) -> list[str]:
        return list(self._tables)

    @property
    def identity(self) -> list[Any]:
        """The names and checksums of the tables, which are equal for equal tables."""
        return [[name, table.sums] for name, table in sorted(self._tables.items())]

    def numbers(
        self, name: str, column: str, dtype: type, *, group: int | None = None, allocate: Allocator = np.empty
    ) -> npt.NDArray[Any]:
        return self.get(name, lambda table: table.numbers(column, dtype, group=group, allocate=allocate))


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
        group, first = self._group_of(row)
        return self._group(group).text(row - first)

    def _group_of(self, row: int) -> tuple[int, int]:
        return self._tables.get("payloads", lambda table: table.group_of(row))

    def strings(self, rows: I64) -> Any:
        """Return the texts of some rows as large strings. For ascending rows, memory holds one group of texts at a time."""
        if "_all" in self.__dict__ or not len(rows) or np.any(rows[1:] < rows[:-1]):
            return super().strings(rows)
        import pyarrow as pa

        parts, at = [], 0
        while at < len(rows):
            group, first = self._group_of(int(rows[at]))
            part = self._group(group)
            end = int(np.searchsorted(rows, first + len(part.template)))
            parts.append(from_templates(part, rows[at:end] - first))
            at = end
        return pa.concat_arrays(parts)

    def parts(self) -> Iterator[tuple[int, Templated]]:
        """Yield all texts, a group of rows at a time, without caching them."""
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

    from clew.graph.runtime.arrow_arrays import from_texts, to_numbers

    # Do not combine the chunks with Arrow: their offsets have 32 bits, which may overflow.
    values = [chunk.flatten().cast(pa.large_string()) for chunk in lists.chunks]
    counts = [np.diff(to_numbers(chunk.offsets)) for chunk in lists.chunks]
    first = np.concatenate(([0], np.cumsum(np.concatenate(counts)))) if counts else np.zeros(1)
    return pa.concat_arrays(values) if values else from_texts(()), first.astype(np.int64)


class StoredGraph(ExecutionGraph):
    """A graph whose columns are in `tables`. Create it with `of`."""

    tables: StoredTables

    @staticmethod
    def of(tables: StoredTables, attributes: Mapping[str, Any]) -> StoredGraph:
        """Create a graph. `attributes` has the attributes that are not columns."""
        graph: StoredGraph = object.__new__(StoredGraph)
        graph.__dict__.update(attributes, tables=tables)
        return graph

    def __len__(self) -> int:
        return self.tables.length("events")

    def spare(self) -> None:
        if len(self) > LARGE and "_files" not in self.__dict__:
            self.__dict__["_files"] = MappedFiles(self.tables.folder)
            self.__dict__.pop("_parts", None)

    @property
    def allocate(self) -> Allocator:
        files: MappedFiles | None = self.__dict__.get("_files")
        return files.allocate if files else np.empty

    def release_memory(self) -> None:
        files: MappedFiles | None = self.__dict__.get("_files")
        if files:
            files.release_memory()

    def _then_release(self, compute: Callable[[], T]) -> T:
        """Return `compute()`, which reads whole columns, and release their memory because they are not read again soon."""
        result = compute()
        self.release_memory()
        return result

    def _column(self, name: str, dtype: type) -> npt.NDArray[Any]:
        return self._then_release(
            lambda: self.tables.numbers("events", _EVENT_COLUMNS[name], dtype, allocate=self.allocate)
        )

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
        rows: npt.NDArray[np.int32] = self.allocate(len(self), np.int32)
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
        before = set(self.__dict__)

        def release() -> None:
            if len(self) > LARGE:
                for name in set(self.__dict__) - before - _SMALL:
                    self.__dict__.pop(name, None)

        try:
            yield release
        finally:
            release()

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
        """A function that returns a column of one group of rows, and caches the last ones."""

        def read(column: str, group: int) -> npt.NDArray[Any]:
            types = {"ts": np.int64, "kind": np.uint8, "idle": np.bool_}
            return self.tables.numbers(
                "events", column, types.get(column, np.uint32), group=group, allocate=self.allocate
            )

        return lru_cache(PARTS_IN_FILES if "_files" in self.__dict__ else PARTS)(read)

    def _part(self, column: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Return a column of the events in `range(start, stop)`."""
        if column in self.__dict__:
            whole: npt.NDArray[Any] = getattr(self, column)[start:stop]
            return whole
        low, first = self.tables.get("events", lambda table: table.group_of(start))
        high, _ = self.tables.get("events", lambda table: table.group_of(stop - 1))
        parts = [self._parts(_EVENT_COLUMNS[column], group) for group in range(low, high + 1)]
        return np.concatenate(parts)[start - first : stop - first]

    def _strand_nesting(self, strand: Strand) -> Nesting:
        """Return the calls of a strand, with rows relative to its first, and cache the last ones."""
        cache = self._nestings
        found = cache.pop(strand.index, None)
        if found is None:
            part, bounds = partial(self._part, start=strand.start, stop=strand.stop), [0, strand.stop - strand.start]
            found = self._then_release(
                lambda: nest(part("kind"), part("site"), np.array(bounds, np.int64), self.allocate)
            )
            while cache and sum(len(one.call) for one in cache.values()) + bounds[1] > NESTED:
                del cache[next(iter(cache))]
        cache[strand.index] = found
        return found

    @cached_property
    def _nestings(self) -> dict[int, Nesting]:
        return {}

    def _owner(self, event: int) -> int:
        """Return one value of `owner`. The owner is in the event's region; in a task also in the steps around it."""
        strand = self.strands[self.at("strand", event)]
        region = self.at("region", event)
        start, stop = strand.start, strand.stop
        if strand.kind == "thread":
            start, stop = max(int(self.regions.first[region]) - 1, start), int(self.regions.last[region]) + 1
        cache, key = self._owners, (strand.index, start, stop)
        found = cache.pop(key, None)
        if found is None:
            found = self._owners_within(strand, start, stop)
            while cache and sum(len(one) for one in cache.values()) + len(found) > NESTED:
                del cache[next(iter(cache))]
        cache[key] = found
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
        return owners(
            part("kind"), part("region"), part("strand"), call, inner, is_outcome=is_outcome, allocate=self.allocate
        )

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

    # Derived from the columns

    @cached_property
    def _strand_start(self) -> I64:
        return np.array([*(strand.start for strand in self.strands), len(self)], np.int64)

    @property
    def _rows(self) -> type[np.signedinteger[Any]]:
        """The type of row numbers."""
        return np.int32 if len(self) < 1 << 31 else np.int64

    @cached_property
    def _nesting(self) -> Nesting:
        made = self._then_release(lambda: nest(self.kind, self.site, self._strand_start, self.allocate))
        # It replaces the cached nestings of strands.
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
        return self._then_release(lambda: super(StoredGraph, self).owner)

    @cached_property
    def calls(self) -> Calls:
        start = self._strand_start
        return self._then_release(
            lambda: call_times(self._nesting, self.ts, self.strand, start, self.idle, allocate=self.allocate)
        )
