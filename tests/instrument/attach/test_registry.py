"""Registry of attachable processes: entries, their folder, other users, and the commands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from clew.cli import app as commands
from clew.cli.main import call
from clew.records.attach import registry
from clew.records.attach.client import AskError, entry_of
from clew.records.run.directory import save_plan
from tests.support.programs.attached_program import entered, recorded
from tests.support.programs.recording import STARTUP

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="there are no real-time signals here")


def test_registry_is_invisible_to_program_without_attachment(program):
    source = """
        import os, sys, threading, warnings
        warnings.simplefilter("error")
        print(sorted(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task")))
        print([name for name in sys.modules if name in ("signal", "socket", "_socket", "select")])
        pid = os.fork()
        if not pid: os._exit(0)
        print(os.waitpid(pid, 0)[1], flush=True)
    """
    ready, alone = program(source=source, first=""), program(source=source, ready=False, first="")
    assert ready.end("") == alone.end("")


def test_registry_entry_is_private_and_removed_with_its_process(program, private):
    running = program()
    path, entry = entry_of(running.pid)
    assert path.parent == private / "clew"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (entry.run, entry.argv[-1]) == ("", "prog.py")
    running.end()
    assert list(path.parent.iterdir()) == []
    killed = program()
    killed.process.kill()
    killed.process.wait()
    assert killed.pid not in [entry.pid for _, entry in registry.entries()]
    assert list(path.parent.iterdir()) == []


def test_registry_folder_writable_by_others_is_not_used(program, private):
    (private / "clew").mkdir(mode=0o777)
    (private / "clew").chmod(0o777)
    running = program(source="import clew\nprint(clew.control(), flush=True)\ninput()", ready=False, first="")
    assert running.line() in ("True", "False")  # another private folder may exist
    assert list((private / "clew").iterdir()) == []


def test_attach_never_signals_an_unprepared_process(program, private):
    other = program(source="print('ready', flush=True)\ninput()", ready=False)
    with pytest.raises(AskError, match="it was not prepared"):
        other.stop()
    # An entry for the process does not make it ready: the signal would kill it.
    (private / "clew").mkdir(mode=0o700, exist_ok=True)
    registry.register(registry.Entry(other.pid, registry.began(other.pid), signal.SIGRTMAX - 1, "3", ["x"]))
    with pytest.raises(AskError, match="it was not prepared"):
        other.stop()
    assert other.end("\n")[2] == 0
    with pytest.raises(AskError, match="does not exist"):
        other.stop()


@pytest.fixture
def of_another_user():
    """Return the pid and the user name of a process of another user."""
    if os.getuid():
        yield 1, "root"
        return
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, user="nobody", cwd="/") as process:
        yield process.pid, "nobody"
        process.communicate()


def test_attach_to_process_of_another_user_is_refused_with_a_hint(of_another_user, private, capsys):
    pid, user = of_another_user
    for command in (["attach", str(pid)], ["detach", str(pid)]):
        assert call(command) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert f"process {pid} belongs to user {user}," in err and f"`sudo -u {user} clew attach {pid}`" in err


def test_attach_to_hidden_process_of_another_user_reports_its_user(of_another_user, private, monkeypatch):
    pid, _ = of_another_user

    def not_permitted(_pid, _signal):
        raise PermissionError

    monkeypatch.setattr(registry, "owner", lambda _pid: None)  # as where /proc is mounted with hidepid
    monkeypatch.setattr(os, "kill", not_permitted)
    with pytest.raises(AskError, match=f"process {pid} belongs to another user, .* `sudo -u USER clew attach {pid}`"):
        entry_of(pid)


def test_attach_that_is_impossible_reports_the_reason(program, new_run, tmp_path):
    running = program()
    with pytest.raises(AskError, match="it is not recorded"):
        running.stop()
    broken = new_run(pid=running.pid)
    save_plan(broken, "{")
    with pytest.raises(AskError, match="not a probe plan"):
        running.start(broken)
    gone = new_run(pid=running.pid)
    (gone / "plan.json").rename(tmp_path / "plan.json")
    shutil.rmtree(gone)
    with pytest.raises(AskError, match="No such file"):
        running.start(gone)
    running.start(new_run(pid=running.pid))
    with pytest.raises(AskError, match="is already recorded"):
        running.start(new_run(pid=running.pid))
    running.work(1)
    assert running.end()[2] == 0


def test_control_call_makes_process_attachable(program, new_run):
    source = """
        import clew, sys
        def work(): return 1
        assert clew.control() and clew.control()
        print("ready", flush=True)
        for line in sys.stdin: work(); print("did", line.strip(), flush=True)
    """
    running = program(source=source, ready=False)
    running.start(folder := new_run(pid=running.pid))
    running.work(1)
    running.work(2)
    running.stop()
    assert running.end("")[2] == 0
    assert entered(recorded(folder)[0])[0] == {"work": 2}


def test_attach_env_output_makes_programs_of_the_shell_attachable(private, tmp_path, capsys, monkeypatch):
    (tmp_path / "wait.py").write_text("print('ready', flush=True)\ninput()\n")
    monkeypatch.setenv("PYTHONPATH", "/a folder/here")
    monkeypatch.delenv("CLEW_CONTROL", raising=False)
    for path in ("/a folder/here", f"{STARTUP}{os.pathsep}/a folder/here"):
        monkeypatch.setenv("PYTHONPATH", path)
        assert call(["attach", "--env"]) == 0
        exports = capsys.readouterr().out
        shell = f"{exports}echo $PYTHONPATH; exec {sys.executable} wait.py"
        running = subprocess.Popen(
            ["sh", "-c", shell], cwd=tmp_path, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert running.stdout.readline() == f"{STARTUP}{os.pathsep}/a folder/here\n"
        assert running.stdout.readline() == "ready\n"
        assert entry_of(running.pid)[1].pid == running.pid
        running.communicate("\n", timeout=60)


def test_attach_and_detach_commands_record_and_report(program, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".clew" / "runs").mkdir(parents=True)
    running = program()
    assert call(["attach", "--list"]) == 0
    assert f"{running.pid}  " in (out := capsys.readouterr().out) and "prog.py" in out and " no " in out
    assert call(["attach", str(running.pid)]) == 0
    assert "recording process" in (err := capsys.readouterr().err) and f"clew detach {running.pid}" in err
    running.work(2)
    assert call(["attach", str(running.pid)]) == 2
    assert "is already recorded" in capsys.readouterr().err
    (tmp_path / "less.esl").write_text("include standard;\nscope prog:plain;\n")
    assert call(["attach", str(running.pid), "--spec", "less.esl", "--budget", "1%", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["processes"][0]["pid"] == running.pid
    assert "clew: --budget 1%: " in err
    running.work(3)
    assert call(["detach", str(running.pid), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    calls, _ = entered(recorded(Path(run["folder"]))[0])
    assert (calls["plain"], calls["behind"]) == (15, 4)
    assert call(["detach", str(running.pid)]) == 2
    assert "it is not recorded" in capsys.readouterr().err
    assert call(["attach", "--off", "999999999"]) == 2
    assert call(["attach", "0"]) == call(["detach", "0"]) == 2
    assert "is not in the range" in capsys.readouterr().err
    assert call(["runs"]) == 0
    assert running.end()[2] == 0


def test_detach_from_ended_program_names_its_run(program, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".clew" / "runs").mkdir(parents=True)
    running = program()
    assert call(["attach", str(running.pid), "--quota", "1MB", "--keep", "newest", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["processes"]
    plan = json.loads((Path(answer["folder"]) / "plan.json").read_text())
    assert (plan["quota"], plan["keep"]) == (1 << 20, "newest")
    running.end()
    assert call(["detach", str(running.pid)]) == 2
    ended = f"clew: process {running.pid} has exited and its recording is complete: run {answer['run']}\n"
    assert capsys.readouterr().err == ended


def test_attach_and_detach_completion_offers_matching_pids(program, new_run):
    idle, busy = program(), program()
    busy.start(new_run(pid=busy.pid))

    def proposed(*words):
        found = BashComplete(commands.clew, {}, "clew", "_CLEW_COMPLETE").get_completions(list(words), "")
        return {int(item.value): item.help for item in found if int(item.value) in (idle.pid, busy.pid)}

    command = f"{sys.executable} prog.py"
    assert proposed("attach") == {idle.pid: command, busy.pid: command}
    assert proposed("detach") == proposed("attach", "--off") == {busy.pid: command}
