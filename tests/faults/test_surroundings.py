"""The environment of the program fails or is missing: stderr, /proc, other runs. The program behaves as untraced."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys

import pytest

from clew.query.api import open_run
from clew.records.format.event import RECORD_SIZE, Kind
from clew.records.format.header import CHUNK_HEADER, CHUNK_HEADER_SIZE, HEADER, HEADER_FIELDS, Clock, State
from clew.records.plan.plan import Plan, Rule, Target
from clew.records.read.reader import read_process
from clew.records.run.directory import STORE_FOLDER, list_runs, trace_files

WORK = """
import os, signal, sys

def work(number):
    return number + 1

def main():
    number = 0
    for _ in range(100_000):
        number = work(number)
    return number

BEFORE
print(main())
AFTER
"""
QUOTA = 2 << 20


def small(tmp_path) -> Plan:
    return Plan(rules=(Rule(Target("**", "**", root=str(tmp_path))),), quota=QUOTA)


def program(before: str = "", after: str = "") -> str:
    return WORK.replace("BEFORE", before).replace("AFTER", after)


def check_stopped_in_silence(done) -> None:
    assert (done.code, done.stdout.splitlines()[0], done.said) == (0, "100000", [])
    assert done.process.header.state == State.QUOTA
    assert 1000 < done.calls("work") < 100_000


def test_recorder_with_closed_stderr_stops_silently(both, tmp_path):
    check_stopped_in_silence(both(program(), plan=small(tmp_path), shell="{command} 2>&-"))


def test_recorder_never_writes_to_file_that_reused_stderr_number(both, tmp_path):
    before = "os.close(2); os.open('data', os.O_CREAT | os.O_RDWR | os.O_TRUNC); os.write(2, b'data')"
    after = "print(os.pread(2, 100, 0), os.fstat(2).st_size)"
    check_stopped_in_silence(both(program(before, after), plan=small(tmp_path)))


def test_recorder_with_broken_stderr_pipe_does_not_kill_program(both, tmp_path):
    before = "signal.signal(signal.SIGPIPE, signal.SIG_DFL); r, w = os.pipe(); os.dup2(w, 2); os.close(r); os.close(w)"
    check_stopped_in_silence(both(program(before), plan=small(tmp_path)))


def test_recorder_with_full_stderr_pipe_does_not_block(both, tmp_path):
    before = """
r, w = os.pipe()
os.set_blocking(w, False)
try:
    while True:
        os.write(w, bytes(4096))
except BlockingIOError:
    os.set_blocking(w, True)
os.dup2(w, 2)
"""
    check_stopped_in_silence(both(program(before), plan=small(tmp_path)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda plan: plan["rules"][0]["target"].update(module=5),
        lambda plan: plan["rules"][0]["target"].update(module=["program"]),
        lambda plan: plan.update(adapters=[["threads"]]),
        lambda plan: plan.update(rules=["program"]),
        lambda plan: plan.update(quota=float("inf")),
    ],
)
def test_damaged_plan_leaves_program_untraced_with_one_line(both, damage):
    def break_it(folder):
        plan = json.loads((folder / "plan.json").read_text())
        damage(plan)
        (folder / "plan.json").write_text(json.dumps(plan))

    done = both(program(), prepare=break_it)
    assert (done.code, done.stdout) == (0, "100000\n")
    (line,) = done.said
    assert line.startswith("clew: process ") and "not recorded" in line and "not a probe plan" in line
    assert trace_files(done.folder) == []


def test_machine_without_proc_and_sys_records_program(both):
    script = 'mount -t tmpfs none /proc && mount -t tmpfs none /sys && exec "$@"'
    launcher = ["unshare", "-m", "sh", "-c", f"'{script}'", "sh"]
    tried = subprocess.run(" ".join([*launcher, "true"]), shell=True, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"A MACHINE WITHOUT /proc IS NOT TESTED HERE: unshare -m: {tried.stderr.strip()}")
    done = both(program(), launcher=tuple(launcher))
    assert (done.code, done.stdout, done.said) == (0, "100000\n", [])
    assert done.process.problems == []
    assert done.process.header.state == State.CLOSED
    assert done.calls("work") == 100_000
    assert len(open_run(done.folder).graph) == len(list(done.process.events()))


def test_subinterpreter_is_not_recorded_and_one_line_says_so(both):
    done = both(
        """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters

        def work(number):
            return number + 1

        code = '''if 1:
            def inner(number):
                return number + 1
            assert inner(1) == 2
            import json, threading
            assert json.loads("[1]") == [1]
        '''
        for _ in range(3):
            one = interpreters.create()
            print(interpreters.run_string(one, code), work(1), flush=True)
            interpreters.destroy(one)
        """
    )
    assert done.code == 0 and "assert" not in done.stdout
    pid = done.process.header.pid
    assert done.said == [f"clew: code in subinterpreters of process {pid} is not recorded"]
    assert done.process.problems == []
    assert (done.calls("work"), done.calls("inner")) == (3, 0)


def test_concurrent_runs_in_one_folder_have_separate_records(tmp_path):
    (tmp_path / "program.py").write_text(
        "import subprocess, sys\n"
        "def work(number):\n    return number\n"
        "def main():\n"
        "    if len(sys.argv) < 3:\n"
        "        subprocess.run([sys.executable, 'program.py', sys.argv[1], 'child'], check=True)\n"
        "    print(sum(work(int(sys.argv[1])) for _ in range(100)))\n"
        "main()\n"
    )
    command = [sys.executable, "-c", "from clew.cli.main import main; main()", "run", "--json", "--", sys.executable]
    running = [
        subprocess.Popen(
            [*command, "program.py", str(number)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    told = []
    for number, process in enumerate(running):
        out, err = process.communicate(timeout=120)
        assert (out, process.returncode) == (f"{100 * number}\n" * 2, 0)
        (line,) = err.splitlines()
        told.append(json.loads(line))
    assert len({document["folder"] for document in told}) == len(list_runs(tmp_path)) == 4
    for document in told:
        assert (document["processes"], document["functions"], document["killed"], document["notes"]) == (2, 2, [], [])


def test_run_command_reports_full_disk_once(tmp_path, small_disk):
    (small_disk / "program.py").write_text("print('hello', flush=True)\n")
    fill = "head -c 10M /dev/zero > filler 2>/dev/null; exec " + sys.executable + " program.py"
    command = [sys.executable, "-c", "from clew.cli.main import main; main()", "run", "--", "bash", "-c", fill]
    done = subprocess.run(command, cwd=small_disk, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "hello\n")
    said = done.stderr.splitlines()
    assert sum("No space left on device" in line and "is not recorded" in line for line in said) == 1
    assert not any("is no Python program" in line or "is recorded" in line for line in said)
    assert said[-1] == "clew: no Python process was recorded: creating the trace file failed (see the errors above)"


def test_run_command_with_full_disk_at_the_end_stores_exit_code(tmp_path, small_disk):
    (small_disk / "program.py").write_text("print('hello', flush=True)\n")
    fill = sys.executable + " program.py; head -c 10M /dev/zero > filler 2>/dev/null; exit 9"
    command = [sys.executable, "-c", "from clew.cli.main import main; main()", "run", "--", "bash", "-c", fill]
    done = subprocess.run(command, cwd=small_disk, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (9, "hello\n")
    assert not any("cannot be noted" in line for line in done.stderr.splitlines())
    ((_, info),) = list_runs(small_disk)
    assert (info.exit_code, info.finished > info.started) == (9, True)


def shift(data: bytearray, first_chunk: int, ticks: int) -> None:
    """Advance the counter of a trace file by `ticks` before a chunk begins, without advancing the clock."""
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    for number, start in enumerate(range(header["header_size"], len(data), header["chunk_size"])):
        fields = list(CHUNK_HEADER.unpack_from(data, start))
        if number < first_chunk:
            continue
        fields[6] += ticks
        CHUNK_HEADER.pack_into(data, start, *fields)
        at = start + CHUNK_HEADER_SIZE
        while at < min(start + header["chunk_size"], len(data)):
            stored, word = struct.unpack_from("<QQ", data, at)
            if not stored:
                break
            struct.pack_into("<Q", data, at, stored + ticks)
            at += RECORD_SIZE * (1 + (word >> 8 & 0xFF))
    header["last_ticks"] += ticks
    HEADER.pack_into(data, 0, *header.values())


def test_suspended_machine_does_not_shift_event_times(both, tmp_path):
    done = both(program())
    (path,) = trace_files(done.folder)
    process = read_process(path)
    if process.header.clock != Clock.CYCLES:
        pytest.skip("A SUSPENDED MACHINE IS NOT TESTED HERE: its processor has no invariant cycle counter")
    before = open_run(done.folder).graph
    duration = int(before.ts.max() - before.ts.min())
    chunks = process.header.chunks
    shutil.rmtree(done.folder / STORE_FOLDER, ignore_errors=True)
    data = bytearray(path.read_bytes())
    shift(data, chunks // 2, 3 * 3600 * 10**9)
    path.write_bytes(data)
    after = open_run(done.folder).graph
    assert len(after) == len(before)
    assert abs(int(after.ts.max() - after.ts.min()) - duration) <= duration // 10 + 10_000_000
    assert (after.ts[1:] >= after.ts[:-1]).all()
    assert sum(event.kind is Kind.ENTER for event in read_process(path).events()) == 100_001
