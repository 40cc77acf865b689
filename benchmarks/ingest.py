"""From trace files to a graph that answers, beside DuckDB loading the same tables without an index, in one run.

A generated recording (`recorded`) is read, made a graph, and given its structure plane, which is the index; then also kept as a
store. DuckDB has less to do: it is handed the finished columns in memory (Arrow), which it need not read, decode, join or sort.
`create table … as select` compresses them into a new database file, which the closing of the connection completes; no index is
made. The same into memory, where it only copies the columns, is told as well. Rounds take turns; of each side the medians of
elapsed and of processor time are told (both threads of DuckDB's, and all of ours). Rows are compared at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from synthetic.runs import write_run

from clew.graph.build.builder import build
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.text_templates import as_strings
from clew.graph.store.store import fingerprint, save


class Took(NamedTuple):
    wall: float
    cpu: float


def timed(work: Callable[[], Any]) -> tuple[Took, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return Took(time.perf_counter() - wall, time.process_time() - cpu), result


def median(times: list[Took]) -> Took:
    return Took(statistics.median(took.wall for took in times), statistics.median(took.cpu for took in times))


def indexed(folder: Path) -> tuple[ExecutionGraph, Any]:
    graph, problems = build(folder)
    assert graph.structure.events == len(graph)
    return graph, problems


def tables_of(graph: ExecutionGraph) -> dict[str, pa.Table]:
    extended = np.flatnonzero(graph.ext >= 0)
    extensions = graph.extensions
    return {
        "events": pa.table(
            {name: getattr(graph, name) for name in ("ts", "kind", "site", "strand", "region", "call", "inner")}
        ),
        "edges": pa.table(
            {name: getattr(graph, f"edge_{name}") for name in ("src", "dst", "kind", "channel")}
        ),
        "payloads": pa.table(
            {
                "event": extended,
                "key": extensions.key[graph.ext[extended]],
                "channel": extensions.channel[graph.ext[extended]],
                "text": as_strings(extensions.texts.start, extensions.texts.data).take(pa.array(graph.ext[extended])),
            }
        ),
        "regions": pa.table(dict(vars(graph.regions))),
        "calls": pa.table(dict(vars(graph.calls))),
    }  # fmt: skip


def load_into(database: Path | None, tables: dict[str, pa.Table]) -> dict[str, int]:
    """Rows by table; without a file they stay in memory."""
    if database is not None:
        database.unlink(missing_ok=True)
    connection = duckdb.connect(":memory:" if database is None else str(database))
    for name, table in tables.items():
        connection.register("given", table)
        connection.execute(f"create table {name} as select * from given")
        connection.unregister("given")
    rows = {name: connection.execute(f"select count(*) from {name}").fetchall()[0][0] for name in tables}
    connection.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=5_000_000, help="size of the recording (default: 5,000,000)")
    parser.add_argument("--rounds", type=int, default=5, help="of each side (default: 5)")
    parser.add_argument("--folder", type=Path, help="where it is written and removed again (default: a temporary one)")
    options = parser.parse_args()
    if options.events < 1000 or options.rounds < 1:
        parser.error("give at least 1,000 events and 1 round")
    place = Path(tempfile.mkdtemp(prefix="clew-ingest-", dir=options.folder))
    try:
        measure(place, options.events, options.rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(place: Path, events: int, rounds: int) -> None:
    folder = write_run(place, events)
    tables = tables_of(indexed(folder)[0])
    expected = {name: len(table) for name, table in tables.items()}
    ours, kept, peers, copies = [], [], [], []
    for _ in range(rounds):
        made, (graph, problems) = timed(lambda: indexed(folder))
        ours.append(made)
        keeping, _ = timed(lambda graph=graph, problems=problems: save(folder, graph, problems, fingerprint(folder)))
        kept.append(Took(made.wall + keeping.wall, made.cpu + keeping.cpu))
        del graph
        for database, times in ((place / "peer.duckdb", peers), (None, copies)):
            took, found = timed(lambda database=database: load_into(database, tables))
            times.append(took)
            if found != expected:
                sys.exit(f"DuckDB has other rows: {found}")
    count = len(tables["events"])
    million = count / 1e6
    copying = median(copies)
    print(
        f"{million:.1f} M events; {rounds} rounds, medians. DuckDB only copying the columns, in memory: "
        f"{copying.cpu:.2f} s of processor time, {copying.wall:.2f} s elapsed"
    )
    rows = []
    peer = median(peers)
    for name, mine in (("ingest and index", median(ours)), ("ingest, index and store", median(kept))):
        for what, here, there in (("processor time", mine.cpu, peer.cpu), ("elapsed", mine.wall, peer.wall)):
            print(
                f"{name}, {what}: {million / here:.2f} M events/s ({here:.2f} s), DuckDB {million / there:.2f} M/s "
                f"({there:.2f} s): {there / here:.2f} times as fast"
            )
            rows.append(
                {
                    "name": f"{name}, {what}", "unit": "M events/s", "events": count, "ours": round(million / here, 3),
                    "peer": "DuckDB into a file, no index", "peer_value": round(million / there, 3),
                    "asked": round(million / there, 3), "met": here <= there,
                }
            )  # fmt: skip
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print(json.dumps({"benchmark": "ingest", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
