"""Paired rounds: each tracer's slice right after an untraced one, so that a busy machine slows both halves alike.

Times are CPU time. Machines change their speed while one looks (frequency, neighbours), so only rounds count whose untraced
slice was within a tenth of the fast ones; of these the median.
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
            raise SystemExit(f"{' '.join(map(str, self.process.args))} ended with {self.process.wait()}")  # type: ignore[arg-type]
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


def measure(
    plain: Worker, tracers: dict[str, Worker], calls: int, seconds: float, slow: Sequence[str]
) -> dict[str, Cost]:
    """What each tracer adds to a call, in rounds that go on for `seconds`; those in `slow` run in one round of five."""
    pairs: dict[str, list[tuple[int, int]]] = {name: [] for name in tracers}
    for worker in (plain, *tracers.values()):
        for _ in range(3):
            worker.ask("slice")
    end, number = time.monotonic() + seconds, 0
    while number < 5 or time.monotonic() < end:
        for name, worker in tracers.items():
            if name not in slow or number % 5 == 0:
                pairs[name].append((plain.ask("slice"), worker.ask("slice")))
        number += 1
    every = sorted(base for rounds in pairs.values() for base, _ in rounds)
    near = every[len(every) // 50] * NEAR
    return {name: _cost(rounds, near, calls) for name, rounds in pairs.items()}


def _cost(rounds: list[tuple[int, int]], near: float, calls: int) -> Cost:
    fast = [pair for pair in rounds if pair[0] <= near]
    used = fast if len(fast) >= 3 else rounds
    return Cost(
        statistics.median(base for base, _ in used) / calls,
        statistics.median(traced - base for base, traced in used) / calls,
        statistics.median(traced / base for base, traced in used),
        len(used),
    )
