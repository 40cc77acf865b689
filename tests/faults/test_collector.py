"""The collector dies, stops or finds the disk full: the program never notices, and no record is lost or duplicated."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from clew.instrument.run_environment import environment
from clew.records.collector import main
from clew.records.collector.launch import start_collector
from clew.records.format.event import Kind
from clew.records.plan.plan import Plan, Rule, Target, dump
from clew.records.read.reader import read_run
from clew.records.run.directory import create_run, trace_files

PROGRAM = """
import json, os, sys, threading, time, warnings

# From 3.12 on Python warns about every fork in a process with threads.
warnings.simplefilter("ignore", DeprecationWarning)

COUNTS = {}

def work(number):
    return number + 1

def many(times):
    for number in range(times):
        work(number)
        if number % 3000 == 0:
            time.sleep(0.001)

def main(times):
    threads = [threading.Thread(target=many, args=(times,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(6):
        child = os.fork()
        if child == 0:
            many(2000 * number)
            os._exit(0)
        os.waitpid(child, 0)
        COUNTS[child] = 2000 * number
    for thread in threads:
        thread.join()
    COUNTS[os.getpid()] = 3 * times
    print(json.dumps(COUNTS))
    sys.exit(5)

main(int(sys.argv[1]))
"""


def run_of(workspace: Path, folder: Path) -> Path:
    workspace.mkdir(exist_ok=True)
    (workspace / "program.py").write_text(PROGRAM)
    plan = Plan(rules=(Rule(Target("**", "work", root=str(workspace))),))
    return create_run(folder, name="program", command=[], spec="", plan=dump(plan))[0]


def start(workspace: Path, run: Path, times: int) -> subprocess.Popen[str]:
    command = [sys.executable, "program.py", str(times)]
    given = environment(run)
    return subprocess.Popen(
        command, cwd=workspace, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def entered(run: Path) -> tuple[Counter[int], list[str], int]:
    """Return the calls of `work` by process, the problems, and the number of dropped records."""
    counts: Counter[int] = Counter()
    problems, dropped = [], 0
    found = read_run(run)
    for process in found.processes:
        dropped += process.header.dropped
        counts[process.header.pid] += sum(event.kind is Kind.ENTER for event in process.events())
    problems += [problem.what for problem in found.problems]
    return counts, problems, dropped


@pytest.mark.parametrize("packed_at_the_end", [False, True])
def test_collector_killed_at_random_moments_loses_no_record(tmp_path, packed_at_the_end):
    chance = random.Random(packed_at_the_end)
    run = run_of(tmp_path / "workspace", tmp_path)
    program = start(tmp_path / "workspace", run, 60_000)
    killed = 0
    while program.poll() is None:
        collector = start_collector(run)
        assert collector is not None
        # Slightly longer than a collector takes to start.
        time.sleep(0.05 + chance.random() * 0.15)
        collector.process.kill()
        collector.process.communicate()
        killed += 1
        if killed % 4 == 0:
            read_run(run)  # in any state
    out, err = program.communicate()
    assert (program.returncode, err) == (5, "")
    expected = {int(pid): count for pid, count in json.loads(out).items()}
    if packed_at_the_end:
        assert main.collect_now(run).live == 0
        assert {os.path.getsize(path) for path in trace_files(run)} == {4096}
    counts, problems, _ = entered(run)
    assert problems == []
    assert counts == Counter(expected)
    assert killed


def test_collector_stopped_by_signal_loses_no_record(tmp_path):
    run = run_of(tmp_path / "workspace", tmp_path)
    program = start(tmp_path / "workspace", run, 40_000)
    collector = start_collector(run)
    assert collector is not None
    time.sleep(0.2)
    collector.process.send_signal(signal.SIGSTOP)
    out, err = program.communicate()
    assert (program.returncode, err) == (5, "")
    expected = {int(pid): count for pid, count in json.loads(out).items()}
    assert entered(run)[:2] == (Counter(expected), [])
    collector.process.send_signal(signal.SIGCONT)
    collector.finish()
    assert entered(run)[:2] == (Counter(expected), [])


def test_collector_on_full_disk_counts_dropped_records(tmp_path, small_disk):
    run = run_of(tmp_path / "workspace", small_disk)
    collector = start_collector(run)
    assert collector is not None
    (small_disk / "filler").write_bytes(bytes(200_000))
    program = start(tmp_path / "workspace", run, 60_000)
    out, err = program.communicate()
    collector.finish()
    expected = {int(pid): count for pid, count in json.loads(out).items()}
    said = err.splitlines()
    assert program.returncode == 5
    assert all(line.startswith("clew: ") and "No space left on device" in line for line in said)
    counts, problems, dropped = entered(run)
    assert counts.keys() <= expected.keys()
    assert all(counts[pid] <= expected[pid] for pid in counts)
    assert sum(counts.values()) > 1000
    stopped = sum("recording stopped early" in problem for problem in problems)
    assert stopped == sum("stopped:" in line for line in said)
    lost = sum(expected[pid] - counts[pid] for pid in counts)
    # Every thread may have been in a call whose end was dropped.
    assert 2 * lost <= dropped <= 2 * lost + 4 * stopped
