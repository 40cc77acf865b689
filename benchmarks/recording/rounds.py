"""Paired rounds: each tracer's slice right after an untraced one, so that a busy machine slows both halves alike.

Times are CPU time. Machines change their speed while one looks (frequency, neighbours), so only rounds count whose untraced
slice was within a tenth of the fast ones; of these the median, and of several sets of processes the mean.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

WORKER = Path(__file__).with_name("worker.py")
NEAR = 1.10


class Worker:
    """A process that runs slices of a workload under a tracer."""

    def __init__(self, workload: str, tracer: str, environment: dict[str, str]) -> None:
        read, write = os.pipe()
        environment = {**environment, "PYTHONHASHSEED": "0"}
        command = [sys.executable, str(WORKER), workload, tracer, str(write)]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, text=True, pass_fds=[write])
        os.close(write)
        self._answers = os.fdopen(read)

    def ask(self, word: str) -> Any:
        assert self.process.stdin is not None
        print(word, file=self.process.stdin, flush=True)
        answer = self._answers.readline()
        if not answer:
            raise SystemExit(f"{self.process.args} ended with {self.process.wait()}")
        return json.loads(answer)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self._answers.close()


class Cost(NamedTuple):
    plain: float
    """ns per call without tracing"""
    added: float
    """ns per call"""
    ratio: float
    rounds: int
    """how many counted"""


Pairs = dict[str, list[tuple[int, int]]]
"""By tracer: ns of a slice untraced, and traced right after."""


def measure(plain: Worker, tracers: dict[str, Worker], seconds: float, slow: Sequence[str], word: str) -> Pairs:
    """Rounds that go on for `seconds`, of slices or stretches, as `word` says; the tracers in `slow` run in one of five."""
    pairs: Pairs = {name: [] for name in tracers}
    for worker in (plain, *tracers.values()):
        for _ in range(3):
            worker.ask("slice")
    end, number = time.monotonic() + seconds, 0
    while number < 5 or time.monotonic() < end:
        for name, worker in tracers.items():
            if name not in slow or number % 5 == 0:
                pairs[name].append((plain.ask(word), worker.ask(word)))
        number += 1
    return pairs


def costs_of(sets: Sequence[Pairs], calls: int) -> dict[str, Cost]:
    """What each tracer adds, by several sets of processes: where things lie in memory is luck, which each set tries anew."""
    every = sorted(base for pairs in sets for rounds in pairs.values() for base, _ in rounds)
    near = every[len(every) // 50] * NEAR
    costs: dict[str, list[Cost]] = {name: [] for name in sets[0]}
    for pairs in sets:
        for name, rounds in pairs.items():
            costs[name].append(_cost(rounds, near, calls))
    return {name: _mean(found) for name, found in costs.items()}


def _cost(rounds: list[tuple[int, int]], near: float, calls: int) -> Cost:
    fast = [pair for pair in rounds if pair[0] <= near]
    used = fast if len(fast) >= 3 else rounds
    return Cost(
        statistics.median(base for base, _ in used) / calls,
        statistics.median(traced - base for base, traced in used) / calls,
        statistics.median(traced / base for base, traced in used),
        len(used),
    )


def _mean(costs: list[Cost]) -> Cost:
    """Of the sets' medians, but for the worst and the best when there are many."""
    ranked = sorted(costs, key=lambda cost: cost.ratio)
    kept = ranked[1:-1] if len(ranked) > 3 else ranked
    return Cost(
        statistics.fmean(cost.plain for cost in kept),
        statistics.fmean(cost.added for cost in kept),
        statistics.fmean(cost.ratio for cost in kept),
        sum(cost.rounds for cost in costs),
    )
