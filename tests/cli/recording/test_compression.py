"""A run is compressed while it is live and at its end; a process that outlives `clew run` at its own end."""

import json
import sys
import time
from pathlib import Path

from clew.cli.output.compression_progress import wait_until_packed
from clew.records.format.event import Kind
from clew.records.format.header import HEADER_SIZE
from clew.records.read.reader import read_run
from clew.records.run.directory import compressed_files, load_run, trace_files

PROGRAM = """
import os, sys, time
def called(number):
    return number
def work(count):
    for number in range(count):
        called(number)
work(int(sys.argv[1]))
child = len(sys.argv) < 3 or os.fork()
while child and len(sys.argv) > 2 and not os.path.exists(sys.argv[2] + ".begun"):
    time.sleep(0.01)
if not child:
    open(sys.argv[2] + ".begun", "w").close()
    for name in ("stdout", "stderr"):
        getattr(sys, name).close()
    os.close(1), os.close(2)
    while not os.path.exists(sys.argv[2]):
        work(10)
        time.sleep(0.01)
    work(1000)
"""


def run(shell, *arguments, options=()):
    (shell.folder / "app.py").write_text(PROGRAM)
    done = shell.process(
        "run", "--workspace", ".", "--budget", "none", *options, "--json", "--", sys.executable, "app.py", *arguments
    )
    found = json.loads(done.stderr)
    return found, Path(found["folder"])


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


def pauses(folder):
    """Return how often the operating system took the processor, which no test can know before."""
    events = (event for process in read_run(folder).processes for event in process.events())
    return sum(event.kind == Kind.PAUSE for event in events)


def raw_sizes(folder):
    return {path.stat().st_size for path in trace_files(folder)}


def test_small_run_is_compressed_at_its_end(shell):
    found, folder = run(shell, 100)
    assert raw_sizes(folder) == {HEADER_SIZE}
    assert found["events"] - pauses(folder) == 2 * (1 + 100)
    assert found["notes"] == []
    assert found["bytes"] < 3 * HEADER_SIZE


def test_large_run_is_compressed_while_it_is_live(shell):
    found, folder = run(shell, 300_000)
    assert raw_sizes(folder) == {HEADER_SIZE}
    assert found["events"] - pauses(folder) == 2 * (1 + 300_000)
    assert found["notes"] == []
    assert found["bytes"] <= 3 * 300_000


def test_process_that_outlives_clew_run_is_compressed_at_its_end(shell, tmp_path):
    _, folder = run(shell, 100, tmp_path / "end")
    assert load_run(folder).finished
    assert len(trace_files(folder)) == 2
    (tmp_path / "end").touch()
    wait_for(lambda: raw_sizes(folder) == {HEADER_SIZE})
    records = read_run(folder)
    assert records.problems == []
    assert all(compressed_files(process.path) for process in records.processes)


def test_run_option_keep_newest_is_part_of_the_plan(shell):
    found, folder = run(shell, 100, options=("--quota", "3MB", "--keep", "newest"))
    plan = json.loads((folder / "plan.json").read_text())
    assert (plan["quota"], plan["keep"]) == (3 << 20, "newest")
    assert found["events"] - pauses(folder) == 2 * (1 + 100)


class Interrupted:
    def finish(self, _told):
        raise KeyboardInterrupt


def test_wait_until_packed_interrupted_returns_false():
    assert not wait_until_packed(Interrupted(), quiet=True)


class Long:
    def finish(self, told):
        for done in range(5):
            told(done, 5)


def test_wait_until_packed_that_is_slow_shows_a_progress_bar(monkeypatch, capfd):
    monkeypatch.setattr("clew.cli.output.compression_progress.DELAY_SECONDS", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert wait_until_packed(Long(), quiet=False)
    assert capfd.readouterr().out == ""
