import json
import os
import shlex
import subprocess
import sys

import pytest

import clew
from clew.cli import app, main
from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import RUN_FILE, create_run, finish_run


def record(workspace, name, code=0):
    folder, info = create_run(workspace, name=name, command=["python", "app.py"], spec="", plan=dump(Plan()))
    finish_run(folder, info, code, ["a note"])
    return folder


def test_version_option_prints_the_package_version(shell):
    assert shell.process("--version").stdout == f"clew {clew.__version__}\n"


def test_help_and_version_import_no_heavy_library():
    code = (
        "import sys\nfrom clew.cli.main import call\n"
        "assert call(['--version']) == 0 and call(['--help']) == 0\n"
        "heavy = {'numpy', 'pyarrow', 'lark', 'pygls', 'lsprotocol', 'rich', 'clew.graph', 'clew.server', 'clew.esl'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_recording_imports_no_openssl_and_compiles_no_annotations():
    code = (
        "import sys, typing\n"
        "compiled = []\n"
        "make = typing.ForwardRef.__init__\n"
        "def made(self, text, *rest, **named):\n"
        "    compiled.append(text)\n"
        "    make(self, text, *rest, **named)\n"
        "typing.ForwardRef.__init__ = made\n"
        "import clew.cli.recording.record, clew.records.collector.main, clew.records.run.finish, clew.cli.recording.summary\n"
        "heavy = {'_hashlib', '_ssl', 'dataclasses', 'inspect', 'subprocess', 'shutil'} & set(sys.modules)\n"
        "print(compiled, heavy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[] set()\n", done.stderr


def test_help_lists_every_command(shell):
    text = shell("--help").stdout
    assert [line.split()[0] for line in text.split("Commands:\n")[1].splitlines()] == list(app.COMMANDS)


@pytest.mark.parametrize("name", list(app.COMMANDS))
def test_command_help_has_examples(shell, name):
    text = shell(name, "--help").stdout
    assert "Usage: clew " in text
    assert "Example" in text


def test_misspelt_command_prints_the_nearest_command(shell):
    done = shell.process("rnus", code=2)
    assert done.stdout == ""
    assert done.stderr == ("clew: unknown command 'rnus'; did you mean `clew runs`?\nrun `clew --help` for usage\n")


def test_unknown_option_names_the_help_of_the_command(shell):
    done = shell("runs", "--jsno", code=2)
    assert done.stderr == "clew: no such option '--jsno'. Did you mean '--json'?\nrun `clew runs --help` for usage\n"


def test_clew_without_a_command_prints_the_help(shell):
    done = shell(code=2)
    assert "Usage: clew" in done.stdout + done.stderr


def test_call_clew_error_prints_one_message_with_its_exit_code(monkeypatch, capsys):
    class Own(ClewError):
        exit_code = 7

    def fails(*_, **__):
        raise Own("the moon: is made of cheese; eat it")

    monkeypatch.setattr(app.clew, "main", fails)
    assert main.call([]) == 7
    out = capsys.readouterr()
    assert (out.out, out.err) == ("", "clew: the moon: is made of cheese; eat it\n")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KeyboardInterrupt(), 130, "clew: interrupted\n"),
        (PermissionError(13, "Permission denied", "/x"), 2, "clew: /x: Permission denied\n"),
        (MemoryError(), 2, "clew: out of memory; the run is too large for this machine\n"),
    ],
)
def test_call_system_error_prints_one_message(monkeypatch, capsys, error, code, text):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(app.clew, "main", fails)
    assert main.call([]) == code
    assert capsys.readouterr().err == text


@pytest.mark.parametrize("there", [True, False])
def test_call_on_private_folder_of_another_user_names_the_owner(monkeypatch, capsys, tmp_path, there):
    private = tmp_path / ".clew"
    private.mkdir()
    named = private if there else private / "runs/1"
    error = PermissionError(13, "Permission denied", str(named))
    owner = private.owner()
    monkeypatch.setattr(main, "_called", lambda _words: (_ for _ in ()).throw(error))
    assert main.call([]) == 2
    assert capsys.readouterr().err == f"clew: {named}: Permission denied\n", "our own: nobody else can help"
    monkeypatch.setattr(os, "getuid", lambda: os.stat(private).st_uid + 1)
    assert main.call([]) == 2
    told = f"{private} belongs to user {owner}, and runs are private: run clew as that user (`sudo -u {owner} clew …`)"
    told += ", or use another --workspace"
    assert capsys.readouterr().err == f"clew: {named}: Permission denied; {told}\n"


def test_runs_into_a_closed_pipe_prints_no_error(shell):
    for number in range(40):
        record(shell.folder, f"run-{number}-{'x' * 2000}"[:200])
    process = shell.start("runs", "--json")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(120) == main.BROKEN_PIPE


def test_runs_of_workspace_without_runs_says_how_to_record(shell):
    done = shell("runs")
    assert done.stdout == ""
    assert "clew run -- python your_program.py" in done.stderr
    assert json.loads(shell("runs", "--json").stdout) == {"workspace": str(shell.folder), "runs": []}


def test_runs_lists_the_newest_first(shell):
    older, newer = record(shell.folder, "before"), record(shell.folder, "after", 3)
    lines = shell("runs").stdout.splitlines()
    assert lines[0].split() == ["id", "name", "when", "exit", "processes", "size", "problems"]
    assert [line.split()[0] for line in lines[1:]] == [newer.name, older.name]
    assert lines[1].split()[1] == "after" and lines[1].endswith("3          0   0 B  a note")
    rows = json.loads(shell("runs", "--json").stdout)["runs"]
    assert [row["exitCode"] for row in rows] == [3, 0]
    assert rows[0]["folder"] == str(newer)


def test_runs_lists_a_damaged_run_with_its_problem(shell):
    folder = record(shell.folder, "broken")
    (folder / RUN_FILE).write_text("{")
    (row,) = json.loads(shell("runs", "--json").stdout)["runs"]
    assert row["id"] == folder.name
    assert "damaged" in row["problems"][0]
    assert "damaged" in shell("runs").stdout


def test_output_without_terminal_has_no_colours(shell):
    record(shell.folder, "plain")
    assert "\x1b" not in shell("runs").stdout


def test_runs_unknown_workspace_is_named(shell):
    done = shell("runs", "--workspace", "/nowhere", code=2)
    assert "/nowhere" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("options", [["-q"], []])
def test_run_of_program_without_stdout_or_stderr_ends_as_untraced(shell, closed, options):
    command = shlex.join(shell.command("run", *options, "--workspace", ".", "--", sys.executable, "-c", "print(1)"))
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], cwd=shell.folder, env=shell.env, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_runs_without_stdout_prints_no_traceback(shell, options):
    record(shell.folder, "plain")
    command = shlex.join(shell.command("runs", *options))
    done = subprocess.run(
        ["sh", "-c", f"{command} >&-"], cwd=shell.folder, env=shell.env, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_unknown_run_or_run_given_as_text_gets_a_hint(shell, shop):
    missing = shell("patterns", "nope", code=2).stderr
    assert "no run named 'nope' in " in missing and "no run yet; record one with `clew run`" in missing
    named = shop("path", "before", code=1).stderr
    assert named.endswith("has 'before'; before is a run: use --run before\n")
