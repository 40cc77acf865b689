"""Slices of other kinds than forward from one event, of us and of scipy's breadth-first order, beside each other.

Scipy's matrix has one node more than there are events, from which an edge leads to each root: so it goes through everything
once, however many roots there are. Invariant: every question has the same events in both answers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clew.graph.model import ExecutionGraph
from clew.graph.ops.slice import slice_events
from graph_data.make import Data
from graph_data.peers import falls

Array = npt.NDArray[Any]
ROOTS = 10
"""Of a question with several."""
P50_FASTER, P95_FASTER = 50, 20
BLOCK = 100
"""So many questions are asked of one, then the same of the other."""


@dataclass(frozen=True)
class Kind:
    name: str
    direction: Literal["forward", "backward"]
    roots: int = 1
    within_machines: bool = False
    """Only along edges that do not lead from one machine to another."""


KINDS = (
    Kind("forward", "forward"),
    Kind("backward", "backward"),
    Kind(f"forward from {ROOTS} events", "forward", ROOTS),
    Kind(f"backward from {ROOTS} events", "backward", ROOTS),
    Kind("forward within machines", "forward", within_machines=True),
    Kind("backward within machines", "backward", within_machines=True),
)


class Everything:
    """All events as scipy has them, with a place for roots."""

    def __init__(self, data: Data, *, forward: bool, keep: Array) -> None:
        import scipy.sparse

        events, rows = data.events, np.flatnonzero(falls(data))
        near = np.concatenate((rows, data.src[keep])), np.concatenate((rows + 1, data.dst[keep]))
        source, target = near if forward else near[::-1]
        order = np.argsort(source, kind="stable")
        self.events = events
        self.begin = len(order)
        first = np.searchsorted(source[order], np.arange(events + 1)).astype(np.int32)
        indices = np.concatenate((target[order], np.zeros(ROOTS))).astype(np.int32)
        self.matrix = scipy.sparse.csr_array(
            (np.ones(len(indices)), indices, np.append(first, len(indices)).astype(np.int32)),
            shape=(events + 1, events + 1),
        )

    def slice(self, roots: Array) -> Array:
        from scipy.sparse.csgraph import breadth_first_order

        self.matrix.indices[self.begin :] = np.resize(roots, ROOTS)
        return breadth_first_order(self.matrix, self.events, return_predecessors=False)[1:]


def ask(data: Data, graph: ExecutionGraph, count: int) -> Iterator[tuple[str, Array, Array]]:
    """Per kind of question its name, and our seconds and scipy's for each of `count` random ones, of the processor."""
    chance = np.random.default_rng(11)
    inside = np.asarray(data.edge_kind) != 2
    for kind in KINDS:
        keep = np.flatnonzero(inside) if kind.within_machines else np.arange(len(data.src))
        theirs = Everything(data, forward=kind.direction == "forward", keep=keep)
        chosen = inside if kind.within_machines else None
        questions = chance.integers(0, data.events, (count, kind.roots))
        mine, others = [], []
        for begin in range(0, count, BLOCK):
            found = []
            for roots in questions[begin : begin + BLOCK]:
                start = time.process_time()
                cut = slice_events(graph, roots, kind.direction, edge_filter=chosen)
                cut.count  # noqa: B018  # the question
                mine.append(time.process_time() - start)
                found.append(cut)
            for roots, cut in zip(questions[begin : begin + BLOCK], found, strict=True):
                start = time.process_time()
                rows = theirs.slice(roots)
                others.append(time.process_time() - start)
                if not np.array_equal(np.sort(rows), cut.events()):
                    sys.exit(
                        f"{kind.name} of {roots.tolist()}: {cut.count} events in our slice, {len(rows)} in scipy's"
                    )
        yield kind.name, np.array(mine), np.array(others)
