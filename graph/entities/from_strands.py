"""Derive the entities of any run: machines contain processes, which contain threads and tasks; use edges are messages.

A thread or task exists from its first event to its last. A process exists as long as one of its strands does, and a machine
from its first process on. A communication has the time of its arrival.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clew.graph.entities.events import I64, EntityEvents, Happening, bounded, numbered
from clew.graph.model.graph import UNNAMED_MACHINE, ExecutionGraph
from clew.records.format.event import EdgeKind


class _Outermost(NamedTuple):
    """The first or last event of each group."""

    group: I64
    row: I64


def of_strands(graph: ExecutionGraph) -> EntityEvents:
    """Return the events of all machines, processes and strands; strands without an event are left out."""
    hosts = list(dict.fromkeys(_host(graph, number) for number in range(len(graph.processes))))
    machine = np.array([hosts.index(_host(graph, number)) for number in range(len(graph.processes))], np.int64)
    processes, strands = len(hosts), len(hosts) + len(graph.processes)
    present = np.array([strand.index for strand in graph.strands if strand.stop > strand.start], np.int64)
    begins = np.array([graph.strands[number].start for number in present.tolist()], np.int64)
    ends = np.array([graph.strands[number].stop - 1 for number in present.tolist()], np.int64)
    of = graph.strand_process[present].astype(np.int64)
    ts = graph.ts
    born, dead = _outermost(ts, begins, of, latest=False), _outermost(ts, ends, of, latest=True)
    homes = _outermost(ts, born.row, machine[born.group], latest=False)

    edges = np.flatnonzero(graph.edge_kind == EdgeKind.USE)
    source, target = graph.edge_src[edges], graph.edge_dst[edges]
    between = graph.strand[source] != graph.strand[target]
    edges, source, target = edges[between], source[between], target[between]

    first = [homes.group, processes + born.group, strands + present, strands + graph.strand[source].astype(np.int64)]
    other = [
        np.full(len(homes.group), -1), machine[born.group], processes + of, strands + graph.strand[target].astype(np.int64),
    ]  # fmt: skip
    rows = [homes.row, born.row, begins, target]
    first += [strands + present, processes + dead.group]
    other += [np.full(len(present), -1), np.full(len(dead.group), -1)]
    rows += [ends, dead.row]
    sizes = [len(part) for part in rows]
    kinds = [Happening.POSITION] * 3 + [Happening.COMMUNICATION] + [Happening.DELETION] * 2
    channel = np.zeros(sum(sizes), np.uint32)
    channel[sum(sizes[:3]) : sum(sizes[:4])] = graph.edge_channel[edges]
    # Containers appear before their contents and disappear after them.
    phase, row = np.repeat(np.arange(len(sizes)), sizes), np.concatenate(rows)
    order = np.lexsort((phase, ts[row]))
    a, b, original = numbered(np.concatenate(first)[order], np.concatenate(other)[order], strands + len(graph.strands))
    names = [*hosts, *(process.name for process in graph.processes)]
    names += [(strand.name if strand.kind != "thread" else strand.thread_name) for strand in graph.strands]
    classes = ["machine"] * processes + ["process"] * (strands - processes) + [s.kind for s in graph.strands]
    return EntityEvents(
        ns=ts[row[order]],
        kind=np.repeat(np.array(kinds, np.uint8), sizes)[order],
        first=a,
        other=b,
        row=row[order],
        channel=channel[order],
        names=[bounded(names[number] or f"a {classes[number]}") for number in original],
        classes=[classes[number] for number in original],
    )


def _outermost(ts: I64, rows: I64, groups: I64, *, latest: bool) -> _Outermost:
    order = np.lexsort((ts[rows] if not latest else -ts[rows], groups))
    group, at = np.unique(groups[order], return_index=True)
    return _Outermost(group, rows[order][at])


def _host(graph: ExecutionGraph, number: int) -> str:
    process = graph.processes[number]
    if graph.machines:
        return graph.machines[process.machine].name or UNNAMED_MACHINE
    return process.host or UNNAMED_MACHINE
