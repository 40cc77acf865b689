"""Measures the store: bytes per event of each table, opening it cold, finding texts beside DuckDB's scan of a file of its own,
and choosing and grouping all events by other fields beside DuckDB's over the same columns in its memory.

    python benchmarks/store.py [--events 20000000] [--rounds 5] [--run FOLDER]

The graph is made: segments of some 7 events, 2.2 events per edge, a quarter logs of 40 formats. `--run` measures a recorded
run's tables instead. DuckDB's file has the events and the full texts as it stores them itself. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clew.graph.model.graph import Calls, ExecutionGraph, Extensions, Process, Regions, Site, Strand, Texts
from clew.graph.store.store import STRUCTURE_FOLDER, fingerprint, open_graph, save
from clew.query.api import open_run
from clew.records.format.event import Kind
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import STORE_FOLDER, create_run, finish_run

SEGMENT, EVENTS_PER_EDGE, LOGS, FORMATS, STRANDS, PROCESSES = 7, 2.2, 0.28, 40, 200, 20
NEEDLES = {
    "in a template": "queue of worker",
    "with a parameter": "chunk 1234",
    "a number anywhere": "98765",
    "nowhere": "no such text",
}
ASKED_BYTES, ASKED_RATIO, ASKED_OF_EVENTS = 12.0, 1.2, 2.0


def make_graph(events: int, seed: int = 1) -> ExecutionGraph:
    """Segments on 200 strands of 20 processes; times as those of work between them; calls nest in segments."""
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
    gap = rng.exponential(20_000, events).astype(np.int64) + 1
    ts = np.cumsum(gap)
    ts -= np.repeat(ts[bounds[:-1].clip(max=events - 1)], np.diff(bounds))
    kind = rng.choice(
        np.array([Kind.ENTER, Kind.EXIT, Kind.MARK, Kind.SEND], np.uint8), events, p=[0.35, 0.35, 0.2, 0.1]
    )
    log = rng.random(events) < LOGS
    kind[log] = Kind.LOG
    kind[first] = Kind.RECEIVE
    site = rng.zipf(1.3, events).clip(max=730).astype(np.uint32)
    logs = np.flatnonzero(kind == Kind.LOG)
    formats = rng.zipf(1.3, len(logs)).clip(max=FORMATS) - 1
    site[logs] = 731 + formats
    texts = _messages(rng, formats)
    ext = np.full(events, -1, np.int32)
    ext[logs] = np.arange(len(logs), dtype=np.int32)

    by_time = np.argsort(ts, kind="stable")
    when = np.empty(events, np.int64)
    when[by_time] = np.arange(events)
    others = max(int(events / EVENTS_PER_EDGE) - count, 0)
    dst = np.concatenate((first, rng.integers(0, events, others)))
    dst = dst[when[dst] > 0]
    src = by_time[np.maximum(when[dst] - rng.geometric(1 / 400, len(dst)), 0)]
    order = np.lexsort((dst, src, region[src]))
    src, dst = src[order].astype(np.int64), dst[order].astype(np.int64)
    none, nothing = np.full(events, -1, np.int32), np.zeros(0, np.int64)
    start, data = np.frombuffer(texts.buffers()[1], np.int64), np.frombuffer(texts.buffers()[2], np.uint8)
    return ExecutionGraph(
        info=None,  # type: ignore[arg-type]  # nothing that is measured looks at it
        ts=ts, kind=kind, site=site, strand=strand, region=region, ext=ext, call=none, inner=none,
        idle=rng.random(events) < 0.05,
        edge_src=src, edge_dst=dst, edge_kind=np.ones(len(src), np.uint8),
        edge_channel=(dst % 3).astype(np.uint32),
        extensions=Extensions(
            rng.choice(np.array([10, 20, 30, 40], np.uint64), len(logs), p=[0.3, 0.6, 0.07, 0.03]),
            (formats % 12).astype(np.uint32), np.zeros(len(logs), np.uint16), Texts(start, data),
        ),
        regions=Regions(
            home.astype(np.uint32), np.ones(count, np.uint8), first, first, first + sizes - 1, np.full(count, -1)
        ),
        calls=Calls(nothing, nothing, nothing, nothing, nothing, nothing),
        strings=["", *(f"logger.{number}" for number in range(11))],
        sites=[Site("", "", "", 0, 0, "")]
        + [Site("app", f"function_{n}", f"/src/app/{n % 50}.py", n, n + 5, "function") for n in range(1, 731 + FORMATS)],
        strands=[
            Strand(n, n % PROCESSES, n + 1, 0, "thread", f"t{n}", f"t{n}", int(bounds[n]), int(bounds[n + 1]))
            for n in range(STRANDS)
        ],
        processes=[
            Process(n, n, n, 0, 0, f"p{n}", (), "", "host", "", "closed", False, 0, 0, 0) for n in range(PROCESSES)
        ],
    )  # fmt: skip


def _messages(rng: np.random.Generator, formats: np.ndarray[Any, Any]) -> pa.Array:
    """Messages of some 60 characters with one to four parameters."""
    import pyarrow.compute as pc

    what = ["request", "queue of worker", "chunk", "lease", "connection to host"]
    parts: list[Any] = []
    places = []
    for number in range(FORMATS):
        mine = np.flatnonzero(formats == number)
        places.append(mine)
        columns: list[Any] = [f"{what[number % 5]} "]
        for slot in range(1 + number % 4):
            values = pa.array(rng.integers(0, 10 ** (2 + (number + slot) % 4), len(mine))).cast(pa.large_string())
            columns += [values, f" is handled by stage{'abcd'[slot]} of {number % 7} in "]
        columns.append("a moment")
        scalars = [pa.scalar(one, pa.large_string()) if isinstance(one, str) else one for one in columns]
        parts.append(pc.binary_join_element_wise(*scalars, pa.scalar("", pa.large_string())))
    back = np.empty(len(formats), np.int64)
    back[np.concatenate(places)] = np.arange(len(formats))
    taken: pa.Array = pa.concat_arrays(parts).take(pa.array(back))
    return taken


def sizes(folder: Path, events: int) -> dict[str, Any]:
    store = folder / STORE_FOLDER
    tables = {path.stem: path.stat().st_size / events for path in sorted(store.glob("*.parquet"))}
    structure = sum(path.stat().st_size for path in (store / STRUCTURE_FOLDER).iterdir())
    return {
        "name": "store.bytes",
        "events": events,
        "bytes/event": {name: round(size, 3) for name, size in tables.items()},
        "all tables": round(sum(tables.values()), 2),
        "asked": ASKED_BYTES,
        "met": sum(tables.values()) <= ASKED_BYTES,
        "structure plane": round(structure / events, 2),
    }


def timed(task: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    answer = task()
    return time.perf_counter() - begin, answer


def _first(connection: Any, query: str, value: str) -> Any:
    return connection.execute(query, [value]).fetchall()[0][0]


def search(folder: Path, rounds: int) -> dict[str, Any]:
    """Medians of paired rounds; each side is warm and answers how many texts there are."""
    import duckdb

    graph, _ = open_graph(folder)
    texts = graph.extensions.texts
    with tempfile.TemporaryDirectory(dir=folder) as place:
        file = Path(place) / "events.duckdb"
        with duckdb.connect(str(file)) as connection:
            extended = np.flatnonzero(graph.ext >= 0)
            strings = texts.strings(np.arange(len(extended)))
            arrow = pa.table({"event": extended, "text": strings})
            connection.register("arrow", arrow)
            connection.execute("create table logs as select * from arrow")
            connection.unregister("arrow")
            connection.execute("checkpoint")
            logs = file.stat().st_size
        del arrow, strings
        found = {}
        with duckdb.connect(str(file), read_only=True) as connection:
            for name, needle in NEEDLES.items():
                ours, theirs = [], []
                find = partial(texts.find, "contains", needle)
                scan = partial(_first, connection, "select count(*) from logs where contains(text, ?)", needle)
                for number in range(rounds + 1):
                    mine, hits = timed(lambda find=find: int(find().sum()))
                    other, expected = timed(scan)
                    if hits != expected:
                        raise SystemExit(f"{needle!r}: {hits} found, DuckDB finds {expected}")
                    if number:
                        ours.append(mine)
                        theirs.append(other)
                a, b = statistics.median(ours), statistics.median(theirs)
                found[name] = {
                    "hits": hits, "ms": round(a * 1e3, 1), "duckdb ms": round(b * 1e3, 1), "ratio": round(a / b, 2)
                }  # fmt: skip
    store = folder / STORE_FOLDER
    mine = sum((store / f"{name}.parquet").stat().st_size for name in ("payloads", "templates"))
    return {
        "name": "store.search",
        "texts": len(graph.extensions.key),
        "needles": found,
        "asked": ASKED_RATIO,
        "met": all(one["ratio"] <= ASKED_RATIO for one in found.values()),
        "bytes of duckdb's": round(mine / logs, 2),
    }


def choose(folder: Path, rounds: int) -> dict[str, Any]:
    """Medians of paired rounds of processor time, of warm columns: events chosen, counted and grouped."""
    import duckdb

    run = open_run(folder)
    graph, events = run.graph, run.events
    columns = pa.table({name: getattr(graph, name) for name in ("ts", "kind", "site", "strand")})
    places = pa.table({"site": np.arange(len(graph.sites)), "label": [site.label for site in graph.sites]})
    strands = pa.table({"strand": np.arange(len(graph.strands)), "name": [strand.name for strand in graph.strands]})
    begin, label, strand = int(np.median(graph.ts[::1000])), graph.sites[3].label, graph.strands[7].name
    end = begin + int(graph.ts.max()) // 1000
    count = "select count(*) from events"
    asked: dict[str, tuple[Callable[[], int], str]] = {
        "a thousandth of the time": (
            lambda: events.where(ts__ge=begin, ts__lt=end).count(),
            f"{count} where ts >= {begin} and ts < {end}",
        ),
        "a strand": (
            lambda: events.where(strand=strand).count(),
            f"{count} join strands using (strand) where name = '{strand}'",
        ),
        "a kind": (lambda: events.where(kind="send").count(), f"{count} where kind = {int(Kind.SEND)}"),
        "a function's beginnings": (
            lambda: events.where(kind="enter", function=label).count(),
            f"{count} join places using (site) where kind = {int(Kind.ENTER)} and label = '{label}'",
        ),
        "groups by kind": (
            lambda: len(events.group_by("kind").agg(n="count").table),
            "select count(*) from (select kind, count(*) from events group by kind)",
        ),
        "groups by function": (
            lambda: len(events.group_by("function").agg(n="count").table),
            "select count(*) from (select label, count(*) from events join places using (site) group by label)",
        ),
    }
    found = {}
    with duckdb.connect() as connection:
        for name, table in (("events", columns), ("places", places), ("strands", strands)):
            connection.register("given", table)
            connection.execute(f"create table {name} as select * from given")
            connection.unregister("given")
        for name, (ours, theirs) in asked.items():
            times: list[tuple[float, float]] = []
            for _ in range(rounds + 1):
                start = time.process_time()
                mine = ours()
                middle = time.process_time()
                expected = connection.execute(theirs).fetchall()[0][0]
                times.append((middle - start, time.process_time() - middle))
                if mine != expected:
                    raise SystemExit(f"{name}: {mine} found, DuckDB finds {expected}")
            a, b = (statistics.median(side) for side in zip(*times[1:], strict=True))
            found[name] = {"ms": round(a * 1e3, 1), "duckdb ms": round(b * 1e3, 1), "ratio": round(a / b, 2)}
    return {
        "name": "store.choose", "asked of events": found, "asked": ASKED_OF_EVENTS,
        "met": all(one["ratio"] <= ASKED_OF_EVENTS for one in found.values()),
    }  # fmt: skip


def cold(folder: Path) -> dict[str, Any]:
    """Opening and slicing beside reading the structure's files, each with what the system had cached of them dropped."""
    store = folder / STORE_FOLDER
    files = [path for path in store.rglob("*") if path.is_file()]

    def drop() -> None:
        for path in files:
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def read() -> None:
        for path in sorted((store / STRUCTURE_FOLDER).iterdir()):
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 24):
                    pass

    def answer() -> int:
        from clew.graph.ops.slicing.interval import slice_events

        graph, _ = open_graph(folder)
        return int(slice_events(graph, [len(graph) // 2], "forward").count)

    both = []
    for _ in range(3):
        drop()
        plain, _ = timed(read)
        drop()
        opened, _ = timed(answer)
        both.append((plain, opened))
    plain, opened = (statistics.median(times) for times in zip(*both, strict=True))
    return {
        "name": "store.cold", "read s": round(plain, 3), "open and slice s": round(opened, 3),
        "ratio": round(opened / plain, 2), "asked": 1.5, "met": opened / plain <= 1.5,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--events", type=float, default=20e6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run", type=Path, help="measure the tables of a recorded run")
    parser.add_argument(
        "--folder", type=Path, help="where the made run is put; by default the system's temporary folder"
    )
    given = parser.parse_args()
    if given.run:
        graph, _ = open_graph(given.run)
        print(json.dumps(sizes(given.run, len(graph))))
        return
    events = int(given.events)
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder, info = create_run(Path(place), name="made", command=[], spec="", plan=dump(Plan()), cwd=Path(place))
        finish_run(folder, info, 0, [])
        seconds, _ = timed(partial(save, folder, make_graph(events), [], fingerprint(folder)))
        figures = sizes(folder, events)
        print(json.dumps({**figures, "written M events/s": round(events / seconds / 1e6, 2)}), flush=True)
        print(json.dumps(cold(folder)), flush=True)
        print(json.dumps(search(folder, given.rounds)), flush=True)
        print(json.dumps(choose(folder, given.rounds)), flush=True)
    print(json.dumps({"name": "store.memory", "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


if __name__ == "__main__":
    main()
