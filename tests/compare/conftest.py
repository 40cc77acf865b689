"""Fixture that writes runs for the tests of comparisons."""

from __future__ import annotations

import pytest

from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.runs.records import RunFolder


@pytest.fixture(scope="module")
def make_run(tmp_path_factory):
    def make(name: str) -> RunFolder:
        where = tmp_path_factory.mktemp(name)
        folder, info = create_run(where, name=name, command=["app"], spec="", plan=dump(Plan()), cwd=where)
        save_run(folder, info)
        return RunFolder(folder, info)

    return make
