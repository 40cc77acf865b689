"""The same slice, and the same process graph of it, by libraries that know events and edges.

Every event is a node for them, fall-through an edge. What each needs to be ready is made beforehand and not timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graph_data.answers import Answer, labels_of_rows, of_components
from graph_data.make import Data

Array = npt.NDArray[Any]

LARGEST = {"scipy": 200_000_000, "igraph": 15_000_000, "rustworkx": 1_500_000, "networkx": 1_500_000, "duckdb": 50_000}
"""Events up to which each is asked: beyond, it takes gigabytes or minutes."""


def falls(data: Data) -> Array:
    """Rows that the next one follows in their region."""
    follows = np.ones(data.events, bool)
    follows[data.run_row[1:] - 1] = False
    follows[-1] = False
    return follows


def pairs(data: Data, keep: Array | None = None) -> tuple[Array, Array]:
    """All edges, or with the recorded ones of `keep`, fall-through included."""
    rows = np.flatnonzero(falls(data))
    src, dst = (data.src, data.dst) if keep is None else (data.src[keep], data.dst[keep])
    return np.concatenate((rows, src)), np.concatenate((rows + 1, dst))


def inside(data: Data, rows: Array, label: Array) -> tuple[Array, Array]:
    """The slice's recorded edges within a label, and those between two."""
    held = np.zeros(data.events, bool)
    held[rows] = True
    edges = np.flatnonzero(held[data.src])
    same = label[data.src[edges]] == label[data.dst[edges]]
    return edges[same], edges[~same]


class Scipy:
    """scipy.sparse.csgraph: breadth-first order, then connected components."""

    def __init__(self, data: Data) -> None:
        self.data, self.label = data, labels_of_rows(data)
        self.matrix: Any = self.csr(None)

    def csr(self, keep: Array | None) -> Any:
        """Made by hand: twice as fast, and in a third of the memory, as from pairs."""
        import scipy.sparse

        data, follows = self.data, falls(self.data)
        src, dst = (data.src, data.dst) if keep is None else (data.src[keep], data.dst[keep])
        degree = follows.astype(np.int32)
        degree += np.bincount(src, minlength=data.events).astype(np.int32)
        indptr = np.zeros(data.events + 1, np.int32)
        np.cumsum(degree, out=indptr[1:])
        del degree
        indices = np.empty(int(indptr[-1]), np.int32)
        rows = np.flatnonzero(follows).astype(np.int32)
        indices[indptr[rows]] = rows + 1
        # Edges are sorted by their source.
        place = np.arange(len(src)) - np.searchsorted(src, src)
        indices[indptr[src] + follows[src] + place] = dst
        weights = np.ones(len(indices))
        return scipy.sparse.csr_array((weights, indices, indptr), shape=(data.events, data.events))

    def slice(self, root: int) -> Array:
        from scipy.sparse.csgraph import breadth_first_order

        return breadth_first_order(self.matrix, root, return_predecessors=False)

    def release(self) -> None:
        self.matrix = None

    def condense(self, rows: Array) -> Answer:
        from scipy.sparse.csgraph import connected_components

        same, cross = inside(self.data, rows, self.label)
        _, component = connected_components(self.csr(same), directed=False)
        return of_components(self.data, rows, component, self.label, cross)


class Igraph:
    def __init__(self, data: Data) -> None:
        self.data, self.label = data, labels_of_rows(data)
        self.graph = self._graph(None)

    def _graph(self, keep: Array | None) -> Any:
        import igraph

        return igraph.Graph(n=self.data.events, edges=np.stack(pairs(self.data, keep), axis=1), directed=True)

    def slice(self, root: int) -> Array:
        return np.array(self.graph.subcomponent(root, mode="out"), np.int64)

    def condense(self, rows: Array) -> Answer:
        same, cross = inside(self.data, rows, self.label)
        component = np.array(self._graph(same).connected_components(mode="weak").membership, np.int64)
        return of_components(self.data, rows, component, self.label, cross)


class Rustworkx:
    def __init__(self, data: Data) -> None:
        self.data, self.label = data, labels_of_rows(data)
        self.graph = self._graph(None)

    def _graph(self, keep: Array | None) -> Any:
        import rustworkx

        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(self.data.events))
        ends = pairs(self.data, keep)
        graph.add_edges_from_no_data(list(zip(*(end.tolist() for end in ends), strict=True)))
        return graph

    def slice(self, root: int) -> Array:
        import rustworkx

        return np.array([root, *rustworkx.descendants(self.graph, root)], np.int64)

    def condense(self, rows: Array) -> Answer:
        import rustworkx

        same, cross = inside(self.data, rows, self.label)
        component = _numbered(self.data, rustworkx.weakly_connected_components(self._graph(same)))
        return of_components(self.data, rows, component, self.label, cross)


class Networkx:
    def __init__(self, data: Data) -> None:
        import networkx

        self.data, self.label = data, labels_of_rows(data)
        self.graph = networkx.DiGraph(self._pairs(None))
        self.graph.add_nodes_from(range(data.events))

    def _pairs(self, keep: Array | None) -> Any:
        return zip(*(end.tolist() for end in pairs(self.data, keep)), strict=True)

    def slice(self, root: int) -> Array:
        import networkx

        return np.array([root, *networkx.descendants(self.graph, root)], np.int64)

    def condense(self, rows: Array) -> Answer:
        import networkx

        same, cross = inside(self.data, rows, self.label)
        graph = networkx.Graph(self._pairs(same))
        graph.add_nodes_from(rows.tolist())
        component = _numbered(self.data, networkx.connected_components(graph))
        return of_components(self.data, rows, component, self.label, cross)


class Duckdb:
    """A recursive query over a table of edges; components by spreading the smallest row along both directions."""

    def __init__(self, data: Data) -> None:
        import duckdb

        self.data, self.label = data, labels_of_rows(data)
        self.base = duckdb.connect()
        self._table("edges", *pairs(data))

    def _table(self, name: str, src: Array, dst: Array) -> None:
        frame = {"src": np.ascontiguousarray(src, np.int64), "dst": np.ascontiguousarray(dst, np.int64)}
        self.base.register("frame", _arrow(frame))
        self.base.execute(f"create or replace table {name} as select * from frame")

    def slice(self, root: int) -> Array:
        query = f"""with recursive reached(row) as (
            select {root}::bigint union select dst from edges join reached on src = row
        ) select row from reached"""
        return self.base.execute(query).fetchnumpy()["row"]

    def condense(self, rows: Array) -> Answer:
        same, cross = inside(self.data, rows, self.label)
        src, dst = pairs(self.data, same)
        self._table("ends", np.concatenate((src, dst)), np.concatenate((dst, src)))
        query = "select row, min(least) as least from spread group by row"
        self.base.register("rows", _arrow({"row": rows.astype(np.int64), "least": rows.astype(np.int64)}))
        self.base.execute("create or replace table spread as select * from rows")
        while True:
            self.base.execute("""create or replace table wider as select s.row, least(s.least, coalesce(min(o.least), s.least))
                as least from spread s left join ends e on e.src = s.row left join spread o on o.row = e.dst
                group by s.row, s.least""")
            self.base.execute("""create or replace table shorter as select w.row, o.least from wider w
                join wider o on o.row = w.least""")
            changed = self.base.execute(
                "select count(*) from shorter join spread using (row) where shorter.least <> spread.least"
            ).fetchone()
            self.base.execute("create or replace table spread as select * from shorter")
            if changed == (0,):
                break
        found = self.base.execute(query).fetchnumpy()
        component = np.zeros(self.data.events, np.int64)
        component[found["row"]] = found["least"]
        return of_components(self.data, rows, component, self.label, cross)


PEERS: dict[str, Any] = {
    "scipy": Scipy,
    "igraph": Igraph,
    "rustworkx": Rustworkx,
    "networkx": Networkx,
    "duckdb": Duckdb,
}


def _arrow(columns: dict[str, Array]) -> Any:
    import pyarrow

    return pyarrow.table(columns)


def _numbered(data: Data, parts: Any) -> Array:
    component = np.zeros(data.events, np.int64)
    for number, part in enumerate(parts):
        component[list(part)] = number
    return component
