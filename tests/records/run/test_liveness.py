"""Liveness: an abandoned run is distinguished from a live run."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from clew.graph.build.builder import build
from clew.graph.store.store import open_graph
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import (
    ORIGIN_FILE,
    STORE_FOLDER,
    create_run,
    finish_run,
    load_run,
    save_run,
    trace_files,
)
from clew.records.run.liveness import STAYS_AWAY, has_all, is_abandoned, is_running, silence

PROGRAM = "import time; print('began', flush=True); time.sleep(60)"


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def make(folder):
    return create_run(folder, name="job", command=["python"], spec="", plan=dump(Plan()))


def test_is_running_of_this_process_and_of_an_ended_one():
    assert is_running(os.getpid(), time.time_ns())
    assert not is_running(dead_process(), time.time_ns())


def test_is_running_of_zombie_process_is_false():
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    process.stdout.read()
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT) is None:
        pass
    assert not is_running(process.pid, time.time_ns())
    process.wait()


@pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="NO /proc HERE: the start time of a process cannot be read"
)
def test_is_running_of_process_that_began_later_is_false():
    assert not is_running(os.getpid(), time.time_ns() - 10**18)


def test_run_without_living_launcher_or_process_is_abandoned(tmp_path):
    folder, info = make(tmp_path)
    assert info.launcher == os.getpid() and not is_abandoned(folder, info)
    gone = info._replace(launcher=dead_process())
    assert is_abandoned(folder, gone)
    assert not is_abandoned(folder, gone._replace(host="another"))
    assert not is_abandoned(folder, gone._replace(launcher=0))
    assert not is_abandoned(folder, gone._replace(finished=1))


def test_has_all_of_snapshot_before_end_of_run_is_false(tmp_path):
    folder, early = make(tmp_path)
    assert not has_all(folder, early)
    save_run(folder, early._replace(launcher=dead_process()))
    assert has_all(folder, early)  # no process will record more
    finish_run(folder, early, 0, [])
    assert has_all(folder, load_run(folder)) and not has_all(folder, early)
    shutil.rmtree(folder)
    assert not has_all(folder, early)


def test_run_of_another_machine_is_abandoned_while_relay_is_silent(tmp_path):
    folder, info = make(tmp_path)
    info = info._replace(host="builder", launcher=dead_process())
    mark = folder / ORIGIN_FILE
    mark.write_text("{}")
    assert not is_abandoned(folder, info) and silence(folder, info) == ""
    silent = time.time() - STAYS_AWAY - 1
    os.utime(mark, (silent, silent))
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(silent))
    assert is_abandoned(folder, info) and silence(folder, info) == f"stopped: no word from builder since {when}"
    assert silence(folder, info._replace(finished=1)) == ""
    os.utime(mark)
    assert not is_abandoned(folder, info)


def test_killed_launcher_is_reported_once_after_its_program_ended(tmp_path):
    command = [
        sys.executable,
        "-m",
        "clew",
        "run",
        "-q",
        "--workspace",
        str(tmp_path),
        "--",
        sys.executable,
        "-c",
        PROGRAM,
    ]
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert launcher.stdout.readline() == "began\n"
    launcher.kill()
    launcher.wait()
    (folder,) = (tmp_path / ".clew/runs").iterdir()
    _, problems = build(folder)
    assert [problem.what for problem in problems] == ["the run is not over; this is its recording so far"]
    (trace,) = trace_files(folder)
    os.kill(int(trace.name.partition("-")[0]), 9)
    while not is_abandoned(folder, load_run(folder)):
        time.sleep(0.01)
    for _ in range(2):
        graph, problems = open_graph(folder)
        said = [problem.what for problem in problems]
        assert said[0] == "the launcher was killed: it is unknown how the program ended"
        assert [what for what in said[1:] if "launcher" in what or "not over" in what] == []
        assert graph.processes[0].died
    assert (folder / STORE_FOLDER).exists()


def test_run_of_older_clew_without_launcher_is_not_abandoned(tmp_path):
    folder, info = make(tmp_path)
    save_run(folder, info._replace(launcher=0))
    assert [problem.what for problem in build(folder)[1]][-1].startswith("the run is not over")
