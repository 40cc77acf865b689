"""Patterns of a thread of 11 million beginnings and ends of calls (the paper's data set), and what Sequitur takes of that.

Asked: about 20 s and 2 GB in all; Sequitur in C at least 20 times as fast as the same in Python on the first million; time per
event the same, within 20 %, at 1 and at 11 million. Rounds of 1 and of 11 million take turns; seconds are the processor's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from from_tests import load
from synthetic.patterns import FUNCTIONS, graph_of

from clew.compare.patterns.activations import activations_of
from clew.compare.patterns.find import find_patterns
from clew.compare.patterns.sequitur import infer

sequitur = load("oracles/sequitur.py")


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def whole(events: int) -> dict[str, Any]:
    """All patterns of a graph, by a process of its own: with what is in memory before and after."""
    with tempfile.TemporaryDirectory() as place:
        graph = graph_of(events, Path(place))
    before = gigabytes()
    took, found = seconds(lambda: find_patterns(graph, [0]))
    described, _ = seconds(lambda: (found.rows, found.successions))
    return {
        "seconds": took + described, "before": before, "after": gigabytes(), "sentence": found.sentence(),
        "found": found.found, "shapes": len(found.shapes), "rows": len(found.siblings),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=11_000_000, help="of the thread (default: 11,000,000)")
    parser.add_argument("--few", type=int, default=1_000_000, help="that it is compared with (default: 1,000,000)")
    parser.add_argument("--rounds", type=int, default=5, help="of each (default: 5)")
    parser.add_argument("--whole", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.whole:
        print(json.dumps(whole(options.events)))
        return
    if not 1000 <= options.few < options.events or options.rounds < 1:
        parser.error("give at least 1,000 events, more of the thread than it is compared with, and 1 round")
    measure(options.events, options.few, options.rounds)


def measure(events: int, few: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        sequence = activations_of(graph_of(events, Path(place)), [0]).sequence()
    first = np.ascontiguousarray(sequence[:few])
    small, large, ratios = [], [], []
    for _ in range(rounds):
        # As many events each.
        times = max(1, round(events / few / 2))
        took, _ = seconds(lambda times=times: [infer(first) for _ in range(times)])
        small.append(took / times / len(first) * 1e9)
        took, grammar = seconds(lambda: infer(sequence))
        large.append(took / len(sequence) * 1e9)
        ratios.append(large[-1] / small[-1])
    own, flat = statistics.median(large), statistics.median(ratios)
    print(
        f"Sequitur: {own:.0f} ns an event of {events / 1e6:g} M, {statistics.median(small):.0f} of {few / 1e6:g} M; "
        f"{len(grammar):,} rules, {len(grammar.symbol):,} symbols"
    )
    took, _ = seconds(lambda: sequitur.infer(first.tolist()))
    twin = took / len(first) * 1e9 / statistics.median(small)
    print(f"in Python {took / len(first) * 1e9:.0f} ns an event: {twin:.0f} times as long")
    done = subprocess.run(
        [sys.executable, __file__, "--whole", "--events", str(events)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    print(found["sentence"])
    print(
        f"{found['seconds']:.1f} s, {found['after']:.2f} GiB at most, {found['before']:.2f} of it for making the graph; "
        f"{found['shapes']:,} shapes of calls, {found['rows']:,} rows"
    )
    rows = [
        {
            "name": "patterns of one thread", "unit": "s of a processor", "ours": round(found["seconds"], 2), "peer": "",
            "peer_value": None, "asked": round(20 * events / 11e6, 2), "met": found["seconds"] <= 20 * events / 11e6,
        },
        {
            "name": "memory, the graph included", "unit": "GiB", "ours": round(found["after"], 2), "peer": "",
            "peer_value": None, "asked": 2, "met": found["after"] <= 2,
        },
        {
            "name": f"Sequitur of the first {few:,}", "unit": "times as fast", "ours": round(twin, 1),
            "peer": "the same in Python", "peer_value": 1, "asked": 20, "met": twin >= 20,
        },
        {
            "name": f"time per event, {events:,} against {few:,}", "unit": "ratio", "ours": round(flat, 3), "peer": "",
            "peer_value": None, "asked": 1.2, "met": flat <= 1.2,
        },
    ]  # fmt: skip
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    about = {"events": events, "functions": len(FUNCTIONS), "patterns": found["found"]}
    print(json.dumps({"benchmark": "patterns", "machine": machine, **about, "rows": rows}))


if __name__ == "__main__":
    main()
