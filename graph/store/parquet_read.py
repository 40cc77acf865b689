"""The tables of a store: Parquet files that any tool opens, of which columns are read when they are wanted.

Invariants: nothing is decoded before its bytes have the checksum that was taken when they were written; what is written twice
from equal columns is equal byte by byte.
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
from clew.graph.runtime.mmap_arrays import Room

ROWS_A_GROUP = 1 << 20
"""One group is decoded to look at one of its rows."""
_COMPRESSION_LEVEL = 3
"""Measured by benchmarks/store.py: 6 takes a third longer for two thousandths less, 1 is no faster."""
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
"""Per table its columns with type and encoding; None for a dictionary. The small tables have the default ones."""


class DamagedTable(ValueError):
    """A file is not what was written; the text names it and what is wrong."""


Sums = list[int]
"""Of some bytes: how many, and two checksums."""


def sums_of(data: Any) -> Sums:
    view = memoryview(data)
    return [view.nbytes, *kernel.checksum(view)] if view.nbytes else [0, 0, 0]


Columns = Mapping[str, Any]
"""Arrays of one length, by the names of a table's columns."""


def in_groups(rows: int, columns: Callable[[slice], Columns]) -> Iterator[Columns]:
    """A table's columns as `write` takes them; of each group of rows what `columns` makes of its slice."""
    for first in range(0, max(rows, 1), ROWS_A_GROUP):
        yield columns(slice(first, min(first + ROWS_A_GROUP, rows)))


def write(folder: Path, name: str, groups: Iterable[Columns] | pa.Table) -> dict[str, Any]:
    """Writes a table, a group of rows at a time, and gives what `Table` needs to know of it. Raises OSError."""
    types = _NUMBERS.get(name, {})
    dictionaries = [column for column, (_, encoding) in types.items() if encoding is None]
    # A list's values are another column for Parquet.
    leaf = {
        column: f"{column}.list.element" if pa.types.is_list(kind) else column for column, (kind, _) in types.items()
    }
    encodings = {leaf[column]: encoding for column, (_, encoding) in types.items() if encoding}
    if isinstance(groups, pa.Table):
        schema, tables = groups.schema, iter((groups,))
    else:
        schema = pa.schema([(column, kind) for column, (kind, _) in types.items()])
        tables = (
            pa.table([pa.array(group[column], kind) for column, (kind, _) in types.items()], schema=schema)
            for group in groups
        )
    path = folder / file_name(name)
    # Through Python's own file: its errors say why.
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
"""What a reader may leave out groups of rows by."""


def file_name(name: str) -> str:
    return f"{name}.parquet"


def _map(path: Path) -> Any:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _footer(data: Any, path: Path) -> int:
    """Where the footer begins."""
    length = int.from_bytes(data[-8:-4], "little") if len(data) >= 12 else 0
    if data[-4:] != b"PAR1" or not 0 < length <= len(data) - 12:
        raise DamagedTable(f"{path.name} is not a complete Parquet file")
    return len(data) - 8 - length


def _chunks(footer: Any) -> list[slice]:
    """Where the bytes of each column in each group of rows lie."""
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
    """A written table. Raises `DamagedTable`, or OSError, where its file is not the one that was written."""

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
            raise DamagedTable(f"{self.path.name} has another number of columns")
        self._places = {
            self._file.metadata.schema.column(place).path.split(".")[0]: place
            for place in range(self._file.metadata.num_columns)
        }
        self._whole: set[int] = set()
        self.sums = sums_of(json.dumps([written["footer"], self._sums]).encode())
        """Of all that it was when it was written."""
        self._group_start = np.cumsum(
            [0, *(self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups))]
        )

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    @cached_property
    def groups(self) -> int:
        return int(self._file.num_row_groups)

    def group_of(self, row: int) -> tuple[int, int]:
        """The group of rows that a row lies in, and the group's first row."""
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
        """That all of it is what was written."""
        self._verify(range(self.groups), tuple(self._places))

    def read(self, *columns: str, groups: Sequence[int] | None = None) -> pa.Table:
        """Some columns, of all rows or of some groups of rows."""
        chosen = range(self.groups) if groups is None else groups
        wanted = columns or tuple(self._places)
        self._verify(chosen, wanted)
        try:
            return self._file.read_row_groups(list(chosen), columns=list(wanted))
        except (OSError, pa.ArrowException) as error:
            raise DamagedTable(f"{self.path.name} cannot be read ({error})") from error

    def numbers(self, column: str, dtype: type, *, group: int | None = None, room: Room = np.empty) -> npt.NDArray[Any]:
        """A column of numbers as an array, of all rows or of one group of them."""
        groups = range(self.groups) if group is None else range(group, group + 1)
        if room is np.empty:
            array: npt.NDArray[Any] = np.ascontiguousarray(self.read(column, groups=groups).column(0).to_numpy(), dtype)
        else:
            # A group at a time, so that no more of it is in memory.
            start = self._group_start[groups.start : groups.stop + 1] - self._group_start[groups.start]
            array = room(int(start[-1]), dtype)
            for number, one in enumerate(groups):
                array[start[number] : start[number + 1]] = self.read(column, groups=[one]).column(0).to_numpy()
        array.flags.writeable = False
        return array

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.read().to_pylist()
        return found
