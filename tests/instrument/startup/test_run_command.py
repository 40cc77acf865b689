"""`clew run`: the program's output, signals and exit code are unchanged; clew prints helpful lines on stderr."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clew.cli.recording.plan_options import parse_share, parse_size
from clew.cli.recording.record import program_name
from clew.cli.recording.summary import quoted
from clew.records.read.reader import read_run
from clew.records.run.directory import find_run, list_runs, load_run, trace_files

PYTHON = sys.executable
APP = """
    import logging, sys, threading

    def work():
        logging.error("Write request failed")
        print("out")

    def main():
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)

    main()
    """


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(textwrap.dedent(APP))
    (tmp_path / ".git").mkdir()
    return tmp_path


def clew(workspace: Path, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
    return subprocess.run(
        [PYTHON, "-m", "clew", *words], cwd=workspace, env={**environment, **options.pop("env", {})},
        capture_output=True, text=True, timeout=60, check=False, **options,
    )  # fmt: skip


def test_run_records_the_program_and_prints_a_summary(workspace):
    done = clew(workspace, "run", "--", PYTHON, "app.py")
    assert (done.returncode, done.stdout) == (0, "out\n")
    before, program, after, following = done.stderr.splitlines()
    assert before.startswith("clew: recording ") and str(workspace) in before and "; budget 3 %, at most " in before
    assert program == "ERROR:root:Write request failed"
    folder = find_run(workspace)
    info = load_run(folder)
    assert re.search(rf"run {info.id}: 2 functions, \d+ events, 1 log line, 1 process, ", after)
    assert following == "clew: next: `clew why 'Write request failed'` or `clew view`"
    assert (info.name, info.exit_code, info.command) == ("app", 0, [PYTHON, "app.py"])
    assert info.finished > info.started
    assert json.loads((folder / "plan.json").read_text())["budget"] == 0.03
    assert folder.stat().st_mode & 0o077 == 0


def test_run_json_is_the_last_line_of_stderr(workspace):
    done = clew(workspace, "run", "--json", "--", PYTHON, "app.py", "3")
    assert (done.returncode, done.stdout) == (3, "out\n")
    program, last = done.stderr.splitlines()
    assert program == "ERROR:root:Write request failed"
    document = json.loads(last)
    assert document["folder"] == str(find_run(workspace)) and document["exitCode"] == 3
    assert (document["logLines"], document["processes"]) == (1, 1) and document["functions"] >= 2
    assert document["worst"] == "Write request failed"


def test_run_quiet_prints_nothing_and_has_the_programs_exit_code(workspace):
    done = clew(workspace, "run", "--quiet", "--name", "mine", PYTHON, "app.py", "7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "ERROR:root:Write request failed\n")
    assert load_run(find_run(workspace, "mine")).exit_code == 7


def test_run_passes_options_after_the_command_to_the_program(workspace):
    (workspace / "echo.py").write_text("import sys; print(sys.argv[1:], sys.stdin.read())")
    done = clew(workspace, "run", "-q", PYTHON, "echo.py", "--name", "x", "--help", input="typed")
    assert done.stdout == "['--name', 'x', '--help'] typed\n"


def test_run_of_command_that_cannot_start_leaves_no_run(workspace):
    (workspace / "plain.py").write_text("")
    for command, code, words in (
        (["no-such-command"], 127, "command not found"),
        (["plain.py"], 126, "did you mean `clew run -- python plain.py`?"),
        (["absent.py"], 127, "did you mean `clew run -- python absent.py`?"),
        (["./plain.py"], 126, "did you mean `clew run -- python ./plain.py`?"),
    ):
        done = clew(workspace, "run", "--", *command)
        assert (done.returncode, done.stdout) == (code, "") and words in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert list_runs(workspace) == []


def test_run_of_program_without_python_reports_it(workspace):
    done = clew(workspace, "run", "--", "sh", "-c", "echo out; exit 3")
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert "no Python process was recorded: sh did not start a Python interpreter, or " in done.stderr.splitlines()[-1]
    assert load_run(find_run(workspace)).exit_code == 3
    done = clew(workspace, "run", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + 9
    assert (
        "recorded: sh was ended by a signal first, did not start a Python interpreter, or "
        in done.stderr.splitlines()[-1]
    )


def test_run_whose_folder_is_removed_is_reported_as_lost(workspace):
    (workspace / "clean.py").write_text(
        "import shutil, sys\ndef work(): pass\nwork()\nshutil.rmtree('.clew')\n"
        "for _ in range(100_000): work()\nprint('out')\nsys.exit(3)\n"
    )
    done = clew(workspace, "run", "--", PYTHON, "clean.py")
    assert (done.returncode, done.stdout) == (3, "out\n")
    _, stopped, lost = done.stderr.splitlines()
    assert "stopped: " in stopped and "was moved or removed" in stopped
    assert lost.startswith("clew: run ") and lost.endswith(" was moved or removed while it was recorded")
    done = clew(workspace, "run", "--json", "--", PYTHON, "clean.py")
    found = json.loads(done.stderr.splitlines()[-1])
    assert (found["exitCode"], found["processes"], found["notes"][0].split(" is ")[1][:4]) == (3, 0, "lost")
    assert not (workspace / ".clew").exists()


@pytest.mark.parametrize(
    "instead",
    [
        "open(folder, 'w').write('theirs')",
        "os.mkdir('theirs'); os.symlink(os.path.abspath('theirs'), folder)",
        "os.mkdir(folder); open(folder + '/run.json', 'w').write('theirs')",
    ],
    ids=["a file", "a symlink", "another folder"],
)
def test_run_does_not_write_to_replacement_of_its_folder(workspace, instead):
    (workspace / "replace.py").write_text(
        f"import os, sys\nfolder = os.environ['CLEW_RUN']\nos.rename(folder, 'moved')\n{instead}\nsys.exit(3)\n"
    )
    done = clew(workspace, "run", "--quiet", "--", PYTHON, "replace.py")
    folder = next((workspace / ".clew" / "runs").iterdir())
    said = f"clew: run {folder.name} is lost: its folder {folder} was moved or removed while it was recorded\n"
    assert (done.returncode, done.stderr) == (3, said)
    found = [path for path in (folder, folder / "run.json") if path.is_file()]
    assert [path.read_text() for path in found] == ["theirs"] * ("write" in instead)
    (process,) = read_run(workspace / "moved").processes
    assert process.problems == []


def test_run_with_invalid_spec_starts_no_program(workspace):
    (workspace / "bad.esl").write_text("scope app.**;\nsend app:work key ;\n")
    done = clew(workspace, "run", "--spec", "bad.esl", "--", PYTHON, "app.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad.esl:2:" in done.stderr and "error" in done.stderr
    assert list_runs(workspace) == []
    done = clew(workspace, "run", "--spec", "missing.esl", "--", PYTHON, "app.py")
    assert done.returncode == 2 and "missing.esl:1:1: error" in done.stderr


def test_run_with_unmatched_rule_warns_and_records(workspace):
    (workspace / "some.esl").write_text(
        "include threads;\nscope app:work;\nscope app:wrok;\nlogs level ERROR;\nbudget 5%;\n"
    )
    done = clew(workspace, "run", "--spec", "some.esl", "--", PYTHON, "app.py")
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "some.esl:3:" in done.stderr and "warning" in done.stderr
    assert "1 function, " in done.stderr and "budget 5 %" in done.stderr


def test_run_without_budget_says_so_in_the_first_line(workspace):
    done = clew(workspace, "run", "--budget", "none", "--quota", "8MB", PYTHON, "app.py")
    assert "; no budget, at most 8.0 MB a process)" in done.stderr.splitlines()[0]


def test_run_without_recorded_calls_suggests_what_to_check(workspace):
    done = clew(workspace, "run", "--", PYTHON, "-c", "print(1)")
    assert done.stdout == "1\n"
    assert f"no function below {workspace} was called" in done.stderr.splitlines()[-1]
    (workspace / "unused.py").write_text("def unused(): pass\n")
    (workspace / "some.esl").write_text("include threads;\nscope unused:unused;\n")
    done = clew(workspace, "run", "--spec", "some.esl", "--", PYTHON, "app.py")
    assert done.stderr.splitlines()[-1] == (
        "clew: no function that some.esl names was called; run `clew check some.esl` to see the matches of its rules"
    )


def test_run_checks_spec_against_current_folder_not_workspace(workspace, tmp_path_factory):
    (workspace / "some.esl").write_text("include threads;\nscope app:work;\n")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = clew(workspace, "run", "--spec", "some.esl", "--workspace", str(elsewhere), "--", PYTHON, "app.py")
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "warning" not in done.stderr and "1 function, " in done.stderr
    assert len(list_runs(elsewhere)) == 1


def test_run_budget_and_quota_override_spec_and_refuse_wrong_values(workspace):
    assert clew(workspace, "run", "-q", "--budget", "none", "--quota", "8MB", PYTHON, "app.py").returncode == 0
    plan = json.loads((find_run(workspace) / "plan.json").read_text())
    assert (plan["budget"], plan["quota"]) == (None, 8 << 20)
    for option in (
        ["--budget", "lots"],
        ["--budget", "0%"],
        ["--sample", "-1"],
        ["--sample", "101%"],
        ["--quota", "8"],
        ["--quota", "x"],
    ):
        done = clew(workspace, "run", *option, PYTHON, "app.py")
        assert done.returncode == 2 and option[0] in done.stderr and done.stdout == ""
        assert option[0] != "--sample" or "request flows" in done.stderr
        assert ("not a number of bytes" in done.stderr) == (option == ["--quota", "x"])


def test_run_set_assigns_parameters_and_redacts_arguments(workspace):
    (workspace / "app.esl").write_text(
        'parameter module = "nosuch"; parameter most = 1; include threads; redact "pass*";'
        "scope $module; payload $module:main value $most;"
    )
    words = ("run", "--spec", "app.esl", "--set", "module=app", "--set", "most=7", "--", PYTHON, "app.py", "0")
    done = clew(workspace, *words, "--password", "hunter2")
    assert (done.returncode, done.stdout) == (0, "out\n")
    run = find_run(workspace)
    assert load_run(run).command[-2:] == ["--password", "<redacted>"]
    stored = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
    assert b"app.py" in stored and b"hunter2" not in stored
    checked = clew(workspace, "check", "app.esl", "--set", "module=app")
    assert "2 functions" in checked.stdout and "no problems" in checked.stdout


@pytest.mark.parametrize(
    ("setting", "fragment"),
    [("most", "expected NAME=VALUE"), ("mots=3", "did you mean `most`?"), ("most=x", "is a number, not 'x'")],
)
def test_run_set_with_wrong_parameter_starts_no_program(workspace, setting, fragment):
    (workspace / "app.esl").write_text("parameter most = 1; payload app:main value 1 limit $most;")
    done = clew(workspace, "run", "--spec", "app.esl", "--set", setting, "--", PYTHON, "app.py")
    assert (done.returncode, done.stdout) == (2, "") and fragment in done.stderr
    assert "parameters need a spec" in clew(workspace, "run", "--set", "most=1", "--", PYTHON, "app.py").stderr


def test_run_sample_without_request_rule_warns(workspace):
    (workspace / "app.esl").write_text("include standard;\nscope app;\nrequest app:work;\n")
    for options, told in (
        (["--sample", "10%"], True),
        (["--sample", "10%", "--spec", "app.esl"], False),
        (["--sample", "100%"], False),
        (["-q", "--sample", "10%"], False),
    ):
        done = clew(workspace, "run", *options, "--", PYTHON, "app.py")
        assert done.returncode == 0 and ("so sampling has no effect" in done.stderr) == told, done.stderr


def test_run_whose_folder_cannot_be_made_starts_no_program(workspace):
    (workspace / ".clew").write_text("a file")
    done = clew(workspace, "run", "--", PYTHON, "app.py")
    assert (done.returncode, done.stdout) == (2, "") and ".clew" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_run_forwards_signals_and_returns_the_programs_exit_code(workspace, number):
    (workspace / "wait.py").write_text(
        textwrap.dedent(
            """
            import signal, sys, time
            if sys.argv[1] == "handle":
                signal.signal(int(sys.argv[2]), lambda number, frame: sys.exit(40))
            else:
                signal.signal(int(sys.argv[2]), signal.SIG_DFL)
            print("ready", flush=True)
            # Not one long sleep: a signal just before it would be handled only after it.
            for _ in range(3000):
                time.sleep(0.01)
            """
        )
    )
    for way, code in (("handle", 40), ("die", 128 + number)):
        process = subprocess.Popen(
            [PYTHON, "-m", "clew", "run", "--", PYTHON, "wait.py", way, str(int(number))],
            cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == code, errors
        assert "Traceback" not in errors
        assert load_run(find_run(workspace)).exit_code == code


COUNTING = """
import os, signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda number, frame: got.append(number))
signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
print("ready", flush=True)
if "itself" in sys.argv:
    os.killpg(0, signal.SIGINT)
for _ in range(int(sys.argv[1])):
    while not got: time.sleep(0.01)
    time.sleep(0.2)
    told, got[:] = sorted(got), []
    print("got", told, flush=True)
"""
"""Prints, as often as its argument says, the signals that arrived: the first one, and those right after it."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_delivers_signal_of_group_or_of_itself_once(workspace, number):
    (workspace / "count.py").write_text(COUNTING)
    for ways in ((os.killpg, os.kill), (os.kill, os.killpg), (os.killpg, os.killpg)):
        process = subprocess.Popen(
            [PYTHON, "-m", "clew", "run", "--", PYTHON, "count.py", "2"],
            cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        for send in ways:
            send(process.pid, number)
            assert process.stdout.readline() == f"got [{int(number)}]\n", (ways, send)
        assert process.wait(timeout=120) == 0


def test_run_delivers_signal_of_program_to_its_group_once(workspace):
    (workspace / "count.py").write_text(COUNTING)
    done = subprocess.run(
        [PYTHON, "-m", "clew", "run", "--", PYTHON, "count.py", "1", "itself"],
        cwd=workspace, capture_output=True, text=True, start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "ready\ngot [2]\n"), done.stderr


WITH_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes standard input the controlling terminal, and becomes the program of the arguments."""


def test_run_delivers_ctrl_c_of_terminal_once(workspace):
    import pty

    (workspace / "count.py").write_text(COUNTING)
    # No fork of this process: it has threads, and objects of libraries that do not survive one.
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [PYTHON, "-c", WITH_TERMINAL, PYTHON, "-m", "clew", "run", "--", PYTHON, "count.py", "2"],
        cwd=workspace, stdin=end, stdout=end, stderr=end, start_new_session=True,
    )  # fmt: skip
    os.close(end)
    seen = b""

    def wait_for(text):
        nonlocal seen
        while text not in seen:
            seen += os.read(terminal, 1000)

    wait_for(b"ready")
    os.write(terminal, b"\x03")
    wait_for(b"got [2]\r\n")
    seen = b""
    process.send_signal(signal.SIGINT)  # a signal that is not mistaken for the terminal's
    try:
        while chunk := os.read(terminal, 1000):
            seen += chunk
    except OSError:
        pass  # the other end is closed
    os.close(terminal)
    assert process.wait(timeout=120) == 0, seen
    assert b"got [2]\r\n" in seen


def test_run_that_is_killed_leaves_no_process(workspace):
    (workspace / "waits.py").write_text("print('ready', flush=True)\ninput()\n")
    process = subprocess.Popen(
        [PYTHON, "-m", "clew", "run", "--", PYTHON, "waits.py"],
        cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    process.kill()
    # Read both pipes to their end: no process has them open any longer.
    assert process.communicate("\n", timeout=120)[0] == ""


def test_run_with_closed_stderr_returns_the_programs_exit_code(workspace):
    command = f"{PYTHON} -m clew run -- {PYTHON} app.py 5 2>&-; echo $?"
    done = subprocess.run(command, shell=True, cwd=workspace, capture_output=True, text=True, check=False)
    assert done.stdout == "out\n5\n"


def test_run_inside_a_run_is_a_separate_run(workspace):
    done = clew(
        workspace,
        "run",
        "-q",
        "--name",
        "outer",
        "--",
        PYTHON,
        "-m",
        "clew",
        "run",
        "-q",
        "--name",
        "inner",
        "--",
        PYTHON,
        "app.py",
    )
    assert done.returncode == 0, done.stderr
    assert trace_files(find_run(workspace, "outer"))
    assert len(trace_files(find_run(workspace, "inner"))) == 1


def test_run_option_values_and_program_names_are_parsed():
    assert parse_share("3%") == parse_share("0.03") == 0.03 and parse_share("None") is None
    assert [parse_size(text) for text in ("1MB", "2gb", "1.5 GB", "2097152")] == [1 << 20, 2 << 30, 3 << 29, 2 << 20]
    for command, name in (
        ("python app.py", "app"), ("/usr/bin/python3.11 -u -X dev src/app.py -m x", "app"), ("python -m pkg.tool", "pkg.tool"),
        ("python -c pass", "python"), ("pytest tests/x.py", "pytest"), ("python", "python"),
    ):  # fmt: skip
        assert program_name(tuple(command.split())) == name


@pytest.mark.parametrize(
    "text",
    ["it's b'a\\n'", "plain", "'$HOME'", "a\\", "'a\\", "'\"'", "'`id`!", "'\\\\x", "'" * 70, "a'\nb", "ärger's"],
)
def test_quoted_message_means_itself_to_a_shell(text):
    (word,) = shlex.split(quoted(text))
    assert word == text.splitlines()[0][:60]
    said = subprocess.run(["sh", "-c", f"printf %s {quoted(text)}"], capture_output=True, text=True, check=True)
    assert said.stdout == word
    assert quoted("it's") == '"it\'s"'


def test_run_shows_the_command_quoted_for_a_shell(workspace):
    done = clew(workspace, "run", "--", PYTHON, "-c", "print('a b')")
    assert done.stderr.startswith(f"clew: recording {shlex.join([PYTHON, '-c', 'print(' + repr('a b') + ')'])} (")


def test_run_without_log_lines_suggests_aggregate(workspace):
    (workspace / "silent.py").write_text("def work():\n    pass\n\nwork()\n")
    done = clew(workspace, "run", "--", PYTHON, "silent.py")
    assert done.stderr.splitlines()[-1] == "clew: next: `clew aggregate` or `clew view`"


def test_run_passes_exactly_the_descriptors_of_the_shell(workspace):
    (workspace / "open.py").write_text(
        "import os, sys\n"
        "listed = os.listdir('/proc/self/fd')  # the descriptor of the listing is closed again below\n"
        "print(sorted(int(file) for file in listed if os.path.exists(f'/proc/self/fd/{file}')))\n"
        "os.write(int(sys.argv[1]), b'here')\n"
    )
    with (workspace / "given").open("wb") as file:
        given = file.fileno()
        done = clew(workspace, "run", "--quiet", "--", PYTHON, "open.py", str(given), pass_fds=[given])
    assert (done.stdout, done.stderr) == (f"[0, 1, 2, {given}]\n", "")
    assert (workspace / "given").read_bytes() == b"here"
