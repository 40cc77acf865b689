"""Graphs without a recording: from lists of regions and edges, and random graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from clew.graph.model.graph import Calls, ExecutionGraph, Extensions, Process, Regions, Site, Strand, Texts
from clew.records.format.event import Kind
from clew.records.run.directory import RunInfo


def bare_graph(regions_of_strands, edges, processes=None, kinds=None) -> ExecutionGraph:
    """Return a graph from the region of every event, strand by strand, and edges as pairs of events.

    `processes` gives the process of each strand. Times count events.
    """
    strand = np.repeat(np.arange(len(regions_of_strands)), [len(part) for part in regions_of_strands])
    region = np.array([number for part in regions_of_strands for number in part], np.uint32)
    events, count = len(region), int(region.max()) + 1 if len(region) else 0
    first, last, home = np.full(count, -1), np.full(count, -1), np.zeros(count)
    for row in range(events):
        number = region[row]
        first[number] = row if first[number] < 0 else first[number]
        last[number], home[number] = row, strand[row]
    processes = processes or [0] * len(regions_of_strands)
    pairs = np.array(sorted(edges, key=lambda edge: (region[edge[0]], edge)), np.int64).reshape(-1, 2)
    ends = np.cumsum([0] + [len(part) for part in regions_of_strands]).tolist()
    nothing = np.zeros(0, np.int64)
    return ExecutionGraph(
        info=RunInfo("run", "run", [], "/", "/", "", 0),
        ts=np.arange(events, dtype=np.int64),
        kind=np.array(kinds if kinds is not None else [Kind.MARK] * events, np.uint8),
        site=np.zeros(events, np.uint32),
        strand=strand.astype(np.uint32),
        region=region,
        ext=np.full(events, -1, np.int32),
        call=np.full(events, -1, np.int32),
        inner=np.full(events, -1, np.int32),
        idle=np.zeros(events, bool),
        edge_src=pairs[:, 0].copy(),
        edge_dst=pairs[:, 1].copy(),
        edge_kind=np.ones(len(pairs), np.uint8),
        edge_channel=np.zeros(len(pairs), np.uint32),
        extensions=Extensions(
            np.zeros(0, np.uint64),
            np.zeros(0, np.uint32),
            np.zeros(0, np.uint16),
            Texts(np.zeros(1, np.int64), np.zeros(0, np.uint8)),
        ),
        regions=Regions(
            home.astype(np.uint32),
            np.zeros(count, np.uint8),
            first.astype(np.int64),
            first.astype(np.int64),
            last.astype(np.int64),
            np.full(count, -1),
        ),  # fmt: skip
        calls=Calls(nothing, nothing, nothing, nothing, nothing, nothing),
        strings=[""],
        sites=[Site("", "", "", 0, 0, "")],
        strands=[
            Strand(number, process, number + 1, 0, "thread", f"t{number}", f"t{number}", ends[number], ends[number + 1])
            for number, process in enumerate(processes)
        ],
        processes=[
            Process(number, number, number, 0, 0, f"p{number}", (), "", "host", "", "closed", False, 0, 0, events)
            for number in range(max(processes, default=0) + 1)
        ],
    )


@st.composite
def random_graphs(draw):
    """Draw up to five strands with nested regions in up to three processes, and edges between any events."""
    sizes = draw(st.lists(st.integers(1, 14), min_size=1, max_size=5))
    region_count = 0
    strands = []
    for size in sizes:
        # Nested scopes: each event continues, opens or closes a region on a stack of open regions.
        stack, part = [region_count], []
        region_count += 1
        for action in draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)):
            if action == 0:
                stack.append(region_count)
                region_count += 1
            elif action == 1 and len(stack) > 1:
                stack.pop()
            part.append(stack[-1])
        strands.append(part)
    present = sorted({number for part in strands for number in part})
    renumber = {old: new for new, old in enumerate(present)}
    strands = [[renumber[number] for number in part] for part in strands]
    events = sum(sizes)
    edge = st.tuples(st.integers(0, events - 1), st.integers(0, events - 1))
    edges = draw(st.lists(edge, max_size=30))
    processes = draw(st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)))
    return bare_graph(strands, edges, processes)


def expanded(graph, allowed=None):
    """Return the events and all causal edges, with the fall-through edges."""
    whole = nx.DiGraph()
    whole.add_nodes_from(range(len(graph)))
    for edge, ends in enumerate(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True)):
        if allowed is None or allowed[edge]:
            whole.add_edge(*ends)
    for region in range(len(graph.regions)):
        rows = np.flatnonzero(graph.region == region).tolist()
        whole.add_edges_from(zip(rows, rows[1:], strict=False))
    return whole
