"""Runs as `clew run` makes them: a folder, a plan, a collector, and the environment that makes a process record into it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clew.instrument.run_environment import environment
from clew.records.collector.launch import start_collector
from clew.records.plan.default_plan import ADAPTERS
from clew.records.plan.plan import Plan, Rule, Target, dump
from clew.records.run.directory import create_run

_numbers = itertools.count(1)

EVERYTHING = Plan(
    rules=(Rule(Target("**", "**"), origin="benchmark"),), adapters=ADAPTERS, spec="every function there is"
)
"""Whatever is written in Python, the standard library included; all causality; no budget, so that nothing is left out."""


@contextmanager
def recording(
    folder: Path, plan: Plan = EVERYTHING, *, collected: bool = True
) -> Iterator[tuple[Path, dict[str, str]]]:
    """A new run's folder and the environment of a process to be recorded into it; a collector works as long as needed, unless
    it is not `collected`."""
    name = f"benchmark-{next(_numbers)}"
    run_folder, _ = create_run(folder, name=name, command=[name], spec="", plan=dump(plan))
    collector = start_collector(run_folder) if collected else None
    try:
        yield run_folder, _cached(environment(run_folder))
    finally:
        if collector is not None:
            collector.finish()


def plain() -> dict[str, str]:
    return _cached(os.environ)


def _cached(environment: Mapping[str, str]) -> dict[str, str]:
    """With the cache of compiled modules, which users have."""
    return {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
