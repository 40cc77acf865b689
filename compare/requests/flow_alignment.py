"""Align the calls of two flows by edit distance, and merge them into one graph (Spectroscope's correspondence).

Flows are serialised depth-first. Calls match, at no cost, if they have the same label; a call of one flow only costs one
edit. Of the alignments with the fewest edits, the one with the fewest matches under different callers or channels is
chosen. The algorithm is that of Wagner and Fischer, within a band that widens until it cannot affect the result.
Invariant: matches keep both orders, and each call is in the union once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.stats.tests import I64
from clew.graph.ops.diff import Status
from clew.graph.ops.flows.flows import Flows
from clew.graph.render.table import Table, table_of

NO_MATCH_COST = np.int64(1) << 60
"""The cost of matching different labels: larger than any alignment."""
CELLS = 1 << 24
"""The maximum number of cells of a table; a larger problem is divided into halves (Hirschberg)."""


class Match(NamedTuple):
    """One step through both sequences, as indices; -1 for a side without a counterpart."""

    before: int
    after: int


@dataclass(frozen=True)
class UnionNode:
    """A call of either flow, or of both."""

    label: str
    status: Status
    channel: str
    """The channel that opened the call, from after if possible; "" for a plain call."""
    before: int
    """The index in the flow before; -1 if the call is not in it."""
    after: int


@dataclass(frozen=True)
class UnionEdge:
    """A call edge, by indices of the union's nodes."""

    source: int
    target: int
    status: Status


@dataclass(frozen=True)
class Correspondence:
    """Two flows as one graph. The nodes keep the order of both flows, with callers before their callees."""

    nodes: tuple[UnionNode, ...]
    edges: tuple[UnionEdge, ...]

    def of(self, status: Status) -> tuple[UnionNode, ...]:
        return tuple(node for node in self.nodes if node.status == status)

    @property
    def edits(self) -> int:
        """Return the number of calls that only one of the flows has."""
        return len(self.nodes) - len(self.of("both"))

    @cached_property
    def parent(self) -> tuple[int, ...]:
        """Return the parent of each node, from after if possible; -1 for a root. Parents precede their children."""
        above = [-1] * len(self.nodes)
        for edge in self.edges:
            if edge.status != "before" or self.nodes[edge.target].after < 0:
                above[edge.target] = edge.source
        return tuple(above)

    def lines(self) -> Iterator[tuple[Status, int, int]]:
        """Yield the union as an indented list: status, depth, node."""
        depth: list[int] = []
        for number, (node, above) in enumerate(zip(self.nodes, self.parent, strict=True)):
            depth.append(depth[above] + 1 if above >= 0 else 0)
            yield node.status, depth[number], number

    def sentence(self) -> str:
        gone, new = self.of("before"), self.of("after")
        if not gone and not new:
            moved = sum(edge.status == "after" for edge in self.edges)
            if moved:
                return f"the same calls, {moved:,} of them under a different caller"
            return f"the same flow of {_calls(len(self.nodes))}"
        parts = [
            f"{len(nodes):,} {what} ({_named(nodes)})" for nodes, what in ((new, "more"), (gone, "fewer")) if nodes
        ]
        return f"{_calls(len(self.of('both')))} in both, {' and '.join(parts)}"

    def table(self) -> Table:
        """Return a table with a row per node."""
        return table_of(self.nodes, ("status", "label", "channel", "before", "after"))

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "nodes": [asdict(node) for node in self.nodes],
            "edges": [asdict(edge) for edge in self.edges],
        }


def correspond(before: Flows, one: int | None, after: Flows, other: int | None) -> Correspondence:
    """Align request `one` of the flows before with request `other` of the flows after; None for a side without calls."""
    sides = _Side.of(before, one), _Side.of(after, other)
    known: dict[str, int] = {}
    tokens = [
        np.array(
            [
                [known.setdefault(text, len(known)) for text in column]
                for column in (side.label, side.caller, side.channel)
            ],
            np.int64,
        )
        for side in sides
    ]
    nodes: list[UnionNode] = []
    place: tuple[dict[int, int], dict[int, int]] = ({-1: -1}, {-1: -1})
    for match in align(*tokens):
        side = sides[0] if match.after < 0 else sides[1]
        at = match.before if match.after < 0 else match.after
        for numbers, number in zip(place, match, strict=True):
            if number >= 0:
                numbers[number] = len(nodes)
        status: Status = "before" if match.after < 0 else "after" if match.before < 0 else "both"
        nodes.append(UnionNode(side.label[at], status, side.channel[at], *match))
    found: dict[tuple[int, int], int] = {}
    for number, (side, numbers) in enumerate(zip(sides, place, strict=True)):
        for child, above in enumerate(side.parent):
            if above >= 0:
                pair = numbers[above], numbers[child]
                found[pair] = found.get(pair, 0) | 1 << number
    names: tuple[Status, ...] = ("before", "after", "both")
    edges = tuple(UnionEdge(*pair, names[sides_of - 1]) for pair, sides_of in found.items())
    return Correspondence(tuple(nodes), edges)


class _Side(NamedTuple):
    """The calls of one request."""

    label: list[str]
    caller: list[str]
    """The label of the parent of each call; "" for the root."""
    channel: list[str]
    parent: list[int]

    @staticmethod
    def of(flows: Flows, request: int | None) -> _Side:
        at = slice(0, 0) if request is None else flows.places(request)
        label = [flows.labels[code] for code in flows.label[at].tolist()]
        parent = flows.parent[at].tolist()
        channel = [flows.channels[code] for code in flows.channel[at].tolist()]
        return _Side(label, [label[above] if above >= 0 else "" for above in parent], channel, parent)


def align(one: I64, other: I64) -> list[Match]:
    """Return the cheapest alignment of two sequences, given as columns.

    Columns match if their first rows are equal; each difference in the other rows costs less than any edit. Elements of
    the first sequence only precede elements of the second only.
    """
    n, m = one.shape[1], other.shape[1]
    shared = min(n, m)
    same = (one[:, :shared] == other[:, :shared]).all(0)
    head = shared if same.all() else int(np.argmin(same))
    left = shared - head
    same = (one[:, n - left :] == other[:, m - left :]).all(0)[::-1]
    tail = left if same.all() else int(np.argmin(same))
    edit = len(one) * (n + m) + 1
    middle = _aligned(one[:, head : n - tail], other[:, head : m - tail], edit)
    return [
        *(Match(at, at) for at in range(head)),
        *(Match(a + head if a >= 0 else -1, b + head if b >= 0 else -1) for a, b in middle),
        *(Match(n - tail + at, m - tail + at) for at in range(tail)),
    ]


def _aligned(one: I64, other: I64, edit: int) -> list[Match]:
    """Return the cheapest alignment of two sequences by dynamic programming within a band."""
    n, m = one.shape[1], other.shape[1]
    if not n or not m:
        return [*(Match(at, -1) for at in range(n)), *(Match(-1, at) for at in range(m))]
    margin = 8
    while True:
        low, high = min(0, m - n) - margin, max(0, m - n) + margin
        if (n + 1) * (high - low + 1) > CELLS and n > 1:
            return _align_halves(one, other, edit)
        rows = list(_costs(one, other, edit, low, high))
        # An alignment that leaves the band has at least this many edits.
        if rows[n][m - n - low] < edit * (abs(m - n) + 2 * (margin + 1)) or margin >= max(n, m):
            return _backtrace(one, other, edit, rows, low)
        margin *= 4


def _costs(one: I64, other: I64, edit: int, low: int, high: int) -> Iterator[I64]:
    """Yield, per prefix of the first sequence, the costs of aligning it with prefixes of the other sequence.

    The prefixes of the other sequence have from row + `low` to row + `high` elements.
    """
    n, m = one.shape[1], other.shape[1]
    column = np.arange(low, high + 1)
    line = np.where((column >= 0) & (column <= m), column * edit, NO_MATCH_COST)
    yield line
    slope = np.arange(len(column)) * edit
    for row in range(1, n + 1):
        column = np.arange(row + low, row + high + 1)
        inside = (column >= 0) & (column <= m)
        # Advance in the first sequence only: the same column is one index further to the right in the row above.
        following = np.append(line[1:], NO_MATCH_COST) + edit
        following = np.minimum(following, line + _match(one, row - 1, other, column - 1))
        following = np.where(inside, following, NO_MATCH_COST)
        line = np.minimum(np.minimum.accumulate(following - slope) + slope, NO_MATCH_COST)
        line[~inside] = NO_MATCH_COST
        yield line


def _match(one: I64, at: int, other: I64, columns: npt.NDArray[np.int64]) -> I64:
    """Return the costs of matching one element with others; indices out of range cannot match."""
    there = (columns >= 0) & (columns < other.shape[1])
    candidates = other[:, np.where(there, columns, 0)]
    differs = candidates != one[:, at, None]
    return np.where(there & ~differs[0], differs[1:].sum(0), NO_MATCH_COST)


def _backtrace(one: I64, other: I64, edit: int, rows: Sequence[I64], low: int) -> list[Match]:
    """Return the alignment from the table of costs, from the end: prefer a match, then an element of the other sequence
    only."""
    row, column = one.shape[1], other.shape[1]
    found = []
    while row or column:
        here = rows[row][column - row - low]
        if row and column:
            matched = int(_match(one, row - 1, other, np.array([column - 1]))[0])
            if matched < NO_MATCH_COST and rows[row - 1][column - row - low] + matched == here:
                row, column = row - 1, column - 1
                found.append(Match(row, column))
                continue
        place = column - 1 - row - low
        if column and place >= 0 and rows[row][place] + edit == here:
            column -= 1
            found.append(Match(-1, column))
        else:
            row -= 1
            found.append(Match(row, -1))
    return found[::-1]


def _align_halves(one: I64, other: I64, edit: int) -> list[Match]:
    """Cut the first sequence in half, cut the other where both parts are cheapest together, and align the parts
    separately."""
    half = one.shape[1] // 2
    forward = _last_row(one[:, :half], other, edit)
    backward = _last_row(one[:, half:][:, ::-1], other[:, ::-1], edit)[::-1]
    cut = int(np.argmin(forward + backward))
    first = _aligned(one[:, :half], other[:, :cut], edit)
    rest = _aligned(one[:, half:], other[:, cut:], edit)
    return first + [Match(a + half if a >= 0 else -1, b + cut if b >= 0 else -1) for a, b in rest]


def _last_row(one: I64, other: I64, edit: int) -> I64:
    """Return the costs of aligning the whole first sequence with each prefix of the other."""
    n, m = one.shape[1], other.shape[1]
    line = np.zeros(0, np.int64)
    for line in _costs(one, other, edit, -n, m):  # noqa: B007  # only the last one counts
        pass
    return line[: m + 1]


def _calls(count: int) -> str:
    return f"{count:,} call{'s' * (count != 1)}"


def _named(nodes: tuple[UnionNode, ...]) -> str:
    labels = list(dict.fromkeys(node.label for node in nodes))
    more = f" and {len(labels) - 2:,} others" if len(labels) > 3 else ""
    return ", ".join(labels[: 2 if more else 3]) + more
