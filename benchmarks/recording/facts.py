"""What the records of facts cost: in each row, what recording adds to one thing of which clew keeps facts.

Only the functions that a fact needs are recorded, and all causality. So a row has the facts and the edges of the thing.
VizTracer, which keeps no facts, records the calls in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from clew.esl.lower.compile import compile_text
from clew.records.format.event import Kind
from clew.records.plan.default_plan import ADAPTERS
from clew.records.read.reader import read_run
from recording.rounds import Pairs, Worker, costs_of, measure
from recording.runs import plain, recording
from recording.whole import Row

SPEC = """
scope generated_workloads.exceptions:**;
define fact_workloads:write key name as item;
use fact_workloads:read key name as item;
"""
FACTS = {
    "an exception that leaves a function": Kind.EXCEPTION,
    "a task, and a wait for it": Kind.WAIT,
    "a wait for a held lock until its time limit": Kind.WAIT,
    "a slot of asyncio.Semaphore, taken and given back": Kind.HOLD,
    "a slot of threading.Semaphore, taken and given back": Kind.HOLD,
    "a connection, and a read of its end": Kind.JOIN,
    "a task that is cancelled": Kind.CANCEL,
    "a state, defined and used": Kind.USE,
}
"""Workloads, and a kind of record that each thing in them has."""
OPERATIONS = 256
"""In a slice."""
SETS, SECONDS = 4, 1.0


def facts(folder: Path) -> Iterator[Row]:
    plan = compile_text(SPEC, workspace=folder).plan
    if plan is None:
        raise SystemExit("the spec of the facts is wrong")
    plan = plan._replace(adapters=ADAPTERS, budget=None)
    for name, kind in FACTS.items():
        found: list[Pairs] = []
        for _ in range(SETS):
            with (
                recording(folder, plan) as (run, environment),
                Worker(name, "plain", plain()) as untraced,
                Worker(name, "clew", environment) as ours,
                Worker(name, "VizTracer", plain()) as peer,
            ):
                found.append(measure(untraced, {"clew": ours, "VizTracer": peer}, SECONDS, (), "slice"))
            kinds = Counter(event.kind for process in read_run(run).processes for event in process.events())
            if kinds[kind] < OPERATIONS:
                raise SystemExit(f"{name}: {kinds[kind]} records {kind.name}")
        added = {tracer: round(cost.added / 1e3, 2) for tracer, cost in costs_of(found, OPERATIONS).items()}
        yield f"added to {name}", "µs", added["clew"], "VizTracer", added["VizTracer"], None
