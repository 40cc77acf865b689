"""Two healthy periods of one real system: almost nothing is flagged as changed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from clew.compare.requests.diff import compare
from clew.graph.formats.read_files import read_files
from clew.graph.ops.flows.flows import Flows
from clew.query.api import Run
from clew.records.run.directory import RunInfo

SHARED = Path(os.environ.get("CLEW_SHARED_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")


@pytest.mark.parametrize("name", ["healthy-0129", "healthy-0130"])
@pytest.mark.parametrize("coalesce", [False, True])
def test_compare_halves_of_healthy_period_flags_few_categories(name, coalesce, tmp_path):
    path = SHARED / "trainticket" / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no real traces: {path} is not there; CLEW_SHARED_DATA names their folder")
    graph = read_files(RunInfo("20200101-000000-trace", "trace", [], "/", "/", "", 0), [path]).graph
    flows = Flows.of(Run(graph.info, tmp_path, [], graph), coalesce=coalesce)
    order = np.argsort(flows.start_ns)
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    every_other = order[::2], order[1::2]
    for one, other in (halves, every_other):
        found = compare(flows.take(one), flows.take(other))
        assert len(found.flagged) < 0.05 * found.categories
