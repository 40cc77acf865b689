"""Reference implementation of how facts are read: record by record, as objects, without helpers of `asyncio.wait_for`."""

from __future__ import annotations

from collections import defaultdict

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Wait, Wake, load


def waits(graph: ExecutionGraph) -> list[tuple[int, int, str]]:
    """Return the row where each wait begins and ends (-1 for never), and how it ended, by time."""
    ends = defaultdict(list)
    for row in graph.rows_of([Kind.WAKE]).tolist():
        ends[graph.at("strand", row), graph.key(row)].append(row)
    found = []
    for row in graph.rows_of([Kind.WAIT]).tolist():
        later = [end for end in ends[graph.at("strand", row), graph.key(row)] if end > row]
        how = load(Wake, graph.text(later[0])).end if later else "never"
        found.append((row, later[0] if later else -1, how))
    return sorted(found, key=lambda wait: graph.at("ts", wait[0]))


def holdings(graph: ExecutionGraph) -> list[tuple[int, int, int]]:
    """Return the row of each HOLD, that of its RETURN (-1 for none), and the holder, by time."""
    ends: dict[int, int] = {}
    open_: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(dict)
    rows = graph.rows_of([Kind.HOLD, Kind.RETURN]).tolist()
    for row in sorted(rows, key=lambda row: (graph.at("ts", row), row)):
        strand = graph.at("strand", row)
        held = open_[graph.strands[strand].process, graph.key(row)]
        if graph.at("kind", row) == Kind.HOLD:
            held.setdefault(strand, []).append(row)
        elif held:
            holder = strand if strand in held else next(iter(held))
            ends[held[holder].pop(0)] = row
            if not held[holder]:
                del held[holder]
    holds = graph.rows_of([Kind.HOLD]).tolist()
    found = [(row, ends.get(row, -1), graph.at("strand", row)) for row in holds]
    return sorted(found, key=lambda holding: graph.at("ts", holding[0]))


def stack_of(graph: ExecutionGraph, row: int) -> tuple:
    """Return the stack of a WAIT: its own, or that of the record of its process with the same number."""
    text = load(Wait, graph.text(row))
    if text.at or not text.stack:
        return text.at
    for other in graph.rows_of([Kind.WAIT, Kind.HOLD]).tolist():
        known = load(Wait, graph.text(other))
        if known.stack == text.stack and known.at and graph.process_of(other) == graph.process_of(row):
            return known.at
    return ()


def exceptions(graph: ExecutionGraph) -> list[tuple[int, Exception_]]:
    """Return the row and the text of each exception by row; a handled one has the text that was recorded before."""
    again = Exception_(role="handled")
    full: dict[tuple[int, int, str], Exception_] = {}
    found = []
    rows = graph.rows_of([Kind.EXCEPTION]).tolist()
    for row in sorted(rows, key=lambda row: (graph.at("ts", row), row)):
        where = graph.strand_of(row).process, graph.key(row), graph.channel(row)
        text = load(Exception_, graph.text(row))
        if text == again and where in full:
            text = full[where]._replace(role="handled")
        else:
            full[where] = text
        found.append((row, text))
    return sorted(found)
