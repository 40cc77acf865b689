"""The answers that the benchmark compares, in a form that does not depend on who gave them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graph_data.make import Data

Array = npt.NDArray[Any]


class Answer(NamedTuple):
    """Nodes as columns, sorted by all of them; edges between nodes (equal ones are one) with their counts, sorted."""

    first: Array
    last: Array
    label: Array
    events: Array
    source: Array
    target: Array
    count: Array

    def same(self, other: Answer) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(self, other, strict=True))


def answer(nodes: tuple[Array, Array, Array, Array], source: Array, target: Array, count: Array) -> Answer:
    """`nodes` as in `Answer`, in any order; edges by the nodes' numbers."""
    order = np.lexsort(nodes[::-1])
    columns = [np.asarray(column)[order].astype(np.int64) for column in nodes]
    new = np.zeros(len(order), bool)
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new)
    pairs, at = np.unique(number[source] * len(order) + number[target], return_inverse=True)
    counts = np.bincount(at, weights=count, minlength=len(pairs)).astype(np.int64)
    return Answer(*columns, pairs // max(len(order), 1), pairs % max(len(order), 1), counts)


def labels_of_rows(data: Data) -> Array:
    return np.repeat(data.strand_process, np.diff(data.strand_start))


def of_components(data: Data, rows: Array, component: Array, label: Array, cross: Array) -> Answer:
    """Of a slice's rows and their components, and the edges between components; `component` is by row of the graph."""
    found = np.zeros(int(component.max()) + 1, bool)
    found[component[rows]] = True
    known = np.flatnonzero(found)
    number = np.cumsum(found, dtype=np.int32)[component[rows]] - 1
    limits = np.iinfo(np.int64)
    first, last = np.full(len(known), limits.max), np.full(len(known), limits.min)
    np.minimum.at(first, number, data.ts[rows])
    np.maximum.at(last, number, data.ts[rows])
    labels = np.empty(len(known), np.int64)
    labels[number] = label[rows]
    events = np.bincount(number, minlength=len(known))
    source, target = (np.searchsorted(known, component[ends[cross]]) for ends in (data.src, data.dst))
    return answer((first, last, labels, events), source, target, np.ones(len(cross)))
