"""Tell how a write and a read of a state were ordered, where no recorded synchronisation did it.

A lock that is free when it is taken leaves no record, so that locks cost nothing. Whether functions hold locks is read from the
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


def unordered(
    graph: ExecutionGraph, write: int, reader: int, name: str, pair: str = "this write and the read"
) -> Unordered:
    """Return what is known of a write and a read that nothing recorded orders.

    `reader` is a row of the function that read, -1 for code outside functions; `name` is the state that it read.
    """
    owners, locks = zip(_held_at_write(graph, write), _held_by_reader(graph, reader, name), strict=True)
    if not all(locks):
        return Unordered(f"nothing recorded orders {pair}, so it is a race unless a caller holds a lock", True)
    # `self.lock` of another class is another lock.
    common = [
        each for each in locks[0] if each in locks[1] and (owners[0] == owners[1] or not each.startswith("self."))
    ]
    if common:
        return Unordered(f"only {common[0]}, which both functions hold there, orders {pair}", False)
    return Unordered(f"nothing recorded orders {pair}, but both functions hold a lock there", False)


def _held_at_write(graph: ExecutionGraph, row: int) -> tuple[str, list[str]]:
    """Return the class of the function that wrote, and the locks that it held at that line."""
    call = graph.owner_of(row)
    if call < 0:
        return "", []
    site = graph.sites[graph.at("site", call)]
    source = Writes.of(graph).source_of(site.file)
    line = graph.sites[graph.at("site", row)].line
    return _class(site.qualname), source.locks_at(site.line, [line]) if source is not None else []


def _held_by_reader(graph: ExecutionGraph, row: int, name: str) -> tuple[str, list[str]]:
    """Return the class of a function, and the locks that it holds wherever it reads a state."""
    call = row if row < 0 or graph.at("kind", row) == Kind.ENTER else graph.owner_of(row)
    if call < 0:
        return "", []
    site = graph.sites[graph.at("site", call)]
    source = Writes.of(graph).source_of(site.file)
    if source is None:
        return "", []
    owner, _, last = name.partition("[")[0].rpartition(".")
    lines = source.lines_reading(site.line, last, is_attribute=bool(owner))
    return _class(site.qualname), source.locks_at(site.line, lines)


def _class(qualname: str) -> str:
    return qualname.rpartition(".")[0]
