"""Slices by function, ours beside DuckDB's SQL over the same events, calls and edges.

DuckDB is given the slice's rows, in a table that is made before its clock starts, and each event's function, which we find
from the call that it lies in. What it sums is what SQL says easily: events, calls and their time, errors, recorded edges; ours
adds own work, waits, strands and the calls between functions. Invariant: both have the same of what both have.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.aggregation.edges import CALL
from clew.graph.ops.slicing.interval import Slice, slice_events
from clew.records.format.event import Kind
from graph_data.calls import with_calls
from graph_data.make import Data

Array = npt.NDArray[Any]
LEVEL = "function"
NODES = f"""select function, count(*), min(ts), max(ts), count(*) filter (kind = {Kind.ENTER:d}),
    coalesce(sum(total), 0)::bigint, count(*) filter (kind = {Kind.UNWIND:d})
    from events semi join slice using (row) group by function order by function"""
EDGES = """select a.function, b.function, e.kind, count(*), sum(b.ts - a.ts)::bigint
    from edges e join events a on a.row = e.src join events b on b.row = e.dst
    where e.src in (select row from slice) and e.dst in (select row from slice) and a.function <> b.function
    group by all order by all"""


class Table(NamedTuple):
    """Per function its events, first and last time, calls, their time, errors; per pair and kind of edge, count, latency."""

    nodes: Array
    edges: Array

    def same(self, other: Table) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(self, other, strict=True))


def ours(cut: Slice) -> Table:
    found = aggregate(cut, LEVEL).by_label()
    order = np.argsort(found.codes)
    sums = (found.sums[name] for name in ("calls", "total_ns", "errors"))
    edges = found.columns
    recorded = edges.kind < CALL
    named = (found.codes[edges.source], found.codes[edges.target], edges.kind, edges.count, edges.latency)
    between = np.stack([column[recorded] for column in named])
    return Table(
        np.stack((found.codes, found.sizes, *found.spans, *sums))[:, order], between[:, np.lexsort(between[2::-1])]
    )


class Duckdb:
    def __init__(self, graph: ExecutionGraph, function: Array) -> None:
        import duckdb

        self.base = duckdb.connect()
        rows, calls = len(graph), graph.calls
        enters = graph.kind == Kind.ENTER
        total = np.zeros(rows, np.int64)
        total[calls.enter] = calls.total_ns
        # A call that its own function made is part of that one's time.
        around = np.where(enters[1:], graph.inner[:-1], -1)
        total[1:][(around >= 0) & (function[around] == function[1:])] = 0
        events = {"ts": graph.ts, "kind": graph.kind, "function": function, "total": total}
        self._table("events", {"row": np.arange(rows), **events})
        self._table("edges", {"src": graph.edge_src, "dst": graph.edge_dst, "kind": graph.edge_kind})

    def _table(self, name: str, columns: dict[str, Array]) -> None:
        import pyarrow

        self.base.register("frame", pyarrow.table(columns))
        self.base.execute(f"create or replace table {name} as select * from frame")
        self.base.unregister("frame")

    def give(self, rows: Array) -> None:
        self._table("slice", {"row": rows})

    def ask(self) -> Table:
        found = (self.base.execute(query).fetchnumpy().values() for query in (NODES, EDGES))
        return Table(*(np.stack([np.asarray(column, np.int64) for column in columns]) for columns in found))


def ask(data: Data, graph: ExecutionGraph, count: int, rounds: int) -> Iterator[tuple[int, float, float]]:
    """Events of a slice, our seconds and DuckDB's: first `rounds` times the large slice, then `count` random ones.

    The slices are known; seconds are of the processor, on all cores.
    """
    graph = with_calls(graph, data)
    whole = aggregate(graph, LEVEL)
    function = np.empty(len(graph), np.int64)
    function[whole.rows] = whole.codes[whole.node_of_row]
    peer = Duckdb(graph, function)
    del whole
    roots = [data.root] * rounds + np.random.default_rng(13).integers(0, data.events, count).tolist()
    for root in roots:
        cut = slice_events(graph, [root], "forward")
        rows, _ = cut.events(), cut.edges()
        peer.give(rows)
        start = time.process_time()
        mine = ours(cut)
        middle = time.process_time()
        theirs = peer.ask()
        end = time.process_time()
        if not mine.same(theirs):
            sys.exit(f"event {root}: our functions are not those of DuckDB")
        yield len(rows), middle - start, end - middle
