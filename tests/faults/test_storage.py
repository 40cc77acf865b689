"""Disk, folder, descriptors or mappings fail: the program never notices, and one line reports what was lost."""

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
"""More calls than fit into the first segments of a trace."""


def program(before: str = "") -> str:
    return WORK.replace("{before}", before)


def order(events: list[Event]) -> list[int]:
    return [event.ticks for event in events]


def check_stopped(done, reason: str, state: State = State.FAILED) -> None:
    """Check that one line said why, that the records before the failure are complete, and that the file counts lost ones."""
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


def check_complete(done) -> None:
    assert (done.code, done.stdout, done.said) == (7, f"result {CALLS}\n", [])
    assert done.process.problems == []
    assert done.process.header.state == State.CLOSED
    assert done.calls("work") == CALLS


def test_recorder_on_disk_that_fills_up_stops_with_one_line(both, small_disk):
    check_stopped(both(program(), folder=small_disk), os.strerror(errno.ENOSPC))


def test_recorder_on_full_disk_leaves_program_untraced(both, small_disk):
    def fill(_folder):
        with (small_disk / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass

    check_untraced(both(program(), folder=small_disk, prepare=fill), os.strerror(errno.ENOSPC))


def test_recorder_in_read_only_folder_leaves_program_untraced(both, small_disk):
    def forbid(_folder):
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    check_untraced(both(program(), folder=small_disk, prepare=forbid), os.strerror(errno.EROFS))


def test_recorder_at_its_quota_stops_with_one_line(both, tmp_path):
    plan = Plan(rules=(Rule(Target("**", "**", root=str(tmp_path))),), quota=2 << 20)
    check_stopped(both(program(), plan=plan), "its quota of ", State.QUOTA)


def test_quota_with_newest_kept_stops_recording_on_a_disk_without_locks(both, tmp_path):
    # The recorder drops an old chunk only while it holds the lock on it: the collector may be reading that chunk.
    plan = Plan(rules=(Rule(Target("**", "**", root=str(tmp_path))),), quota=2 << 20, keep="newest")
    check_stopped(both(program(), plan=plan, fault=f"fcntl:1:{errno.ENOLCK}"), "its quota of ", State.QUOTA)


def test_recorder_at_file_size_limit_stops_with_one_line(both):
    limit = "import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))"
    check_stopped(both(program(limit)), os.strerror(errno.EFBIG))


@pytest.mark.slow
@pytest.mark.parametrize("call", ["posix_fallocate", "mmap", "open"])
def test_recorder_whose_system_calls_begin_to_fail_stops_with_one_line(both, call):
    number = {"posix_fallocate": errno.EDQUOT, "mmap": errno.ENOMEM, "open": errno.EACCES}[call]
    check_stopped(both(program(), fault=f"{call}:4:{number}"), os.strerror(number))


@pytest.mark.parametrize("call", ["posix_fallocate", "mmap", "open"])
def test_recorder_whose_first_system_call_fails_leaves_program_untraced(both, call):
    number = {"posix_fallocate": errno.EIO, "mmap": errno.ENOMEM, "open": errno.EPERM}[call]
    check_untraced(both(program(), fault=f"{call}:1:{number}"), os.strerror(number))


@pytest.mark.parametrize("call", ["posix_fallocate", "mmap"])
def test_recorder_survives_one_failed_system_call(both, call):
    check_complete(both(program(), fault=f"{call}!4:{errno.ENOMEM}"))


def test_trace_file_that_cannot_be_truncated_is_complete(both):
    check_complete(both(program(), fault=f"ftruncate:1:{errno.EIO}"))


def test_thread_without_memory_for_thread_data_is_not_recorded(both):
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


def test_recorder_without_free_descriptors_stops_with_one_line(both):
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


def test_recorder_with_exhausted_address_space_loses_no_record(both):
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
    check_complete(done)


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
def test_run_folder_moved_or_removed_stops_recording(both, how):
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
