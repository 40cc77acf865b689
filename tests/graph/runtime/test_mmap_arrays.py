"""A graph with columns in memory-mapped temp files equals one in memory and leaves no files behind."""

import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.build import call_nesting
from clew.graph.model.graph import Calls
from clew.graph.ops.aggregation import waits as waits_module
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.runtime import mmap_arrays
from clew.graph.runtime.mmap_arrays import MappedFiles
from clew.graph.store import lazy_graph, parquet_read, timeline_cache
from clew.graph.store.store import open_graph
from clew.records.run.directory import load_run
from tests.support.cancellation import SoonCancelled, WorkCancelled
from tests.support.examples import examples
from tests.support.requirements import needs_own_process

COLUMNS = ("ts", "kind", "site", "strand", "region", "ext", "call", "inner", "idle", "owner")
pytestmark = pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot reserve disk space")


@pytest.fixture
def parts(monkeypatch):
    """Make every array count as large, and split it into many parts."""
    for module, name, value in (
        (lazy_graph, "LARGE", 0), (lazy_graph, "ROWS_A_GROUP", 3), (parquet_read, "ROWS_A_GROUP", 3), (mmap_arrays, "SMALL", 1),
        (call_nesting, "_CHUNK", 3), (waits_module, "_PART", 3),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


STEPS = st.lists(st.sampled_from(("enter", "leave", "log", "send", "receive", "begin", "end")), max_size=25)


def recorded(new_run, strands):
    """Write a run of one process whose threads make these steps; some threads wait for others."""
    run = new_run()
    process = run.process()
    for number, steps in enumerate(strands):
        thread, depth, scopes = process.thread(f"t{number}"), 0, 0
        for step in steps:
            match step:
                case "enter":
                    thread.enter(f"f{depth % 3}")
                    depth += 1
                case "leave" if depth:
                    depth -= 1
                    thread.exit(f"f{depth % 3}")
                case "log":
                    thread.log("said")
                case "send":
                    thread.send(number)
                case "receive":
                    thread.receive(number - 1)
                case "begin":
                    scopes += 1
                    thread.begin(f"job{number}")
                case "end" if scopes:
                    scopes -= 1
                    thread.end()
                case _:
                    pass
    return run.write()


def waits(graph):
    """Return per call the time after its events in which it waits, computed event by event."""
    found = dict.fromkeys(graph.calls.enter.tolist(), 0)
    for row in range(len(graph) - 1):
        if graph.idle[row] and graph.inner[row] >= 0 and graph.strand[row] == graph.strand[row + 1]:
            found[int(graph.inner[row])] += int(graph.ts[row + 1] - graph.ts[row])
    return list(found.values())


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strands=st.lists(STEPS, min_size=1, max_size=4))
def test_graph_in_temp_files_equals_graph_in_memory(new_run, parts, strands):
    folder = recorded(new_run, strands)
    open_graph(folder)
    memory, files = open_graph(folder)[0], open_graph(folder)[0]
    files.spare()
    for name in COLUMNS:
        column, expected = getattr(files, name), getattr(memory, name)
        assert np.array_equal(column, expected) and column.dtype == expected.dtype, name
        files.release_memory()
        assert np.array_equal(column, expected), name
    for field in fields(Calls):
        assert np.array_equal(getattr(files.calls, field.name), getattr(memory.calls, field.name)), field.name
    assert waits_module.waits_of_calls(files).tolist() == waits_module.waits_of_calls(memory).tolist() == waits(memory)
    for root in range(0, len(memory), 7):
        told = [
            (made.nodes, made.edges)
            for made in (aggregate(slice_events(graph, [root]), "function") for graph in (memory, files))
        ]
        assert told[0] == told[1]


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strands=st.lists(STEPS, min_size=1, max_size=3))
def test_spilled_graph_values_are_equal_before_and_after_columns_are_read(new_run, parts, strands):
    folder = recorded(new_run, strands)
    open_graph(folder)
    graph, memory = open_graph(folder)[0], open_graph(folder)[0]
    graph.spare()
    asked = [(name, row) for name in ("owner", "call", "inner", "ts") for row in range(len(graph))]
    for _ in range(2):
        assert [graph.at(*one) for one in asked] == [int(getattr(memory, name)[row]) for name, row in asked]
        for name in COLUMNS:
            getattr(graph, name)


def test_spilled_columns_are_in_unlinked_files(new_run, parts):
    folder = recorded(new_run, [["enter", "send", "leave"], ["receive"]])
    graph = open_graph(folder)[0]
    assert not isinstance(base(graph.ts), mmap.mmap)
    graph = open_graph(folder)[0]
    graph.spare()
    there = sorted(folder.rglob("*"))
    assert isinstance(base(graph.ts), mmap.mmap) and isinstance(base(graph.calls.total_ns), mmap.mmap)
    assert sorted(folder.rglob("*")) == there


def base(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def test_spilled_arrays_made_while_others_are_released_keep_values(tmp_path, monkeypatch):
    monkeypatch.setattr(mmap_arrays, "SMALL", 1)
    place = MappedFiles(tmp_path)

    def make(number):
        kept = [place.allocate(100, np.int64) for _ in range(30)]
        for array in kept:
            array[:] = number
            place.release_memory()
        return all((array == number).all() for array in kept)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(make, range(12)))
    place.release_memory()
    assert not place._maps


def test_spilled_arrays_on_full_disk_are_in_memory(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(mmap_arrays, "SMALL", 1)
    allocate = MappedFiles(tmp_path).allocate
    array = allocate((2, 3), np.int64)
    array[:] = 7
    assert array.tolist() == [[7] * 3] * 2 and base(array) is array
    assert base(MappedFiles(tmp_path / "gone").allocate(5, np.uint8)).shape == (5,)


def test_spilled_arrays_that_were_released_are_still_readable(tmp_path, monkeypatch):
    monkeypatch.setattr(mmap_arrays, "SMALL", 1)
    place = MappedFiles(tmp_path)
    array = place.allocate(5000, np.int32)
    array[:] = np.arange(5000)
    place.release_memory()
    assert array.sum() == 5000 * 4999 // 2
    del array
    place.release_memory()
    assert not list(tmp_path.iterdir())


@needs_own_process
def test_timeline_made_by_worker_process_equals_own(new_run, monkeypatch):
    folder = recorded(new_run, [["enter", "send", "leave"] * 9, ["receive", "enter", "leave"] * 9])
    graph, info = open_graph(folder)[0], load_run(folder)
    made = timeline_cache.Timeline.of(graph)
    monkeypatch.setattr(timeline_cache, "SMALL", 0)
    monkeypatch.setattr(timeline_cache, "LARGE", 0)
    monkeypatch.setattr(timeline_cache.Timeline, "of", lambda _graph: pytest.fail("made here"))
    found = timeline_cache.timeline_of(folder, info, graph)
    assert found.arrays.keys() == made.arrays.keys()
    assert all(np.array_equal(array, found.arrays[name]) for name, array in made.arrays.items())

    other = folder / timeline_cache.FOLDER / timeline_cache.FILE
    other.unlink()
    with pytest.raises(WorkCancelled):
        timeline_cache.timeline_of(folder, info, graph, SoonCancelled())
    assert [path.name for path in folder.iterdir() if path.name.startswith(f".{timeline_cache.FOLDER}")] == []
