"""Compare the cost of recording with VizTracer, cProfile, an OpenTelemetry span, a plain decorator and no tracing.

Each tracer runs the same program in its own process, alternating with an untraced process. An interval has at least 50 ms,
because cold caches at its start are not a cost of the tracer. fib is measured twice: in slices of 5,168 calls, and continuously
like the other programs, which produces more records than the collector can compress meanwhile. clew's process is started as by
`clew run`, with every function of the program and of the standard library recorded, every adapter on and no budget. VizTracer
ignores C functions and keeps its records in memory; saving them is a separate row.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from recording import facts, pauses, whole, writes
from recording.documented import ADDED, DOCUMENT, RATIO, rewrite
from recording.report import Row, machine, report
from recording.rounds import Cost, Pairs, Worker, costs_of, measure
from recording.runs import plain, recording
from recording.workloads import WORKLOADS

EXAMPLES = """examples:
  python benchmarks/record.py                      everything, about eight minutes
  python benchmarks/record.py --seconds 5 fib      a quick look at one program
  python3.13 benchmarks/record.py                  another interpreter, which has clew, its C core and the extra `bench`
  python benchmarks/record.py --docs --python python3.12 --python python3.13
                                                   on this and two more interpreters, into the tables of docs/recording.md
"""

MEASURES = {**whole.MEASURES, "facts": facts.facts, "writes": writes.writes, "pauses": pauses.pauses}
VERSION = sys.version_info[:2]
CLEW, VIZTRACER, MONITORING, IDLE = "clew", "VizTracer", "sys.monitoring", "idle probes"
TRACERS = (CLEW, VIZTRACER, "cProfile", "decorator", "OpenTelemetry span", IDLE)
SLOW = ("OpenTelemetry span",)

CONTINUOUS = "fib, continuous"
WAYS = {"fib": {"fib": "slice", CONTINUOUS: "stretch"}}
"""How a program runs that does not in stretches alone: under which names, and what workers are asked for."""
OF_FIB = {(3, 11): 1.45, (3, 12): 1.6}.get(VERSION, 1.8)
RATIOS = {"fib": OF_FIB, CONTINUOUS: OF_FIB, "asyncio": 1.15, "parser": 1.1, "jinja2": 1.1}
"""The most that a program may take with every function recorded, untraced: 1."""
REAL_PROGRAMS = ("jinja2", "pyflakes")
LESS = 8 if VERSION == (3, 11) else 4
"""VizTracer's added cost in real programs is to be this many times ours."""
LESS_SAVED = 100


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
        row(f"{name}{RATIO}", "x", round(ours.ratio, 3), peer, round(cost.ratio, 3),
            RATIOS.get(name) if peer == VIZTRACER else None)
        for peer, cost in costs.items() if peer != CLEW
    ]  # fmt: skip
    asked = round(viz.added / LESS, 1) if name in REAL_PROGRAMS else None
    rows.append(row(f"{name}{ADDED}", "ns", round(ours.added, 1), VIZTRACER, round(viz.added, 1), asked))
    for name_of_peer in (IDLE, MONITORING):
        if name_of_peer in costs:
            peer = round(costs[name_of_peer].added, 1)
            rows.append(row(f"{name}{ADDED}", "ns", round(ours.added, 1), name_of_peer, peer, None))
    return rows


def program(name: str, seconds: float, sets: int, folder: Path, tracers: tuple[str, ...]) -> list[Row]:
    ways = WAYS.get(name, {name: "stretch"})
    found: dict[str, list[Pairs]] = {way: [] for way in ways}
    saving = 0.0
    for _ in range(sets):
        with recording(folder) as (_run, environment), ExitStack() as stack:
            untraced = stack.enter_context(Worker(name, "plain", plain()))
            workers = {
                tracer: stack.enter_context(Worker(name, tracer, environment if tracer == CLEW else plain()))
                for tracer in tracers
            }
            calls = untraced.ask("calls")
            for way, word in ways.items():
                found[way].append(measure(untraced, workers, seconds / sets / len(ways), SLOW, word))
            if name == "fib":
                saving = workers[VIZTRACER].ask("save")[0] / calls
    rows: list[Row] = []
    for way, pairs in found.items():
        costs = costs_of(pairs, calls)
        print(f"{way}: {calls} calls of {costs[CLEW].plain:.0f} ns")
        for tracer, cost in costs.items():
            print(f"    {tracer:20} x{cost.ratio:<8.3f} +{cost.added:.1f} ns a call ({cost.rounds} rounds)", flush=True)
        rows += rows_of(way, costs) + (saved(costs, saving) if way == "fib" else [])
    return rows


def saved(costs: dict[str, Cost], saving: float) -> list[Row]:
    """What is recorded by clew is in the file: all it takes to have a file that can be opened is to end the recording."""
    ours, theirs = costs[CLEW].added, costs[VIZTRACER].added + saving
    print(f"    VizTracer, saving: +{saving:.0f} ns a call")
    return [
        row("fib: added to a call, saving included", "ns", round(ours, 1), VIZTRACER, round(theirs, 1),
            round(theirs / LESS_SAVED, 1))
    ]  # fmt: skip


def documented(interpreters: list[str], arguments: list[str]) -> None:
    """Measures on one interpreter after the other, and writes the figures into the document when all are there."""
    runs: dict[str, list[Row]] = {}
    for interpreter in interpreters:
        with subprocess.Popen([interpreter, __file__, *arguments], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            last = ""
            for last in process.stdout:
                print(last, end="", flush=True)
        if process.returncode:
            raise SystemExit(f"{interpreter}: nothing is written, its run ended with {process.returncode}")
        found = json.loads(last)
        version = re.search(r"Python (\d+\.\d+)", found["machine"])
        runs[version[1] if version else interpreter] = found["rows"]
    rewrite(DOCUMENT, runs, machine(interpreter=False))
    print(f"{DOCUMENT}: written")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*WORKLOADS, *MEASURES]
    parser.add_argument("what", nargs="*", help=f"some of {', '.join(names)}; default: all")
    parser.add_argument("--seconds", type=float, default=24, help="for each program (default 24)")
    parser.add_argument(
        "--sets", type=int, default=8, help="of processes that the seconds are divided among (default 8)"
    )
    parser.add_argument(
        "--only", action="append", metavar="TRACER", help="beside clew and VizTracer, only these; `none`"
    )
    parser.add_argument("--docs", action="store_true", help="write the figures into the tables of docs/recording.md")
    parser.add_argument(
        "--python", action="append", default=[], metavar="PYTHON", help="with --docs: measure on this interpreter, too"
    )
    options = parser.parse_args()
    unknown = set(options.what) - set(names)
    if unknown or options.seconds <= 0 or options.sets < 1:
        parser.error(f"no such program: {', '.join(unknown)}" if unknown else "--seconds and --sets must be positive")
    if options.docs:
        given = [
            f"--seconds={options.seconds}",
            f"--sets={options.sets}",
            *(f"--only={name}" for name in options.only or ()),
        ]
        documented([sys.executable, *options.python], [*given, *options.what])
        return
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
                rows += program(name, options.seconds, options.sets, folder, tracers)
            else:
                for found in MEASURES[name](folder):
                    rows.append(row(*found))
                    peer = "" if found[4] is None else f"; {found[3]}: {found[4]}"
                    print(f"{rows[-1]['name']}: {found[2]} {found[1]}{peer}", flush=True)
    report("record", rows)


if __name__ == "__main__":
    main()
