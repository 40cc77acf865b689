"""Represent answers as tables: named columns of equal length, convertible to rows, Arrow, pandas and text.

Invariant: a column stays in its original form, as numbers or as codes into a list of values. Python objects are
created only when rows are requested.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clew.graph.errors import QueryError

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True, eq=False)
class Column:
    """The values `values[codes]`, or the codes themselves if there are no values."""

    codes: npt.NDArray[Any]
    values: Sequence[Any] | None = None

    def to_list(self) -> list[Any]:
        codes: list[Any] = self.codes.tolist()
        return codes if self.values is None else [self.values[code] for code in codes]

    def to_arrow(self) -> pyarrow.Array:
        import pyarrow

        if self.values is None:
            return pyarrow.array(self.codes)
        values = pyarrow.array(self.values)
        return values.take(pyarrow.array(self.codes)) if len(self.codes) else values[:0]


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length."""

    columns: dict[str, Column]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    @cached_property
    def rows(self) -> list[Any]:
        """Return the rows as named tuples."""
        row_type = namedtuple("Row", self.names)  # type: ignore[misc]  # the names are the query's
        columns = (column.to_list() for column in self.columns.values())
        return [row_type(*row) for row in zip(*columns, strict=True)]

    def head(self, count: int) -> Table:
        return Table({name: Column(column.codes[:count], column.values) for name, column in self.columns.items()})

    def take(self, places: Sequence[int]) -> Table:
        chosen = np.array(places, np.int64)
        return Table({name: Column(column.codes[chosen], column.values) for name, column in self.columns.items()})

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.table({name: column.to_arrow() for name, column in self.columns.items()})

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame. Raise `QueryError` if pandas is not installed."""
        try:
            import pandas  # noqa: F401  # pyarrow's own message does not say what to do
        except ImportError:
            raise QueryError("pandas is not installed; install it, or use .to_arrow()") from None
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame


def table_of(rows: Sequence[Any], names: Sequence[str]) -> Table:
    """Return some attributes of objects as a table."""
    places = np.arange(len(rows))
    return Table({name: Column(places, [getattr(row, name) for row in rows]) for name in names})
