"""Graphs, stores and problems are identical for any number of build threads."""

import shutil
import threading

import numpy as np
import pytest
from synthetic.runs import write_run

from clew.graph.build import read_columns
from clew.graph.build.builder import build
from clew.graph.runtime.progress import Meter
from clew.graph.store import parquet_read
from clew.graph.store.store import fingerprint, open_graph, save
from clew.records.compress.compressed_files import CompressedFiles
from clew.records.errors import ClewError
from clew.records.format import header as h
from clew.records.read import parallel
from clew.records.run.directory import STORE_FOLDER, load_run, save_run, trace_files

CORES = (1, 2, 4)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Split a thread's records and a table's rows among several build threads."""
    monkeypatch.setattr(read_columns, "_PIECE_BYTES", 200_000)
    monkeypatch.setattr(parquet_read, "ROWS_A_GROUP", 5_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("recorded"), 60_000, processes=3, threads=2)


def bytes_of(graph):
    """Return the bytes of every column by name."""
    found = {}
    for name, value in vars(graph).items():
        columns = {name: value} if isinstance(value, np.ndarray) else vars(value) if hasattr(value, "__dict__") else {}
        found |= {f"{name}.{column}": one.tobytes() for column, one in columns.items() if isinstance(one, np.ndarray)}
    texts = graph.extensions.texts
    found |= {"start": texts.start.tobytes(), "texts": texts.data.tobytes()}
    return found | {f"plane.{name}": array.tobytes() for name, array in graph.structure.arrays.items()}


def store_files(folder):
    store = folder / STORE_FOLDER
    return {path.relative_to(store): path.read_bytes() for path in store.rglob("*") if path.is_file()}


def on(cores, monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: cores)


def pack_halves(folder):
    """Compress half of the records, as a collector leaves a live run."""
    for trace in trace_files(folder):
        data = bytearray(trace.read_bytes())
        places = range(h.HEADER_SIZE, len(data), h.CHUNK_SIZE)
        files = CompressedFiles(trace)
        for place in places[: len(places) // 2]:
            files.append(bytes(data[place : place + h.CHUNK_SIZE]))
            data[place : place + h.CHUNK_SIZE] = bytes(h.CHUNK_SIZE)
        trace.write_bytes(data)


def test_build_and_store_are_the_same_for_any_number_of_threads(folder, monkeypatch):
    made, stores = [], []
    for cores in CORES:
        on(cores, monkeypatch)
        graph, problems = build(folder)
        made.append((bytes_of(graph), problems, graph.sites, graph.strands, graph.processes))
        save(folder, graph, problems, fingerprint(folder))
        stores.append(store_files(folder))
    shutil.rmtree(folder / STORE_FOLDER)
    assert len(made[0][0]) > 40
    assert made[1] == made[0] == made[2]
    assert stores[1] == stores[0] == stores[2]


def test_build_with_streams_cut_at_any_length_is_the_same(folder, monkeypatch):
    on(2, monkeypatch)
    cut, _ = build(folder)
    monkeypatch.setattr(read_columns, "_PIECE_BYTES", 1 << 30)
    whole, _ = build(folder)
    assert bytes_of(cut) == bytes_of(whole)


def test_open_graph_live_run_on_several_threads_is_the_same(folder, tmp_path, monkeypatch):
    going = tmp_path / "going"
    shutil.copytree(folder, going)
    save_run(going, load_run(going)._replace(finished=None))
    on(1, monkeypatch)
    expected = bytes_of(build(going)[0])
    on(4, monkeypatch)
    assert bytes_of(open_graph(going)[0]) == expected
    assert (going / "growing" / "state").exists()
    pack_halves(going)
    assert bytes_of(open_graph(going)[0]) == expected
    on(1, monkeypatch)
    assert bytes_of(open_graph(going)[0]) == expected


@pytest.mark.parametrize("cores", CORES)
def test_build_raises_the_error_of_a_thread_and_leaves_no_thread(folder, cores, monkeypatch):
    on(cores, monkeypatch)

    def fail(*_given):
        raise ClewError("this, once")

    monkeypatch.setattr(read_columns, "split", fail)
    with pytest.raises(ClewError, match="^this, once$"):
        build(folder)
    assert all(thread.name != "clew-together" for thread in threading.enumerate())


@pytest.mark.parametrize("at", ["the records", "the graph", "the index", "the store"])
def test_progress_callback_that_raises_stops_a_build_on_several_threads(folder, at, monkeypatch):
    on(4, monkeypatch)
    heard = []

    def stop(name, done, _size):
        heard.append((name, done))
        if name == at and (done or name == "the index"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_graph(folder, stop)
    assert heard[-1][0] == at
    assert not (folder / STORE_FOLDER).exists()
    assert all(thread.name != "clew-together" for thread in threading.enumerate())


def test_meter_reports_progress_from_one_thread_at_a_time(monkeypatch):
    on(4, monkeypatch)
    told, telling = [], threading.Lock()

    def tell(name, done, size):
        assert telling.acquire(blocking=False)
        told.append((name, done, size))
        telling.release()

    meter = Meter(tell, "work", 1000)
    parallel.together([lambda: meter.next(10)] * 100)
    meter.over()
    assert told == [("work", done, 1000) for done in range(0, 1001, 10)]
