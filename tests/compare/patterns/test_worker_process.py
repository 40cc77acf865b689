"""Patterns of a large run come from a worker process: they equal those found in memory, and the process leaves no files."""

from __future__ import annotations

import numpy as np
import pytest

import clew
from clew.compare.patterns import worker_process
from clew.compare.patterns.find import Thresholds, find_patterns
from clew.compare.patterns.occurrences import moments
from clew.compare.patterns.worker_process import patterns_in_worker
from clew.graph.runtime.progress import NEVER_CANCELLED
from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run, load_run, save_run
from tests.support.cancellation import SoonCancelled, WorkCancelled
from tests.support.requirements import needs_own_process
from tests.support.runs.records import RunFolder

pytestmark = needs_own_process


@pytest.fixture
def run(tmp_path, monkeypatch):
    folder, info = create_run(tmp_path, name="loop", command=["app"], spec="", plan=dump(Plan()), cwd=tmp_path)
    save_run(folder, info)
    made = RunFolder(folder, info)
    process = made.process()
    for name, rounds in (("MainThread", 40), ("worker", 25), ("idle", 0)):
        thread = process.thread(name)
        for number in range(rounds):
            thread.enter("read").exit("read").enter("step").enter("a").exit("a")
            if number % 7 == 3:
                thread.enter("retry").unwind("retry")
            thread.exit("step").enter("store").exit("store")
    made.write()
    finish_run(folder, load_run(folder), 0, [])
    monkeypatch.setattr(worker_process, "LARGE", 1)
    return clew.open(folder)


def test_worker_process_patterns_equal_those_found_in_memory(run):
    strands, thresholds = list(range(len(run.graph.strands))), Thresholds(calls=2)
    before = sorted(path.name for path in run.folder.iterdir())
    apart = patterns_in_worker(run, strands, "function", thresholds, NEVER_CANCELLED)
    here = find_patterns(run.graph, strands, "function", thresholds)
    assert apart is not None and apart.graph is run.graph
    assert len(here.rows) == 3 and apart.to_json() == here.to_json()
    at = [moments(here.activations, np.arange(len(strands)), ns) for ns in (0, here.rows[0].first_ns + 100, 1 << 40)]
    for row in here.rows:
        of, mine = apart.timed(row.number), here.timed(row.number)
        for moment in at:
            assert of.spent(moment).tolist() == mine.spent(moment).tolist()
        assert of.occurrence(len(mine) - 1) == mine.occurrence(len(mine) - 1)
        ends = zip(apart.occurrences(row.number), here.occurrences(row.number), strict=True)
        assert all(one.tolist() == other.tolist() for one, other in ends)
        inside = zip(
            apart.diagram.inside(*apart.occurrences(row.number)),
            here.diagram.inside(*here.occurrences(row.number)),
            strict=True,
        )
        assert all(one.tolist() == other.tolist() for one, other in inside)
    # The columns are memory-mapped from an unlinked file.
    assert not apart.activations.begin_ns.flags.owndata and not apart.activations.begin_ns.flags.writeable
    assert sorted(path.name for path in run.folder.iterdir()) == before


def test_worker_process_that_is_cancelled_ends_and_leaves_no_files(run):
    before = sorted(path.name for path in run.folder.iterdir())
    with pytest.raises(WorkCancelled):
        patterns_in_worker(run, [0], "function", Thresholds(), SoonCancelled())
    assert sorted(path.name for path in run.folder.iterdir()) == before


def test_worker_process_with_wrong_question_reports_the_error(run):
    with pytest.raises(ClewError, match="unknown level"):
        patterns_in_worker(run, [0], "planet", Thresholds(), NEVER_CANCELLED)


def test_patterns_of_small_run_use_no_worker_process(run, monkeypatch):
    monkeypatch.setattr(worker_process, "LARGE", len(run.graph) + 1)
    assert patterns_in_worker(run, [0], "function", Thresholds(), NEVER_CANCELLED) is None
