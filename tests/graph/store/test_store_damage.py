"""A damaged store is rebuilt or raises one error; it never gives a different answer."""

import os
import shutil
from dataclasses import fields

import numpy as np
import pytest

import clew.graph.store.store as store_module
from clew.graph.build.builder import build
from clew.graph.model.graph import Calls, Regions
from clew.graph.store.store import StaleStore, load, open_graph
from clew.records.errors import RunError
from clew.records.plan.plan import Level, Plan, Target
from clew.records.run.directory import STORE_FOLDER

COLUMNS = ("ts", "kind", "site", "strand", "region", "call", "inner", "idle")
EDGE_COLUMNS = ("edge_src", "edge_dst", "edge_kind", "edge_channel")


def everything(graph):
    """Return everything in a graph as a comparable value."""
    arrays = [getattr(graph, name) for name in (*COLUMNS, *EDGE_COLUMNS)]
    arrays += [getattr(graph.regions, field.name) for field in fields(Regions)]
    arrays += [getattr(graph.calls, field.name) for field in fields(Calls)]
    events = range(len(graph))
    said = [(graph.text(row), graph.key(row), graph.channel(row), graph.is_over(row)) for row in events]
    rest = [graph.sites, graph.strands, graph.processes, graph.machines, graph.strings, graph.levels, graph.counted]
    structure = [array.tobytes() for array in graph.structure.arrays.values()]
    return [array.tobytes() for array in arrays], said, rest, structure


def make(run, lines):
    client, server = run.process("client").thread(), run.process("server").thread("ünï")
    client.enter("client:ask").request("ask").send(1).exit("client:ask")
    server.enter("server:handle").receive(1)
    rng = np.random.default_rng(7)
    for number, size in enumerate(rng.integers(0, 1 << 40, lines).tolist()):
        server.log(f"chunk {number} has {size} bytes", level=40, at=run.clock.now + size % 100_000)
    server.exit("server:handle").receive(99)
    return run.write()


@pytest.fixture
def folder(new_run):
    return make(new_run(plan=Plan(levels=(Level("team", (("front", Target("client", "*")),)),))), 20)


@pytest.fixture
def restored(folder, tmp_path):
    """Return a function that restores the store."""
    open_graph(folder)
    kept = tmp_path / "kept"
    shutil.copytree(folder / STORE_FOLDER, kept)

    def restore():
        shutil.rmtree(folder / STORE_FOLDER, ignore_errors=True)
        shutil.copytree(kept, folder / STORE_FOLDER)

    return restore


def files_of(folder):
    return sorted(path for path in (folder / STORE_FOLDER).rglob("*") if path.is_file())


def test_store_with_flipped_bit_is_stale_or_unaffected(folder, restored):
    expected = everything(build(folder)[0])
    rng = np.random.default_rng(3)
    found = 0
    for path in files_of(folder):
        whole = path.read_bytes()
        for place in {0, 4, len(whole) - 1, len(whole) - 6, *rng.integers(0, max(len(whole), 1), 8).tolist()}:
            if not 0 <= place < len(whole):
                continue
            damaged = bytearray(whole)
            damaged[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(bytes(damaged))
            try:
                graph, _ = load(folder)
            except StaleStore:
                found += 1
            else:
                assert everything(graph) == expected, (path.name, place)
            restored()
    assert found > 50


def test_store_truncated_file_is_rebuilt(new_run):
    folder = make(new_run(), 3000)
    graph, _ = open_graph(folder)
    expected = everything(graph)
    cuts = [(path, at) for path in files_of(folder) for at in range(0, path.stat().st_size, 4096)]
    assert len(cuts) > 30
    for path, at in cuts:
        os.truncate(path, at)
        with pytest.raises(StaleStore):
            load(folder)
        graph, problems = open_graph(folder)
        assert "it was damaged" in problems[-1].what, (path.name, at)
        assert "has been rebuilt" in problems[-1].what
    assert everything(graph) == expected
    assert not any("damaged" in problem.what for problem in load(folder)[1])


def test_store_column_found_damaged_on_access_is_rebuilt(folder):
    open_graph(folder)
    graph, problems = load(folder)
    place = graph.tables.folder / "events.parquet"
    whole = bytearray(place.read_bytes())
    whole[8] ^= 4
    place.write_bytes(bytes(whole))
    graph, problems = load(folder)
    assert not any("damaged" in problem.what for problem in problems)
    assert graph.ts.tolist() == build(folder)[0].ts.tolist()
    assert "ts in events.parquet has changed" in problems[-1].what
    assert everything(graph) == everything(load(folder)[0]) == everything(build(folder)[0])


def test_store_with_files_of_other_tables_or_runs_is_rebuilt(new_run, folder, restored, tmp_path):
    expected = everything(build(folder)[0])
    other = make(new_run("other"), 21)
    open_graph(other)
    for path in files_of(folder):
        shutil.copy(other / path.relative_to(folder), path)
        if path.read_bytes() != (tmp_path / "kept" / path.relative_to(folder / STORE_FOLDER)).read_bytes():
            graph, _ = open_graph(folder)
            assert everything(graph) == expected, path.name
        restored()
    tables = sorted((folder / STORE_FOLDER).glob("*.parquet"))
    for one, two in zip(tables, tables[1:], strict=False):
        data = one.read_bytes()
        one.write_bytes(two.read_bytes())
        two.write_bytes(data)
        assert everything(open_graph(folder)[0]) == expected
        restored()


def test_store_without_trace_files_is_loaded_with_a_note(folder):
    expected = everything(open_graph(folder)[0])
    for path in folder.glob("*.clew"):
        path.unlink()
    graph, problems = open_graph(folder)
    assert everything(graph) == expected
    assert problems[-1].what == "its trace files are missing; this is the graph that was built from them"


@pytest.mark.parametrize("name", ["manifest.json", "events.parquet", "structure/structure.json", "structure/start.npy"])
def test_store_damaged_without_trace_files_raises_one_error(folder, name):
    open_graph(folder)
    for path in folder.glob("*.clew"):
        path.unlink()
    path = folder / STORE_FOLDER / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match="damaged .*trace files to rebuild it from are missing") as caught:
        open_graph(folder)
    assert "\n" not in str(caught.value)
    graph_damage = folder / STORE_FOLDER / name
    graph_damage.unlink()
    with pytest.raises(RunError, match="damaged"):
        open_graph(folder)


def test_store_column_damaged_without_trace_files_raises_one_error(folder):
    open_graph(folder)
    place = folder / STORE_FOLDER / "events.parquet"
    whole = bytearray(place.read_bytes())
    whole[8] ^= 4
    place.write_bytes(bytes(whole))
    for path in folder.glob("*.clew"):
        path.unlink()
    graph, _ = open_graph(folder)
    with pytest.raises(RunError, match="ts in events.parquet has changed"):
        graph.ts  # noqa: B018  # the access is the test


def test_store_save_that_crashes_leaves_the_old_store(folder, monkeypatch):
    open_graph(folder)
    before = {path.name: path.read_bytes() for path in files_of(folder)}
    graph, problems = build(folder)

    def crash(*_arguments):
        raise KeyboardInterrupt

    for name in ("write_tables", "_put_in_place"):
        with monkeypatch.context() as patched:
            patched.setattr(store_module, name, crash)
            with pytest.raises(KeyboardInterrupt):
                store_module.save(folder, graph, problems, store_module.fingerprint(folder))
        assert {path.name: path.read_bytes() for path in files_of(folder)} == before
        assert [path.name for path in folder.iterdir() if path.is_dir()] == [STORE_FOLDER]
