"""The entities that every run has: machines hold processes, these their threads and tasks, which talk along use edges.

A thread or task is there from its first event to its last, a process as long as one of its own is, a machine from then on. A
communication happens when it arrives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clew.graph.entities.events import I64, EntityEvents, Happening, bounded, numbered
from clew.graph.model.graph import UNNAMED_MACHINE, ExecutionGraph
from clew.records.format.event import EdgeKind


class _Outermost(NamedTuple):
    """Per group the event that comes first, or last."""

    group: I64
    row: I64


def of_strands(graph: ExecutionGraph) -> EntityEvents:
    """Entities of machines, then of processes, then of strands; those without an event are left out."""
    hosts = list(dict.fromkeys(_host(graph, number) for number in range(len(graph.processes))))
    machine = np.array([hosts.index(_host(graph, number)) for number in range(len(graph.processes))], np.int64)
    processes, strands = len(hosts), len(hosts) + len(graph.processes)
    here = np.array([strand.index for strand in graph.strands if strand.stop > strand.start], np.int64)
    begins = np.array([graph.strands[number].start for number in here.tolist()], np.int64)
    ends = np.array([graph.strands[number].stop - 1 for number in here.tolist()], np.int64)
    of = graph.strand_process[here].astype(np.int64)
    ts = graph.ts
    born, dead = _outermost(ts, begins, of, latest=False), _outermost(ts, ends, of, latest=True)
    homes = _outermost(ts, born.row, machine[born.group], latest=False)

    edges = np.flatnonzero(graph.edge_kind == EdgeKind.USE)
    source, target = graph.edge_src[edges], graph.edge_dst[edges]
    between = graph.strand[source] != graph.strand[target]
    edges, source, target = edges[between], source[between], target[between]

    first = [homes.group, processes + born.group, strands + here, strands + graph.strand[source].astype(np.int64)]
    other = [
        np.full(len(homes.group), -1), machine[born.group], processes + of, strands + graph.strand[target].astype(np.int64),
    ]  # fmt: skip
    rows = [homes.row, born.row, begins, target]
    first += [strands + here, processes + dead.group]
    other += [np.full(len(here), -1), np.full(len(dead.group), -1)]
    rows += [ends, dead.row]
    sizes = [len(part) for part in rows]
    kinds = [Happening.POSITION] * 3 + [Happening.COMMUNICATION] + [Happening.DELETION] * 2
    channel = np.zeros(sum(sizes), np.uint32)
    channel[sum(sizes[:3]) : sum(sizes[:4])] = graph.edge_channel[edges]
    # Outer ones come before inner ones, and go after them.
    phase, row = np.repeat(np.arange(len(sizes)), sizes), np.concatenate(rows)
    order = np.lexsort((phase, ts[row]))
    a, b, kept = numbered(np.concatenate(first)[order], np.concatenate(other)[order], strands + len(graph.strands))
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
        names=[bounded(names[number] or f"a {classes[number]}") for number in kept],
        classes=[classes[number] for number in kept],
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
