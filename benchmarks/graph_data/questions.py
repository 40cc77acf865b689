"""Slices of other kinds than forward from one event, of us and of scipy's breadth-first order, beside each other.

Scipy's matrix has one node more than there are events, from which an edge leads to each root: so it goes through everything
once, however many roots there are. It knows no limit that only some edges count for: with one, numpy goes through the events
hop by hop (`hops`). Invariant: every question has the same events in both answers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.slicing.interval import slice_events
from graph_data.hops import Hops
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
    max_hops: int | None = None
    max_network_hops: int | None = None

    @property
    def limit(self) -> int | None:
        return self.max_hops if self.max_network_hops is None else self.max_network_hops

    @property
    def peer(self) -> str:
        return "scipy" if self.limit is None else "numpy"

    @property
    def faster(self) -> tuple[int, int]:
        """How many times as long the peer is asked to take at the median and 95 %; numpy looks at no more than the answer."""
        return (P50_FASTER, P95_FASTER) if self.limit is None else (1, 1)


KINDS = (
    Kind("forward", "forward"),
    Kind("backward", "backward"),
    Kind(f"forward from {ROOTS} events", "forward", ROOTS),
    Kind(f"backward from {ROOTS} events", "backward", ROOTS),
    Kind("forward within machines", "forward", within_machines=True),
    Kind("backward within machines", "backward", within_machines=True),
    *(Kind(f"forward, {hops} hops at most", "forward", max_hops=hops) for hops in (1, 3, 10)),
    Kind("backward, 10 hops at most", "backward", max_hops=10),
    *(Kind(f"forward, {hops} network hops at most", "forward", max_network_hops=hops) for hops in (0, 3)),
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


def peer_of(kind: Kind, data: Data, crosses: Array) -> Callable[[Array], Array]:
    """Gives the events that follow from some roots."""
    forward, edges = kind.direction == "forward", len(data.src)
    if kind.limit is not None:
        counted = crosses if kind.max_hops is None else np.ones(edges, bool)
        return partial(Hops(data, forward=forward, counted=counted).slice, limit=kind.limit)
    keep = np.flatnonzero(data.edge_kind != 2) if kind.within_machines else np.arange(edges)
    return Everything(data, forward=forward, keep=keep).slice


def ask(data: Data, graph: ExecutionGraph, count: int) -> Iterator[tuple[Kind, Array, Array]]:
    """Per kind of question our seconds and the peer's for each of `count` random ones, of the processor."""
    chance = np.random.default_rng(11)
    inside = np.asarray(data.edge_kind) != 2
    graph = replace(graph, strand=np.repeat(np.arange(len(graph.strands), dtype=np.uint32), np.diff(data.strand_start)))
    for kind in KINDS:
        theirs = peer_of(kind, data, graph.edge_crosses)
        limits = {"max_hops": kind.max_hops, "max_network_hops": kind.max_network_hops}
        chosen = inside if kind.within_machines else None
        questions = chance.integers(0, data.events, (count, kind.roots))
        mine, others = [], []
        for begin in range(0, count, BLOCK):
            found = []
            for roots in questions[begin : begin + BLOCK]:
                start = time.process_time()
                cut = slice_events(graph, roots, kind.direction, edge_filter=chosen, **limits)
                cut.count  # noqa: B018  # the question
                mine.append(time.process_time() - start)
                found.append(cut)
            for roots, cut in zip(questions[begin : begin + BLOCK], found, strict=True):
                start = time.process_time()
                rows = theirs(roots)
                others.append(time.process_time() - start)
                if not np.array_equal(np.sort(rows), cut.events()):
                    sys.exit(
                        f"{kind.name} of {roots.tolist()}: {cut.count} events in our slice, {len(rows)} in {kind.peer}'s"
                    )
        yield kind, np.array(mine), np.array(others)
