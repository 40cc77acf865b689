"""What recording a call costs, beside VizTracer and beside no tracing, in one run.

Every round runs each workload plainly, recorded by clew, plainly again, and traced by VizTracer; a round's cost is the
difference to the plain slice next to it, so that a busy machine slows both halves alike. Times are the thread's CPU time.
VizTracer keeps its records in memory and its writing them out is not counted; clew's are in the file when the call returns.
"""

from __future__ import annotations

import argparse
import json
import json.decoder
import json.scanner
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

from viztracer import VizTracer

from clew.instrument.probes import sites
from clew.instrument.probes.bytecode import Probes, rewrite
from clew.instrument.recorder.select import core, implementation, reason
from clew.records.event import Kind
from clew.records.reader import read_process

EXAMPLES = """examples:
  python benchmarks/record.py                     all workloads, 60 rounds
  python benchmarks/record.py --rounds 10 fib     a quick look at one of them
  CLEW_RECORDER=python python benchmarks/record.py   the pure-Python recorder
"""

SMALL = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def microsecond(values):
    total = 0
    for value in values:
        total += value * value
    return total

def many(count, values=tuple(range(24))):
    for _ in range(count):
        microsecond(values)
"""


class Workload(NamedTuple):
    name: str
    run: Callable[[Callable[[CodeType], CodeType]], Callable[[], object]]
    """Gives the work, made of code that the argument has passed over."""


def small(transform: Callable[[CodeType], CodeType]) -> SimpleNamespace:
    names: dict[str, Any] = {}
    exec(transform(compile(SMALL, "small.py", "exec")), names)
    return SimpleNamespace(**names)


def fib(transform: Callable[[CodeType], CodeType]) -> Callable[[], object]:
    function = small(transform).fib
    return lambda: function(17)


def microsecond(transform: Callable[[CodeType], CodeType]) -> Callable[[], object]:
    function = small(transform).many
    return lambda: function(3000)


def parse_json(transform: Callable[[CodeType], CodeType]) -> Callable[[], object]:
    """The standard library's JSON parser, its C parts replaced by their Python originals."""
    modules: list[dict[str, Any]] = []
    for module in (json.scanner, json.decoder):
        source = Path(str(module.__file__)).read_text()
        names: dict[str, Any] = {"__name__": module.__name__}
        exec(transform(compile(source, str(module.__file__), "exec")), names)
        modules.append(names)
    scanner, decoder = modules
    decoder["scanstring"] = decoder["py_scanstring"]
    parser = decoder["JSONDecoder"]()
    parser.scan_once = scanner["py_make_scanner"](parser)
    generator = random.Random(7)
    rows = [
        {"id": number, "name": f"item \\n {number}", "tags": ["a", "b"], "size": generator.random(), "in": {"ok": True}}
        for number in range(120)
    ]
    text = json.dumps(rows)
    if parser.decode(text) != rows:
        raise SystemExit("the parser under test parses wrongly")
    return lambda: parser.decode(text)


WORKLOADS = (
    Workload("fib", fib),
    Workload("microsecond", microsecond),
    Workload("json", parse_json),
)


def instrument(code: CodeType) -> CodeType:
    def choose(function: CodeType) -> Probes:
        name, line = function.co_qualname, function.co_firstlineno
        return Probes(sites.register("benchmark", name, function.co_filename, line, line, "function"))

    return rewrite(code, choose, core.Probe)


class Result(NamedTuple):
    name: str
    calls: int
    plain: float
    """ns per call without tracing"""
    ours: float
    peer: float
    """Added ns per call."""
    ours_ratio: float
    peer_ratio: float


def cpu(work: Callable[[], object]) -> int:
    started = time.thread_time_ns()
    work()
    return time.thread_time_ns() - started


def measure(workload: Workload, rounds: int, folder: Path) -> Result:
    plain, recorded = workload.run(lambda code: code), workload.run(instrument)
    tracer = VizTracer(ignore_c_function=True, tracer_entries=2_000_000, verbose=0)

    path = folder / f"{workload.name}-calls.clew"
    core.start(str(path), b"{}", 0, 1 << 30, 0.0)
    recorded()
    core.stop()
    calls = sum(event.kind is Kind.ENTER for event in read_process(path).events())

    rows = []
    for number in range(rounds + 2):
        path = folder / f"{workload.name}-{number}.clew"
        core.start(str(path), b"{}", 0, 1 << 30, 0.0)
        recorded()
        before_ours = cpu(plain)
        ours = cpu(recorded)
        core.stop()
        path.unlink()
        before_peer = cpu(plain)
        tracer.start()
        peer = cpu(plain)
        tracer.stop()
        tracer.clear()
        if number >= 2:
            rows.append((before_ours, ours, before_peer, peer))
    return Result(
        workload.name,
        calls,
        statistics.median(min(row[0], row[2]) for row in rows) / calls,
        statistics.median(ours - before for before, ours, _, _ in rows) / calls,
        statistics.median(peer - before for _, _, before, peer in rows) / calls,
        statistics.median(ours / before for before, ours, _, _ in rows),
        statistics.median(peer / before for _, _, before, peer in rows),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workload", nargs="*", help=f"some of {', '.join(w.name for w in WORKLOADS)}; default: all")
    parser.add_argument("--rounds", type=int, default=60, help="paired rounds of each workload (default 60)")
    options = parser.parse_args()
    unknown = set(options.workload) - {workload.name for workload in WORKLOADS}
    if unknown or options.rounds < 1:
        parser.error(f"no such workload: {', '.join(unknown)}" if unknown else "--rounds must be positive")

    print(f"recorder: {implementation} ({reason}); one plain record in a loop: {core.calibrate():.1f} ns")
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="clew-benchmark-") as folder:
        for workload in WORKLOADS:
            if options.workload and workload.name not in options.workload:
                continue
            found = measure(workload, options.rounds, Path(folder))
            print(
                f"{found.name:12} {found.calls:6} calls of {found.plain:6.0f} ns: clew +{found.ours:.1f} ns a call "
                f"(x{found.ours_ratio:.2f}), VizTracer +{found.peer:.1f} ns a call (x{found.peer_ratio:.2f})",
                flush=True,
            )
            asked = found.peer / 2
            rows.append({
                "name": f"{found.name}: recording one call, enter and exit", "unit": "ns", "ours": round(found.ours, 1),
                "peer": "VizTracer", "peer_value": round(found.peer, 1), "asked": round(asked, 1),
                "met": found.ours <= asked,
            })  # fmt: skip
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {sys.platform}"
    print(json.dumps({"benchmark": "record", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
