"""What recording costs, beside VizTracer, cProfile, an OpenTelemetry span, a plain decorator and no tracing, in one run.

Each tracer has a process of its own that runs the same slices of the same program, in turns with an untraced one. clew's is
started as `clew run` starts it, with every function of the program and of the standard library recorded, every adapter on and
no budget. VizTracer ignores C functions and keeps its records in memory; what it takes to save them is a row of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

from recording import whole
from recording.rounds import Cost, Worker, measure
from recording.runs import plain, recording
from recording.workloads import WORKLOADS

EXAMPLES = """examples:
  python benchmarks/record.py                      everything, about three minutes
  python benchmarks/record.py --seconds 5 fib      a quick look at one program
  python3.13 benchmarks/record.py                  another interpreter, which has clew, its C core and the extra `bench`
  CLEW_RECORDER=python python benchmarks/record.py fib   the pure-Python recorder
"""

VERSION = sys.version_info[:2]
CLEW, VIZTRACER, MONITORING = "clew", "VizTracer", "sys.monitoring"
TRACERS = (CLEW, VIZTRACER, "cProfile", "decorator", "OpenTelemetry span")
SLOW = ("OpenTelemetry span",)

RATIOS = {"fib": {(3, 11): 1.45, (3, 12): 1.6}.get(VERSION, 1.8), "asyncio": 1.15, "parser": 1.1, "jinja2": 1.1}
"""The most that a program may take with every function recorded, untraced: 1."""
REAL_PROGRAMS = ("jinja2", "pyflakes")
LESS = 8 if VERSION == (3, 11) else 4
"""VizTracer's added cost in real programs is to be this many times ours."""
LESS_SAVED = 100

Row = dict[str, Any]


def row(  # noqa: PLR0917  # a row's fields, in their order
    name: str, unit: str, ours: float, peer: str, peer_value: float | None, asked: float | None
) -> Row:
    return {
        "name": name, "unit": unit, "ours": ours, "peer": peer, "peer_value": peer_value, "asked": asked,
        "met": None if asked is None else ours <= asked,
    }  # fmt: skip


def rows_of(name: str, costs: dict[str, Cost]) -> list[Row]:
    ours, viz = costs[CLEW], costs[VIZTRACER]
    rows = [
        row(f"{name}: CPU time, untraced is 1", "x", round(ours.ratio, 3), peer, round(cost.ratio, 3),
            RATIOS.get(name) if peer == VIZTRACER else None)
        for peer, cost in costs.items() if peer != CLEW
    ]  # fmt: skip
    asked = round(viz.added / LESS, 1) if name in REAL_PROGRAMS else None
    rows.append(row(f"{name}: added to a call", "ns", round(ours.added, 1), VIZTRACER, round(viz.added, 1), asked))
    return rows


def program(name: str, seconds: float, folder: Path, tracers: tuple[str, ...]) -> list[Row]:
    with recording(folder) as (_, environment):
        workers: dict[str, Worker] = {}
        try:
            untraced = workers["plain"] = Worker(name, "plain", plain())
            for tracer in tracers:
                workers[tracer] = Worker(name, tracer, environment if tracer == CLEW else plain())
            calls = untraced.ask("calls")
            costs = measure(untraced, {tracer: workers[tracer] for tracer in tracers}, calls, seconds, SLOW)
            saving = saved(costs, workers, calls) if name == "fib" else []
        finally:
            for worker in workers.values():
                worker.__exit__()
    print(f"{name}: {calls} calls of {costs[CLEW].plain:.0f} ns")
    for tracer, cost in costs.items():
        print(f"    {tracer:20} x{cost.ratio:<8.3f} +{cost.added:.1f} ns a call ({cost.rounds} rounds)", flush=True)
    return rows_of(name, costs) + saving


def saved(costs: dict[str, Cost], workers: dict[str, Worker], calls: int) -> list[Row]:
    """What is recorded by clew is in the file: all it takes to have a file that can be opened is to end the recording."""
    taken, _ = workers[VIZTRACER].ask("save")
    ours, theirs = costs[CLEW].added, costs[VIZTRACER].added + taken / calls
    print(f"    VizTracer, saving: +{taken / calls:.0f} ns a call")
    return [
        row("fib: added to a call, saving included", "ns", round(ours, 1), VIZTRACER, round(theirs, 1),
            round(theirs / LESS_SAVED, 1))
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*WORKLOADS, *whole.MEASURES]
    parser.add_argument("what", nargs="*", help=f"some of {', '.join(names)}; default: all")
    parser.add_argument("--seconds", type=float, default=15, help="for each program (default 15)")
    parser.add_argument(
        "--only", action="append", metavar="TRACER", help="beside clew and VizTracer, only these; `none`"
    )
    options = parser.parse_args()
    unknown = set(options.what) - set(names)
    if unknown or options.seconds <= 0:
        parser.error(f"no such program: {', '.join(unknown)}" if unknown else "--seconds must be positive")
    tracers = TRACERS if VERSION < (3, 12) else (*TRACERS, MONITORING)
    if options.only:
        tracers = tuple(name for name in tracers if name in (CLEW, VIZTRACER, *options.only))

    chosen = options.what or names
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="clew-benchmark-") as made:
        for name in chosen:
            folder = Path(made, name)
            folder.mkdir()
            if name in WORKLOADS:
                rows += program(name, options.seconds, folder, tracers)
            else:
                for found in whole.MEASURES[name](folder):
                    rows.append(row(*found))
                    print(f"{rows[-1]['name']}: {found[2]} {found[1]}; {found[3]}: {found[4]}", flush=True)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {sys.platform}"
    print(json.dumps({"benchmark": "record", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
