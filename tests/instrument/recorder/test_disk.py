"""Recording that cannot continue prints one line, and the program never notices."""

import contextlib
import errno
import os

import pytest

from clew.records.format.event import Kind
from clew.records.format.header import CHUNK_SIZE, HEADER_SIZE, State
from clew.records.read.reader import read_process
from clew.records.run.directory import trace_files

WORK = """
probe = core.Probe(5, Kind.ENTER)
for number in range(100_000):
    ~probe
    if number % 100 == 0:
        core.emit(Kind.MARK, 5, number, 0, b"text")
        core.define(Kind.STRING, number + 1, b"name")
print("result", sum(range(10)))
assert not core.active()
assert core.problem(), "no reason"
~probe
core.stop()
sys.exit(7)
"""


def in_order(process):
    """Assert that the records are the first ones, in order, and return their number."""
    events = list(process.events())
    marks = [event.extension.key for event in events if event.kind is Kind.MARK]
    assert marks == list(range(0, 100 * len(marks), 100))
    assert len(events) - len(marks) in range(100 * len(marks) - 100, 100 * len(marks) + 2)
    return len(events)


def only(folder):
    (path,) = trace_files(folder)
    return read_process(path)


def check(done, process, reason):
    assert (done.returncode, done.stdout) == (7, "result 45\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"clew: recording of process {process.header.pid} stopped: ")
    assert reason in line
    assert in_order(process) > 4000
    assert process.strings
    (problem,) = process.problems
    assert problem.what.startswith("recording stopped early")
    assert str(process.header.dropped) in problem.lost
    plain_and_marks = 101_001
    assert process.header.dropped == plain_and_marks - len(list(process.events()))


def test_recorder_at_its_quota_stops(run_program, tmp_path):
    quota = HEADER_SIZE + 20 * CHUNK_SIZE + 5
    done = run_program(f"start(quota={quota})" + WORK)
    process = only(tmp_path)
    check(done, process, "its quota of 1.3 MB is used up")
    assert process.header.state == State.QUOTA
    assert os.path.getsize(process.path) == HEADER_SIZE + 20 * CHUNK_SIZE


@pytest.mark.parametrize("quota", [0, 100, HEADER_SIZE, HEADER_SIZE + CHUNK_SIZE - 1])
def test_recorder_with_quota_below_one_chunk_records_nothing(recording, capfd, quota):
    recording.start(quota=quota)
    ~recording.core.Probe(1, Kind.ENTER)
    assert not recording.core.active()
    assert len(capfd.readouterr().err.splitlines()) == 1
    process = recording.stop()
    assert list(process.events()) == []
    assert process.header.dropped == 1


def test_recorder_at_file_size_limit_stops(run_program, tmp_path):
    done = run_program(
        f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel would kill
start()
resource.setrlimit(resource.RLIMIT_FSIZE, ({3 << 19}, {3 << 19}))
"""
        + WORK
    )
    process = only(tmp_path)
    check(done, process, os.strerror(errno.EFBIG))
    assert process.header.state == State.FAILED


def test_recorder_on_full_disk_stops(run_program, small_disk):
    done = run_program("start()" + WORK, folder=small_disk)
    process = only(small_disk)
    check(done, process, os.strerror(errno.ENOSPC))
    assert process.header.state == State.FAILED
    assert os.path.getsize(process.path) == HEADER_SIZE + process.header.chunks * CHUNK_SIZE
    free = os.statvfs(small_disk)
    assert free.f_bavail * free.f_bsize < CHUNK_SIZE, "there was space for another chunk"


def test_recorder_uses_last_chunk_below_file_size_limit(run_program, tmp_path):
    limit = HEADER_SIZE + 19 * CHUNK_SIZE + 100
    done = run_program(
        f"""
import resource
start()
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
"""
        + WORK
    )
    process = only(tmp_path)
    check(done, process, os.strerror(errno.EFBIG))
    assert process.header.chunks == 19


def test_recorder_on_disk_filled_by_others_does_not_crash(run_program, small_disk):
    """Disk space of mapped pages is reserved: filling the disk after the start has no effect."""
    done = run_program(
        """
        start()
        with open(f"{FOLDER}/filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
        probe = core.Probe(5, Kind.ENTER)
        for _ in range(15 * 4092):
            ~probe
        print(core.active())
        core.stop()
        """,
        folder=small_disk,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert len(list(only(small_disk).events())) == 15 * 4092


def test_recorder_on_disk_full_from_the_start_leaves_no_file(run_program, small_disk):
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    done = run_program(
        """
        from pathlib import Path
        from clew.instrument.recorder import lifecycle
        from clew.records.plan.plan import Plan
        print(lifecycle.start(Path(FOLDER), Plan()))
        ~core.Probe(1, Kind.ENTER)
        """,
        folder=small_disk,
    )
    assert (done.returncode, done.stdout) == (0, "False\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: process ") and os.strerror(errno.ENOSPC) in line
    assert trace_files(small_disk) == []


def test_recorder_starts_again_after_its_quota(recording, capfd):
    recording.start(quota=HEADER_SIZE + CHUNK_SIZE)
    probe = recording.core.Probe(1, Kind.ENTER)
    for _ in range(10_000):
        ~probe
    assert "quota" in recording.core.problem()
    recording.stop()
    recording.start()
    assert recording.core.problem() == ""
    ~probe
    process = recording.stop()
    assert (len(list(process.events())), process.problems) == (1, [])
