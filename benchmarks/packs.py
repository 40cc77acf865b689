"""Measures what a pack costs: one operation of its library in a program that isn't recorded, and in one that has the pack.

    python benchmarks/packs.py [--write] [NAME …]

Both run by turns; processor time of the whole program, medians of paired rounds. Prints JSON lines; `--write` keeps the
figures for `clew packs` (esl/packs/costs.json).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from from_tests import load
from synthetic.packs import OPERATIONS, Operation

ROOT = Path(__file__).resolve().parents[1]
COSTS = ROOT / "esl" / "packs" / "costs.json"
ROUNDS = 7


PROGRAM = """
{setup}
import time
for _ in range({times} // 10): once()
began = time.process_time_ns()
for _ in range({times}): once()
if "end" in globals(): end()
print((time.process_time_ns() - began) / {times} / 1000)
"""


@contextmanager
def redis_server() -> Iterator[dict[str, str]]:
    serving = load("support/programs/redis_server.py").serving
    with tempfile.TemporaryDirectory(prefix="clew", dir="/tmp") as folder, serving(Path(folder)) as path:
        yield {"REDIS": path}


def once(folder: Path, *lead: str, environment: dict[str, str]) -> float:
    """Microseconds of an operation."""
    done = subprocess.run(
        [*lead, sys.executable, "measured.py"],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def measure(name: str, operation: Operation, environment: dict[str, str]) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        text = PROGRAM.format(setup=textwrap.dedent(operation.setup), times=operation.times)
        (folder / "measured.py").write_text(text)
        (folder / "pack.esl").write_text(f"include {name};\n")
        lead = (sys.executable, "-m", "clew", "run", "--quiet", "--workspace", place, "--spec", "pack.esl", "--")
        plain, with_pack = [], []
        for number in range(ROUNDS):
            for recorded in (False, True) if number % 2 else (True, False):
                took = once(folder, *(lead if recorded else ()), environment=environment)
                (with_pack if recorded else plain).append(took)
    us = statistics.median(plain)
    added = statistics.median(b - a for a, b in zip(plain, with_pack, strict=True))
    return {"operation": operation.name, "us": _rounded(us), "added": _rounded(max(added, 0.0))}


def _rounded(us: float) -> float:
    return float(f"{us:.2g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="packs; by default all that can be measured")
    parser.add_argument("--write", action="store_true", help="keep the figures for `clew packs`")
    given = parser.parse_args()
    costs = json.loads(COSTS.read_text("utf-8"))
    for name in given.names or OPERATIONS:
        with ExitStack() as stack:
            environment = stack.enter_context(redis_server()) if name == "redis" else {}
            costs[name] = measure(name, OPERATIONS[name], environment)
        print(json.dumps({"name": f"packs.{name}", **costs[name]}, ensure_ascii=False), flush=True)
    if given.write:
        COSTS.write_text(json.dumps(dict(sorted(costs.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
