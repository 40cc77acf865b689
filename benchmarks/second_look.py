"""Measure a second look: following and explaining a million instructions, beside the same loop without clew.

    python benchmarks/second_look.py [--rounds 5]

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clew.graph.values.replay import replay
from clew.instrument.values.look_request import LookRequest
from clew.instrument.values.second_look import look_at_program
from clew.records.values.trace_files import read_value_trace

LOOP = """
def counted(limit):
    counts = {}
    for number in range(limit):
        counts[number % 7] = counts.get(number % 7, 0) + number
    return counts

counted(60000)
"""
ASKED_SECONDS = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="repetitions; the medians are reported (default: 5)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="clew-look-") as name:
        folder = Path(name)
        (folder / "loop.py").write_text(LOOP)
        plain, looked, explained = [], [], []
        instructions = 0
        for _ in range(rounds):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "loop.py"], cwd=folder, check=True)
            plain.append(time.perf_counter() - begun)
            request = LookRequest(str(folder / "look"), str(folder))
            looked.append(look_at_program(["python", "loop.py"], folder, request, python=sys.executable).seconds)
            begun = time.perf_counter()
            trace = read_value_trace(folder / "look")
            replay(trace)
            explained.append(time.perf_counter() - begun)
            instructions = trace.opcodes
    whole = statistics.median(looked) + statistics.median(explained)
    per_million = whole * 1e6 / instructions
    rows = [
        _row("second look, process", statistics.median(looked), "plain run", statistics.median(plain)),
        _row("reading and replaying the trace", statistics.median(explained)),
        _row("a million instructions, all in all", per_million, asked=ASKED_SECONDS),
    ]
    for row in rows:
        print(f"{row['name']}: {row['ours']:.2f} s" + (f" (plain {row['peer_value']:.2f} s)" if row["peer"] else ""))
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    print(json.dumps({"benchmark": "second_look", "machine": machine, "rows": rows}))


def _row(
    name: str, ours: float, peer: str = "", peer_value: float | None = None, asked: float | None = None
) -> dict[str, object]:
    return {
        "name": name, "unit": "s", "ours": round(ours, 3), "peer": peer, "peer_value": peer_value, "asked": asked,
        "met": None if asked is None else ours <= asked,
    }  # fmt: skip


if __name__ == "__main__":
    main()
