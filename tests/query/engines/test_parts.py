"""A run in parts gives the answers of the whole run in any order of mail and after lost workers; damage is named."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import clew
from clew.graph.kernel import _structure
from clew.graph.model.structure_layout import MOVE, STATE
from clew.query.engines.open import open_parts
from clew.query.engines.partial_slice import SliceOptions
from clew.query.engines.partition import assign, cut, join
from clew.query.engines.partition_files import MANIFEST, partition, read_manifest
from clew.records.errors import ClewError
from tests.oracles import structure as kernel_reference

LEVELS = ("function", "class", "module", "component", "task", "thread", "process", "machine", "event")


@pytest.mark.parametrize("seed", range(6))
def test_parts_slices_equal_those_of_whole_run(twice, seed):
    both = twice(seed)
    for direction in ("forward", "backward"):
        for limits in both.limits():
            roots = both.roots()
            whole = both.whole.slice(*roots, direction=direction, **limits)
            parts = both.parts.slice(*roots, direction=direction, **limits)
            assert parts.result.events().tolist() == whole.result.events().tolist()
            assert parts.result.edges().tolist() == whole.result.edges().tolist()
            assert parts.result.count == whole.result.count
            assert parts.ids().tolist() == whole.ids().tolist()


@pytest.mark.parametrize("seed", range(6, 10))
def test_parts_aggregates_equal_those_of_whole_run(twice, seed):
    both = twice(seed)
    level = both.chance.choice(LEVELS)
    pairs = [(run.aggregate(level) for run in (both.whole, both.parts))]
    for direction in ("forward", "backward"):
        roots, limits = both.roots(), both.chance.choice(both.limits())
        for one in both.chance.sample(LEVELS, 4):
            pairs.append(
                run.slice(*roots, direction=direction, **limits).aggregate(one) for run in (both.whole, both.parts)
            )
    for whole, parts in pairs:
        assert parts.nodes == whole.nodes
        assert parts.edges == whole.edges
        assert parts.by_label().nodes == whole.by_label().nodes
        assert parts.by_label().edges == whole.by_label().edges
        assert parts.result.sizes.tolist() == whole.result.sizes.tolist()
        assert [list(times) for times in parts.result.spans] == [list(times) for times in whole.result.spans]


@pytest.mark.parametrize("seed", range(10, 13))
def test_parts_critical_paths_equal_those_of_whole_run(twice, seed):
    both = twice(seed)
    for direction in ("forward", "backward"):
        for limits in both.limits():
            roots = both.roots()
            whole = both.whole.slice(*roots, direction=direction, **limits).critical_path()
            parts = both.parts.slice(*roots, direction=direction, **limits).critical_path()
            assert parts.segments == whole.segments
            assert parts.project("process").segments == whole.project("process").segments
            assert parts.result.savings(25) == whole.result.savings(25)
            assert parts.result.branches() == whole.result.branches()
            if any(segment.self_ns for segment in whole.segments):
                label = max(whole.segments, key=lambda segment: segment.self_ns).label
                assert parts.result.what_if(label, 50) == whole.result.what_if(label, 50)


QUESTIONS = {
    "where": lambda run: run.events.where(kind="log", level__ge="INFO").select("id", "text", "process", "function"),
    "where a function": lambda run: run.events.where(lambda event: event.id % 3 == 0).select("id", "kind", "line"),
    "where an id": lambda run: run.events.where(id__lt=30).where(kind="send").select("id", "channel", "key"),
    "order": lambda run: run.events.order_by("-text").limit(7).select("id", "text", "thread"),
    "order, then where": lambda run: run.events.order_by("process").limit(50).where(kind="enter").select("id"),
    "a slice's events": lambda run: run.events.where(id__lt=9).slice("forward").where(kind="log").select("id", "text"),
    "requests": lambda run: run.requests.select("id", "channel"),
    "requests' slices": lambda run: run.requests.slice().select("id"),
    "back from requests": lambda run: run.requests.slice("backward").select("id"),
    "events": lambda run: [str(event) for event in run.events.limit(20)],
    "their numbers": lambda run: [(event.id, event.wall_ns, event.file) for event in run.events.where(kind="log")],
    "nothing": lambda run: run.events.where(text="nobody wrote this").slice().select("id"),
    "a path of requests": lambda run: run.requests.slice().critical_path(),
    "a diff": lambda run: run.aggregate("function").diff(run.requests.slice().aggregate("function")),
    "a reduce function": lambda run: run.aggregate("process", reduce=lambda graph, rows: int(graph.ts[rows].sum())),
    "both ways": lambda run: run.slice(7, direction="both", max_hops=2).select("id"),
    "until": lambda run: run.slice(3, direction="forward", until=run.events.where(kind="log")).aggregate("process"),
    "kinds of edges": lambda run: run.slice(90, edge_kinds=["use", "state"]).critical_path(),
    "groups": lambda run: (
        run.events.where(kind="log").group_by("process", "level").agg(lines="count", last=("max", "ts"))
    ),
    "neighbours": lambda run: run.events.where(kind="receive").neighbours(),
    "categories": lambda run: [category.requests for category in run.requests.categories()],
    "flows": lambda run: [
        run.requests.flows().request.tolist(),
        run.requests.flows().total_ns.tolist(),
        [run.requests.flows().text(number) for number in range(run.requests.count())],
    ],
    "dominators, gaps and rows": lambda run: [
        len(run.slice(80).gaps()),
        list(run.gaps),
        run.machines.to_arrow().to_pylist(),
        run.slice(80).result.touched.tolist(),
        run.slice(80).result.holds(run.slice(80).ids()).all(),
    ],
    "a label function": lambda run: run.aggregate(lambda event: event.kind + str(event.id % 2)),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_parts_queries_equal_those_of_whole_run(twice, question):
    both = twice(21)
    assert list(QUESTIONS[question](both.parts)) == list(QUESTIONS[question](both.whole))


@pytest.mark.parametrize("seed", range(30, 34))
def test_parts_worker_lost_at_any_time_changes_no_answer(twice, seed):
    both = twice(seed, steps=300)
    pool, answer, lost = both.pool, both.pool.next, []

    def next_or_lost(seconds=None):
        if both.chance.random() < 0.2 and len(lost) < 40:
            part = both.chance.randrange(pool.parts)
            lost.append(part)
            pool.kill(part)
        return answer(seconds)

    pool.next = next_or_lost
    both.parts.engine.coordinator.pool = pool
    for direction in ("forward", "backward"):
        for limits in both.limits()[:4]:
            roots = both.roots()
            whole = both.whole.slice(*roots, direction=direction, **limits)
            lost.clear()
            parts = both.parts.slice(*roots, direction=direction, **limits)
            assert parts.result.events().tolist() == whole.result.events().tolist()
            assert parts.aggregate("process").nodes == whole.aggregate("process").nodes
    assert both.parts.engine.coordinator.sessions


def test_parts_lost_worker_continues_from_saved_state(twice, monkeypatch):
    monkeypatch.setattr("clew.query.engines.distributed_slice.SAVED_AFTER", 1)
    both = twice(40, steps=600)
    root = int(np.argmax([len(both.whole.slice(row, direction="forward").result.touched) for row in range(40)]))
    made = both.parts.slice(root, direction="forward").result
    assert made.traffic.saved
    for part in range(both.pool.parts):
        both.pool.kill(part)
    assert made.events().tolist() == both.whole.slice(root, direction="forward").result.events().tolist()
    assert made.traffic.lost == both.pool.parts


def test_parts_worker_lost_repeatedly_raises_error(twice):
    both = twice(41)
    both.pool.revive = lambda part: None
    both.pool.kill(0)
    with pytest.raises(ClewError, match=r"the worker of part 0 was lost 6 times.* --parts N"):
        both.parts.slice(0).count()


@pytest.mark.parametrize("seed", range(50, 54))
def test_parts_slice_is_the_same_for_every_schedule(twice, seed):
    both = twice(seed, steps=300)
    engine = both.parts.engine
    root = both.roots()[0]
    for forward in (True, False):
        whole = both.whole.slice(root, direction="forward" if forward else "backward").result.events().tolist()
        rounds = {}
        for how in ("one hop", "batched", "asynchronous"):
            session = engine.coordinator.begin(SliceOptions(forward))
            part = int(engine.parts_of(np.array([root]))[0])
            mail = engine.coordinator.ask({part: (np.array([root]), "forward", False, False)}, "initial_mail")[part][0]
            engine.coordinator.slice(session, {part: mail}, how, latency=0.001 if how != "one hop" else 0.0)
            assert np.sort(engine.chosen(session.number, ())[0]).tolist() == whole
            rounds[how] = session.traffic.rounds
        assert rounds["one hop"] >= rounds["batched"]


@pytest.mark.parametrize("seed", range(60, 70))
def test_join_of_cut_parts_equals_the_graph(graph_by_seed, seed):
    graph = graph_by_seed(seed)
    made = join(cut(graph, assign(graph, 1 + seed % 6))).graph
    for name in (
        "ts",
        "kind",
        "site",
        "strand",
        "region",
        "call",
        "inner",
        "idle",
        "edge_src",
        "edge_dst",
        "edge_kind",
    ):
        assert np.array_equal(getattr(made, name), getattr(graph, name)), name
    for table in ("regions", "calls"):
        for column in dataclasses.fields(getattr(graph, table)):
            assert np.array_equal(*(getattr(getattr(one, table), column.name) for one in (made, graph))), column.name
    assert made.strands == graph.strands
    rows = range(len(graph))
    assert [(made.text(row), made.key(row), made.channel(row)) for row in rows] == [
        (graph.text(row), graph.key(row), graph.channel(row)) for row in rows
    ]


def test_assign_keeps_processes_whole_and_fills_every_part(graph_by_seed):
    graph = graph_by_seed(70)
    for parts in range(1, len(graph.processes) + 1):
        part = assign(graph, parts)
        assert sorted(set(part.tolist())) == list(range(parts))
        of_event = part[graph.event_process]
        for number, piece in enumerate(cut(graph, part)):
            sent, got = piece.outgoing["number"], piece.incoming["number"]
            assert np.all(of_event[graph.edge_src[sent]] == number)
            assert np.all(of_event[graph.edge_dst[sent]] == piece.outgoing["far_part"])
            assert np.all(of_event[graph.edge_dst[got]] == number)
            assert number not in piece.outgoing["far_part"]


@pytest.mark.parametrize("seed", range(80, 90))
def test_resumed_slice_equals_single_slice_in_kernel_and_oracle(graph_by_seed, seed):
    structure = graph_by_seed(seed).structure
    chance = np.random.default_rng(seed)
    rows = chance.integers(0, structure.events, 6)
    for forward in (True, False):
        reached = structure.slice(rows, forward=forward, allowed=None)
        start = structure.arrays["start"]
        for kernel in (_structure, kernel_reference):
            plane = kernel.Plane(structure.arrays)
            state, covered, pending = np.zeros(structure.regions, STATE), np.zeros(structure.events, int), b""
            for batch in (rows[:2], rows[2:3], rows[3:], rows[:0]):
                rounds = int(chance.integers(-1, 3)) if len(batch) else -1
                moves, pending, _ = plane.resume(forward, state, pending, *structure.locate(batch), None, rounds)
                for region, low, high in np.frombuffer(moves, MOVE).tolist():
                    assert start[region] <= low < high <= start[region + 1]
                    covered[low:high] += 1
            assert pending == b""
            assert covered.max() == 1  # every event is reported once
            inside = np.zeros(structure.events, int)
            for low, high in zip(reached.lows.tolist(), reached.highs.tolist(), strict=True):
                inside[low:high] = 1
            assert covered.tolist() == inside.tolist()


# Files


def test_open_parts_names_missing_or_changed_file(twice):
    both = twice(90)
    parts = read_manifest(both.where).parts
    for file in parts[0]["files"]:
        path = both.where / "part-0000" / file
        good = path.read_bytes()
        for bad in (None, good[:-1], bytes([good[0] ^ 1]) + good[1:]):
            path.unlink() if bad is None else path.write_bytes(bad)
            with pytest.raises(ClewError, match="part-0000.*again"):
                open_parts(both.where).events.count()
            path.write_bytes(good)
    assert open_parts(both.where).events.count() == len(both.graph)


def test_open_parts_names_missing_part(twice):
    both = twice(91)
    (both.where / "part-0001").rename(both.where / "elsewhere")
    with pytest.raises(ClewError, match="part-0001: missing part; copy it there, or partition the run again"):
        open_parts(both.where).events.count()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "damaged"),
        ('{"format": 99}', "has format 99, but this clew reads format 1"),
        ("[]", "damaged"),
        (None, "not a partitioned run"),
    ],
)
def test_open_parts_invalid_manifest_is_refused(twice, text, what):
    both = twice(92)
    (both.where / MANIFEST).unlink() if text is None else (both.where / MANIFEST).write_text(text)
    with pytest.raises(ClewError, match=what):
        open_parts(both.where)


def test_partition_on_full_disk_or_existing_folder_writes_no_files(graph_by_seed, tmp_path, monkeypatch):
    graph = graph_by_seed(93)

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("clew.query.engines.partition_files.save", full)
    with pytest.raises(ClewError, match="cannot be written .No space left on device.; free space"):
        partition(graph, tmp_path / "new" / "parts")
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "there").mkdir()
    with pytest.raises(ClewError, match="already exists"):
        partition(graph, tmp_path / "there")


def test_partition_to_url_equals_partition_to_folder(graph_by_seed, tmp_path):
    graph = graph_by_seed(94)
    where = (tmp_path / "bucket").as_uri()
    partition(graph, where, 3)
    assert (tmp_path / "bucket" / MANIFEST).is_file()
    run = clew.open(where)
    assert (
        run.slice(5).result.events().tolist() == clew.open(str(tmp_path / "bucket")).slice(5).result.events().tolist()
    )
    with pytest.raises(ClewError, match="cannot be reached"):
        clew.open("nothing-knows-this://bucket/run")


def test_open_parts_fetches_from_object_store(graph_by_seed, tmp_path, monkeypatch):
    import pyarrow.fs as pafs

    # clew treats every file system that is not local as an object store.
    far = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    monkeypatch.setattr(
        "clew.query.engines.partition_files.place", lambda where: (far, str(where).removeprefix("far://"))
    )
    graph = graph_by_seed(95)
    partition(graph, "far://run", 3)
    run = open_parts("far://run")
    assert list(run.events.select("id", "text")) == [
        (row, graph.text(row)) for row in np.argsort(graph.ts, kind="stable").tolist()
    ]
    (tmp_path / "run" / "part-0001" / "edges.npy").unlink()
    with pytest.raises(ClewError, match="part-0001/edges.npy: missing"):
        open_parts("far://run").events.count()


def test_open_with_unknown_engine_is_refused(twice):
    both = twice(96)
    with pytest.raises(ClewError, match="unknown engine 'spark'"):
        clew.open(both.where, engine="spark")
    with pytest.raises(ClewError, match="not a partitioned run, which the engine 'ray' needs"):
        clew.open("some-run", engine="ray")


def test_partition_makes_at_most_one_part_per_process(graph_by_seed, tmp_path):
    graph = graph_by_seed(97)
    assert partition(graph, tmp_path / "many", 100) == len(graph.processes)
    with pytest.raises(ClewError, match="0 parts: give 1 or more"):
        partition(graph, tmp_path / "none", 0)


@pytest.mark.parametrize("limit", [{"max_hops": -1}, {"max_network_hops": -2}])
def test_parts_invalid_limits_and_roots_are_refused_like_whole_run(twice, limit):
    both = twice(98)
    for run in (both.whole, both.parts):
        with pytest.raises(ClewError, match="give 0 or more, or None for no limit"):
            run.slice(0, **limit).count()
        with pytest.raises(ClewError, match=f"0 to {len(both.graph) - 1}; got 99999"):
            run.slice(99999).count()
        with pytest.raises(ClewError, match="an edge filter has one truth value per edge"):
            run.slice(0, edge_filter=np.zeros(3, bool)).count()
