"""`benchmarks/graph.py` compares every answer with its peers and fails if one differs; run here on a small graph."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "graph.py"


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def test_graph_benchmark_slices_equal_those_of_peers():
    done = run("--size", "30K", "--peers", "scipy,duckdb", "--queries", "40", "--questions", "20", "--functions", "20")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout.splitlines()[-1])["rows"]
    peers = {row["name"]: row["peer"] for row in rows}
    assert {name: peers[f"slices {name}, p50"] for name in ("backward", "forward, 3 hops at most")} == {
        "backward": "scipy",
        "forward, 3 hops at most": "numpy",
    }
    assert peers["slices forward, 3 network hops at most, p95"] == "numpy"
    assert peers["random slices by function, p50"] == "duckdb"


def test_graph_benchmark_with_different_answer_fails(tmp_path):
    code = f"""import numpy as np
import graph
from graph_data.hops import Hops
right = Hops.slice
Hops.slice = lambda self, roots, limit: right(self, roots, limit + 1)
data = graph.make(30_000, graph.Path({str(tmp_path)!r}))
graph.build(data)
graph.questions(data, 20)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPT.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "events in our slice" in done.stderr and "in numpy's" in done.stderr
