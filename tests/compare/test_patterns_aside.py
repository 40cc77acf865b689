"""Patterns of a large run come from a process of their own: they are the same ones, and nothing is left of that process."""

from __future__ import annotations

import numpy as np
import pytest

import clew
from clew.compare import patterns_aside
from clew.compare.occurrences import moments
from clew.compare.patterns import Thresholds, find_patterns
from clew.compare.patterns_aside import found_aside
from clew.graph.progress import ALWAYS
from clew.records.errors import ClewError
from clew.records.plan import Plan, dump
from clew.records.run import create_run, finish_run, load_run, save_run
from tests.graph.conftest import NotWanted, RunFolder, SoonUnwanted
from tests.marks import needs_own_process

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
    monkeypatch.setattr(patterns_aside, "LARGE", 1)
    return clew.open(folder)


def test_they_are_those_that_are_found_in_memory(run):
    strands, thresholds = list(range(len(run.graph.strands))), Thresholds(calls=2)
    before = sorted(path.name for path in run.folder.iterdir())
    apart = found_aside(run, strands, "function", thresholds, ALWAYS)
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
    # Its columns are looked at where they are, in a file that has no name any more.
    assert not apart.activations.begin_ns.flags.owndata and not apart.activations.begin_ns.flags.writeable
    assert sorted(path.name for path in run.folder.iterdir()) == before


def test_who_no_longer_wants_them_ends_the_process_and_nothing_is_left(run):
    before = sorted(path.name for path in run.folder.iterdir())
    with pytest.raises(NotWanted):
        found_aside(run, [0], "function", Thresholds(), SoonUnwanted())
    assert sorted(path.name for path in run.folder.iterdir()) == before


def test_what_is_wrong_with_the_question_is_said(run):
    with pytest.raises(ClewError, match="no level"):
        found_aside(run, [0], "planet", Thresholds(), ALWAYS)


def test_a_small_run_is_looked_at_where_it_is(run, monkeypatch):
    monkeypatch.setattr(patterns_aside, "LARGE", len(run.graph) + 1)
    assert found_aside(run, [0], "function", Thresholds(), ALWAYS) is None
