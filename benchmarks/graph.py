"""Slices and process graphs of execution graphs, ours beside libraries that know events and edges, in one run.

The graphs are of the paper's shape (`graph_data/generate.c`): segments of some 7 events, an edge between segments for each, and
with the calls that nesting implies an edge for 2.2 events; a job of bootstrap, six parallel stages and a last round, from whose
first event some nine tenths are reached. Each library works in a process of its own, at the sizes it can hold; times are
of the processor, so that a busy machine does not change them. Every answer is compared, a difference is an error.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from graph_data.answers import Answer, answer
from graph_data.functions import ask as ask_functions
from graph_data.make import Data, load, make
from graph_data.peers import LARGEST, PEERS
from graph_data.questions import ask as ask_questions

from clew.graph.model.graph import Calls, ExecutionGraph, Extensions, Process, Regions, Site, Strand, Texts
from clew.graph.model.structure_plane import Structure
from clew.graph.ops.aggregation.aggregate import AggregateGraph, aggregate
from clew.graph.ops.aggregation.by_region import condenser
from clew.graph.ops.slicing.interval import slice_events
from clew.records.format.event import Kind
from clew.records.run.directory import RunInfo

EXAMPLES = """examples:
  python benchmarks/graph.py --size 1M                          every library, seconds
  python benchmarks/graph.py --size 12M                         the random queries as they were published
  python benchmarks/graph.py --size 12M --questions 600         and slices backward, of many roots, along some edges, by hops
  python benchmarks/graph.py --size 1M --functions 600          and slices by function, beside DuckDB's SQL
  python benchmarks/graph.py --size 150M --queries 0            the large slice: 8 GB, some minutes
  python benchmarks/graph.py --size 150M --queries 0 --within 1.2G  and the same within a graph eight times as large
"""
ROUNDS = 7
BLOCK = 400
"""So many random questions are asked of one library, then the same of the other."""
SLICE_FASTER, P50_FASTER, P95_FASTER = 75, 200, 50
BYTES_PER_EVENT = 9
COLD, WITHIN, WITHIN_GB = 1.5, 1.5, 16


def size(text: str) -> int:
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    unit = units.get(text[-1:].upper(), 1)
    try:
        return int(float(text[:-1] if unit > 1 else text) * unit)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 1M, 150M or 1.2G") from None


def peak_gb() -> float:
    """The most memory that this process had since it was settled, files that are mapped into it included."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e9
    sys.exit("this system does not tell how much memory a process had")


def settle(data: Data) -> None:
    """Gives back the pages of the generated files, which stay in the system's cache: `peak_gb` counts from here."""
    for array in (data.ts, data.src, data.dst, data.run_row):
        held: Any = array
        while held is not None and not isinstance(held, mmap.mmap):
            held = held.base
        if held is not None:
            held.madvise(mmap.MADV_DONTNEED)
    Path("/proc/self/clear_refs").write_text("5")


def execution_graph(data: Data, structure: Structure) -> ExecutionGraph:
    """What the operators need of a graph; columns that they do not look at have one value for all rows."""
    events, nothing = data.events, np.zeros(0, np.int64)

    def all_rows(value: int, dtype: Any) -> Any:
        return np.broadcast_to(np.array(value, dtype), events)

    bounds = data.strand_start.tolist()
    return ExecutionGraph(
        info=RunInfo("benchmark", "benchmark", [], "/", "/", "", 0),
        ts=data.ts,
        kind=all_rows(Kind.MARK, np.uint8),
        site=all_rows(0, np.uint32),
        strand=all_rows(0, np.uint32),
        region=all_rows(0, np.uint32),
        ext=all_rows(-1, np.int32),
        call=all_rows(-1, np.int32),
        inner=all_rows(-1, np.int32),
        idle=all_rows(False, np.bool_),
        edge_src=data.src,
        edge_dst=data.dst,
        edge_kind=data.edge_kind,
        edge_channel=np.broadcast_to(np.uint32(0), len(data.src)),
        extensions=Extensions(
            nothing.astype(np.uint64), nothing.astype(np.uint32), nothing.astype(np.uint16),
            Texts(np.zeros(1, np.int64), nothing.astype(np.uint8)),
        ),
        regions=Regions(*(nothing for _ in range(6))),
        calls=Calls(*(nothing for _ in range(6))),
        strings=[""],
        sites=[Site("", "", "", 0, 0, "")],
        strands=[
            Strand(number, int(process), number, 0, "thread", "t", "t", bounds[number], bounds[number + 1])
            for number, process in enumerate(data.strand_process)
        ],
        processes=[
            Process(number, number, number, 0, 0, f"p{number}", (), "", f"m{machine}", "", "closed", False, 0, 0, 0)
            for number, machine in enumerate(data.process_machine)
        ],
        made_structure=structure,
    )  # fmt: skip


def answer_of(found: AggregateGraph) -> Answer:
    first, last = found.spans
    arcs = found.arcs
    return answer((first, last, found.codes, found.sizes), arcs["source"], arcs["target"], arcs["count"])


def ask(graph: ExecutionGraph, root: int) -> AggregateGraph:
    """The question, as one asks it."""
    return aggregate(slice_events(graph, [root], "forward"), "process")


def timed(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = work(*given)
    return time.process_time() - start, result


# What runs in a process of its own; each gives what is printed as JSON.


def build(data: Data) -> dict[str, Any]:
    """Makes the structure plane and writes it to files."""
    start = time.process_time()
    structure = Structure.of_runs(
        events=data.events,
        regions=data.regions,
        run_row=data.run_row,
        run_region=np.arange(data.regions, dtype=np.uint32),
        src=data.src,
        dst=data.dst,
        excluded=None,
        ts=data.ts,
    )
    seconds = time.process_time() - start
    structure.save(data.folder / "structure")
    return {"seconds": seconds, "peak": peak_gb(), "bytes": structure.nbytes}


def ours(data: Data) -> dict[str, Any]:
    graph = execution_graph(data, Structure.load(data.folder / "structure"))
    level = condenser(graph, "process")
    assert level is not None
    start = time.process_time()
    level.index()
    made = time.process_time() - start
    settle(data)
    seconds = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        found = ask(graph, data.root)
        events = int(found.sizes.sum())
        seconds.append(time.process_time() - start)
    save_answer(data, "ours", answer_of(found))
    # The first time it fills the caches.
    return {
        "seconds": statistics.median(seconds[1:]),
        "index": made,
        "index_bytes": level.forest.size(),
        "peak": peak_gb(),
        "events": events,
        "nodes": len(found),
        "edges": len(found.arcs),
    }


def peer(data: Data, name: str) -> dict[str, Any]:
    library = PEERS[name](data)
    settle(data)
    sliced, whole = [], []
    for _ in range(3 if data.events < 20_000_000 else 1):
        start = time.process_time()
        rows = library.slice(data.root)
        sliced.append(time.process_time() - start)
        if data.events > 50_000_000:
            library.release()
        start = time.process_time()
        found = library.condense(rows)
        whole.append(sliced[-1] + time.process_time() - start)
    save_answer(data, name, found)
    return {"slice": statistics.median(sliced), "seconds": statistics.median(whole), "peak": peak_gb()}


def queries(data: Data, count: int) -> dict[str, Any]:
    """Random questions, each asked of us and, for the slice alone, of scipy."""
    library = PEERS["scipy"](data)
    graph = execution_graph(data, Structure.load(data.folder / "structure"))
    level = condenser(graph, "process")
    assert level is not None
    level.index()
    roots = np.random.default_rng(7).integers(0, data.events, count).tolist()
    for root in roots[:50]:
        ask(graph, root)
    mine, others, slower = [], [], []
    gc.disable()
    for begin in range(0, count, BLOCK):
        block = roots[begin : begin + BLOCK]
        found = [timed(ask, graph, root) for root in block]
        mine += [seconds for seconds, _ in found]
        for root, (_, condensed) in zip(block, found, strict=True):
            seconds, rows = timed(library.slice, root)
            others.append(seconds)
            if condensed.sizes.sum() != len(rows):
                sys.exit(f"event {root}: {condensed.sizes.sum()} events in our slice, {len(rows)} in scipy's")
        if not answer_of(condensed).same(library.condense(rows)):
            sys.exit(f"event {root}: our process graph is not that of scipy")
        slower.append(timed(lambda root=root: slice_events(graph, [root], "backward").count)[0])
    points = (50, 90, 95, 99, 100)
    return {
        "ours": dict(zip(points, (np.percentile(mine, points) * 1e3).tolist(), strict=True)),
        "scipy": dict(zip(points, (np.percentile(others, points) * 1e3).tolist(), strict=True)),
        "backward": statistics.median(slower) * 1e3,
        "peak": peak_gb(),
    }


def questions(data: Data, count: int) -> list[dict[str, Any]]:
    """Slices of other kinds, beside scipy's or numpy's of the same."""
    graph = execution_graph(data, Structure.load(data.folder / "structure"))
    points = (50, 95, 99)
    return [
        {
            "name": kind.name,
            "peer": kind.peer,
            "faster": kind.faster,
            "ms": [(np.percentile(seconds, points) * 1e3).tolist() for seconds in both],
        }
        for kind, *both in ask_questions(data, graph, count)
    ]


def functions(data: Data, count: int) -> dict[str, Any]:
    """Slices by function, the large one and random ones, beside DuckDB."""
    graph = execution_graph(data, Structure.load(data.folder / "structure"))
    asked = list(ask_functions(data, graph, count, ROUNDS))
    large = np.median(asked[:ROUNDS], axis=0).tolist()
    points = (50, 95, 99)
    mine, theirs = (np.percentile([one[at] for one in asked[ROUNDS:]], points) * 1e3 for at in (1, 2))
    return {"events": large[0], "large": large[1:], "ours": mine.tolist(), "duckdb": theirs.tolist()}


def cold(data: Data) -> dict[str, Any]:
    """Opening, checks included, and the first slice, beside reading the same files; neither is in the system's cache."""
    folder = data.folder / "structure"
    opened, read = [], []
    for _ in range(3):
        forget(folder)
        start = time.perf_counter()
        buffer = bytearray(1 << 23)
        for path in sorted(folder.iterdir()):
            with path.open("rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass
        read.append(time.perf_counter() - start)
        forget(folder)
        start = time.perf_counter()
        structure = Structure.load(folder)
        reached = structure.slice(np.array([data.root]), forward=True, allowed=None)
        opened.append(time.perf_counter() - start)
        del structure, reached
    return {"opened": statistics.median(opened), "read": statistics.median(read)}


def forget(folder: Path) -> None:
    """Takes the files out of the system's cache."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def save_answer(data: Data, name: str, found: Answer) -> None:
    np.savez(data.folder / f"answer-{name}.npz", *found)


def load_answer(data: Data, name: str) -> Answer:
    with np.load(data.folder / f"answer-{name}.npz") as file:
        return Answer(*(file[key] for key in file.files))


def in_own_process(data: Data, task: str, count: int = 0) -> Any:
    command = [sys.executable, __file__, "--worker", task, "--data", str(data.folder), "--queries", str(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{task} failed")
    return json.loads(done.stdout)


def work(task: str, data: Data, count: int) -> Any:
    tasks = {"build": build, "ours": ours, "cold": cold}
    if task in tasks:
        return tasks[task](data)
    counted: dict[str, Callable[[Data, int], Any]] = {
        "queries": queries,
        "questions": questions,
        "functions": functions,
    }
    return counted[task](data, count) if task in counted else peer(data, task)


Row = dict[str, Any]


def row(name: str, unit: str, mine: float, peer: tuple[str, float | None], asked: float) -> Row:
    """`peer` is a name and its value."""
    return {
        "name": name,
        "unit": unit,
        "ours": round(mine, 5),
        "peer": peer[0],
        "peer_value": None if peer[1] is None else round(peer[1], 5),
        "asked": round(asked, 5),
        "met": mine <= asked,
    }


def large_slice(data: Data, mine: dict[str, Any], chosen: list[str]) -> list[Row]:
    rows = []
    name = f"forward slice of {mine['events']:,} events and its process graph"
    for other in chosen:
        if data.events > LARGEST[other]:
            continue
        theirs = in_own_process(data, other)
        if not load_answer(data, "ours").same(load_answer(data, other)):
            sys.exit(f"our process graph is not that of {other}")
        print(
            f"  {other:<10} {theirs['seconds']:9.3f} s (the slice {theirs['slice']:.3f} s), {theirs['peak']:.2f} GB: "
            f"{theirs['seconds'] / mine['seconds']:,.0f} times as long; answers equal",
            flush=True,
        )
        beside = (other, theirs["seconds"])
        if other == "scipy":
            rows.append(row(name, "s", mine["seconds"], beside, theirs["seconds"] / SLICE_FASTER))
            rows.append(row("memory for it", "GB", mine["peak"], (other, theirs["peak"]), theirs["peak"] / 3))
        else:
            rows.append(row(f"{name}, beside {other}", "s", mine["seconds"], beside, theirs["seconds"]))
    return rows


def prepare(events: int, folder: Path, seed: int) -> tuple[Data, dict[str, Any]]:
    data = make(events, folder, seed)
    print(
        f"{data.events:,} events, {data.regions:,} regions ({data.events / data.regions:.2f} events each), "
        f"{len(data.src):,} edges ({np.mean(data.edge_kind == 2):.2%} between machines), "
        f"{len(data.process_machine):,} processes",
        flush=True,
    )
    built = in_own_process(data, "build")
    print(
        f"  structure plane in {built['seconds']:.2f} s with {built['peak']:.2f} GB: "
        f"{built['bytes'] / data.events:.2f} bytes/event",
        flush=True,
    )
    mine = in_own_process(data, "ours")
    print(
        f"  ours       {mine['seconds']:9.5f} s for {mine['events']:,} events in {mine['nodes']:,} nodes and "
        f"{mine['edges']:,} edges, {mine['peak']:.2f} GB (index of the level: {mine['index']:.2f} s, "
        f"{mine['index_bytes'] / data.events:.2f} bytes/event)",
        flush=True,
    )
    return data, {**mine, "bytes": built["bytes"]}


def random_queries(data: Data, count: int) -> list[Row]:
    both = in_own_process(data, "queries", count)
    for whose in ("ours", "scipy"):
        points = ", ".join(f"p{point} {ms:.4f} ms" for point, ms in both[whose].items())
        print(f"  {count} queries, {whose}: {points}")
    print(f"  backward slices: median {both['backward']:.4f} ms; answers equal", flush=True)
    rows = []
    for point, faster in (("50", P50_FASTER), ("95", P95_FASTER)):
        their = both["scipy"][point]
        name = f"{count} random slices and process graphs, p{point}"
        rows.append(row(name, "ms", both["ours"][point], ("scipy, the slice alone", their), their / faster))
    return rows


def random_questions(data: Data, count: int) -> list[Row]:
    rows = []
    for found in in_own_process(data, "questions", count):
        name, peer, (mine, theirs) = found["name"], found["peer"], found["ms"]
        print(
            f"  {count} slices {name}: p50 {mine[0]:.4f} ms, p95 {mine[1]:.4f} ms, p99 {mine[2]:.4f} ms; {peer} "
            f"{theirs[0]:.3f}, {theirs[1]:.3f} and {theirs[2]:.3f} ms: {theirs[0] / mine[0]:,.0f} and "
            f"{theirs[1] / mine[1]:,.0f} times as long; answers equal",
            flush=True,
        )
        for at, point in ((0, 50), (1, 95)):
            asked = theirs[at] / found["faster"][at]
            rows.append(row(f"slices {name}, p{point}", "ms", mine[at], (peer, theirs[at]), asked))
    return rows


def by_function(data: Data, count: int) -> list[Row]:
    found = in_own_process(data, "functions", count)
    mine, theirs = found["large"]
    name = f"a slice of {found['events']:,.0f} events by function"
    rows = [row(name, "s", mine, ("duckdb", theirs), theirs)]
    print(f"  {name}: {mine:.4f} s; duckdb {theirs:.4f} s: {theirs / mine:.2f} times as long; answers equal")
    for point, ms, their in zip((50, 95, 99), found["ours"], found["duckdb"], strict=True):
        print(f"  {count} random ones, p{point}: {ms:.3f} ms; duckdb {their:.3f} ms: {their / ms:.1f} times as long")
        rows.append(row(f"random slices by function, p{point}", "ms", ms, ("duckdb", their), their))
    return rows


def within(mine: dict[str, Any], options: argparse.Namespace, folder: Path) -> list[Row]:
    """The same question to a graph that has other jobs beside; times are compared by event of the slice."""
    _, larger = prepare(options.within, folder, options.seed)
    name = f"the slice of {larger['events']:,} events within {options.within:,}"
    expected = mine["seconds"] * larger["events"] / mine["events"]
    return [
        row(name, "s", larger["seconds"], ("in its own graph", mine["seconds"]), WITHIN * expected),
        row("memory for it", "GB", larger["peak"], ("", None), WITHIN_GB),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=size, default=size("1M"), help="events (default: 1M)")
    parser.add_argument("--within", type=size, help="ask the same of a graph of so many events")
    parser.add_argument("--queries", type=int, default=5770, help="random questions, 0 for none (default: 5770)")
    parser.add_argument("--questions", type=int, default=0, help="slices of other kinds, so many each (default: none)")
    parser.add_argument(
        "--functions", type=int, default=0, help="slices by function, so many random ones (default: none)"
    )
    parser.add_argument(
        "--peers", default=",".join(PEERS), help="libraries to ask (default: all that can hold the size)"
    )
    parser.add_argument("--data", type=Path, help="keep generated graphs in this folder (default: a temporary one)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options.worker, load(options.data), options.queries)))
        return
    chosen = [name for name in options.peers.split(",") if name]
    unknown = sorted(set(chosen) - set(PEERS))
    if unknown:
        parser.error(f"no such library: {', '.join(unknown)}; choose of {', '.join(PEERS)}")
    if options.size < 20_000:
        parser.error("give at least 20K events")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        data, mine = prepare(options.size, folder, options.seed)
        rows = large_slice(data, mine, chosen)
        rows.append(row("structure plane", "bytes/event", mine["bytes"] / data.events, ("", None), BYTES_PER_EVENT))
        if options.queries:
            rows += random_queries(data, options.queries)
        if options.questions:
            rows += random_questions(data, options.questions)
        if options.functions:
            rows += by_function(data, options.functions)
        apart = in_own_process(data, "cold")
        print(f"  cold: opened and first slice {apart['opened']:.3f} s, files read {apart['read']:.3f} s")
        read = ("reading the plane", apart["read"])
        rows.append(row("open cold and first slice", "s", apart["opened"], read, COLD * apart["read"]))
        if options.within:
            rows += within(mine, options, folder)
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print(json.dumps({"benchmark": "graph", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
