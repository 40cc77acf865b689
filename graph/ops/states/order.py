"""Tell how a write and a read of a state were ordered, where no recorded synchronisation did it.

A lock that is free when it is taken leaves no record, so that locks cost nothing. Whether functions take locks is read from the
source as it ran.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.states.writes import Writes
from clew.records.format.event import Kind


@dataclass(frozen=True)
class Unordered:
    text: str
    """The end of a sentence."""
    is_race: bool


def unordered(graph: ExecutionGraph, one: int, other: int, pair: str = "this write and the read") -> Unordered:
    """Return what is known of two accesses that nothing recorded orders.

    Each is the row of a write, or the row at which its function began; -1 is code outside functions.
    """
    locks = [_locks(graph, row) for row in (one, other)]
    if not all(locks):
        return Unordered(f"nothing recorded orders {pair}, so it is a race unless a caller holds a lock", True)
    common = [name for name in locks[0] if name in locks[1]]
    if common:
        return Unordered(f"only {common[0]}, which both functions take, orders {pair}", False)
    return Unordered(f"nothing recorded orders {pair}, but both functions take a lock", False)


def _locks(graph: ExecutionGraph, row: int) -> list[str]:
    """Return the locks that the function of a row takes; none if the source is not known."""
    call = row if row < 0 or graph.at("kind", row) == Kind.ENTER else graph.owner_of(row)
    if call < 0:
        return []
    site = graph.sites[graph.at("site", call)]
    source = Writes.of(graph).source_of(site.file)
    return source.locks_of(site.line) if source is not None else []
