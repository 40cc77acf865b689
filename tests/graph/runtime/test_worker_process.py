"""Graphs built in temp files give the same stores in bounded memory, and failures leave no files behind."""

import contextlib
import hashlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from synthetic.runs import write_run

import clew.graph.store.store as store_module
from clew.graph.build.builder import build
from clew.graph.formats.import_run import import_run
from clew.graph.runtime import memory_limit, worker_process
from clew.graph.runtime.memory_limit import LIMIT_VARIABLE
from clew.graph.runtime.progress import no_progress
from clew.graph.store.lazy_graph import StoredGraph
from clew.graph.store.store import StaleStore, load, open_graph
from clew.records.compress.compressed_files import CompressedFiles
from clew.records.errors import ClewError
from clew.records.format import header as h
from clew.records.run.directory import STORE_FOLDER, load_run, save_run, trace_files
from tests.support.cancellation import SoonCancelled, WorkCancelled
from tests.support.requirements import needs_own_process

pytestmark = needs_own_process


@pytest.fixture
def in_files(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0")


@pytest.fixture
def in_memory(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "1T")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a run whose columns are large blocks."""
    return write_run(tmp_path_factory.mktemp("recorded"), 170_000, processes=1, threads=1)


@pytest.fixture
def folder(recorded):
    yield recorded
    drop_store(recorded)


def drop_store(folder):
    for path in sorted((folder / STORE_FOLDER).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    if (folder / STORE_FOLDER).exists():
        (folder / STORE_FOLDER).rmdir()


def store_files(folder):
    store = folder / STORE_FOLDER
    return {
        str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in store.rglob("*")
        if path.is_file()
    }


def leftovers(folder):
    return [path.name for path in folder.glob(f".{STORE_FOLDER}*")]


def store_of(folder, limit, monkeypatch):
    drop_store(folder)
    monkeypatch.setenv(LIMIT_VARIABLE, limit)
    graph, problems = open_graph(folder)
    assert isinstance(graph, StoredGraph) == (limit == "0")
    assert leftovers(folder) == []
    return store_files(folder), problems


def test_store_built_in_temp_files_equals_store_built_in_memory(folder, monkeypatch):
    assert store_of(folder, "0", monkeypatch) == store_of(folder, "1T", monkeypatch)
    heard = []
    drop_store(folder)
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    graph, _ = open_graph(folder, lambda *what: heard.append(what))
    assert list(dict.fromkeys(name for name, _, _ in heard)) == [
        "the records",
        "the graph",
        "the index",
        "the store",
        "",
    ]
    built, _ = build(folder)
    for name in ("ts", "kind", "ext", "region", "edge_src", "edge_dst"):
        assert (getattr(graph, name) == getattr(built, name)).all(), name


def test_open_graph_large_run_for_server_is_built_in_files(folder, in_memory, monkeypatch):
    drop_store(folder)
    assert not isinstance(open_graph(folder, spare=True)[0], StoredGraph)
    stored = store_files(folder)
    drop_store(folder)
    monkeypatch.setattr(memory_limit, "_SPARED", 1000)
    assert isinstance(open_graph(folder, spare=True)[0], StoredGraph)
    assert (store_files(folder), leftovers(folder)) == (stored, [])


def pack(trace):
    """Compress a trace file as a collector leaves it after the process ended."""
    data = trace.read_bytes()
    files = CompressedFiles(trace)
    for place in range(h.HEADER_SIZE, len(data), h.CHUNK_SIZE):
        files.append(data[place : place + h.CHUNK_SIZE])
    fields = list(h.HEADER.unpack_from(data))
    fields[h.HEADER_FIELDS.index("flags")] |= h.FLAG_PACKED
    trace.write_bytes(h.HEADER.pack(*fields) + data[h.HEADER.size : h.HEADER_SIZE])


def test_store_of_compressed_traces_has_the_same_tables(tmp_path, monkeypatch):
    folder = write_run(tmp_path, 60_000, processes=2, threads=2)
    plain, _ = store_of(folder, "0", monkeypatch)
    for trace in trace_files(folder):
        pack(trace)
    packed, _ = store_of(folder, "0", monkeypatch)
    assert packed == store_of(folder, "1T", monkeypatch)[0]
    for found in (plain, packed):
        # These contain the names of the trace files, which differ.
        del found["manifest.json"], found["processes.parquet"]
    assert packed == plain


def test_open_graph_small_run_is_built_in_own_process(run):
    process = run.process()
    process.thread().enter("f").exit("f")
    graph, _ = open_graph(run.write())
    assert not isinstance(graph, StoredGraph)


def spans(count):
    for number in range(count):
        trace, place = divmod(number, 10)
        span = {
            "traceId": f"{trace + 1:032x}", "id": f"{number + 1:016x}", "name": f"op{place}", "duration": 900 - place * 20,
            "timestamp": 1_700_000_000_000_000 + trace * 1000 + place * 10, "tags": {"number": str(trace)},
            "localEndpoint": {"serviceName": f"service{place % 3}"},
        }  # fmt: skip
        yield span | ({"parentId": f"{number:016x}"} if place else {})


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    file = tmp_path_factory.mktemp("foreign") / "zipkin.json"
    file.write_text(json.dumps(list(spans(20_000))))
    return file


def test_import_run_in_temp_files_equals_import_in_memory(tmp_path, foreign, monkeypatch):
    made = []
    for limit in ("0", "1T"):
        monkeypatch.setenv(LIMIT_VARIABLE, limit)
        run = import_run(tmp_path / limit, [foreign])
        assert isinstance(run.read.graph, StoredGraph) == (limit == "0")
        assert (run.info, run.read.spans, run.read.logs) == (load_run(run.folder), 20_000, 0)
        tables = store_files(run.folder)
        del tables["manifest.json"]  # has the time of the import
        made.append((tables, run.read.problems, run.read.origins))
    assert made[0] == made[1]
    # Build it again without a store.
    drop_store(run.folder)
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    assert isinstance(open_graph(run.folder)[0], StoredGraph)
    again = store_files(run.folder)
    del again["manifest.json"]
    assert again == made[0][0]


LIMITED = """
import resource, signal, sys
from pathlib import Path
from clew.graph.store.store import open_graph
from clew.records.errors import ClewError
which, limit = sys.argv[2:]
resource.setrlimit(getattr(resource, which), (int(limit), int(limit)))
try:
    graph, problems = open_graph(Path(sys.argv[1]))
except ClewError as error:
    print(error)
else:
    print(type(graph).__name__, len(graph))
"""


def limited(folder, which, limit, **environment):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder), which, str(limit)],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.slow
def test_open_graph_run_larger_than_memory_is_built_in_files(tmp_path, monkeypatch):
    """Bound a process's private memory: a build in memory fails with one message, a build in files makes the same store."""
    folder = write_run(tmp_path, 1_500_000, processes=1, threads=2)
    limit = 230 << 20
    message = limited(folder, "RLIMIT_DATA", limit, **{LIMIT_VARIABLE: "1T"})
    assert re.fullmatch(r".*: not enough memory to build the graph, which may take 0\.2\d+ GB; free some.*", message)
    assert not (folder / STORE_FOLDER).exists()
    # Without the variable, clew detects the limit.
    assert limited(folder, "RLIMIT_DATA", limit).startswith("StoredGraph 1499")
    found = store_files(folder)
    assert found == store_of(folder, "1T", monkeypatch)[0]


def peak(folder):
    """Return the run's number of events and the peak of private memory, sampled while a store is built."""
    most, over = 0, threading.Event()

    def look():
        nonlocal most
        while not over.wait(0.005):
            for child in builders():
                with contextlib.suppress(OSError, IndexError):
                    status = Path(f"/proc/{child}/status").read_text()
                    most = max(most, int(status.split("RssAnon:")[1].split()[0]) << 10)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        return len(open_graph(folder)[0]), most
    finally:
        over.set()
        watcher.join()


def builders():
    """Return our child processes that build graphs; other tests may have left other children."""
    found = []
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        with contextlib.suppress(OSError):
            if b"clew.graph.runtime.worker_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def wait_until_gone():
    """Wait for the worker processes that were killed: the system takes its time to end a large one."""
    end = time.monotonic() + 60
    while left := builders():
        assert time.monotonic() < end, f"worker processes still run: {left}"
        time.sleep(0.01)


LESSENED = """
from clew.graph.runtime import _file_malloc as _scratch
from clew.graph.store import store, parquet_read as tables
from clew.records.read import reader
def write(folder, made, of, progress):
    "Lower the limits so that a small run reaches them."
    _scratch.begin(made, 1 << 16)
    tables.ROWS_A_GROUP = 1 << 14
    reader._CACHE_BYTES = 0
    store._write_graph(folder, made, of, progress)
"""


@pytest.mark.slow
def test_private_memory_of_worker_process_does_not_grow_with_run(tmp_path, in_files, monkeypatch):
    """A build in memory needs more than 100 bytes an event."""
    (tmp_path / "lessened.py").write_text(LESSENED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(store_module, "_write_graph", importlib.import_module("lessened").write)
    (few, small), (many, large) = (
        peak(write_run(tmp_path / str(events), events, processes=1, threads=2)) for events in (120_000, 1_200_000)
    )
    assert many > few * 9
    # The number of busy Arrow threads varies, which makes up to 20 MB.
    assert (large - small) / (many - few) < 40


def test_open_graph_full_disk_keeps_old_store_and_prints_one_message(folder, in_memory):
    """Simulate a full disk by a file size limit: both fail where disk space for a block is reserved."""
    open_graph(folder)
    before = store_files(folder)
    os.utime(folder / "plan.json")
    for limit in (1 << 20, 1200 << 10):
        message = limited(folder, "RLIMIT_FSIZE", limit, **{LIMIT_VARIABLE: "0"})
        assert re.search(r": building the graph there needs up to 0\.0\d+ GB, [\d.]+ GB are free", message)
        assert "(File too large); make room" in message
        assert store_files(folder) == before
        assert leftovers(folder) == []


def test_open_graph_disk_full_while_writing_tables_prints_one_message(run):
    run.process().thread().enter("f").exit("f")
    folder = run.write()
    message = limited(folder, "RLIMIT_FSIZE", 700, **{LIMIT_VARIABLE: "0"})
    assert message.startswith(f"{folder}: building the graph there needs up to")
    assert "(File too large); make room" in message
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []


class Stopped(Exception):
    pass


@pytest.mark.parametrize("at", ["the records", "the graph", "the index", "the store"])
def test_progress_callback_that_raises_stops_the_worker_process(folder, in_files, at):
    def stop(name, _done, _size):
        if name == at:
            raise Stopped

    with pytest.raises(Stopped):
        open_graph(folder, stop)
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []
    wait_until_gone()


def test_open_graph_killed_worker_process_raises_one_error(folder, in_files):
    def kill(name, _done, _size):
        if name == "the graph":
            os.kill(int(builders()[0]), signal.SIGKILL)

    with pytest.raises(ClewError, match="was killed .SIGKILL.; the system does so when memory runs out"):
        open_graph(folder, kill)
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []


BUILDER = """
import os, sys, time
from pathlib import Path
from clew.graph.store.store import open_graph
def told(name, done, size):
    if name == sys.argv[2]:
        print(Path(f"/proc/self/task/{os.getpid()}/children").read_text(), flush=True)
        time.sleep(60)
open_graph(Path(sys.argv[1]), told)
"""


@pytest.mark.slow
@pytest.mark.parametrize("at", ["the graph", "the store"])
def test_worker_process_of_killed_parent_ends_and_files_are_removed(folder, in_files, at):
    with subprocess.Popen([sys.executable, "-c", BUILDER, str(folder), at], stdout=subprocess.PIPE, text=True) as asker:
        builder = int(asker.stdout.readline())
        asker.kill()
    while alive(builder):
        time.sleep(0.01)
    assert not (folder / STORE_FOLDER).exists()
    open_graph(folder)
    assert leftovers(folder) == []
    load(folder)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_open_graph_live_run_in_temp_files_is_rebuilt_when_it_grows(folder, in_files):
    info = load_run(folder)
    save_run(folder, info._replace(finished=None, launcher=os.getpid()))
    try:
        graph, problems = open_graph(folder)
        assert isinstance(graph, StoredGraph)
        assert "the run is not over" in problems[0].what
        os.utime(trace_files(folder)[0])
        assert graph.ts.tolist() == build(folder)[0].ts.tolist()
    finally:
        save_run(folder, info)
    # The trace files do not show that the run has ended.
    with pytest.raises(StaleStore):
        load(folder)
    assert not [problem for problem in open_graph(folder)[1] if "not over" in problem.what]
    load(folder)


def test_memory_limit_invalid_size_is_refused(folder, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "much")
    with pytest.raises(ClewError, match="CLEW_BUILD_MEMORY=much: not a size; write 500M or 8G"):
        open_graph(folder)


def test_worker_process_returns_results_and_errors(tmp_path):
    heard = []
    # `progress` comes last.
    assert worker_process.run(getattr, (1.5, "imag"), tmp_path, heard.append) == 0.0
    assert worker_process.run(print, ("in between",), tmp_path, heard.append) is None
    with pytest.raises(TypeError, match="unsupported operand"):
        worker_process.run(divmod, (1,), tmp_path, heard.append)
    assert heard == []
    assert list(tmp_path.iterdir()) == []


def test_wait_for_worker_process_that_is_cancelled_returns(tmp_path, monkeypatch):
    """The wait does not poll: cancellation is checked once at the start and once when it is requested."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    cancellation = SoonCancelled()
    with pytest.raises(WorkCancelled):
        worker_process.run(_sleep, (3600.0,), tmp_path, no_progress, cancellation)
    assert cancellation.asked == 2
    wait_until_gone()


def _sleep(seconds, _progress):
    time.sleep(seconds)
