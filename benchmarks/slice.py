"""The interval slice beside the event-by-event traversal, on a graph of the paper's shape, in one run.

The graph has 2.2 events per edge and segments of about 7 events, as published for G2. Both sides answer the same questions,
and every answer is compared: a difference ends the benchmark with an error. The traversal is a breadth-first search over
explicit lists of successors, fall-through included, which are made beforehand and not timed; nor is the structure plane.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clew.graph.model import Calls, ExecutionGraph, Extensions, Process, Regions, Site, Strand, Texts
from clew.graph.ops.slice import slice_events
from clew.records.event import Kind
from clew.records.run import RunInfo

I64 = npt.NDArray[np.int64]

EVENTS_PER_EDGE = 2.2
SEGMENT = 7
STRANDS = 200
PROCESSES = 20
ASKED = 5.0
"""How many times as fast as the traversal the interval slice is to be."""


def make_graph(events: int, seed: int) -> ExecutionGraph:
    """Segments of some 7 events on 200 strands of 20 processes; edges go forward in time."""
    rng = np.random.default_rng(seed)
    sizes = rng.geometric(1 / SEGMENT, events // SEGMENT * 2)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), events))]
    sizes = np.append(sizes, events - sizes.sum())
    sizes = sizes[sizes > 0]
    count = len(sizes)
    home = np.sort(rng.integers(0, STRANDS, count))
    first = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
    region = np.repeat(np.arange(count), sizes).astype(np.uint32)
    strand = home[region].astype(np.uint32)
    bounds = np.searchsorted(strand, np.arange(STRANDS + 1)).astype(np.int64)
    # All strands run from 0 to the same end, each at its own pace.
    inside = np.arange(events) - bounds[strand]
    ts = (inside * (events * 10 // np.maximum(np.diff(bounds), 1))[strand]).astype(np.int64)
    by_time = np.argsort(ts, kind="stable")
    when = np.empty(events, np.int64)
    when[by_time] = np.arange(events)
    # One edge opens each segment; the others lead to some event within it. Sources are recent.
    others = max(int(events / EVENTS_PER_EDGE) - count, 0)
    dst = np.concatenate((first, rng.integers(0, events, others)))
    dst = dst[when[dst] > 0]
    src = by_time[np.maximum(when[dst] - rng.geometric(1 / 400, len(dst)), 0)]
    order = np.lexsort((dst, src, region[src]))
    src, dst = src[order].astype(np.int64), dst[order].astype(np.int64)
    none, nothing = np.full(events, -1, np.int32), np.zeros(0, np.int64)
    return ExecutionGraph(
        info=RunInfo("benchmark", "benchmark", [], "/", "/", "", 0),
        ts=ts,
        kind=np.full(events, Kind.MARK, np.uint8),
        site=np.zeros(events, np.uint32),
        strand=strand,
        region=region,
        ext=none,
        call=none,
        inner=none,
        idle=np.zeros(events, bool),
        edge_src=src,
        edge_dst=dst,
        edge_kind=np.ones(len(src), np.uint8),
        edge_channel=np.zeros(len(src), np.uint32),
        extensions=Extensions(
            nothing.astype(np.uint64), nothing.astype(np.uint32), nothing.astype(np.uint16),
            Texts(np.zeros(1, np.int64), nothing.astype(np.uint8)),
        ),
        regions=Regions(
            home.astype(np.uint32), np.ones(count, np.uint8), first, first, first + sizes - 1, np.full(count, -1)
        ),
        calls=Calls(nothing, nothing, nothing, nothing, nothing, nothing),
        strings=[""],
        sites=[Site("", "", "", 0, 0, "")],
        strands=[
            Strand(n, n % PROCESSES, n + 1, 0, "thread", f"t{n}", f"t{n}", int(bounds[n]), int(bounds[n + 1]))
            for n in range(STRANDS)
        ],
        processes=[
            Process(n, n, n, 0, 0, f"p{n}", (), "", "host", "", "closed", False, 0, 0, 0) for n in range(PROCESSES)
        ],
    )  # fmt: skip


class Traversal:
    """Breadth-first search over events."""

    def __init__(self, graph: ExecutionGraph, *, forward: bool) -> None:
        src, dst = (graph.edge_src, graph.edge_dst) if forward else (graph.edge_dst, graph.edge_src)
        region = graph.region
        falls = np.flatnonzero(region[1:] == region[:-1])
        a, b = (falls, falls + 1) if forward else (falls + 1, falls)
        sources, targets = np.concatenate((a, src)), np.concatenate((b, dst))
        order = np.argsort(sources, kind="stable")
        self.begin = np.searchsorted(sources[order], np.arange(len(graph) + 1)).tolist()
        self.target = targets[order].tolist()
        self.events = len(graph)

    def reach(self, root: int) -> I64:
        """All events reachable from `root`, ascending."""
        begin, target = self.begin, self.target
        seen = bytearray(self.events)
        seen[root] = 1
        queue = [root]
        for event in queue:
            for other in target[begin[event] : begin[event + 1]]:
                if not seen[other]:
                    seen[other] = 1
                    queue.append(other)
        return np.flatnonzero(np.frombuffer(seen, np.uint8))


def timed(work: Callable[[], I64]) -> tuple[float, I64]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def measure(graph: ExecutionGraph, direction: str, roots: list[int]) -> dict[str, float]:
    """Medians in ms. Raises SystemExit when the two sides differ."""
    traversal = Traversal(graph, forward=direction == "forward")
    bounds_ms, ours, peers, sizes, followed = [], [], [], [], []
    for root in roots:
        peer, expected = timed(lambda root=root: traversal.reach(root))
        result = slice_events(graph, [root], direction)
        bound, _ = timed(lambda root=root: slice_events(graph, [root], direction).bounds)
        mine, found = timed(lambda root=root: slice_events(graph, [root], direction).events())
        if not np.array_equal(found, expected):
            sys.exit(f"the two answers differ for event {root} {direction}: {len(found)} and {len(expected)} events")
        bounds_ms.append(bound * 1e3)
        ours.append(mine * 1e3)
        peers.append(peer * 1e3)
        sizes.append(len(expected))
        followed.append(result.followed)
    return {
        "bounds": statistics.median(bounds_ms),
        "ours": statistics.median(ours),
        "peer": statistics.median(peers),
        "events": statistics.median(sizes),
        "followed": statistics.median(followed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000, help="size of the graph (default: 1,000,000)")
    parser.add_argument("--roots", type=int, default=15, help="questions per direction (default: 15)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.events < 1000 or options.roots < 1:
        parser.error("give at least 1,000 events and 1 root")

    graph = make_graph(options.events, options.seed)
    start = time.process_time()
    structure = graph.structure
    print(
        f"{len(graph):,} events, {len(graph.edge_src):,} edges ({len(graph) / len(graph.edge_src):.2f} events per edge), "
        f"{len(graph.regions):,} regions ({len(graph) / len(graph.regions):.1f} events each); "
        f"structure in {time.process_time() - start:.2f} s, {structure.nbytes / len(graph):.1f} bytes an event"
    )
    rng = np.random.default_rng(options.seed)
    rows = []
    for direction in ("forward", "backward"):
        # Roots in the half of the run that leaves room for a large answer.
        half = graph.ts < graph.ts.max() // 2 if direction == "forward" else graph.ts > graph.ts.max() // 2
        roots = rng.choice(np.flatnonzero(half), options.roots).tolist()
        medians = measure(graph, direction, roots)
        factor = medians["peer"] / medians["ours"]
        print(
            f"{direction:<9} median of {options.roots}: {medians['events']:,.0f} events, {medians['followed']:,.0f} edges; "
            f"bounds {medians['bounds']:.1f} ms, with the list of events {medians['ours']:.1f} ms, "
            f"event by event {medians['peer']:.1f} ms: {factor:.1f} times as long; answers equal"
        )
        rows.append(
            {
                "name": f"slice {direction}",
                "unit": "ms",
                "ours": round(medians["ours"], 3),
                "peer": "event-by-event traversal",
                "peer_value": round(medians["peer"], 3),
                "asked": round(medians["peer"] / ASKED, 3),
                "met": factor >= ASKED,
            }
        )
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print(json.dumps({"benchmark": "slice", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
