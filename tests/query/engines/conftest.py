"""Fixtures of random runs of several processes with records of many kinds, whole and in parts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from clew.graph.model.graph import ExecutionGraph
from clew.query.api import Run
from clew.query.engines.open import open_parts
from clew.query.engines.partition_files import partition


def random_graph(new_run, seed: int, *, processes: int = 5, steps: int = 120) -> ExecutionGraph:
    chance = random.Random(seed)
    run = new_run(f"random-{seed}")
    threads, open_calls, sent = [], {}, []
    for number in range(chance.randint(2, processes)):
        machine = chance.randint(0, 2)
        process = run.process(
            f"p{number % 3}", host=f"host{machine}", boot_id="boot"
        )  # one boot, so that no clock is corrected by a random run's contradictory messages
        threads += [process.thread(f"t{index}") for index in range(chance.randint(1, 3))]
    for thread in threads:
        open_calls[id(thread)] = []
    for step in range(steps):
        thread = chance.choice(threads)
        calls = open_calls[id(thread)]
        action = chance.random()
        if action < 0.25:
            calls.append(chance.choice(["f", "g", "A.m", "A.n", "other:h"]))
            thread.enter(calls[-1])
        elif action < 0.4 and calls:
            (thread.exit if chance.random() < 0.9 else thread.unwind)(calls.pop())
        elif action < 0.6:
            sent.append(step)
            thread.send(step)
        elif action < 0.78 and sent:
            (thread.receive if chance.random() < 0.7 else thread.join)(chance.choice(sent))
        elif action < 0.84:
            (thread.define if chance.random() < 0.5 else thread.use)(chance.randint(0, 3))
        elif action < 0.9:
            (thread.release if chance.random() < 0.5 else thread.acquire)(chance.randint(0, 2))
        elif action < 0.93 and calls:
            thread.request(chance.choice(["Read", "Write"]))
        else:
            thread.log(f"line {step % 7} of {thread.serial}", level=chance.choice([10, 20, 40]))
    return run.graph()


@pytest.fixture
def graph_by_seed(new_run):
    return lambda seed, **more: random_graph(new_run, seed, **more)


class Twice:
    """One random run, whole and in parts."""

    def __init__(self, new_run, seed: int, **more) -> None:
        self.graph = random_graph(new_run, seed, **more)
        self.chance = random.Random(seed)
        self.where: Path = Path(new_run(f"of-{seed}").folder) / "parts"
        partition(self.graph, self.where, self.chance.randint(2, 8))
        self.whole = Run(self.graph.info, self.where, [], self.graph)
        self.parts = open_parts(self.where)
        # Workers answer in random order.
        self.pool.chance = self.chance

    @property
    def pool(self):
        return self.parts.engine.coordinator.pool

    def roots(self) -> list[int]:
        return [self.chance.randrange(len(self.graph)) for _ in range(self.chance.randint(1, 3))]

    def limits(self) -> list[dict]:
        """Return the arguments of several limited slices."""
        chance, graph = self.chance, self.graph
        return [
            {},
            {"max_hops": chance.randint(0, 4)},
            {"max_network_hops": chance.randint(0, 2)},
            {"max_hops": chance.randint(0, 6), "max_network_hops": chance.randint(0, 2)},
            {"edge_filter": graph.edge_kind == chance.randint(0, 2)},
            {"edge_filter": lambda edge: edge % 3 != 0},
            {"edge_kinds": ["sync", "state"], "max_hops": 5},
            {"edge_kinds": ["use", "sync"]},
        ]


@pytest.fixture
def twice(new_run):
    return lambda seed, **more: Twice(new_run, seed, **more)
