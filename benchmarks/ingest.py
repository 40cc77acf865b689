"""From trace files to a graph that answers, beside DuckDB loading the same tables without an index, in one run.

A generated recording (`recorded`) is read, made a graph, and given its structure plane, which is the index; then also kept as a
store. DuckDB is handed the finished columns in memory (Arrow), which it need not decode, join or sort, and writes them into a
database file. Rounds take turns; both sides' rows are compared at the end.
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
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from recorded import write_run

from clew.graph.build import build
from clew.graph.model import ExecutionGraph
from clew.graph.store import fingerprint, save
from clew.graph.texts import as_strings


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


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


def load_into(database: Path, tables: dict[str, pa.Table]) -> dict[str, int]:
    """Rows by table."""
    database.unlink(missing_ok=True)
    connection = duckdb.connect(str(database))
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
    graph, problems = indexed(folder)
    tables = tables_of(graph)
    ours, kept, peers = [], [], []
    for _ in range(rounds):
        took, _ = seconds(lambda: indexed(folder))
        ours.append(took)
        keeping, _ = seconds(lambda: save(folder, graph, problems, fingerprint(folder)))
        kept.append(took + keeping)
        took, rows = seconds(lambda: load_into(place / "peer.duckdb", tables))
        peers.append(took)
        if rows != {name: len(table) for name, table in tables.items()}:
            sys.exit(f"DuckDB has other rows: {rows}")
    rows = []
    for name, times in (("ingest and index", ours), ("ingest, index and store", kept)):
        mine, peer = statistics.median(times), statistics.median(peers)
        ratio = peer / mine
        print(
            f"{name}: {len(graph) / mine / 1e6:.2f} M events/s ({mine:.2f} s), DuckDB {len(graph) / peer / 1e6:.2f} M/s "
            f"({peer:.2f} s): {ratio:.2f} times as fast"
        )
        rows.append(
            {
                "name": name, "unit": "M events/s", "ours": round(len(graph) / mine / 1e6, 3), "peer": "DuckDB, no index",
                "peer_value": round(len(graph) / peer / 1e6, 3), "asked": round(len(graph) / peer / 1e6, 3),
                "met": ratio >= 1,
            }
        )  # fmt: skip
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print(json.dumps({"benchmark": "ingest", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
