"""Array routines that several modules of the graph share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


def expand(start: I64, stop: I64) -> I64:
    """Return the concatenation of `range(start[i], stop[i])`. No range may have a negative length."""
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
    """Return the distinct values, ascending, and for each value its index among them. All are in `range(limit)`."""
    if limit > 8 * len(values):
        found, place = np.unique(values, return_inverse=True)
        return found.astype(np.int64), place.astype(np.int64)
    # A table of all possible values sorts them in linear time.
    present = np.zeros(limit, bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def components(nodes: int, a: I64, b: I64) -> I64:
    """Return, per node, its connected component in the undirected graph with the edges `a[i] – b[i]`.

    Components are numbered from 0 in the order of their smallest nodes.
    """
    label = np.arange(nodes, dtype=np.int64)
    while True:
        low = np.minimum(label[a], label[b])
        # Each node takes its smallest adjacent label, then the label of its label: this at least halves the components.
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
