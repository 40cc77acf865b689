"""What it costs to tell when threads do not run: a call of a thread that runs, and a call that blocks.

The look at the latch is in every record, so its peer is the recorder compiled without it. A call that blocks is measured by the
processor time of the program, with and without the adapter, because the time that it blocks is noise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from clew.instrument.recorder.core import core
from clew.records.plan.default_plan import ADAPTERS, PAUSES
from clew.records.plan.plan import Plan, Rule, Target
from recording.runs import recording
from recording.whole import Row

ROOT = Path(__file__).resolve().parents[2]
ASKED = 1.0
"""Nanoseconds that the latch may add to a record of a thread that runs."""
PAIRS = 20
RECORD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
print(min(core.calibrate() for _ in range(20)))
"""
BLOCK = """
import select, time

def block():
    select.select([], [], [], 0.0001)

def main():
    for _ in range(200): block()
    began = time.process_time()
    for _ in range(2000): block()
    print((time.process_time() - began) / 2000)

main()
"""


def pauses(folder: Path) -> Iterator[Row]:
    if not core.pause_source():
        print("pauses: not measured, this system does not tell when a thread does not run")
        return
    try:
        without = _compiled(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"pauses: the latch is not measured, it takes a C compiler ({error})")
    else:
        times = _in_turns([(RECORD, (str(core.__file__),), None), (RECORD, (str(without),), None)])
        yield (
            "the latch of pauses, added to a record", "ns", round(_median(a - b for a, b in times), 2),
            "a record without it", round(_median(b for _, b in times), 1), ASKED,
        )  # fmt: skip
    program = folder / "blocking.py"
    program.write_text(BLOCK)
    rule = Rule(Target("**", "**", root=str(folder)), origin="benchmark")
    plan = Plan(rules=(rule,), adapters=ADAPTERS)
    bare = plan._replace(adapters=tuple(name for name in ADAPTERS if name != PAUSES))
    with recording(folder, plan) as (_, ours), recording(folder, bare) as (_, others):
        times = _in_turns([(BLOCK, (), ours), (BLOCK, (), others)], program)
    yield (
        "pauses, added to a call that blocks", "µs", round(1e6 * _median(a - b for a, b in times), 2),
        "the call without them", round(1e6 * _median(b for _, b in times), 2), None,
    )  # fmt: skip


def _in_turns(
    programs: list[tuple[str, tuple[str, ...], dict[str, str] | None]], script: Path | None = None
) -> list[tuple[float, float]]:
    """Run two programs in turns, each of which prints a number; return the pairs."""
    found = []
    for _ in range(PAIRS):
        pair = []
        for text, arguments, environment in programs:
            command = [sys.executable, *((str(script),) if script else ("-c", text)), *arguments]
            done = subprocess.run(
                command, env=environment or dict(os.environ), capture_output=True, text=True, check=True
            )
            pair.append(float(json.loads(done.stdout)))
        found.append((pair[0], pair[1]))
    return found


def _median(values: Iterator[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _compiled(folder: Path) -> Path:
    """Compile the recorder without the latch, with the flags of the one that is installed."""
    sources = sorted((ROOT / "instrument/recorder/csrc").rglob("*.c"))
    flags = (sysconfig.get_config_var("CFLAGS") or "").split()
    made = folder / "_core.so"
    subprocess.run(
        [
            *(sysconfig.get_config_var("CC") or "cc").split(), *flags, "-O2", "-std=c11", "-fvisibility=hidden", "-fPIC",
            "-shared", "-DWITHOUT_PAUSES", f"-I{sysconfig.get_path('include')}", f"-I{ROOT / 'instrument/recorder/csrc'}",
            f"-I{ROOT / 'records/format/csrc'}", *map(str, sources), "-o", str(made),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return made
