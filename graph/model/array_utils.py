"""Small array routines that several parts of the graph share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


def expand(start: I64, stop: I64) -> I64:
    """Return all numbers of the ranges `start[i]` up to `stop[i]`, range by range; no range may be of negative length."""
    length = stop - start
    total = int(length.sum())
    if total == 0:
        return np.zeros(0, np.int64)
    ends = np.cumsum(length)
    numbers: I64 = np.arange(total, dtype=np.int64) + np.repeat(start - (ends - length), length)
    return numbers


def lengths(bounds: I64) -> I64:
    """Return the lengths of consecutive ranges: `bounds[i + 1] - bounds[i]`."""
    return bounds[1:] - bounds[:-1]


def distinct(values: npt.NDArray[Any], limit: int) -> tuple[I64, I64]:
    """The values that there are, ascending, and per value its place among them; all are from 0 up to `limit`."""
    if limit > 8 * len(values):
        found, place = np.unique(values, return_inverse=True)
        return found.astype(np.int64), place.astype(np.int64)
    # They are sorted by a table of all that there could be.
    present = np.zeros(limit, bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def components(nodes: int, a: I64, b: I64) -> I64:
    """The connected components of an undirected graph with edges `a[i] – b[i]`: per node its component's number, counted
    from 0 in the order of the components' smallest nodes."""
    label = np.arange(nodes, dtype=np.int64)
    while True:
        low = np.minimum(label[a], label[b])
        # Each node takes the smallest label beside it, then the label of its label: components halve at least.
        hooked = label.copy()
        np.minimum.at(hooked, label[a], low)
        np.minimum.at(hooked, label[b], low)
        while True:
            shorter = hooked[hooked]
            if np.array_equal(shorter, hooked):
                break
            hooked = shorter
        if np.array_equal(hooked, label):
            # A component is labelled by its smallest node.
            numbers: I64 = np.cumsum(label == np.arange(nodes)) - 1
            return numbers[label]
        label = hooked
