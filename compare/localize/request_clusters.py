"""Cluster requests by their sequence of calls, and merge rare sequences into similar frequent ones (Mi et al.).

A sequence has the labels of the calls in the order of the flow, regardless of the host. Clusters are *major*, from the
largest down, until they contain `alpha` of all requests. Each *minor* cluster is merged into the major cluster with the
smallest edit distance among those that are not longer; without such a cluster it stays separate. (The published algorithm
omits the step that appends the selected cluster.) Invariant: each request is in one cluster, whose matrix has a column per
call of its sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew.compare.stats.tests import F64, I64, edit_distances
from clew.graph.ops.flows.flows import Flows

ALPHA = 0.75


@dataclass(frozen=True, eq=False)
class Cluster:
    """Requests with one sequence of calls, or with similar ones."""

    sequence: I64
    """The labels of the calls."""
    major: bool
    requests: I64
    calls: I64
    """A matrix of requests by calls of the sequence: indices into the columns of calls, or -1 for a call that a merged
    request lacks."""
    merged: int
    """The number of requests from minor clusters."""

    def matrix(self, column: F64) -> F64:
        """Return the values of the calls as a matrix; a missing value is replaced by the mean of its column, so that it
        has no influence."""
        values = np.where(self.calls >= 0, column[np.maximum(self.calls, 0)].astype(np.float64), np.nan)
        missing = np.isnan(values)
        means = np.where(missing, 0.0, values).sum(0) / np.maximum((~missing).sum(0), 1)
        return np.asarray(np.where(missing, means, values))


def find_clusters(flows: Flows, alpha: float = ALPHA) -> tuple[Cluster, ...]:
    """Return the clusters, largest first."""
    groups: dict[bytes, list[int]] = {}
    for request in range(len(flows)):
        groups.setdefault(flows.label[flows.places(request)].astype(np.int64).tobytes(), []).append(request)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1][0]))
    majors: list[tuple[I64, list[list[int]]]] = []
    minors: list[tuple[I64, list[int]]] = []
    held = 0
    for text, members in ordered:
        sequence = np.frombuffer(text, np.int64)
        if held <= alpha * len(flows):
            majors.append((sequence, [members]))
        else:
            minors.append((sequence, members))
        held += len(members)
    joined: list[list[tuple[I64, list[int]]]] = [[] for _ in majors]
    alone = []
    for sequence, members in minors:
        distances = edit_distances(sequence, [major for major, _ in majors])
        fits = [number for number, (major, _) in enumerate(majors) if len(sequence) >= len(major)]
        if fits:
            joined[min(fits, key=lambda number: int(distances[number]))].append((sequence, members))
        else:
            alone.append((sequence, members))
    found = [
        _cluster(flows, sequence, [(sequence, parts[0]), *others], major=True)
        for (sequence, parts), others in zip(majors, joined, strict=True)
    ]
    found += [_cluster(flows, sequence, [(sequence, members)], major=False) for sequence, members in alone]
    return tuple(sorted(found, key=lambda cluster: -len(cluster.requests)))


def _cluster(flows: Flows, sequence: I64, parts: Sequence[tuple[I64, list[int]]], *, major: bool) -> Cluster:
    requests = [np.array(members, np.int64) for _, members in parts]
    rows = []
    for (other, _), members in zip(parts, requests, strict=True):
        place = aligned(sequence, other)
        rows.append(np.where(place >= 0, flows.first[members][:, None] + np.maximum(place, 0), -1))
    return Cluster(
        sequence, major, np.concatenate(requests), np.concatenate(rows), sum(len(part) for part in requests[1:])
    )


def aligned(sequence: I64, other: I64) -> I64:
    """Return, per call of a sequence, the index of its counterpart in another sequence by minimum edit distance, or -1."""
    if np.array_equal(sequence, other):
        return np.arange(len(sequence))
    n, m = len(sequence), len(other)
    cost = np.zeros((n + 1, m + 1), np.int64)
    cost[:, 0], cost[0] = np.arange(n + 1), np.arange(m + 1)
    column = np.arange(m + 1)
    for row in range(1, n + 1):
        line = np.empty(m + 1, np.int64)
        line[0] = row
        line[1:] = np.minimum(cost[row - 1, 1:] + 1, cost[row - 1, :-1] + (other != sequence[row - 1]))
        cost[row] = np.minimum.accumulate(line - column) + column
    found = np.full(n, -1, np.int64)
    row, at = n, m
    while row and at:
        differs = sequence[row - 1] != other[at - 1]
        if cost[row, at] == cost[row - 1, at - 1] + differs:
            if not differs:
                found[row - 1] = at - 1
            row, at = row - 1, at - 1
        elif cost[row, at] == cost[row - 1, at] + 1:
            row -= 1
        else:
            at -= 1
    return found
