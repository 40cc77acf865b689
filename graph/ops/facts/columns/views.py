"""Sequences of facts over columns: an object is made only for a place that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T")
K = TypeVar("K", bound="int | tuple[int, ...]")
A = TypeVar("A", bound=npt.NDArray[Any])


class View(Sequence[T]):
    """Some places of a table, in an order. `make` returns the object of a place, and the same one each time."""

    def __init__(self, make: Callable[[int], T], places: I64) -> None:
        self._make = make
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int, /) -> T: ...
    @overload
    def __getitem__(self, at: slice, /) -> Self: ...
    def __getitem__(self, at: int | slice, /) -> T | Self:
        return self.take(at) if isinstance(at, slice) else self._make(int(self.places[at]))

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self.places.tolist())

    def take(self, chosen: I64 | Mask | slice) -> Self:
        """Return the members at some positions, or those for which a mask is true, in this order."""
        taken = copy(self)
        taken.places = self.places[chosen]
        return taken


class Column(Generic[A]):
    """A column of a view's table, as an attribute of the view: the values of the view's members."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, view: Any, owner: type) -> A:
        column: A = getattr(view._table, self._name)[view.places]
        return column


V = TypeVar("V", bound=View[Any])


class Groups(Mapping[K, V], Generic[K, V]):
    """The members of a view in groups that are equal in some columns, by these values. Members keep their order.

    Groups are in the order of their first members. Use one column for keys that are integers, and several for tuples.
    """

    def __init__(self, view: V, *columns: npt.NDArray[Any]) -> None:
        self._view = view
        self._columns = columns

    @cached_property
    def _order(self) -> I64:
        return np.lexsort(self._columns[::-1])

    @cached_property
    def _sorted(self) -> list[npt.NDArray[Any]]:
        return [column[self._order] for column in self._columns]

    @cached_property
    def _begins(self) -> I64:
        """Where each group begins in the sorted columns, by the groups' first members."""
        if not len(self._view):
            return np.zeros(0, np.int64)
        differs = np.any([column[1:] != column[:-1] for column in self._sorted], axis=0)
        begins = np.concatenate(([0], np.flatnonzero(differs) + 1))
        found: I64 = begins[np.argsort(self._order[begins], kind="stable")]
        return found

    def of(self, *values: int) -> V:
        """Return the members with these values; an empty view if there are none."""
        low, high = 0, len(self._view)
        for column, value in zip(self._sorted, values, strict=True):
            part, wanted = column[low:high], column.dtype.type(value)
            low, high = low + int(np.searchsorted(part, wanted)), low + int(np.searchsorted(part, wanted, "right"))
        found: V = self._view.take(self._order[low:high])
        return found

    def __getitem__(self, key: K) -> V:
        found = self.of(*key) if isinstance(key, tuple) else self.of(key)
        if not len(found):
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[K]:
        values = [column[self._begins].tolist() for column in self._sorted]
        keys: Any = values[0] if len(values) == 1 else zip(*values, strict=True)
        yield from keys

    def __len__(self) -> int:
        return len(self._begins)
