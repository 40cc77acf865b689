"""Builds report progress, can be stopped or killed, and may run concurrently."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from synthetic.runs import write_run

from clew.graph.build.builder import build
from clew.graph.store.store import load, open_graph
from clew.graph.store.temp_dir import workplace
from clew.records.collector.main import locked
from clew.records.run.directory import STORE_FOLDER


class Stopped(Exception):
    pass


def record(run, calls=50):
    thread = run.process().thread()
    for number in range(calls):
        thread.enter("f").send(number).exit("f").receive(number)
    return run.write()


def leftovers(folder):
    return [path.name for path in folder.glob(f".{STORE_FOLDER}*")]


def same(one, other):
    for name in ("ts", "kind", "site", "strand", "region", "call", "inner", "edge_src", "edge_dst", "edge_kind"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def test_open_graph_progress_runs_from_zero_to_all_and_ends(run):
    heard = []
    open_graph(record(run), lambda *what: heard.append(what))
    assert heard[-1] == ("", 1, 1)
    for name in ("the records", "the graph", "the index", "the store"):
        done = [one[1] for one in heard if one[0] == name]
        size = {one[2] for one in heard if one[0] == name}
        assert done[0] == 0
        assert done == sorted(done)
        assert {done[-1]} == size
    heard.clear()
    open_graph(run.folder, lambda *what: heard.append(what))
    assert heard == []


@pytest.mark.parametrize("at", ["the records", "the graph", "the index", "the store"])
def test_open_graph_stopped_build_leaves_only_the_old_store(run, at):
    folder = record(run)
    open_graph(folder)
    before = {path.name: path.read_bytes() for path in (folder / STORE_FOLDER).iterdir() if path.is_file()}
    run.processes[0].threads[1].enter("g").exit("g")
    run.write()

    def stop(name, _done, _size):
        if name == at:
            raise Stopped

    with pytest.raises(Stopped):
        open_graph(folder, stop)
    assert {path.name: path.read_bytes() for path in (folder / STORE_FOLDER).iterdir() if path.is_file()} == before
    assert leftovers(folder) == []


BUILDER = """
import sys
from pathlib import Path
from clew.graph.store.store import open_graph
print(flush=True)
open_graph(Path(sys.argv[1]))
"""


def test_open_graph_removes_files_of_killed_build(run):
    folder = record(run, 2000)
    for delay in (0.0, 0.02, 0.04, 0.08):
        with subprocess.Popen([sys.executable, "-c", BUILDER, str(folder)], stdout=subprocess.PIPE) as builder:
            builder.stdout.readline()
            time.sleep(delay)
            builder.send_signal(signal.SIGKILL)
        # If a store exists, it is complete.
        if (folder / STORE_FOLDER).exists():
            same(load(folder)[0], build(folder)[0])
    # Add the files of a builder that died while it wrote.
    dead = folder / f".{STORE_FOLDER}-dead"
    dead.mkdir()
    (dead / "events.parquet").write_bytes(b"half")
    run.processes[0].threads[1].enter("f")
    run.write()
    expected, _ = build(folder)
    same(open_graph(folder)[0], expected)
    assert leftovers(folder) == []
    same(load(folder)[0], expected)


def test_workplace_folders_of_concurrent_builds_are_separate(tmp_path: Path):
    with workplace(tmp_path, "store") as one, workplace(tmp_path, "store") as other:
        assert one != other
        (one / "file").write_text("one")
        with workplace(tmp_path, "store"):
            assert (one / "file").read_text() == "one"
    assert list(tmp_path.iterdir()) == []


def test_open_graph_does_not_wait_for_the_collector(run):
    folder = record(run)
    with locked(folder) as mine:
        assert mine
        open_graph(folder)
        same(load(folder)[0], build(folder)[0])


def test_open_graph_concurrent_builds_give_one_store(run):
    folder = record(run, 500)
    expected, _ = build(folder)
    found = []
    builders = [threading.Thread(target=lambda: found.append(open_graph(folder)[0])) for _ in range(3)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    for graph in found:
        same(graph, expected)
    assert len(found) == 3
    assert leftovers(folder) == []
    same(load(folder)[0], expected)


MEASURE = """
import sys
from pathlib import Path
from clew.graph.build.builder import build
def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10
build(Path(sys.argv[1]))
before = peak()
graph, _ = build(Path(sys.argv[2]))
print(len(graph), peak() - before)
"""


def test_build_takes_bounded_memory_per_event(tmp_path):
    """The graph's own columns take about 60 bytes per event; temporary memory takes no more than that again."""
    small, large = (write_run(tmp_path / str(events), events) for events in (10_000, 1_000_000))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), str(large)], stdout=subprocess.PIPE, text=True, check=True
    )
    events, peak = map(int, done.stdout.split())
    assert events > 990_000
    assert peak / events < 150
