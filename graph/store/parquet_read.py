"""Reads and writes the tables of a store: Parquet files that any tool opens, whose columns are read on demand.

Invariants: bytes are decoded only after their checksum was compared with the one taken when they were written. Equal columns
give equal files.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from clew.graph.kernel import _structure as kernel
from clew.graph.runtime.arrow_arrays import from_numbers, to_numbers
from clew.graph.runtime.mmap_arrays import Allocator

ROWS_A_GROUP = 1 << 20
"""The number of rows in a group. Reading one row decodes its group."""
_COMPRESSION_LEVEL = 3
"""Measured by benchmarks/store.py: level 6 takes a third longer and saves 0.2 %, level 1 is not faster."""
_DELTA, _PLAIN, _STRINGS = "DELTA_BINARY_PACKED", "PLAIN", "DELTA_LENGTH_BYTE_ARRAY"
_NUMBERS: Mapping[str, Mapping[str, tuple[pa.DataType, str | None]]] = {
    "events": {
        "ts": (pa.int64(), _DELTA),
        "kind": (pa.uint8(), None),
        "location": (pa.uint32(), None),
        "strand": (pa.uint32(), None),
        "region": (pa.uint32(), _DELTA),
        "idle": (pa.bool_(), _PLAIN),
    },
    "regions": {
        "strand": (pa.uint32(), None),
        "kind": (pa.uint8(), None),
        "opener": (pa.int64(), _DELTA),
        "first": (pa.int64(), _DELTA),
        "last": (pa.int64(), _DELTA),
        "parent": (pa.int64(), _DELTA),
    },
    "edges": {
        "source": (pa.int64(), _DELTA),
        "target": (pa.int64(), _DELTA),
        "kind": (pa.uint8(), None),
        "channel": (pa.uint32(), None),
    },
    "payloads": {
        "event": (pa.int64(), _DELTA),
        "key": (pa.uint64(), None),
        "channel": (pa.uint32(), None),
        "flags": (pa.uint16(), None),
        "template": (pa.uint32(), None),
        "parameters": (pa.large_list(pa.large_string()), _STRINGS),
    },
}
"""The columns of each table, with type and encoding; None is a dictionary. Small tables have Parquet's default encodings."""


class DamagedTable(ValueError):
    """Raised when a file is not what was written; the message names the file and the difference."""


Sums = list[int]
"""The number of bytes and two checksums of them."""


def sums_of(data: Any) -> Sums:
    """Return the length and the checksums of a buffer."""
    view = memoryview(data)
    return [view.nbytes, *kernel.checksum(view)] if view.nbytes else [0, 0, 0]


Columns = Mapping[str, Any]
"""Arrays of one length, by the names of a table's columns."""


def in_groups(rows: int, columns: Callable[[slice], Columns]) -> Iterator[Columns]:
    """Yield a table's columns as `write` takes them: for each group of rows, the result of `columns` for its slice."""
    for first in range(0, max(rows, 1), ROWS_A_GROUP):
        yield columns(slice(first, min(first + ROWS_A_GROUP, rows)))


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else from_numbers(values, kind)


def write(folder: Path, name: str, groups: Iterable[Columns] | pa.Table) -> dict[str, Any]:
    """Write a table, a group of rows at a time. Return the entry that `Table` needs to read it. Raises OSError."""
    types = _NUMBERS.get(name, {})
    dictionaries = [column for column, (_, encoding) in types.items() if encoding is None]
    # In Parquet, the values of a list are a column of their own.
    leaf = {
        column: f"{column}.list.element" if pa.types.is_list(kind) else column for column, (kind, _) in types.items()
    }
    encodings = {leaf[column]: encoding for column, (_, encoding) in types.items() if encoding}
    if isinstance(groups, pa.Table):
        schema, tables = groups.schema, iter((groups,))
    else:
        schema = pa.schema([(column, kind) for column, (kind, _) in types.items()])
        tables = (
            pa.table([_column(group[column], kind) for column, (kind, _) in types.items()], schema=schema)
            for group in groups
        )
    path = folder / file_name(name)
    # Use a Python file, because its errors have a reason.
    with (
        path.open("wb") as file,
        pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            compression_level=_COMPRESSION_LEVEL,
            use_dictionary=dictionaries if types else True,
            column_encoding=encodings or None,
            write_page_checksum=True,
            write_statistics=not types or [column for column in types if column in _STATISTICS],
        ) as writer,
    ):
        for table in tables:
            writer.write_table(table, ROWS_A_GROUP)
    mapped = _map(path)
    footer = _footer(mapped, path)
    return {
        "size": len(mapped),
        "footer": sums_of(mapped[footer:]),
        "chunks": [sums_of(memoryview(mapped)[part]) for part in _chunks(pq.read_metadata(path))],
    }


_STATISTICS = frozenset({"ts", "event", "source", "target", "first"})
"""The columns with statistics, by which a reader may skip groups of rows."""


def file_name(name: str) -> str:
    return f"{name}.parquet"


def _map(path: Path) -> Any:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _footer(data: Any, path: Path) -> int:
    """Return the offset of the footer."""
    length = int.from_bytes(data[-8:-4], "little") if len(data) >= 12 else 0
    if data[-4:] != b"PAR1" or not 0 < length <= len(data) - 12:
        raise DamagedTable(f"{path.name} is not a complete Parquet file")
    return len(data) - 8 - length


def _chunks(footer: Any) -> list[slice]:
    """Return the byte range of each column in each group of rows."""
    found = []
    for group in range(footer.num_row_groups):
        for place in range(footer.num_columns):
            column = footer.row_group(group).column(place)
            starts = [column.data_page_offset]
            if column.has_dictionary_page and column.dictionary_page_offset:
                starts.append(column.dictionary_page_offset)
            found.append(slice(min(starts), min(starts) + column.total_compressed_size))
    return found


class Table:
    """A written table. Methods raise `DamagedTable` or OSError when its file is not the one that was written."""

    def __init__(self, folder: Path, name: str, written: Mapping[str, Any]) -> None:
        self.path = folder / file_name(name)
        self._sums: list[Sums] = list(written["chunks"])
        size = self.path.stat().st_size
        if size != written["size"] or not size:
            raise DamagedTable(f"{self.path.name} has {size:,} bytes instead of {written['size']:,}")
        self._data = _map(self.path)
        if sums_of(self._data[_footer(self._data, self.path) :]) != list(written["footer"]):
            raise DamagedTable(f"the end of {self.path.name} has changed")
        self._file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(self._data)))
        self._chunks = _chunks(self._file.metadata)
        if len(self._chunks) != len(self._sums):
            raise DamagedTable(f"{self.path.name} has a different number of columns")
        self._places = {
            self._file.metadata.schema.column(place).path.split(".")[0]: place
            for place in range(self._file.metadata.num_columns)
        }
        self._whole: set[int] = set()
        self.sums = sums_of(json.dumps([written["footer"], self._sums]).encode())
        """The checksums of the whole table as it was written."""
        self._group_start = np.cumsum(
            [0, *(self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups))]
        )

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    @cached_property
    def groups(self) -> int:
        return int(self._file.num_row_groups)

    def group_of(self, row: int) -> tuple[int, int]:
        """Return the group that a row is in, and the group's first row."""
        group = int(np.searchsorted(self._group_start, row, "right")) - 1
        return group, int(self._group_start[group])

    def _verify(self, groups: Sequence[int], columns: Sequence[str]) -> None:
        for group in groups:
            for column in columns:
                place = group * self._file.metadata.num_columns + self._places[column]
                if place in self._whole:
                    continue
                if sums_of(memoryview(self._data)[self._chunks[place]]) != list(self._sums[place]):
                    raise DamagedTable(f"{column} in {self.path.name} has changed")
                self._whole.add(place)

    def verify(self) -> None:
        """Check that the whole table is what was written. Raises `DamagedTable`."""
        self._verify(range(self.groups), tuple(self._places))

    def read(self, *columns: str, groups: Sequence[int] | None = None) -> pa.Table:
        """Read some columns (default: all) of some groups of rows (default: all)."""
        chosen = range(self.groups) if groups is None else groups
        names = columns or tuple(self._places)
        self._verify(chosen, names)
        try:
            return self._file.read_row_groups(list(chosen), columns=list(names))
        except (OSError, pa.ArrowException) as error:
            raise DamagedTable(f"{self.path.name} cannot be read ({error})") from error

    def numbers(
        self, column: str, dtype: type, *, group: int | None = None, allocate: Allocator = np.empty
    ) -> npt.NDArray[Any]:
        """Read a column of numbers as a read-only array, for all rows or for one group."""
        groups = range(self.groups) if group is None else range(group, group + 1)
        if allocate is np.empty:
            array: npt.NDArray[Any] = np.ascontiguousarray(
                to_numbers(self.read(column, groups=groups).column(0)), dtype
            )
        else:
            # Read a group at a time, so that memory holds only one decoded group.
            start = self._group_start[groups.start : groups.stop + 1] - self._group_start[groups.start]
            array = allocate(int(start[-1]), dtype)
            for number, one in enumerate(groups):
                array[start[number] : start[number + 1]] = to_numbers(self.read(column, groups=[one]).column(0))
        array.flags.writeable = False
        return array

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.read().to_pylist()
        return found
