import json
import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pyarrow.parquet as pq
import pytest

import clew.graph.store.lazy_graph as stored_module
import clew.graph.store.parquet_read as tables_module
import clew.graph.store.store as store_module
from clew.graph.build.builder import build
from clew.graph.model.graph import Calls, ExecutionGraph, Regions
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.store import temp_dir
from clew.graph.store.store import MANIFEST, open_graph
from clew.records.plan.plan import Level, Plan, Target
from clew.records.run.directory import STORE_FOLDER

COLUMNS = ("ts", "kind", "site", "strand", "region", "call", "inner", "idle")
EDGE_COLUMNS = ("edge_src", "edge_dst", "edge_kind", "edge_channel")


@pytest.fixture
def folder(new_run):
    run = new_run(plan=Plan(levels=(Level("team", (("front", Target("client", "*")),)),)))
    client, server = run.process("client").thread(), run.process("server").thread("ünï")
    server.process.counters["hot:f"] = 7
    client.enter("client:ask").request("ask").send(1).exit("client:ask")
    server.enter("server:handle").receive(1).log("done", level=40).log("").exit("server:handle").receive(99)
    return run.write()


def same(a, b):
    for name in (*COLUMNS, *EDGE_COLUMNS):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
        assert getattr(a, name).dtype == getattr(b, name).dtype, name
    for part, of in (("regions", Regions), ("calls", Calls)):
        for field in fields(of):
            assert np.array_equal(getattr(getattr(a, part), field.name), getattr(getattr(b, part), field.name))
    assert [a.text(row) for row in range(len(a))] == [b.text(row) for row in range(len(b))]
    assert [a.channel(row) for row in range(len(a))] == [b.channel(row) for row in range(len(b))]
    assert [a.is_over(row) for row in range(len(a))] == [b.is_over(row) for row in range(len(b))]
    assert [a.key(row) for row in range(len(a))] == [b.key(row) for row in range(len(b))]
    for name in ("sites", "strands", "processes", "strings", "levels", "counted", "info"):
        assert getattr(a, name) == getattr(b, name), name
    for name, array in a.structure.arrays.items():
        assert np.array_equal(array, b.structure.arrays[name]), name
    assert (a.structure.steady, a.structure.forward) == (b.structure.steady, b.structure.forward)


def test_store_loaded_graph_equals_built_graph(folder, monkeypatch):
    built, problems = open_graph(folder)
    monkeypatch.setattr("clew.graph.build.builder.build", lambda folder: pytest.fail("it was built again"))
    loaded, loaded_problems = open_graph(folder)
    same(built, loaded)
    assert problems == loaded_problems != []
    for root in range(len(built)):
        assert np.array_equal(slice_events(built, [root]).events(), slice_events(loaded, [root]).events())


def test_stored_graph_has_every_field_of_execution_graph(folder):
    open_graph(folder)
    loaded, _ = store_module.load(folder)
    assert [field.name for field in fields(ExecutionGraph) if not hasattr(loaded, field.name)] == []


def test_store_of_graph_without_events_is_loaded(new_run):
    folder = new_run().write()
    built, _ = open_graph(folder)
    loaded, _ = open_graph(folder)
    same(built, loaded)
    assert len(loaded) == 0


def test_store_tables_are_parquet_and_private(folder):
    open_graph(folder)
    place = folder / STORE_FOLDER
    assert pq.read_table(place / "locations.parquet").column("qualname").to_pylist() == ["", "ask", "handle"]
    assert pq.read_table(place / "templates.parquet").column("template").to_pylist() == ["", "\0", "done"]
    assert pq.read_table(place / "payloads.parquet").column("parameters").to_pylist() == [
        [],
        ["1"],
        ["1"],
        [],
        [],
        ["99"],
    ]
    assert pq.read_metadata(place / "events.parquet").row_group(0).column(3).compression == "ZSTD"
    assert place.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def damage_truncate(place):
    path = place / "events.parquet"
    path.write_bytes(path.read_bytes()[:-4])


def damage_garbage(place):
    (place / "locations.parquet").write_bytes(b"PAR1 nonsense")


def damage_manifest(place):
    (place / MANIFEST).write_text("{")


def damage_missing(place):
    (place / "edges.parquet").unlink()


def damage_format(place):
    manifest = json.loads((place / MANIFEST).read_text().split("\n")[0])
    (place / MANIFEST).write_text(json.dumps({**manifest, "format": 99}))


def damage_older(place):
    manifest = json.loads((place / MANIFEST).read_text().split("\n")[0])
    del manifest["tables"]["regions"]
    (place / MANIFEST).write_text(json.dumps(manifest))


def damage_texts(place):
    (place / "templates.parquet").unlink()


def damage_list(place):
    (place / MANIFEST).write_text("[]")


@pytest.mark.parametrize(
    "damage",
    [
        damage_truncate,
        damage_garbage,
        damage_manifest,
        damage_missing,
        damage_format,
        damage_older,
        damage_texts,
        damage_list,
    ],
)
def test_store_damaged_or_of_another_version_is_rebuilt(folder, damage):
    built, _ = open_graph(folder)
    damage(folder / STORE_FOLDER)
    again, _ = open_graph(folder)
    same(built, again)
    loaded, _ = store_module.load(folder)
    same(built, loaded)


def test_store_of_changed_trace_files_is_stale(folder):
    open_graph(folder)
    path = next(folder.glob("*.clew"))
    os.utime(path, ns=(1, 1))
    with pytest.raises(store_module.StaleStore):
        store_module.load(folder)
    path.unlink()
    graph, _ = open_graph(folder)
    assert len(graph.processes) == 1
    assert len(open_graph(folder)[0].processes) == 1


def test_store_of_live_run_is_not_written(run):
    from clew.records.run.directory import save_run

    thread = run.process().thread()
    thread.enter("f")
    folder = run.write()
    save_run(folder, run.info)
    graph, problems = open_graph(folder)
    assert len(graph) == 1
    assert any("the run is not over" in problem.what for problem in problems)
    assert not (folder / STORE_FOLDER).exists()
    thread.exit("f")
    run.write()
    save_run(folder, run.info)
    assert len(open_graph(folder)[0]) == 2


def test_open_graph_in_read_only_folder_works_without_store(folder, monkeypatch):
    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(temp_dir.tempfile, "mkdtemp", refuse)
    graph, problems = open_graph(folder)
    assert len(graph) == len(build(folder)[0])
    assert "the graph cannot be stored there (Permission denied)" in problems[-1].what


def test_store_keeps_text_cut_inside_a_character(run):
    thread = run.process().thread()
    thread.log("whole é")
    thread.log("cut \N{EURO SIGN}")
    # Remove the last byte of the euro sign.
    record = thread.records[-1]
    length = len("cut €".encode())
    thread.records[-1] = record[:16] + (length - 1).to_bytes(2, "little") + record[18:]
    folder = run.write()
    built, _ = open_graph(folder)
    loaded, _ = open_graph(folder)
    assert (
        [built.text(0), built.text(1)]
        == [loaded.text(0), loaded.text(1)]
        == ["whole é", "cut \N{REPLACEMENT CHARACTER}"]
    )


def test_store_on_full_disk_is_removed_and_reported(folder):
    """Simulate a full disk by a file size limit: both fail where the file is written."""
    code = f"""
import resource, signal
from pathlib import Path
from clew.graph.store.store import open_graph
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES))
graph, problems = open_graph(Path({str(folder)!r}))
print(len(graph), problems[-1].what)
"""
    expected = len(build(folder)[0])
    for limit in (0, 50, 700):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("BYTES", str(limit))], capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        assert done.stdout == f"{expected} the graph cannot be stored there (File too large); it is rebuilt each time\n"
        assert not [path for path in folder.iterdir() if path.is_dir()]


def test_event_of_stored_graph_is_read_without_whole_columns(run, monkeypatch):
    """The run has many row groups."""
    monkeypatch.setattr(tables_module, "ROWS_A_GROUP", 7)
    monkeypatch.setattr(stored_module, "ROWS_A_GROUP", 7)
    process = run.process()
    one, two = process.thread(), process.thread("other")
    for number in range(12):
        one.enter("outer").log(f"line {number}").enter("inner").send(number).exit("inner").exit("outer")
        one.step(f"t{number}").join(number).enter("task").suspend("task").stop(f"t{number}")
        one.step(f"t{number}").join(f"woke {number}").unwind("task").send(f"done {number}", channel="asyncio.future")
        one.stop(f"t{number}")
        two.receive(number).enter("handle").log("", level=40).suspend("handle").log("beside").resume("handle").exit(
            "handle"
        )
    folder = run.write()
    built, _ = open_graph(folder)
    loaded, _ = store_module.load(folder)
    assert len(pq.ParquetFile(folder / STORE_FOLDER / "events.parquet").metadata.to_dict()["row_groups"]) > 10
    for row in [*range(len(built)), -1]:
        for column in ("ts", "kind", "site", "strand", "region", "call", "inner", "idle", "owner"):
            assert loaded.at(column, row) == built.at(column, row), (column, row)
        assert loaded.owner_of(row) == built.owner[row]
        assert (loaded.text(row), loaded.key(row), loaded.function(row)) == (
            built.text(row),
            built.key(row),
            built.function(row),
        )
    for call in built.calls.enter.tolist():
        assert loaded.exit_of(call) == built.exit_of(call)
    assert not {"ts", "kind", "site", "strand", "ext", "call", "calls", "owner"} & set(vars(loaded))
