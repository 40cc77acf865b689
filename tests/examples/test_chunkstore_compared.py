"""Changes planted into a recorded chunk store are ranked first: a function of one of eight request types that takes 20 %
longer, one of four servers that is slower, and an added call."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clew

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "chunkstore"
PLANTED = Path(__file__).parent / "planted"
ROUNDS = 60
PLANTS = ("", "function", "instance", "call")
KINDS = {"put", "get", "stat", "touch", "copy", "verify", "twice", "missing"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a function from a planted change to its run. The runs are recorded at the same time, so that other load on the
    machine affects them equally."""
    workspace = tmp_path_factory.mktemp("planted")
    recording = {plant: record(workspace, plant) for plant in PLANTS}
    for process in recording.values():
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
    runs = {plant: clew.open(plant or "healthy", workspace=workspace) for plant in PLANTS}
    return runs.__getitem__


def record(workspace, plant):
    return subprocess.Popen(
        [sys.executable, "-m", "clew", "run", "--quiet", "--workspace", str(workspace),
         "--spec", str(PLANTED / "shelf.esl"), "--name", plant or "healthy", "--",
         sys.executable, str(PLANTED / "run.py"), "client", str(workspace / f"data-{plant}"), str(ROUNDS)],
        env={**os.environ, "PYTHONPATH": str(EXAMPLE), "PLANT": plant},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def changed(recorded, plant):
    found = recorded("").requests.diff(recorded(plant).requests)
    assert set(found.pairing.before.names) == KINDS
    return found


def test_diff_of_chunkstore_slower_function_is_first(recorded):
    found = changed(recorded, "function")
    first = found.rows[0]
    assert (first.kind, first.name, first.edges[0].target) == ("response-time", "verify", "shelf:Shelf.checksum")
    assert first.edges[0].growth_ns == pytest.approx(60e6, rel=0.5)
    assert Path(found.pairing.location(first.category, first.edges[0].place)[0]).name == "shelf.py"
    (call,) = found.union(first.category).changes()[:1]
    assert call.label == "shelf:Shelf.checksum"


def test_diff_of_chunkstore_slow_server_is_first_with_its_instance(recorded):
    found = changed(recorded, "instance")
    first = found.rows[0]
    assert first.kind == "response-time" and first.edges[0].target == "shelf:Disk.read"
    told = found.differences(first).rows[0]
    assert told.kind == "instance" and told.conditions[0].endswith("shelf:Disk.read ran on c3")
    # A busy machine slows other servers as well.
    assert told.share > 2 / 3 and told.other_share < 1 / 3


def test_diff_of_chunkstore_added_call_is_first_and_marked_as_added(recorded):
    found = changed(recorded, "call")
    first = found.rows[0]
    assert (first.kind, first.name, first.count_before) == ("structural", "twice", 0)
    assert first.precursors[0].added == (("shelf:Shelf.twice", "shelf:Shelf.audit"),)
    union = found.union(first.category)
    assert [(call.label, call.status) for call in union.calls if call.status != "both"] == [
        ("shelf:Shelf.audit", "after")
    ]


def test_localize_of_chunkstore_slow_server_and_added_call_are_first(recorded):
    healthy = recorded("").requests
    first = recorded("instance").requests.localize(healthy).suspects[0]
    assert (first.service, first.method) == ("c3", "shelf:Disk.read")
    first = recorded("call").requests.localize(healthy).suspects[0]
    assert (first.service, first.method) == ("client", "shelf:Shelf.twice")
    assert (first.evidence[0].kind, first.evidence[0].text) == ("call", "shelf:Shelf.audit")
