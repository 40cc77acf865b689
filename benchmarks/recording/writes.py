"""What the records of writes cost: in each row, the share of a program's run time that `--writes` adds to recording its calls.

Every function of the program's own package is recorded, once with writes and once without, in turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from clew.records.format.event import Kind
from clew.records.plan.default_plan import ADAPTERS
from clew.records.plan.plan import Plan, Rule, Target
from clew.records.read.reader import read_run
from recording.rounds import Pairs, Worker, costs_of, measure
from recording.runs import plain, recording
from recording.whole import Row

PROGRAMS = {"jinja2": "jinja2.**", "pyflakes": "pyflakes.**", "parser": "**"}
SETS, SECONDS = 4, 3.0
ASKED = 6.0
"""Per cent of the plain run time at the median of the programs; at most 10 in any."""


def writes(folder: Path) -> Iterator[Row]:
    shares = []
    for name, modules in PROGRAMS.items():
        calls = Plan(rules=(Rule(Target(modules, "**"), origin="benchmark"),), adapters=ADAPTERS)
        found: list[Pairs] = []
        for _ in range(SETS):
            with (
                recording(folder, calls) as (_, without),
                recording(folder, calls._replace(writes=True)) as (run, environment),
                Worker(name, "plain", plain()) as untraced,
                Worker(name, "clew", without) as usual,
                Worker(name, "clew", environment) as ours,
            ):
                found.append(measure(untraced, {"calls": usual, "writes": ours}, SECONDS, (), "slice"))
            kinds = Counter(event.kind for process in read_run(run).processes for event in process.events())
            if not kinds[Kind.WRITE]:
                raise SystemExit(f"{name}: no write was recorded")
        costs = costs_of(found, 1)
        share = 100 * (costs["writes"].added - costs["calls"].added) / costs["writes"].plain
        shares.append(share)
        yield (
            f"writes added to the run time of {name}",
            "%",
            round(share, 1),
            "calls alone",
            round(100 * costs["calls"].added / costs["calls"].plain, 1),
            None,
        )
    yield "writes, median of the programs", "%", round(sorted(shares)[len(shares) // 2], 1), "", 0.0, ASKED
