"""Compare a timeline's calls, arrows and files with the graph it was made from."""

from __future__ import annotations

import numpy as np
import pytest

from clew.graph.ops.timeline.layout import Timeline, from_arrays
from clew.graph.store import store, timeline_cache
from clew.records.format.event import EdgeKind
from clew.records.run.directory import load_run

ITEMS = 20


@pytest.fixture
def handed(run):
    """Return a run in which a thread hands items to another, each arriving later than the one before."""
    process = run.process()
    main, worker = process.thread("MainThread"), process.thread("worker")
    main.enter("main", at=100)
    for number in range(ITEMS):
        begin = 1000 * number + 200
        main.enter("make", at=begin).enter("part", at=begin + 50).exit("part", at=begin + 150)
        main.send(number, at=begin + 200).exit("make", at=begin + 300)
    main.exit("main", at=90_000)
    for number in range(ITEMS):
        begin = 1000 * number + 500 + 100 * number * number
        worker.enter("take", at=begin).receive(number, at=begin + 10).exit("take", at=begin + 90)
    return run


def spot_of(graph, timeline, *point, **more):
    found = timeline.spot(*point, **more)
    return found and (graph.function(found.event), found.begin, found.end)


def test_timeline_spot_finds_call_by_strand_depth_and_time(handed):
    graph = handed.graph()
    timeline = Timeline.of(graph)
    zero = 100 - graph.at("ts", 0)  # times count from the run's start

    def at(ns):
        return ns - zero

    assert spot_of(graph, timeline, 0, 1, at(3200)) == ("app:make", at(3200), at(3500))
    assert spot_of(graph, timeline, 0, 2, at(3260)) == ("app:part", at(3250), at(3350))
    # An end is not part of its call.
    assert timeline.spot(0, 1, at(3500)) is None and timeline.spot(0, 2, at(3249)) is None
    assert spot_of(graph, timeline, 0, 1, at(3600), slack=200) == ("app:make", at(3200), at(3500))
    assert timeline.spot(0, 7, at(3200)) is None
    make = timeline.spot(0, 1, at(3200))
    first, inside = timeline.inside(make)
    assert graph.function(first.event) == "app:part" and inside == 100
    assert timeline.neighbour(0, 1, at(3300), 1).begin == at(4200)
    assert timeline.neighbour(0, 1, at(3300), -1).begin == at(2200)
    assert timeline.neighbour(0, 1, at(3700), -1).begin == at(3200)
    assert timeline.neighbour(0, 1, at(200), -1) is None


def test_timeline_totals_of_functions_and_rows_equal_calls(handed):
    graph = handed.graph()
    timeline = Timeline.of(graph)
    site = graph.site[graph.calls.enter]
    for number in range(1, len(graph.sites)):
        assert timeline.site_ns[number] == graph.calls.total_ns[site == number].sum()
    assert timeline.row_ns[timeline.bars.row(0, 0)] == 90_000 - 100


def test_timeline_arrows_are_use_edges_in_the_time_range(handed):
    graph = handed.graph()
    timeline = Timeline.of(graph)
    both = np.ones(len(graph.strands), bool)
    use = graph.edge_kind == EdgeKind.USE
    edges = list(zip(graph.ts[graph.edge_src[use]].tolist(), graph.ts[graph.edge_dst[use]].tolist(), strict=True))
    assert len(edges) == ITEMS
    for begin, end in ((0, 10**6), (3000, 3500), (8000, 8001), (50_000, 60_000)):
        found, hidden = timeline.arrows_in(begin, end, both, 100)
        shown = sorted(zip(found["source_ns"].tolist(), found["target_ns"].tolist(), strict=True))
        assert shown == sorted(edge for edge in edges if edge[0] < end and edge[1] >= begin) and hidden == 0
        assert found["source_depth"].tolist() == [1] * len(found)
    longest, hidden = timeline.arrows_in(0, 10**6, both, 5)
    lengths = sorted((target - source for source, target in edges), reverse=True)
    assert (longest["target_ns"] - longest["source_ns"]).tolist() == lengths[:5] and hidden == ITEMS - 5
    both[1] = False
    assert len(timeline.arrows_in(0, 10**6, both, 100)[0]) == 0


def test_timeline_cache_with_damaged_file_is_rebuilt(handed, monkeypatch):
    monkeypatch.setattr(timeline_cache, "SMALL", 0)
    folder = handed.write()
    graph, _ = store.open_graph(folder)
    info = load_run(folder)
    made = timeline_cache.timeline_of(folder, info, graph)
    kept = folder / timeline_cache.FOLDER
    assert [file.name for file in kept.iterdir()] == [timeline_cache.FILE]

    def same(one):
        return all(np.array_equal(array, one.arrays[name]) for name, array in made.arrays.items())

    monkeypatch.setattr(timeline_cache.Timeline, "of", lambda _graph: pytest.fail("made anew"))
    assert same(timeline_cache.timeline_of(folder, info, graph)) and same(from_arrays(made.arrays))
    monkeypatch.undo()
    monkeypatch.setattr(timeline_cache, "SMALL", 0)
    for file in sorted(kept.iterdir()):
        data = file.read_bytes()
        for damaged in (data[:-1], data[:-1] + bytes([data[-1] ^ 1]), data[:1]) if data else ():
            # The file may be memory-mapped; replacing it keeps the mapped content.
            file.unlink()
            file.write_bytes(damaged)
            assert same(timeline_cache.timeline_of(folder, info, graph)), file.name
            assert (kept / file.name).read_bytes() == data
    assert same(timeline_cache.timeline_of(folder, info, graph))


def test_timeline_of_run_without_calls_is_empty(run):
    process = run.process()
    process.thread().log("nothing")
    timeline = Timeline.of(run.graph())
    assert timeline.bars.depths.sum() == 0 and timeline.spot(0, 0, 0) is None
    painted = timeline.paint([(0, 0, 2)], 0, 4, 8, 16)
    assert painted.cells.shape == (2, 8) and not painted.cells.any()
