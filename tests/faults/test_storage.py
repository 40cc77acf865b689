"""Disk, folder, descriptors and mappings fail: the program never notices, one line says what was lost, the rest is there."""

from __future__ import annotations

import errno
import os
import subprocess

import pytest

from clew.records.format.header import State
from clew.records.plan.plan import Plan, Rule, Target
from clew.records.read.process_records import Event
from clew.records.run.directory import trace_files

CALLS = 100_000
WORK = f"""
import os, shutil, sys

def work(number):
    return number + 1

def main():
    number = 0
    for _ in range({CALLS} // 50):
        for _ in range(50):
            number = work(number)
    print("result", number)

{{before}}
main()
sys.exit(7)
"""
"""More calls than the first segments of a trace hold."""


def program(before: str = "") -> str:
    return WORK.replace("{before}", before)


def order(events: list[Event]) -> list[int]:
    return [event.ticks for event in events]


def check_stopped(done, reason: str, state: State = State.FAILED) -> None:
    """One line said why; what was recorded before is the whole beginning; the file tells what was lost."""
    assert (done.code, done.stdout) == (7, f"result {CALLS}\n")
    (line,) = done.said
    process = done.process
    assert line.startswith(f"clew: recording of process {process.header.pid} stopped: ")
    assert reason in line
    assert process.header.state == state
    (problem,) = process.problems
    assert problem.what.startswith("recording stopped early")
    seen = done.calls("work")
    assert 1000 < seen < CALLS
    assert process.header.dropped >= 2 * (CALLS - seen) - 1
    events = list(process.events(1))
    assert order(events) == sorted(order(events))


def check_untraced(done, reason: str) -> None:
    assert (done.code, done.stdout) == (7, f"result {CALLS}\n")
    (line,) = done.said
    assert line.startswith("clew: process ") and "not recorded" in line and reason in line
    assert trace_files(done.folder) == []


def check_whole(done) -> None:
    assert (done.code, done.stdout, done.said) == (7, f"result {CALLS}\n", [])
    assert done.process.problems == []
    assert done.process.header.state == State.CLOSED
    assert done.calls("work") == CALLS


def test_a_full_disk(both, small_disk):
    check_stopped(both(program(), folder=small_disk), os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_from_the_start(both, small_disk):
    def fill(_folder):
        with (small_disk / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass

    check_untraced(both(program(), folder=small_disk, prepare=fill), os.strerror(errno.ENOSPC))


def test_a_read_only_folder(both, small_disk):
    def forbid(_folder):
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    check_untraced(both(program(), folder=small_disk, prepare=forbid), os.strerror(errno.EROFS))


def test_a_reached_quota(both, tmp_path):
    plan = Plan(rules=(Rule(Target("**", "**", root=str(tmp_path))),), quota=2 << 20)
    check_stopped(both(program(), plan=plan), "its quota of ", State.QUOTA)


def test_quota_with_newest_kept_stops_recording_on_a_disk_without_locks(both, tmp_path):
    # The recorder drops an old chunk only while it holds the lock on it: the collector may be reading that chunk.
    plan = Plan(rules=(Rule(Target("**", "**", root=str(tmp_path))),), quota=2 << 20, keep="newest")
    check_stopped(both(program(), plan=plan, fault=f"fcntl:1:{errno.ENOLCK}"), "its quota of ", State.QUOTA)


def test_a_file_size_limit(both):
    limit = "import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))"
    check_stopped(both(program(limit)), os.strerror(errno.EFBIG))


@pytest.mark.slow
@pytest.mark.parametrize("call", ["posix_fallocate", "mmap", "open"])
def test_a_call_that_fails_from_some_moment_on(both, call):
    number = {"posix_fallocate": errno.EDQUOT, "mmap": errno.ENOMEM, "open": errno.EACCES}[call]
    check_stopped(both(program(), fault=f"{call}:4:{number}"), os.strerror(number))


@pytest.mark.parametrize("call", ["posix_fallocate", "mmap", "open"])
def test_a_call_that_fails_from_the_start(both, call):
    number = {"posix_fallocate": errno.EIO, "mmap": errno.ENOMEM, "open": errno.EPERM}[call]
    check_untraced(both(program(), fault=f"{call}:1:{number}"), os.strerror(number))


@pytest.mark.parametrize("call", ["posix_fallocate", "mmap"])
def test_a_call_that_fails_once_costs_nothing(both, call):
    check_whole(both(program(), fault=f"{call}!4:{errno.ENOMEM}"))


def test_a_file_that_cannot_be_cut_at_the_end(both):
    check_whole(both(program(), fault=f"ftruncate:1:{errno.EIO}"))


@pytest.mark.parametrize("recorder", ["c"])
def test_a_thread_that_the_c_library_has_no_memory_for_is_dropped(both):
    done = both(
        """
        import os, threading

        def work():
            return 1

        work()
        thread = threading.Thread(target=lambda: print(work()))
        thread.start()
        thread.join()
        work()
        """,
        fault=f"pthread_setspecific:1:{errno.ENOMEM}",
    )
    assert done.stdout == "1\n"


def test_descriptors_used_up(both):
    exhaust = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(error, flush=True)
"""
    done = both(program(exhaust))
    assert done.stdout.splitlines()[0] == "[Errno 24] Too many open files: '/dev/null'"
    done.stdout = done.stdout.splitlines(keepends=True)[-1]
    check_stopped(done, os.strerror(errno.EMFILE))


def test_address_space_used_up(both, recorder):
    limit = """
import resource
try:
    held = None
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 20), used + (2 << 20)))
    held = bytearray(1 << 30)
except MemoryError as error:
    print(type(error).__name__)
"""
    done = both(program(limit))
    assert done.stdout.startswith("MemoryError\n")
    done.stdout = done.stdout.splitlines(keepends=True)[-1]
    check_whole(done)


GONE = {
    "deleted": "shutil.rmtree(FOLDER)",
    "moved": "os.rename(FOLDER, FOLDER + '-moved')",
    "a symlink now": "os.rename(FOLDER, FOLDER + '-moved'); os.makedirs(FOLDER + '-new'); os.symlink(FOLDER + '-new', FOLDER)",
    "a file now": "shutil.rmtree(FOLDER); open(FOLDER, 'w').close()",
    "another of that name now": """
shutil.copytree(FOLDER, FOLDER + '-copy'); shutil.rmtree(FOLDER); os.rename(FOLDER + '-copy', FOLDER)
[os.truncate(os.path.join(FOLDER, name), 10) for name in os.listdir(FOLDER)]
""",
}


@pytest.mark.parametrize("how", GONE)
def test_the_folder_goes_away(both, how):
    done = both(program(f"FOLDER = os.environ['FAULT_FOLDER']\n{GONE[how].strip()}"))
    assert (done.code, done.stdout) == (7, f"result {CALLS}\n")
    (line,) = done.said
    assert "stopped: " in line and "moved or removed" in line
    if "-moved" in GONE[how]:
        done.folder = done.folder.with_name(done.folder.name + "-moved")
        assert 1000 < done.calls("work") < CALLS
    elif "another" in how:
        assert [os.path.getsize(path) for path in trace_files(done.folder)] == [10]
    if "symlink" in how:
        assert os.listdir(done.folder.with_name(done.folder.name.replace("-moved", "-new"))) == []
