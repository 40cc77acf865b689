"""Find who read the bytes that an execution wrote to a connection, and waited in vain to be answered."""

from __future__ import annotations

import numpy as np

from clew.graph.ops.answer.relevance import calls_around
from clew.graph.ops.facts.connection_ends import byte_rows
from clew.graph.ops.facts.exceptions.handled import handled_at
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind

CHANNEL = "socket"
_STREAM = "asyncio.stream"
_IN_VAIN = frozenset({"timeout", "cancelled", "never"})
_TIMEOUTS = frozenset({"TimeoutError", "timeout"})


def handler_of_bytes(facts: Facts, sent: int, row: int) -> int:
    """Return the outermost call that read the bytes written at `sent`, for a failure at `row`.

    The result is -1 if these bytes were not read, if something came back on the connection, or if nothing shows that the
    execution waited for an answer.
    """
    graph = facts.graph
    if not _waited_in_vain(facts, sent, row) or _answered(facts, sent, row):
        return -1
    read = _reader(facts, sent)
    around = calls_around(facts, read) if read >= 0 and graph.at("ts", read) <= graph.at("ts", row) else []
    return around[-1] if around else -1


def _waited_in_vain(facts: Facts, sent: int, row: int) -> bool:
    """Return whether a wait for data failed between two rows of a strand, or an exception at the later one says so."""
    for wait in reversed(facts.waits_of.of(facts.graph.at("strand", row))):
        if wait.begin.row < sent:
            break
        # Up to Python 3.11, `wait_for` reads in a helper task.
        if wait.begin.row < row and wait.end in _IN_VAIN and (wait.begin.channel == _STREAM or wait.inner):
            return True
    return any(each.fact.channel.rpartition(".")[2] in _TIMEOUTS for each in handled_at(facts, row))


def _answered(facts: Facts, sent: int, row: int) -> bool:
    """Return whether anything was written to the connection's other direction after the bytes, or arrived from it."""
    graph, other = facts.graph, facts.graph.key(sent) ^ 1
    rows = byte_rows(graph)
    first, last = np.searchsorted(graph.ts[rows], [graph.at("ts", sent), graph.at("ts", row)], "right").tolist()
    return any(graph.key(at) == other for at in rows[first:last].tolist())


def _reader(facts: Facts, sent: int) -> int:
    """Return the row in which a recorded call got the bytes: where they were read, or where their stream gave them out."""
    graph = facts.graph
    read = _target(facts, int(graph.region[sent]), sent, sent, CHANNEL)
    if read < 0 or calls_around(facts, read):
        return read
    last = int(graph.regions.last[graph.region[read]])  # a callback of an event loop fed them to a stream
    return _target(facts, int(graph.region[read]), read, last, _STREAM)


def _target(facts: Facts, region: int, first: int, last: int, channel: str) -> int:
    """Return where the first edge of a channel leads from a range of rows of a region, -1 if there is none."""
    graph = facts.graph
    edges, sources = graph.index.out(region)
    low, high = np.searchsorted(sources, [first, last + 1]).tolist()
    own = (edge for edge in edges[low:high].tolist() if graph.strings[int(graph.edge_channel[edge])] == channel)
    return next((int(graph.edge_dst[edge]) for edge in own if graph.kind[graph.edge_dst[edge]] == Kind.JOIN), -1)
