"""The recorder holds no open descriptor while the program runs: the program's descriptors have their usual numbers."""

import os
import subprocess
import sys

import pytest

from clew.records.format.event import Kind
from clew.records.format.header import State
from clew.records.read.reader import read_process
from clew.records.run.directory import trace_files


def test_recorder_leaves_descriptor_numbers_to_the_program(run_program, read_all):
    done = run_program(
        """
        def descriptors():
            return sorted(number for number in range(64) if os.path.exists(f"/proc/self/fd/{number}"))
        before, first = descriptors(), os.open("/dev/null", os.O_RDONLY)
        os.close(first)
        start()
        probe = core.Probe(5, Kind.ENTER)
        for _ in range(200_000):
            ~probe
        assert descriptors() == before, descriptors()
        assert os.open("/dev/null", os.O_RDONLY) == first
        os.closerange(3, 64)
        for _ in range(200_000):
            ~probe
        core.stop()
        assert descriptors() == [0, 1, 2]
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    (process,) = read_all()
    assert not process.problems and process.header.state == State.CLOSED
    assert sum(1 for _ in process.events()) == 400_000


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_recorder_leaves_numbers_of_closed_standard_streams(implementation, tmp_path, closed):
    program = f"""if 1:
        import os
        from clew.instrument.recorder.core import core
        from clew.records.format.event import Kind
        core.start({str(tmp_path / "1-1.clew")!r}, b"{{}}", 0, 1 << 30, 0.0)
        probe = core.Probe(5, Kind.ENTER)
        numbers = [os.open({str(tmp_path)!r} + "/out", os.O_RDWR | os.O_CREAT) for _ in range(2)]
        for _ in range(100_000):
            ~probe
        core.stop()
        os.write(numbers[0], repr(numbers).encode())
        """
    (tmp_path / "program.py").write_text(program)
    environment = dict(os.environ)
    subprocess.run(f"{sys.executable} program.py {closed}", shell=True, cwd=tmp_path, env=environment, check=True)
    free = [number for number in range(3) if f"{number}>&-" in closed or f"{number}<&-" in closed]
    assert eval((tmp_path / "out").read_text()) == (free + [3, 4])[:2]
    process = read_process(tmp_path / "1-1.clew")
    assert not process.problems
    assert sum(1 for _ in process.events()) == 100_000


LOST = """
start()
probe = core.Probe(5, Kind.ENTER)
~probe
{remove}
for _ in range(100_000):
    ~probe
assert not core.active()
assert "No such file" in core.problem()
"""


def test_recorder_with_removed_folder_stops_with_one_line(run_program):
    done = run_program(LOST.format(remove="import shutil; shutil.rmtree(FOLDER)"))
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: recording of process ")
    assert line.endswith("was moved or removed (No such file or directory)")


def test_recorder_does_not_write_to_replaced_file(run_program, tmp_path):
    done = run_program(
        LOST.format(
            remove='path, = [FOLDER + "/" + f for f in os.listdir(FOLDER)]; os.remove(path); open(path, "w").close()'
        )
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1
    (path,) = trace_files(tmp_path)
    assert path.stat().st_size == 0


def test_recorder_does_not_write_to_file_opened_as_stderr(implementation, tmp_path):
    program = f"""if 1:
        import os
        from clew.instrument.recorder.core import core
        from clew.records.format.event import Kind
        core.start({str(tmp_path / "1-1.clew")!r}, b"{{}}", 0, 3 << 16, 0.0)
        probe = core.Probe(5, Kind.ENTER)
        assert os.open({str(tmp_path)!r} + "/mine", os.O_RDWR | os.O_CREAT) == 2
        for _ in range(100_000):
            ~probe
        assert core.problem()
        """
    (tmp_path / "program.py").write_text(program)
    environment = dict(os.environ)
    subprocess.run(f"{sys.executable} program.py 2>&-", shell=True, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "mine").read_bytes() == b""


def test_recorder_stop_with_removed_file_leaves_no_file(recording):
    recording.start()
    ~recording.core.Probe(1, Kind.ENTER)
    recording.path.unlink()
    recording.core.stop()
    assert not recording.core.active()
    assert list(recording.folder.iterdir()) == []
