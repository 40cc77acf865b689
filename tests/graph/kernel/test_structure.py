"""The C kernel of the structure plane, its numpy oracle, event-by-event traversal, scipy and networkx agree on random
graphs; damaged arrays are refused."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.graph.kernel import _structure
from clew.graph.model.structure_layout import ARC, ARRAYS, VERTEX
from clew.graph.model.structure_plane import MANIFEST, Reached, Structure, StructureError
from clew.records.errors import ClewError
from tests.oracles import structure as kernel_reference
from tests.support.examples import examples

KERNELS = {"c": _structure, "python": kernel_reference}


class Graph:
    """A random graph: strands of nested regions, edges forward in time or anywhere, many into a region's first event."""

    def __init__(self, seed: int, *, strands: int = 5, size: int = 14, edges: int = 40) -> None:
        self.chance = chance = random.Random(seed)
        rows: list[int] = []
        region = 0
        for _ in range(chance.randint(1, strands)):
            stack = [region]
            region += 1
            for _ in range(chance.randint(1, size)):
                action = chance.random()
                if action < 0.25:
                    stack.append(region)
                    region += 1
                elif action < 0.45 and len(stack) > 1:
                    stack.pop()
                rows.append(stack[-1])
        self.region = np.array(rows, np.uint32)
        self.events = len(rows)
        # Add numbers of regions without events.
        self.regions = region + chance.randint(0, 2)
        forward = chance.random() < 0.7
        at_once = chance.random() < 0.3
        self.ts = np.array([chance.randint(0, 9) if at_once else row for row in range(self.events)], np.int64)
        if forward:
            self.ts.sort()
        # The order by time differs from the order of rows.
        place = list(range(self.events))
        if chance.random() < 0.5:
            place = [row for _, row in sorted((chance.random() + row % 7, row) for row in range(self.events))]
            rank = {row: at for at, row in enumerate(place)}
            latest: dict[int, int] = {}
            for row, number in enumerate(rows):
                latest[number] = max(rank[row], latest.get(number, -1) + 1)
                self.ts[row] = latest[number]
        first = {number: row for row, number in reversed(list(enumerate(rows)))}
        pairs = []
        openings = chance.random()
        for _ in range(chance.randint(0, edges)):
            a, b = chance.randrange(self.events), chance.randrange(self.events)
            b = first[rows[b]] if chance.random() < openings else b
            pairs.append((b, a) if forward and self.ts[a] > self.ts[b] else (a, b))
        if chance.random() < 0.5:
            pairs.sort(key=lambda pair: (rows[pair[0]], pair))
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        self.src, self.dst = ends[:, 0].copy(), ends[:, 1].copy()
        self.excluded = np.array([chance.random() < 0.2 for _ in pairs], bool) if chance.random() < 0.5 else None

    def structure(self, monkeypatch=None) -> Structure:
        return Structure.of(
            region=self.region,
            regions=self.regions,
            src=self.src,
            dst=self.dst,
            excluded=self.excluded,
            ts=self.ts,
        )

    def expanded(self, allowed=None) -> nx.MultiDiGraph:
        """Return the graph with a node for every event and edges between successive events of a region."""
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(range(self.events))
        latest: dict[int, int] = {}
        for row, number in enumerate(self.region.tolist()):
            if number in latest:
                graph.add_edge(latest[number], row)
            latest[number] = row
        for edge, (a, b) in enumerate(zip(self.src.tolist(), self.dst.tolist(), strict=True)):
            if allowed is None or allowed[edge]:
                graph.add_edge(a, b, edge=edge)
        return graph


def planes(structure):
    return {name: kernel.Plane(structure.arrays) for name, kernel in KERNELS.items()}


SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=examples(400), deadline=None)
@given(SEEDS)
def test_structure_build_kernel_equals_oracle(seed):
    graph = Graph(seed)
    first = np.flatnonzero(np.diff(graph.region.astype(np.int64), prepend=-1)).astype(np.uint32)
    ends = graph.src.astype(np.uint32), graph.dst.astype(np.uint32)
    excluded = None if graph.excluded is None else graph.excluded.astype(np.uint8)
    given_ = (graph.events, graph.regions, first, graph.region[first], *ends, excluded)
    assert _structure.build(*given_) == kernel_reference.build(*given_)
    assert _structure.times_ascend(*given_, graph.ts) == kernel_reference.times_ascend(*given_, graph.ts)


@settings(max_examples=examples(200), deadline=None)
@given(SEEDS)
@example(555796)  # has a region below a circle that precedes it
def test_structure_regions_and_subtrees_are_contiguous_ranges(seed):
    graph = Graph(seed)
    structure = graph.structure()
    arrays = structure.arrays
    regions, positions = structure.locate(np.arange(graph.events))
    assert sorted(positions.tolist()) == list(range(graph.events))
    assert np.array_equal(structure.rows_of(regions, positions), np.arange(graph.events))
    for number in set(graph.region.tolist()):
        mine = positions[graph.region == number]
        assert mine.tolist() == list(range(int(mine[0]), int(mine[0]) + len(mine)))
    # A region's parent is the source of its only counted in-edge, if that edge enters at its first event.
    counts = np.ones(len(graph.src), bool) if graph.excluded is None else ~graph.excluded
    parents = {}
    for number in sorted(set(graph.region.tolist())):
        into = np.flatnonzero(counts & (graph.region[graph.dst] == number))
        if len(into) == 1 and regions[graph.src[into[0]]] != regions[graph.dst[into[0]]]:
            row = int(graph.dst[into[0]])
            if row == np.flatnonzero(graph.region == number)[0]:
                parents[int(regions[row])] = int(regions[graph.src[into[0]]])
    above: list[int] = []
    cut = 0
    for region in range(structure.regions):
        while above and arrays["end"][above[-1]] <= region:
            above.pop()
        if above:
            assert parents[region] == above[-1]
            assert arrays["end"][region] <= arrays["end"][above[-1]]
        else:
            cut += region in parents
        above.append(region)
    # Each circle has exactly one edge that is not a tree edge.
    circles = list(nx.simple_cycles(nx.DiGraph((b, a) for a, b in parents.items())))
    assert cut == len(circles)


@settings(max_examples=examples(300), deadline=None)
@given(SEEDS)
def test_structure_slice_equals_traversal_scipy_and_networkx(seed):
    graph = Graph(seed)
    structure = graph.structure()
    allowed = np.array([graph.chance.random() < 0.7 for _ in graph.src], bool)
    expanded = graph.expanded(allowed)
    ends = np.array([(a, b) for a, b in expanded.edges()], np.int64).reshape(-1, 2)
    matrix = sp.csr_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), (graph.events, graph.events))
    root = graph.chance.randrange(graph.events)
    for forward in (True, False):
        reach = nx.descendants if forward else nx.ancestors
        expected = sorted(reach(expanded, root) | {root})
        order = sp.csgraph.breadth_first_order(matrix if forward else matrix.T, root, return_predecessors=False)
        assert sorted(order.tolist()) == expected
        for plane in planes(structure).values():
            here = structure.locate(np.array([root]))
            lows, highs, _ = plane.slice(forward, *here, allowed, None, -1, -1)
            assert np.frombuffer(plane.rows(lows, highs), np.int64).tolist() == expected


@settings(max_examples=examples(300), deadline=None)
@given(SEEDS)
def test_structure_slice_with_limits_kernel_equals_oracle(seed):
    graph = Graph(seed)
    structure = graph.structure()
    chance = graph.chance
    roots = np.array([chance.randrange(graph.events) for _ in range(chance.randint(0, 3))], np.int64)
    crosses = np.array([chance.random() < 0.3 for _ in graph.src], bool)
    for forward in (True, False):
        starts = np.sort(np.stack(structure.locate(roots)), axis=1)
        limits = chance.choice([-1, -1, 0, 1, 2, 3]), chance.choice([-1, -1, 0, 1, 2])
        answers = []
        for plane in planes(structure).values():
            lows, highs, followed = plane.slice(forward, *starts, None, crosses, *limits)
            reached = Reached(np.frombuffer(lows, np.uint32), np.frombuffer(highs, np.uint32), followed)
            regions, bounds = structure.by_region(reached, forward=forward)
            assert len(set(regions.tolist())) == len(regions)
            pairs = zip(regions.tolist(), bounds.tolist(), strict=True)
            answers.append((dict(pairs), followed if min(limits) < 0 else 0))
        assert answers[0] == answers[1]


def condensed_naively(graph, inside, allowed, label):
    """Return the sorted nodes as (first, last, label, events), and the number of edges between each two nodes."""
    expanded = graph.expanded(allowed).subgraph(inside)
    same = nx.Graph((a, b) for a, b in expanded.edges() if label[a] == label[b])
    same.add_nodes_from(inside)
    parts = {row: number for number, part in enumerate(nx.connected_components(same)) for row in part}
    rows: dict[int, list[int]] = {}
    for row, part in parts.items():
        rows.setdefault(part, []).append(row)
    about = {
        part: (int(graph.ts[mine].min()), int(graph.ts[mine].max()), int(label[mine[0]]), len(mine))
        for part, mine in rows.items()
    }
    arcs = Counter((about[parts[a]], about[parts[b]]) for a, b in expanded.edges() if label[a] != label[b])
    return sorted(about.values()), arcs


def condensed(vertices, arcs):
    vertex, arc = np.frombuffer(vertices, VERTEX), np.frombuffer(arcs, ARC)
    about = [tuple(row) for row in vertex[["first", "last", "label", "events"]].tolist()]
    assert [(row["first"], row["region"]) for row in vertex] == sorted((row["first"], row["region"]) for row in vertex)
    joined: Counter[object] = Counter()
    for source, target, count in arc.tolist():
        joined[about[source], about[target]] += count
    assert [tuple(row)[:2] for row in arc.tolist()] == sorted({tuple(row)[:2] for row in arc.tolist()})
    return sorted(about), joined


@settings(max_examples=examples(300), deadline=None)
@given(SEEDS)
def test_structure_condense_equals_networkx(seed):
    graph = Graph(seed)
    structure = graph.structure()
    if not structure.steady:
        return
    rows = structure.rows_of(np.arange(structure.regions, dtype=np.uint32), structure.arrays["start"][:-1])
    of_region = np.array([graph.chance.randrange(3) for _ in range(graph.regions)], np.uint32)
    label, labels = of_region[graph.region], of_region[graph.region[rows]]
    allowed = np.array([graph.chance.random() < 0.8 for _ in graph.src], bool)
    root = graph.chance.randrange(graph.events)
    for forward in (True, False):
        answers = []
        for plane in planes(structure).values():
            lows, highs, _ = plane.slice(forward, *structure.locate(np.array([root])), allowed, None, -1, -1)
            order = np.argsort(np.frombuffer(lows, np.uint32))
            lows, highs = (np.frombuffer(column, np.uint32)[order] for column in (lows, highs))
            answers.append(plane.condense(forward, lows, highs, allowed, labels, graph.ts))
            inside = np.frombuffer(plane.rows(lows, highs), np.int64).tolist()
        assert answers[0] == answers[1]
        assert condensed(*answers[0][:2]) == condensed_naively(graph, inside, allowed, label)


@pytest.mark.parametrize("labels_count", [1, 2, 4])
def test_structure_condense_by_forest_equals_condense_by_region(labels_count):
    tangled = asked = 0

    @settings(max_examples=examples(400), deadline=None)
    @given(SEEDS)
    @example(1)
    def check(seed):
        nonlocal tangled, asked
        graph = Graph(seed, strands=8, size=12, edges=30)
        structure = graph.structure()
        if not (structure.steady and structure.forward):
            return
        labels = np.array([graph.chance.randrange(labels_count) for _ in range(structure.regions)], np.uint32)
        c, twin = (plane.level(labels, graph.ts) for plane in planes(structure).values())
        for row in range(graph.events):
            found = c.condense(row)
            asked, tangled = asked + 1, tangled + (found is None)
            if found is not None:
                assert found == twin.condense(row)

    check()
    assert asked
    assert tangled < asked / 2


def test_structure_of_large_graph_uses_every_sorting_path():
    chance = np.random.default_rng(3)
    events, regions = 60_000, 900
    region = np.sort(chance.integers(0, regions, events)).astype(np.uint32)
    src, dst = np.sort(chance.integers(0, events, (2, 30_000)), axis=0)
    # One strand's loop receives most messages.
    dst[::2] = events - 1 - chance.integers(0, 50, 15_000)
    ts = np.arange(events, dtype=np.int64)
    structure = Structure.of(region=region, regions=regions, src=src, dst=dst, excluded=None, ts=ts)
    labels = chance.integers(0, 300, structure.regions).astype(np.uint32)
    c, twin = planes(structure).values()
    assert c.level(labels, ts).condense(5) == twin.level(labels, ts).condense(5)
    every = structure.arrays["start"][:-1], structure.arrays["start"][1:]
    assert c.rows(*every) == twin.rows(*every) == np.arange(events).tobytes()
    for forward in (True, False):
        assert c.condense(forward, *every, None, labels, ts) == twin.condense(forward, *every, None, labels, ts)


def test_structure_queries_in_several_threads_are_independent():
    graph = next(
        graph
        for graph in (Graph(seed, strands=40, size=60, edges=900) for seed in range(100))
        if graph.structure().forward and graph.structure().steady
    )
    structure = graph.structure()
    plane = _structure.Plane(structure.arrays)
    labels = np.zeros(structure.regions, np.uint32)
    level = plane.level(labels, graph.ts)

    def answers():
        found = []
        for row in range(0, graph.events, 3):
            here = structure.locate(np.array([row]))
            cut = plane.slice(True, *here, None, None, -1, -1)
            found.append((cut, plane.condense(True, *cut[:2], None, labels, graph.ts), level.condense(row)))
        return found

    expected = answers()
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(answers())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == expected for result in results)
    assert len(results) == 6


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_structure_plane_of_damaged_arrays_is_refused_or_answers(kernel):
    """Damaged arrays raise ValueError or answer every query without an index out of bounds."""
    refused = 0
    for seed in range(400):
        graph = Graph(seed)
        structure = graph.structure()
        arrays = {name: array.copy() for name, array in structure.arrays.items()}
        chance = random.Random(seed)
        name = chance.choice([name for name, array in arrays.items() if array.nbytes])
        flat = arrays[name].view(np.uint32)
        flat[chance.randrange(len(flat))] = chance.choice([0, 1, 2, 5, graph.events, 1 << 31, (1 << 32) - 1])
        if chance.random() < 0.1:
            arrays[name] = arrays[name][:-1]
        if int(arrays["start"][-1]) != graph.events:
            refused += 1  # by the caller, which knows the number of events
            continue
        try:
            plane = kernel.Plane(arrays)
        except ValueError as error:
            assert str(error).split(":")[0] in ARRAYS
            refused += 1
            continue
        labels = np.zeros(structure.regions, np.uint32)
        for row in range(graph.events):
            here = plane.locate(np.array([row]))
            for forward in (True, False):
                lows, highs, _ = plane.slice(forward, *here, None, None, -1, -1)
                plane.rows(lows, highs)
                plane.condense(forward, lows, highs, None, labels, graph.ts)
            if kernel is _structure:
                plane.level(labels, graph.ts).condense(row)
    assert refused > 200


@pytest.fixture
def saved(tmp_path):
    structure = Graph(11, strands=60, size=60, edges=2000).structure()
    structure.save(tmp_path / "structure")
    return structure, tmp_path / "structure"


def test_structure_load_of_saved_files_is_mapped_and_equal(saved):
    structure, folder = saved
    loaded = Structure.load(folder)
    assert (loaded.steady, loaded.forward) == (structure.steady, structure.forward)
    for name in ARRAYS:
        assert np.array_equal(loaded.arrays[name], structure.arrays[name])
    assert not loaded.arrays["out"].flags.writeable
    assert np.load(folder / "out.npy")["far"].tolist() == structure.arrays["out"]["far"].tolist()


def test_structure_load_damaged_file_raises_one_error(saved):
    _, folder = saved
    chance = random.Random(2)
    for name in ARRAYS:
        path = folder / f"{name}.npy"
        whole = path.read_bytes()
        damaged = [whole[:size] for size in range(0, len(whole), 4096)]
        for _ in range(20):
            data = bytearray(whole)
            data[chance.randrange(128, len(data)) if len(data) > 128 else chance.randrange(len(data))] ^= (
                1 << chance.randrange(8)
            )
            damaged.append(bytes(data))
        for data in damaged:
            path.write_bytes(data)
            if data == whole:
                continue
            try:
                loaded = Structure.load(folder)
            except StructureError as error:
                assert str(folder) in str(error)
            else:
                # The change is in the header's padding.
                assert data[:128] != whole[:128]
                assert np.array_equal(loaded.arrays[name], np.load(path))
        path.write_bytes(whole)
    Structure.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 99, this clew reads 1"),
        ({"arrays": {}}, "damaged"),
        ({"steady": None, "arrays": None}, "damaged"),
    ],
)
def test_structure_load_wrong_manifest_is_refused(saved, change, message):
    _, folder = saved
    about = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(about | change))
    with pytest.raises(StructureError, match=message):
        Structure.load(folder)


def test_structure_load_missing_file_is_named(saved):
    _, folder = saved
    (folder / "into.npy").unlink()
    with pytest.raises(StructureError, match=r"into\.npy: No such file"):
        Structure.load(folder)


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(max_size=70))
def test_checksum_kernel_equals_oracle(data):
    assert _structure.checksum(data) == kernel_reference.checksum(data)


def test_structure_of_invalid_or_too_large_graph_is_refused():
    none = np.zeros(0, np.int64)
    two = {"region": np.zeros(2, np.uint32), "regions": 1, "excluded": None, "ts": np.zeros(2, np.int64)}
    for kernel in KERNELS.values():
        for runs, regions, edges in (([1], [0], []), ([0, 0], [0, 0], []), ([0], [3], []), ([0], [0], [2])):
            given_ = [np.array(numbers, np.uint32) for numbers in (runs, regions, edges, edges)]
            with pytest.raises(ValueError, match="not of this graph"):
                kernel.build(2, 1, *given_, None)
    with pytest.raises(ClewError, match="at most 4,294,967,294 events"):
        Structure.of(**{**two, "regions": 1 << 33}, src=none, dst=none)
    with pytest.raises(IndexError):
        Structure.of(**two, src=none, dst=none).locate(np.array([2]))
