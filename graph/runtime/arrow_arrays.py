"""Converts between Arrow, NumPy and Python values without pyarrow's own conversions, of which the first imports pandas.

pandas takes longer to import than most answers take to compute. Invariant: values are shared, not copied, where their types
allow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def from_numbers(values: npt.ArrayLike, type_: pa.DataType | None = None) -> pa.Array:
    """Return numbers or truth values as an array of a type, by default their own."""
    array = np.asarray(values, None if type_ is None else type_.to_pandas_dtype())
    if array.dtype == bool:
        bits = np.packbits(array, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(array), [None, pa.py_buffer(bits)])
    data = pa.py_buffer(np.ascontiguousarray(array))
    return pa.Array.from_buffers(type_ or pa.from_numpy_dtype(array.dtype), len(array), [None, data])


def from_texts(texts: Iterable[str]) -> pa.LargeStringArray:
    """Return texts as large strings. Raise `UnicodeEncodeError` for half a surrogate pair."""
    encoded = [text.encode() for text in texts]
    bounds = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(bounds), pa.py_buffer(b"".join(encoded)))


def text(value: str) -> pa.Scalar:
    """Return a large string."""
    return from_texts((value,))[0]


def from_lists(lists: Sequence[Sequence[str]]) -> pa.ListArray:
    """Return lists of texts."""
    bounds = from_numbers([*accumulate(map(len, lists), initial=0)], pa.int32())
    return pa.ListArray.from_arrays(bounds, from_texts(one for texts in lists for one in texts).cast(pa.string()))


def to_numbers(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return an array without nulls as a NumPy array."""
    if isinstance(array, pa.ChunkedArray):
        parts = [to_numbers(chunk) for chunk in array.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, array.type.to_pandas_dtype())])
    begin, end = array.offset, array.offset + len(array)
    data = array.buffers()[1]
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(data or b"", np.uint8)
        return np.unpackbits(bits, count=end, bitorder="little")[begin:].view(bool)
    return np.frombuffer(data or b"", array.type.to_pandas_dtype())[begin:end]
