"""Random programs that carry their own logical clocks: for every two events, the graph and the clocks agree on whether one
happened before the other.

Some seeds are fixed, and some are new each time (the failure message shows them); `CLEW_RANDOM_PROGRAMS=500` runs that many.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from tests.support.programs.clock_programs import COMMON, PROCESSES, TASKS, THREADS
from tests.support.programs.stated_pasts import bits, graphs_pasts

pytestmark = pytest.mark.slow


def replayed(logs):
    """Return, for each event's name, the names of it and all events before it, according to the processes' own logs."""
    seen, pasts, written, ended = {"main": frozenset()}, {}, {}, {}
    left = {name: list(reversed(log)) for name, log in logs.items()}
    while left:
        before = sum(map(len, left.values())), len(left)
        for name in [name for name in left if name in seen]:
            while left[name]:
                what, other, *more = left[name][-1]
                if what == "event":
                    seen[name] |= {other}
                    pasts[other] = seen[name]
                elif what == "write":
                    written[other, more[0]] = seen[name]
                elif what == "fork":
                    seen[other] = seen[name]
                elif what == "wait" and other not in ended:
                    break
                elif what == "wait":
                    seen[name] |= ended[other]
                elif all((other, number) in written for number in more[0]):
                    seen[name] = seen[name].union(*(written[other, number] for number in more[0]))
                else:
                    break
                left[name].pop()
            if not left[name]:
                ended[name] = seen[name]
                del left[name]
        assert (sum(map(len, left.values())), len(left)) != before, "the logs have a cycle"
    return pasts


_more = int(os.environ.get("CLEW_RANDOM_PROGRAMS", "0"))


SEEDS = [*range(1, 5), *(random.SystemRandom().randrange(10, 1 << 30) for _ in range(_more or 2))]


@pytest.mark.parametrize("program", [THREADS, TASKS], ids=["threads", "tasks"])
def test_graph_pasts_equal_logical_clocks_of_random_program(record, program):
    for seed in SEEDS:
        run = record(COMMON + program, str(seed), rules=False, name=f"program{seed}")
        assert run.code == 0, (seed, run.stderr)
        carried = {int(number): (past, what) for number, (past, what) in json.loads(run.stdout).items()}
        found = graphs_pasts(run.folder)
        assert carried.keys() == found.keys() and len(carried) > 8, seed
        for number, (past, what) in sorted(carried.items()):
            name = {other: carried[other][1] for other in bits(past | found[number])}
            missed, false = bits(past & ~found[number]), bits(found[number] & ~past)
            assert not missed and not false, (
                f"seed {seed}, event {number} ({what}): missed {[(n, name[n]) for n in sorted(missed)]}, "
                f"false {[(n, name[n]) for n in sorted(false)]}"
            )


def test_graph_pasts_equal_logical_clocks_of_communicating_processes(record, tmp_path):
    reads = 0
    for seed in SEEDS:
        run = record(PROCESSES, str(seed), rules=False, adapters=("processes", "sockets"), name=f"processes{seed}")
        assert run.code == 0 and not run.stderr, (seed, run.stderr)
        logs = {}
        for file in (tmp_path / "workspace").glob("log.*"):
            logs[file.name.removeprefix("log.")] = json.loads(file.read_text())
            file.unlink()
        carried = replayed(logs)
        names = sorted(carried)
        found = graphs_pasts(run.folder, names.index)
        assert found.keys() == set(range(len(names))), seed
        for number, name in enumerate(names):
            past = {names[other] for other in bits(found[number])}
            assert past == carried[name], (
                f"seed {seed}, event {name}: missed {sorted(carried[name] - past)}, false {sorted(past - carried[name])}"
            )
        reads += sum(entry[0] == "read" for log in logs.values() for entry in log)
    assert reads > 10 * len(SEEDS)
