"""Fixtures of tests that write runs or make graphs. A conftest imports the fixtures that its folder uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.graphs.bare_graphs import bare_graph, random_graphs
from tests.support.runs.records import RunFolder


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[..., RunFolder]:
    def make(name: str = "run", plan: Plan | None = None) -> RunFolder:
        folder, info = create_run(
            tmp_path, name=name, command=["python", "app.py"], spec="", plan=dump(plan or Plan()), cwd=tmp_path
        )
        save_run(folder, info)
        return RunFolder(folder, info)

    return make


@pytest.fixture
def run(new_run: Callable[..., RunFolder]) -> RunFolder:
    return new_run()


@pytest.fixture
def graph_of():
    return bare_graph


@pytest.fixture
def graphs():
    return random_graphs()
