"""Lifecycle of a recording: starting, stopping, naming and choosing the core never harm the program."""

import os
import signal
import subprocess
import sys
import threading
import traceback

import pytest

from clew.instrument.recorder import _core, interned_strings
from clew.records.format.header import State
from clew.records.plan.plan import Plan, dump
from clew.records.read.process_records import Note
from clew.records.run.directory import RUN_VARIABLE, create_run, trace_files

START = """
from pathlib import Path
from clew.instrument.recorder import lifecycle, interned_strings as strings
from clew.records.plan.plan import Plan
"""


def one(read_all):
    (process,) = read_all()
    return process


def test_lifecycle_ends_recording_with_the_program(run_program, read_all):
    done = run_program(
        START
        + """
print(lifecycle.start(Path(FOLDER), Plan()), lifecycle.start(Path(FOLDER), Plan()))
~core.Probe(1, Kind.ENTER)
sys.exit(5)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (5, "True True\n", "")
    process = one(read_all)
    assert (process.header.state, process.problems) == (State.CLOSED, [])
    assert len(list(process.events())) == 1


def test_trace_header_describes_the_process(run_program, read_all, implementation):
    run_program(START + "lifecycle.start(Path(FOLDER), Plan())")
    process = one(read_all)
    assert process.info["recorder"] == "c"
    assert process.info["executable"] == sys.executable
    assert process.info["cwd"] == os.getcwd()
    assert process.info["argv"][0] == sys.executable
    assert process.boot_id
    assert process.path.endswith(f"{process.header.pid}-{process.header.uid:016x}.clew")


def test_trace_header_shortens_long_command_line(run_program, read_all):
    done = run_program(
        START
        + """
sys.orig_argv = ["python", "x" * 9000, "-c", "y" * 30] + ["z"] * 3000
print(lifecycle.start(Path(FOLDER), Plan()))
"""
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    process = one(read_all)
    assert process.problems == []
    argv = process.info["argv"]
    assert argv[:4] == ["python", "x" * 400 + "…", "-c", "y" * 30]
    assert argv[-1] == "…"
    assert set(argv[4:-1]) == {"z"}


def test_trace_header_leaves_out_fields_that_never_fit(run_program, read_all):
    done = run_program(
        START
        + """
sys.orig_argv = ["\\x01" * 400 for _ in range(9)] + ["\\udcff" * 40]
sys.executable = "/" + "\\x02" * 900
print(lifecycle.start(Path(FOLDER), Plan()))
"""
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    process = one(read_all)
    assert process.problems == []
    assert process.boot_id
    assert "argv" not in process.info and "executable" not in process.info


def test_lifecycle_with_missing_folder_prints_one_line_and_runs_untraced(run_program, tmp_path):
    done = run_program(
        START
        + """
print(lifecycle.start(Path(FOLDER), Plan()))
~core.Probe(1, Kind.ENTER)
lifecycle.stop()
sys.exit(3)
""",
        folder=tmp_path / "missing",
    )
    assert (done.returncode, done.stdout) == (3, "False\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: process ")
    assert "missing" in line


def test_lifecycle_starts_in_deleted_working_directory(run_program, read_all):
    done = run_program(
        START
        + """
import tempfile
with tempfile.TemporaryDirectory() as gone:
    os.chdir(gone)
print(lifecycle.start(Path(FOLDER), Plan()))
"""
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert one(read_all).info["cwd"] == ""


def test_lifecycle_failing_definer_loses_only_its_own_definitions(run_program, read_all):
    done = run_program(
        START
        + """
def broken():
    raise KeyError("no")
number = strings.intern("early")
lifecycle.at_start(broken)
lifecycle.at_start(lambda: core.define(Kind.STRING, 1000, b"second"))
lifecycle.start(Path(FOLDER), Plan())
lifecycle.at_start(lambda: core.define(Kind.STRING, 1001, b"late"))
print(strings.intern("early") == number, strings.intern("other") != number)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")
    process = one(read_all)
    assert set(process.strings.values()) == {"early", "other", "second", "late"}
    assert Note(0, "some definitions are missing: 'no'") in process.notes


def test_name_thread_records_current_name(run_program, read_all):
    run_program(
        START
        + """
import threading
lifecycle.start(Path(FOLDER), Plan())
def work():
    ~core.Probe(1, Kind.ENTER)
    threading.current_thread().name = "renamed"
    lifecycle.name_thread()
thread = threading.Thread(target=work, name="first")
thread.start()
thread.join()
"""
    )
    assert [thread.name for thread in one(read_all).threads.values()] == ["MainThread", "renamed"]


def test_lifecycle_ignores_damaged_cause_in_environment(run_program, read_all):
    run_program(START + 'os.environ["CLEW_CAUSE"] = "what?"\nlifecycle.start(Path(FOLDER), Plan())')
    process = one(read_all)
    assert (process.header.parent_uid, list(process.events())) == (0, [])


def test_lifecycle_imports_no_heavy_modules(run_program):
    done = run_program(
        START
        + """
lifecycle.start(Path(FOLDER), Plan())
print([name for name in ("numpy", "asyncio", "multiprocessing", "logging", "typing_extensions") if name in sys.modules])
"""
    )
    assert done.stdout == "[]\n"


def test_intern_gives_a_string_one_number_in_all_threads():
    names = [f"name {number}" for number in range(300)]
    seen = [{} for _ in range(8)]

    def work(found):
        for name in names:
            found[name] = interned_strings.intern(name)

    threads = [threading.Thread(target=work, args=(found,)) for found in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found == seen[0] for found in seen)
    assert len(set(seen[0].values())) == len(names)


def test_intern_runs_no_code_of_a_string_subclass():
    class Loud(str):
        def __eq__(self, other):
            raise AssertionError

        __hash__ = str.__hash__

    assert interned_strings.intern(Loud("quiet")) == interned_strings.intern("quiet")


def loaded(prelude):
    """Return why the recorder is missing, and whether its core was loaded, in another interpreter."""
    program = prelude + (
        "import sys; from clew.instrument.recorder.core import *; print(unavailable);"
        "print(getattr(sys.modules.get('clew.instrument.recorder._core'), '__name__', ''))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_recorder_core_is_loaded_if_supported():
    assert loaded("") == ["", "clew.instrument.recorder._core"]


def test_recorder_without_c_core_reports_what_to_install():
    why, core = loaded("import sys; sys.modules['clew.instrument.recorder._core'] = None; ")
    assert core == "" and "C compiler" in why and "apt-get install gcc python3-dev" in why


def test_recorder_without_gil_does_not_load_c_core():
    """Loading it would switch the GIL on, for the whole program."""
    why, core = loaded("import sys; sys._is_gil_enabled = lambda: False; ")
    assert core == "" and "without the GIL" in why


ABSENT = """
import sys
sys.modules["clew.instrument.recorder._core"] = None
from clew.instrument import bootstrap
print(bootstrap.start_from_environment())
import clew
with clew.scope("work"):
    clew.mark("half")
clew.send("word", 2)
clew.use("word", 2)
@clew.scope
def work(): return 5
print(work(), clew.inject({}))
"""


def test_program_without_c_core_runs_untraced_with_one_line(tmp_path):
    run, _ = create_run(tmp_path, name="absent", command=[], spec="", plan=dump(Plan()))
    environment = {**os.environ, RUN_VARIABLE: str(run)}
    done = subprocess.run([sys.executable, "-c", ABSENT], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "5 None"]
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: process ") and "is not recorded" in line and "C compiler" in line
    assert not trace_files(run)


INTERRUPTED = (
    START
    + """
import os, signal
lifecycle.start(Path(FOLDER), Plan())
~core.Probe(1, Kind.ENTER)
asked = lifecycle._note_sample_counts
def interrupted():
    lifecycle._note_sample_counts = asked
    os.kill(os.getpid(), signal.SIGINT)
    asked()
lifecycle._note_sample_counts = interrupted
"""
)
"""Sends a Ctrl-C while the recording ends."""


@pytest.mark.parametrize("way", ["sys.exit(5)", "os._exit(5)"])
def test_lifecycle_interrupted_while_it_ends_closes_the_trace_silently(run_program, read_all, way):
    done = run_program(INTERRUPTED + "from clew.instrument import exit_hook as ending; ending.install()\n" + way)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    process = one(read_all)
    assert process.problems == [] and len(list(process.events())) == 1
    assert process.header.state == State.CLOSED


def test_to_the_end_interrupted_raises_later_in_program_code(core):
    calls = []

    def work():
        calls.append(len(calls))
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)

    quiet = core.to_the_end(work)
    frames = []
    try:
        quiet()
        for _ in range(1000):
            len(calls)
    except KeyboardInterrupt as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert calls == [0, 1]
    assert frames == (["test_to_the_end_interrupted_raises_later_in_program_code"] if core is _core else [])


def test_to_the_end_of_failing_work_gives_up_after_three_attempts(core):
    calls = []

    def work():
        calls.append(1)
        raise SystemExit(3)

    assert core.to_the_end(work)() is None and len(calls) == 3
