"""What the tests of real libraries cost under `pytest --clew`, beside coverage.py: processor time and time, round by round.

    python benchmarks/suites.py                      jinja2 and click, five rounds
    python benchmarks/suites.py attrs --rounds 9

Every round runs the suite plain, under `--clew`, and under `coverage run`, one after the other; what is told are medians of
the ratios to the plain run of the same round, so that a busy machine counts for all. Packages come as in tests/packages/run.py.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from from_tests import load

SUITES = load("packages/run.py")

QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:asyncio", "--rootdir=.", "-o", "timeout=600")
WAYS = ("plain", "clew", "coverage")


class Cost(NamedTuple):
    processor: float
    wall: float


def run_suite(name: str, way: str) -> Cost:
    """Seconds that the suite's processes take. Raises where the tests do not end as they should."""
    source, needs = SUITES.fetched(name)
    package = SUITES.PACKAGES[name]
    # Coverage removes its data file before it begins: it must have one of its own.
    data = source / ".coverage"
    start = {"coverage": ["-m", "coverage", "run", f"--source={package.source}", f"--data-file={data}", "-m", "pytest"]}
    words = [*start.get(way, ["-m", "pytest"]), package.tests, *QUIET, *(["--clew"] if way == "clew" else [])]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, *words], cwd=source, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(source / package.source), str(needs)))},
    )  # fmt: skip
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(source / ".clew", ignore_errors=True)
    data.unlink(missing_ok=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{name}, {way}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def measure(name: str, rounds: int) -> None:
    costs: dict[str, list[Cost]] = {way: [] for way in WAYS}
    for number in range(rounds + 1):
        for way in WAYS[number % 3 :] + WAYS[: number % 3]:
            cost = run_suite(name, way)
            if number:  # the first one warms the caches
                costs[way].append(cost)
    print(f"{name} {SUITES.PACKAGES[name].version}, medians of {rounds} rounds")
    for way in WAYS:
        figures = [
            f"{statistics.median(getattr(cost, what) for cost in costs[way]):6.2f} s {what} (x{_ratio(costs, way, what):.2f})"
            for what in Cost._fields
        ]
        print(f"  {way:10} {'  '.join(figures)}", flush=True)


def _ratio(costs: dict[str, list[Cost]], way: str, what: str) -> float:
    pairs = zip(costs[way], costs["plain"], strict=True)
    return statistics.median(getattr(cost, what) / getattr(plain, what) for cost, plain in pairs)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=["jinja2", "click"], help=f"of {', '.join(SUITES.PACKAGES)}")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    for name in options.packages:
        measure(name, options.rounds)


if __name__ == "__main__":
    main()
