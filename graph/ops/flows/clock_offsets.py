"""Take the offsets between the clocks of hosts out of the times of flows.

The time from a cause on one host to its effect on another contains the offset between their clocks, which one-way messages do
not show. The shortest of these times in a run is therefore no time of a request: what counts is how much longer the others
are. Invariant: times on one host, and the flows of runs with one host, do not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.graph.model.array_utils import lengths
from clew.graph.model.graph import I64, ExecutionGraph


def without_offsets(graph: ExecutionGraph, first: I64, columns: dict[str, Any]) -> None:
    """Change the columns of calls in place: shorten delays between hosts by the shortest one, and move what is on another host
    than the request by as much. `first` has the offsets of the requests."""
    names = [process.host for process in graph.processes]
    codes = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(codes) < 2 or not len(columns["event"]):
        return
    host = np.array([codes[name] for name in names], np.int64)[graph.strand_process][graph.strand[columns["event"]]]
    size = lengths(first)
    root = np.repeat(first[:-1], size)
    parent = columns["parent"]
    called = np.flatnonzero(parent >= 0)
    called = called[host[called] != host[root[called] + parent[called]]]
    if not len(called):
        return
    pair = host[root[called] + parent[called]] * len(codes) + host[called]
    pairs, which = np.unique(pair, return_inverse=True)
    which = which.reshape(-1)
    shortest = np.full(len(pairs), np.iinfo(np.int64).max)
    np.minimum.at(shortest, which, columns["delay_ns"][called])
    columns["delay_ns"][called] -= shortest[which]
    roots, of_root = np.unique(host[root], return_inverse=True)
    columns["begin_ns"] -= _offsets(pairs, shortest, len(codes), roots)[of_root.reshape(-1), host]


def _offsets(pairs: I64, shortest: I64, hosts: int, roots: I64) -> I64:
    """Return how much later the clock of each host seems to be, by the root's host (rows) and the host: the sum of the shortest
    times on the way there, 0 without a way."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    # A sparse graph has no edge of length 0, so lengths are shifted by less than the unit of the times.
    ways = csr_array((shortest + 1e-3, (pairs // hosts, pairs % hosts)), (hosts, hosts))
    found = dijkstra(ways, indices=roots)
    found[~np.isfinite(found)] = 0.0
    return np.asarray(np.floor(found).astype(np.int64))
