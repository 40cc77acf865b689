"""The parts in C are all there or none is, and where they are they are used: tests of them that are left out, or of what needs
them, are left out by nobody's mistake."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = [f"clew.{name}" for name in re.findall(r'part_in_c\("([\w.]+)"', (ROOT / "setup.py").read_text())]
USED = """
import json
from clew.compare import walks as comparing
from clew.graph import aside, kernel, walks
from clew.graph.ops import path_walk
from clew.instrument.recorder import select
print(json.dumps({
    "recorder": select.implementation == "c", "kernel": kernel.implementation == "c", "walks": walks.in_c,
    "comparisons": comparing.in_c, "paths": path_walk.implementation == "c", "building in files": aside.is_possible(),
}))
"""


def is_built(part):
    return importlib.util.find_spec(part) is not None


def test_every_part_in_c_is_known():
    sources = {
        path for folder in ("records", "instrument", "graph", "compare") for path in (ROOT / folder).rglob("csrc/*.c")
    }
    assert len(PARTS) == len(sources) >= 8


@pytest.mark.parametrize("part", PARTS)
def test_a_part_in_c_is_built_where_the_recorder_is(part):
    assert is_built(part) == is_built("clew.instrument.recorder._core")


def test_what_is_built_is_used_unless_the_twins_are_asked_for():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    done = subprocess.run([sys.executable, "-c", USED], env=environment, capture_output=True, text=True, check=True)
    used = json.loads(done.stdout)
    there = is_built("clew.instrument.recorder._core")
    if sys.platform != "linux":
        assert used.pop("building in files") is False
    assert used == dict.fromkeys(used, there)
