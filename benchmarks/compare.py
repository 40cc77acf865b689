"""A million requests of a thousand categories compared, from stored runs, beside pandas grouping the same table of calls once.

Half of the requests are a reference, half are compared with it; in one category a function got slower, and has to be found.
Asked: about 30 s in all, and for the comparison itself at most 4 times what pandas needs for one group-by. Rounds take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from synthetic.requests import EVENTS

from clew.compare.requests.diff import compare
from clew.graph.ops.flows.flows import Flows
from clew.query.api import open_run


def seconds(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Of the clock, of processors, and what was made."""
    start, used = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - start, time.process_time() - used, result


def written(place: Path, requests: int, categories: int, seed: int, slower: int | None) -> Path:
    """By a process of its own, so that what it takes is not measured."""
    code = (
        "from pathlib import Path; from synthetic.requests import write_requests; "
        f"print(write_requests(Path({str(place)!r}), {requests}, {categories}, seed={seed}, slower={slower}))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    return Path(made.stdout.strip())


def table_of(*sides: Flows) -> pandas.DataFrame:
    """A row per call."""
    of_request = [np.repeat(flows.category, np.diff(flows.first)) for flows in sides]
    return pandas.DataFrame(
        {
            "category": np.concatenate(of_request),
            "label": np.concatenate([flows.label for flows in sides]),
            "total_ns": np.concatenate([flows.total_ns for flows in sides]),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000, help="of both sides (default: 1,000,000)")
    parser.add_argument("--categories", type=int, default=1_000, help="(default: 1,000)")
    parser.add_argument("--rounds", type=int, default=5, help="of comparison and group-by (default: 5)")
    parser.add_argument(
        "--folder", type=Path, help="where runs are written and removed again (default: a temporary one)"
    )
    options = parser.parse_args()
    if options.requests < 1000 or options.categories < 2 or options.rounds < 1:
        parser.error("give at least 1,000 requests, 2 categories and 1 round")
    place = Path(tempfile.mkdtemp(prefix="clew-compare-", dir=options.folder))
    try:
        measure(place, options.requests, options.categories, options.rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(place: Path, requests: int, categories: int, rounds: int) -> None:
    planted = categories // 3
    folders = [written(place, requests // 2, categories, *more) for more in ((1, None), (2, planted))]
    reading = [seconds(lambda folder=folder: Flows.of(open_run(folder))) for folder in folders]
    before, after = (flows for _, _, flows in reading)
    clock, read = sum(clock for clock, _, _ in reading), sum(used for _, used, _ in reading)
    print(
        f"flows of {len(before) + len(after):,} requests, {(len(before.label) + len(after.label)) / 1e6:.1f} M calls, in "
        f"{len(before.categories):,} categories: {read:.1f} s of a processor ({clock:.1f} s by the clock)"
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    ours, peers = [], []
    table = table_of(before, after)
    for _ in range(rounds):
        _, took, found = seconds(lambda: compare(before, after))
        ours.append(took)
        _, took, _ = seconds(lambda: table.groupby(["category", "label"])["total_ns"].agg(["count", "mean"]))
        peers.append(took)
        changed = [row for row in found.rows if row.kind == "response-time"]
        if not changed or len(found.rows) > categories * 0.05:
            sys.exit(f"the planted change is not found: {found.sentence()}")
    print(found.sentence())
    mine, peer = statistics.median(ours), statistics.median(peers)
    ratio = statistics.median(a / b for a, b in zip(ours, peers, strict=True))
    print(f"comparison {mine:.2f} s, one group-by by pandas {peer:.2f} s: {ratio:.2f} times; {memory:.1f} GiB at most")
    rows = [
        {
            "name": "a comparison of stored runs", "unit": "s of a processor", "ours": round(read + mine, 2), "peer": "",
            "peer_value": None, "asked": round(30 * requests / 1e6, 2), "met": read + mine <= 30 * requests / 1e6,
        },
        {
            "name": "the comparison alone", "unit": "times one group-by", "ours": round(ratio, 2), "peer": "pandas",
            "peer_value": 1, "asked": 4, "met": ratio <= 4,
        },
        {"name": "memory", "unit": "GiB", "ours": round(memory, 2), "peer": "", "peer_value": None, "asked": None, "met": True},
    ]  # fmt: skip
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, pandas {pandas.__version__}"
    )
    about = {"requests": requests, "events": requests * EVENTS, "categories": categories}
    print(json.dumps({"benchmark": "compare", "machine": machine, **about, "rows": rows}))


if __name__ == "__main__":
    main()
