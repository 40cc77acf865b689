"""Available memory is limited by the system, by control groups of both versions and by the process's own limit."""

import subprocess
import sys

import pytest
from synthetic.runs import write_run

from clew.graph.build.builder import build
from clew.graph.runtime.memory_limit import LIMIT_VARIABLE, allowed, available, need_of_file, need_of_records
from clew.records.compress.compressed_files import CompressedFiles
from clew.records.errors import ClewError
from clew.records.format import header as h
from clew.records.run.directory import compressed_files, trace_files

GB = 1 << 30


@pytest.fixture
def system(tmp_path):
    """Return a function that writes the system's files; 10 GB are available."""

    def write_files(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    write_files(
        proc__meminfo=f"MemTotal:       16777216 kB\nMemAvailable:   {10 * GB >> 10} kB\nHugePages_Total:   0\n"
    )
    return write_files


def write(root, folder, **files):
    place = root / "sys/fs/cgroup" / folder
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name.replace("_", ".", 1)).write_text(text)


def test_available_memory_without_limits_is_that_of_the_system(system):
    assert available(system()) == 10 * GB
    assert available(system(proc__self__cgroup="0::/\n")) == 10 * GB


def test_available_memory_of_unknown_system_is_unlimited(tmp_path):
    assert available(tmp_path) == 1 << 62


def test_available_memory_in_cgroup_ignores_reclaimable_file_cache(system):
    root = system(proc__self__cgroup="0::/user.slice/app.scope\n")
    write(root, "user.slice", memory_max="max\n", memory_current=f"{9 * GB}\n", memory_stat="anon 1\n")
    write(
        root, "user.slice/app.scope", memory_max=f"{4 * GB}\n", memory_current=f"{3 * GB}\n",
        memory_stat=f"anon {GB}\ninactive_file {GB}\nactive_file {GB // 2}\nfile_dirty 7\n",
    )  # fmt: skip
    assert available(root) == 2 * GB + GB // 2


def test_available_memory_is_limited_by_outer_cgroup(system):
    root = system(proc__self__cgroup="0::/outer/inner\n")
    write(root, "outer", memory_max=f"{2 * GB}\n", memory_current=f"{2 * GB}\n", memory_stat="anon 5\n")
    write(root, "outer/inner", memory_max=f"{4 * GB}\n", memory_current="0\n", memory_stat="")
    assert available(root) == 0


@pytest.mark.parametrize("shown", ["job/", ""])
def test_available_memory_in_cgroup_v1_of_container_is_found(system, shown):
    root = system(proc__self__cgroup="9:name=systemd:/\n4:cpu,memory:/job\n0::/\n")
    place = root / "sys/fs/cgroup/memory" / shown
    place.mkdir(parents=True)
    (place / "memory.limit_in_bytes").write_text(f"{3 * GB}\n")
    (place / "memory.usage_in_bytes").write_text(f"{GB}\n")
    (place / "memory.stat").write_text(f"inactive_file 1\ntotal_inactive_file {GB >> 1}\ntotal_active_file 0\n")
    assert available(root) == 2 * GB + (GB >> 1)


def test_available_memory_respects_limit_of_the_process():
    code = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))\n"
    code += "from clew.graph.runtime.memory_limit import available; print(available())"
    found = int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)
    assert GB // 4 < found < GB


def test_allowed_memory_variable_is_in_bytes_or_units(monkeypatch):
    for text, size in {"0": 0, "123": 123, "64K": 64 << 10, "500m": 500 << 20, " 8GB ": 8 * GB, "1T": 1 << 40}.items():
        monkeypatch.setenv(LIMIT_VARIABLE, text)
        assert allowed() == size
    for text in ("-1", "1.5G", "G", "8 G B", "lots"):
        monkeypatch.setenv(LIMIT_VARIABLE, text)
        with pytest.raises(ClewError, match="not a size; write 500M or 8G, or 0"):
            allowed()
    monkeypatch.setenv(LIMIT_VARIABLE, "")
    assert 0 < allowed() <= available()


def test_memory_need_of_records_is_bounded_compressed_or_not(tmp_path):
    folder = write_run(tmp_path, 40_000, processes=1, threads=2)
    events = len(build(folder)[0])
    trace = trace_files(folder)[0]
    plain = need_of_records(trace)
    # In an uncompressed file every record is assumed to be of the smallest size.
    assert 100 * events < plain < 300 * events
    data = trace.read_bytes()
    files = CompressedFiles(trace)
    for place in range(h.HEADER_SIZE, len(data), h.CHUNK_SIZE):
        files.append(data[place : place + h.CHUNK_SIZE])
    packed = compressed_files(trace)
    assert 100 * events < sum(map(need_of_records, packed)) < 120 * events
    packed[0].write_bytes(b"damaged" + packed[0].read_bytes()[100:])
    assert sum(map(need_of_records, packed)) < 120 * events


def test_memory_need_of_holes_and_missing_files_is_zero(tmp_path):
    file = tmp_path / "1-a.clew"
    file.write_bytes(bytes(range(256)) * 256)
    with file.open("r+b") as opened:
        opened.truncate(1 << 40)
    assert need_of_records(file) < 1 << 30
    assert need_of_file(tmp_path / "gone.json") == 0
    assert need_of_records(tmp_path / "gone.clew") == 0
    assert need_of_records(tmp_path / "gone.clewz") == 0


def test_memory_need_of_compressed_file_is_larger(tmp_path):
    plain, compressed = tmp_path / "trace.json", tmp_path / "trace.json.gz"
    for path in (plain, compressed):
        path.write_bytes(bytes(range(256)) * 256)
    assert need_of_file(compressed) == 10 * need_of_file(plain) > 0
