"""Slices over a run in parts, on Ray: one hop of edges between barriers, all local edges between barriers, and no barriers;
each with none and with 5 ms of simulated latency. The paper's table 4 beside ours, in one run, every answer checked.

    python benchmarks/cluster.py [--events 1000000] [--parts 4]

The last line printed is one JSON object. Needs Ray.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from clew.graph.model.graph import Calls, ExecutionGraph, Extensions, Process, Regions, Site, Strand, Texts
from clew.graph.model.machines import Machine
from clew.graph.ops.slicing.interval import slice_events
from clew.query.engines.engine import PartsEngine
from clew.query.engines.open import open_parts
from clew.query.engines.partial_slice import SliceOptions
from clew.query.engines.partition_files import partition, read_manifest
from clew.records.format.event import Kind
from clew.records.run.directory import RunInfo

REGION = 7
"""Events of a region, and per edge 2.2 events, as in the paper."""
PAPER = {"one hop": 1.0, "batched": None, "asynchronous": 2.7}
"""How much faster than one hop with barriers (table 4); rounds of slicing went from 208 to 28."""


def execution_graph(events: int, machines: int, seed: int = 1) -> ExecutionGraph:
    """Four processes a machine, eight strands a process; edges go forward in time, few of them between machines."""
    chance = np.random.default_rng(seed)
    processes, strands = 4 * machines, 32 * machines
    each = events // strands // REGION * REGION
    events = each * strands
    ts = np.sort(chance.integers(0, events * 50, (strands, each)), axis=1).ravel()
    region = np.arange(events) // REGION
    first = np.arange(0, events, REGION)
    home = first // each
    begin, process = ts[first], home // 8
    of_process = [first[process == number][np.argsort(begin[process == number])] for number in range(processes)]
    count = int(events / 2.2)
    src = chance.integers(0, events, count)
    near, kind = src // each // 8, chance.random(count)
    same_machine = near // 4 * 4 + chance.integers(0, 4, count)
    target = np.where(kind < 0.0009, chance.integers(0, processes, count), np.where(kind < 0.01, same_machine, near))
    dst = np.empty(count, np.int64)
    for number in range(processes):
        mine = np.flatnonzero(target == number)
        starts = of_process[number]
        place = np.searchsorted(ts[starts], ts[src[mine]], "right") + chance.geometric(0.05, len(mine)) - 1
        dst[mine] = starts[np.minimum(place, len(starts) - 1)]
    kept = (ts[dst] > ts[src]) & (region[dst] != region[src])
    src, dst = src[kept], dst[kept]
    order = np.lexsort((dst, src))
    src, dst = src[order], dst[order]
    none = np.zeros(0, np.int64)
    return ExecutionGraph(
        info=RunInfo("cluster", "cluster", [], "/", "/", "", 0, 1),
        ts=ts,
        kind=np.full(events, Kind.MARK, np.uint8),
        site=np.zeros(events, np.uint32),
        strand=(np.arange(events) // each).astype(np.uint32),
        region=region.astype(np.uint32),
        ext=np.full(events, -1, np.int32),
        call=np.full(events, -1, np.int32),
        inner=np.full(events, -1, np.int32),
        idle=np.zeros(events, bool),
        edge_src=src,
        edge_dst=dst,
        edge_kind=np.zeros(len(src), np.uint8),
        edge_channel=np.zeros(len(src), np.uint32),
        extensions=Extensions(
            np.zeros(0, np.uint64),
            np.zeros(0, np.uint32),
            np.zeros(0, np.uint16),
            Texts(np.zeros(1, np.int64), np.zeros(0, np.uint8)),
        ),
        regions=Regions(
            home.astype(np.uint32),
            np.zeros(len(first), np.uint8),
            first,
            first,
            first + REGION - 1,
            np.full(len(first), -1),
        ),
        calls=Calls(none, none, none, none, none, none),
        strings=[""],
        sites=[Site("", "", "", 0, 0, "")],
        strands=[
            Strand(n, n // 8, n % 8 + 1, 0, "thread", f"t{n % 8}", f"t{n % 8}", n * each, (n + 1) * each)
            for n in range(strands)
        ],
        processes=[
            Process(n, n, n, 0, 0, f"p{n}", (), "", f"h{n // 4}", "", "closed", False, 0, 0, events, n // 4)
            for n in range(processes)
        ],
        machines=tuple(Machine(n, f"h{n}", f"b{n}") for n in range(machines)),
    )


def sliced(engine: PartsEngine, root: int, how: str, latency: float, kill: int | None = None):
    """The session of one slice; its answer is not fetched."""
    coordinator, ids = engine.coordinator, np.array([root])
    part = int(engine.parts_of(ids)[0])
    mail = coordinator.ask({part: (ids, "forward", False, False)}, "initial_mail")[part][0]
    session = coordinator.begin(SliceOptions(True))
    if kill is not None:
        answer, left = coordinator.pool.next, [6]

        def killing(seconds=None):
            left[0] -= 1
            if left[0] == 0:
                coordinator.pool.kill(kill)
            return answer(seconds)

        coordinator.pool.next = killing
    coordinator.slice(session, {part: mail}, how, latency)
    if kill is not None:
        coordinator.pool.next = answer
    return session


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--parts", type=int, default=4)
    given = options.parse_args()
    import ray

    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False,
        configure_logging=False,
    )  # fmt: skip
    graph = execution_graph(given.events, given.parts)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "parts"
        since = time.perf_counter()
        partition(graph, where, given.parts)
        written = time.perf_counter() - since
        manifest = read_manifest(where)
        remote = sum(part["outgoing"] for part in manifest.parts)
        size = sum(size for part in manifest.parts for size, _ in part["files"].values())
        root = int(np.argmin(graph.ts))
        since = time.perf_counter()
        expected = slice_events(graph, [root], "forward").count
        alone = time.perf_counter() - since
        print(f"{len(graph):,} events, {len(graph.edge_src):,} edges, {remote:,} between parts; slice of {expected:,}")
        print(
            f"one process: {alone * 1e3:.0f} ms; parts written in {written:.1f} s, {size / len(graph):.1f} bytes/event"
        )
        engine = open_parts(where, "ray").engine
        assert isinstance(engine, PartsEngine)
        base: dict[float, float] = {}
        for latency in (0.0, 0.005):
            for how in ("one hop", "batched", "asynchronous"):
                made = [sliced(engine, root, how, latency) for _ in range(1 if how == "one hop" else 3)]
                for session in made:
                    total = sum(count for count, _ in engine.everywhere("size", session.number).values())
                    assert total == expected, (how, total, expected)
                    engine.coordinator.ended.append(session.number)
                seconds, cost = median(session.traffic.seconds for session in made), made[0].traffic
                base.setdefault(latency, seconds)
                ratio = base[latency] / seconds
                name = f"{how}, {latency * 1e3:.0f} ms"
                traffic = f"{cost.rounds} rounds, {cost.calls} calls, {cost.bytes:,} bytes"
                print(f"{name:24} {seconds * 1e3:8.0f} ms {ratio:5.1f}x  {traffic}")
                peer = {"peer": "the paper's table 4", "peer_value": PAPER[how], "asked": None, "met": None}
                more = {"ms": round(seconds * 1e3), "rounds": cost.rounds, "calls": cost.calls, "bytes": cost.bytes}
                rows.append({"name": name, "unit": "x one hop with barriers", "ours": round(ratio, 2), **peer, **more})
        session = sliced(engine, root, "asynchronous", 0.0, kill=0)
        assert sum(count for count, _ in engine.everywhere("size", session.number).values()) == expected
        recovery = session.traffic.recovery
        print(f"a worker killed in the middle: exact; recovered in {max(recovery, default=0.0):.2f} s")
        peer = {"peer": "a prototype", "peer_value": 1.4, "asked": None, "met": None}
        rows.append({"name": "recovery", "unit": "s", "ours": round(max(recovery, default=0.0), 2), **peer})
        engine.close()
    ray.shutdown()
    machine = f"{platform.machine()}, {platform.python_version()}"
    figures = {"events": len(graph), "remote": remote, "slice": expected, "alone_ms": round(alone * 1e3)}
    print(json.dumps({"benchmark": "cluster", "machine": machine, **figures, "rows": rows}))


if __name__ == "__main__":
    main()
