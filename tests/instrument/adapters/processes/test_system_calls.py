"""Children started and awaited by `os`, and `exec`: exact edges, and functions that look unchanged."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from clew.records.format.event import Kind
from clew.records.format.header import State

CHILD = """
    import os, sys
    def work(): pass
    work()
    print(sorted(name for name in os.environ if name in ("CLEW_CAUSE", "CLEW_HIDE", "OWN")), flush=True)
    """


def pair_of(function, channel="process"):
    """Return the edges of a child that `function` started and waited for."""
    return Counter(
        {
            (f"{channel}.start", f"MainThread/{function}", "MainThread"): 1,
            (f"{channel}.end", "MainThread", f"MainThread/{function}"): 1,
        }
    )


def test_os_wait_functions_join_end_of_forked_child_once(record):
    run = record(
        """
        import os, pty

        def fork():
            pid = os.fork()
            if pid == 0:
                os._exit(3)
            return pid

        def waitpid(): assert os.waitpid(fork(), 0)[1] == 3 << 8
        def wait(): fork(); os.wait()
        def wait3(): fork(); assert len(os.wait3(0)) == 3
        def wait4(): os.wait4(fork(), options=0)
        def waitid():
            pid = fork()
            assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_pid == pid
            os.waitid(os.P_PID, pid, os.WEXITED)
            try: os.waitpid(pid, 0)
            except ChildProcessError: pass
        def poll():
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(write)
                os.read(read, 1)
                os._exit(0)
            assert os.waitpid(pid, os.WNOHANG) == (0, 0)
            os.close(write)
            while os.waitpid(pid, os.WNOHANG) == (0, 0): pass
            os.close(read)
        def terminal():
            pid, descriptor = pty.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            os.close(descriptor)
        for way in (waitpid, wait, wait3, wait4, waitid, poll, terminal): way()
        """
    )
    assert run.code == 0, run.stderr
    ways = ["waitpid", "wait", "wait3", "wait4", "waitid", "poll", "terminal"]
    assert run.edges("process.end") == Counter(("process.end", "MainThread", f"MainThread/{way}") for way in ways)
    starts = Counter({"MainThread/fork": 5, "MainThread/poll": 1, "MainThread/terminal": 1})
    assert Counter(str(source) for source, target in run.pairs() if target.channel == "process.start") == starts
    # No edge joins one child's end to the wait for another child.
    for source, target in run.pairs():
        if target.channel == "process.end":
            (start,) = (pair for pair in run.pairs() if pair[1].process is source.process)
            assert start[0].event.ticks < target.event.ticks and start[0].process is target.process


def test_os_spawn_functions_cause_the_child_and_join_its_end(record):
    run = record(
        """
        import os, subprocess, sys

        command = [sys.executable, "child.py"]
        own = {"OWN": "1"}
        def posix_spawn(): os.waitpid(os.posix_spawn(sys.executable, command, os.environ), 0)
        def with_environment(): os.waitpid(os.posix_spawnp(sys.executable, command, own, setpgroup=0), 0)
        def spawn(): assert os.spawnv(os.P_WAIT, sys.executable, command) == 0
        def spawn_apart(): os.waitpid(os.spawnle(os.P_NOWAIT, sys.executable, *command, own), 0)
        def spawn_nothing(): assert os.spawnv(os.P_WAIT, "/no/such/program", ["x"]) == 127
        def system(): assert os.system(" ".join(command)) == 0
        def popen():
            with os.popen(" ".join(command)) as stream: print(stream.read(), end="", flush=True)
        for way in (posix_spawn, with_environment, spawn, spawn_apart, spawn_nothing, system, popen): way()
        try: os.posix_spawn("/no/such/program", ["x"], {})
        except FileNotFoundError: pass
        print(own, "CLEW_CAUSE" in os.environ)
        """,
        files={"child.py": CHILD},
    )
    assert run.code == 0, run.stderr
    assert run.stdout.splitlines() == ["[]", "['OWN']", "[]", "['OWN']", "[]", "[]", "{'OWN': '1'} False"]
    ways = ["posix_spawn", "with_environment", "spawn", "spawn_apart", "system", "popen"]
    assert run.edges() == sum((pair_of(way) for way in ways), Counter())
    assert len(run.processes) == 7
    assert {process.header.state for process in run.processes} == {State.CLOSED}


def test_exec_chain_is_joined_at_the_end_of_its_last_program(record):
    run = record(
        """
        import os, subprocess, sys

        def start(): subprocess.run([sys.executable, "first.py"], check=True)
        start()
        """,
        files={
            "first.py": """
            import os, sys

            places = "/no/such/folder:" + os.path.dirname(sys.executable)
            def become(): os.execvpe(os.path.basename(sys.executable), ["python", "second.py"], {"OWN": "1", "PATH": places})
            try: os.execv("/no/such/program", ["x"])
            except FileNotFoundError: pass
            become()
            """,
            "second.py": """
            import os, sys

            print(sorted(name for name in os.environ if name.startswith(("CLEW", "OWN"))), flush=True)
            def become_again(): os.execl(sys.executable, sys.executable, "child.py")
            become_again()
            """,
            "child.py": CHILD,
        },
    )
    assert run.code == 0, run.stderr
    assert run.stdout == "['OWN']\n['OWN']\n"
    assert run.edges() == Counter(
        {
            ("process.start", "MainThread/start", "MainThread"): 1,
            ("process.start", "MainThread/become", "MainThread"): 1,
            ("process.start", "MainThread/become_again", "MainThread"): 1,
            ("process.end", "MainThread", "MainThread/start"): 1,
        }
    )
    assert len({process.header.pid for process in run.processes}) == 2 and len(run.processes) == 4
    assert {process.header.state for process in run.processes} == {State.CLOSED}


def test_exec_that_fails_continues_recording(record):
    run = record(
        """
        import os, sys

        def before(): pass
        def fail():
            try: os.execve("not_a_program", ["x"], {"OWN": "1"})
            except OSError as error: print(error.errno, "CLEW_CAUSE" in os.environ)
            try: os.execv("not_a_program", ["x"])
            except OSError as error: print(error.errno, "CLEW_CAUSE" in os.environ)
        def after(): pass
        os.chmod("not_a_program", 0o700)
        before()
        fail()
        after()
        """,
        files={"not_a_program": "neither a script nor a binary"},
    )
    assert (run.code, run.stdout) == (0, "8 False\n8 False\n"), run.stderr
    assert {placed.function for placed in run.of(Kind.ENTER)} == {"before", "fail", "after"}
    assert [process.header.state for process in run.processes] == [State.CLOSED] * 3


def test_exec_of_unrecorded_program_closes_the_trace(record):
    run = record(
        """
        import os

        pid = os.fork()
        if pid == 0:
            os.execvp("sleep", ["sleep", "0"])
        assert os.waitpid(pid, 0) == (pid, 0)
        """
    )
    assert run.code == 0, run.stderr
    assert [process.header.state for process in run.processes] == [State.CLOSED] * 2
    assert run.edges("process.end") == Counter()


def test_daemon_is_caused_by_double_fork_and_its_end_is_not_joined(record):
    run = record(
        """
        import os

        def work(): pass

        def start():
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.setsid()
                if os.fork() == 0:
                    work()
                    os.close(read)
                    os._exit(0)
                os._exit(0)
            os.waitpid(pid, 0)
            os.close(write)
            assert os.read(read, 1) == b""  # once the daemon is over
        start()
        """
    )
    assert run.code == 0, run.stderr
    (work,) = (placed for placed in run.of(Kind.ENTER) if placed.function == "work")
    chain = {
        target.process.header.uid: source.process.header.uid
        for source, target in run.pairs()
        if target.channel == "process.start"
    }
    middle = chain[work.process.header.uid]
    assert chain[middle] not in chain and len(run.processes) == 3
    (end,) = (source for source, target in run.pairs() if target.channel == "process.end")
    assert end.process.header.uid == middle


@pytest.mark.parametrize("flag", ["-I", "-ES", "-sE"])
def test_child_started_with_isolating_flag_is_noted_in_trace(record, flag):
    run = record(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-B', {flag!r}, '-c', 'print(1)'], check=True)"
    )
    assert (run.code, run.stdout, run.stderr) == (0, "1\n", "")
    (process,) = run.processes
    (note,) = (note.text for note in process.notes if "was not recorded" in note.text)
    assert "python" in note and "that flag disables clew" in note


def test_child_environment_with_empty_clew_run_is_not_recorded(record):
    run = record(
        """
        import os, subprocess, sys

        code = "import os; print(sorted(name for name in os.environ if name in ('CLEW_RUN', 'CLEW_HIDE', 'PYTHONPATH')))"
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "CLEW_RUN": ""}, check=True)
        subprocess.run(["env"], env={"OWN": "1"}, check=True)
        """
    )
    assert run.stdout.splitlines() == ["['CLEW_RUN', 'PYTHONPATH']", "OWN=1"], run.stderr
    (process,) = run.processes
    assert any(note.text.startswith("env was started with an environment") for note in process.notes)


def test_child_environment_reaches_scripts_and_grandchildren_unchanged(record):
    show = "import os; print(*sorted(f'{k}={v}' for k, v in os.environ.items() if k.startswith(('CLEW', 'OWN', 'PYTHONPATH'))))"
    run = record(
        """
        import os, subprocess, sys

        os.chmod("script", 0o700)
        def plain(): subprocess.run(["./script"], env={"OWN": "1"}, check=True)
        def paths(): subprocess.run([sys.executable, "script"], env={"OWN": "2", "PYTHONPATH": "lib"}, check=True)
        def as_bytes(): subprocess.run([sys.executable, "script"], env={b"OWN": b"3", b"PYTHONPATH": b""}, check=True)
        plain(), paths(), as_bytes()
        """,
        files={
            "script": f"#!{sys.executable}\n"
            + f"{show}\nimport os, subprocess, sys\n"
            + f'def again(): subprocess.run([sys.executable, "-c", {show!r}], check=True)\nsys.stdout.flush()\nagain()\n'
        },
    )
    assert run.code == 0, run.stderr
    given = ["OWN=1", "OWN=2 PYTHONPATH=lib", "OWN=3 PYTHONPATH="]
    assert run.stdout.splitlines() == [line for line in given for _ in range(2)]
    assert run.edges() == sum(
        (pair_of(way) for way in ("plain", "paths", "as_bytes", "again", "again", "again")), Counter()
    )


def test_os_wrappers_have_attributes_of_the_originals(record):
    source = """
        import inspect, os, pickle, posix

        for name in ("fork", "forkpty", "execv", "execve", "posix_spawn", "posix_spawnp", "system", "wait", "wait3", "wait4",
                     "waitpid", "waitid", "_exit"):
            function = getattr(os, name)
            print(function, type(function), function.__doc__, function.__module__, function.__text_signature__)
            print(function is getattr(posix, name), function.__self__ is posix, inspect.isbuiltin(function))
            print(pickle.loads(pickle.dumps(function)) is function, function in os.supports_fd)
            try: function("no", "such", "arguments", "here", 5, 6)
            except TypeError as error: print(error, error.__traceback__.tb_next)
        """
    traced, plain = record(source), record(source, environment={"CLEW_RUN": "", "PYTHONPATH": ""})
    assert (traced.code, traced.stdout, traced.stderr) == (plain.code, plain.stdout, plain.stderr)
