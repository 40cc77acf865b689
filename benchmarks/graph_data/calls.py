"""Calls for generated execution graphs: each segment is one function's call, which calls others, one after the other.

Invariant: what is recorded of a segment nests; the same graph has the same calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import nest
from clew.graph.build.call_times import call_times
from clew.graph.model.graph import ExecutionGraph, Regions, Site
from clew.records.format.event import Kind
from graph_data.make import Data

OUTER, INNER = 60, 400
"""Functions that segments run, and those that they call."""


def with_calls(graph: ExecutionGraph, data: Data) -> ExecutionGraph:
    """The graph with a call per segment, and within it one for every two events."""
    size = np.diff(np.append(data.run_row, data.events).astype(np.int64))
    offset = np.arange(data.events) - np.repeat(data.run_row.astype(np.int64), size)
    left = np.repeat(size, size) - 1 - offset
    region = np.repeat(np.arange(data.regions), size)
    kind = np.full(data.events, Kind.MARK, np.uint8)
    # Neighbours inside a segment are a call; of an even number of them the last is left over.
    inside = (offset > 0) & (left > 0)
    kind[inside & (offset % 2 == 1) & (left > 1)] = Kind.ENTER
    kind[inside & (offset % 2 == 0)] = Kind.EXIT
    kind[(offset == 0) & (left > 0)] = Kind.ENTER
    kind[(left == 0) & (offset > 0)] = Kind.EXIT
    called = (region * 7 + (offset + 1) // 2) % INNER + OUTER + 1
    site = np.where(inside, called, region % OUTER + 1)
    site[kind == Kind.MARK] = 0
    site = site.astype(np.uint32)
    strand = np.repeat(np.arange(len(data.strand_process)), np.diff(data.strand_start)).astype(np.uint32)
    start = data.strand_start.astype(np.int64)
    nesting = nest(kind, site, start)
    idle: npt.NDArray[Any] = np.zeros(data.events, bool)
    return replace(
        graph,
        ts=np.ascontiguousarray(data.ts),
        kind=kind,
        site=site,
        strand=strand,
        region=region.astype(np.uint32),
        regions=_regions(strand, data.run_row.astype(np.int64), size),
        idle=idle,
        call=nesting.call,
        inner=nesting.inner,
        calls=call_times(nesting, data.ts, strand, start, idle),
        edge_src=data.src.astype(np.int64),
        edge_dst=data.dst.astype(np.int64),
        edge_channel=np.zeros(len(data.src), np.uint32),
        sites=[
            graph.sites[0],
            *(Site(f"m{n % 20}", f"C{n % 9}.f{n}", f"m{n % 20}.py", n, n, "function") for n in range(OUTER + INNER)),
        ],
    )


def _regions(strand: npt.NDArray[Any], first: npt.NDArray[Any], size: npt.NDArray[Any]) -> Regions:
    nowhere = np.full(len(first), -1)
    return Regions(strand[first], np.zeros(len(first), np.uint8), nowhere, first, first + size - 1, nowhere)
