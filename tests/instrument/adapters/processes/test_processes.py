"""Child processes: the starting call causes the child's first record, and the child's end causes the call that waits for it."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.format.event import Kind
from clew.records.format.header import State
from clew.records.run.directory import trace_files

CHILD = """
    def work(): pass
    work()
    """


def uids(run):
    return {process.header.pid: process.header for process in run.processes}


def test_subprocess_is_recorded_and_caused_by_the_starting_call(record):
    run = record(
        """
        import subprocess, sys

        def start(): subprocess.run([sys.executable, "child.py"], check=True)
        start()
        """,
        files={"child.py": CHILD},
    )
    assert run.code == 0, run.stderr
    assert len(run.processes) == 2
    assert run.edges() == Counter(
        {
            ("process.start", "MainThread/start", "MainThread"): 1,
            ("process.end", "MainThread", "MainThread/start"): 1,
        }
    )
    (source, target), (end, join) = run.pairs()
    assert end.process is target.process and join.process is source.process
    assert target.process.header.parent_uid == source.process.header.uid
    assert next(iter(target.process.events())).kind == Kind.JOIN
    assert {placed.function for placed in run.of(Kind.ENTER) if placed.process is target.process} == {"work"}


def test_subprocess_grandchild_is_caused_by_its_own_parent(record):
    run = record(
        """
        import subprocess, sys

        def first(): subprocess.run([sys.executable, "child.py", "again"], check=True)
        def second(): subprocess.run([sys.executable, "child.py"], check=True)
        first()
        second()
        """,
        files={
            "child.py": """
            import os, subprocess, sys

            def again(): subprocess.run([sys.executable, "child.py"], check=True)
            assert "CLEW_CAUSE" not in os.environ
            if len(sys.argv) > 1: again()
            """
        },
    )
    assert run.code == 0, run.stderr
    starts = [(source, target) for source, target in run.pairs() if target.channel == "process.start"]
    assert sorted(str(source) for source, _ in starts) == [
        "MainThread/again", "MainThread/first", "MainThread/second",
    ]  # fmt: skip
    for source, target in starts:
        assert target.process.header.parent_uid == source.process.header.uid
    assert run.edges("process.end") == Counter(
        ("process.end", "MainThread", f"MainThread/{function}") for function in ("again", "first", "second")
    )


def test_asyncio_subprocess_start_and_end_have_edges(record):
    run = record(
        """
        import asyncio, sys

        async def main():
            child = await asyncio.create_subprocess_exec(sys.executable, "child.py")
            await child.wait()
            shell = await asyncio.create_subprocess_shell(f"{sys.executable} child.py")
            await shell.wait()
            await asyncio.create_task(wait_again(shell), name="late")
            piped = await asyncio.create_subprocess_exec(sys.executable, "child.py", stdout=asyncio.subprocess.PIPE)
            await communicate(piped)

        async def wait_again(child): await child.wait()
        async def communicate(child): await child.communicate()

        asyncio.run(main())
        """,
        files={"child.py": CHILD},
    )
    assert run.code == 0, run.stderr
    assert run.edges("process.start") == Counter({("process.start", "Task-1/main", "MainThread"): 3})
    # A callback of the loop joins the end of a child. A waiting task may be woken by the end of the child's output.
    ends = Counter({"MainThread": 3, "Task-1/main": 2, "late/wait_again": 1, "Task-1/communicate": 1})
    assert run.edges("process.end") == Counter({("process.end", "MainThread", who): n for who, n in ends.items()})


def test_subprocess_environment_of_the_program_stays_unchanged(record):
    run = record(
        """
        import os, subprocess, sys

        code = "import os; print(sorted(name for name in os.environ if name in ('CLEW_RUN', 'CLEW_CAUSE', 'CLEW_HIDE', 'OWN')))"
        empty = {"OWN": "1"}
        subprocess.run([sys.executable, "-c", code], env=empty, check=True)
        copied = {**os.environ, "OWN": "1"}
        subprocess.run([sys.executable, "-c", code], env=copied, check=True)
        print(empty, [name for name in copied if name in ("CLEW_RUN", "CLEW_CAUSE", "CLEW_HIDE")])
        """
    )
    assert run.code == 0, run.stderr
    assert run.stdout.splitlines() == ["['OWN']", "['CLEW_RUN', 'OWN']", "{'OWN': '1'} ['CLEW_RUN']"]
    assert len(run.processes) == 3


def test_subprocess_module_path_equals_that_of_its_environment(record):
    source = """
        import os, subprocess, sys

        code = "import os, sys; print(os.environ.get('PYTHONPATH'), sys.path)"
        for paths in (None, "", os.pathsep, "lib", "lib" + os.pathsep, os.pathsep + "lib"):
            env = {} if paths is None else {"PYTHONPATH": paths}
            subprocess.run([sys.executable, "-c", code], env=env, check=True)
        """
    plain, recorded = record(source, environment={"CLEW_RUN": "", "PYTHONPATH": ""}), record(source)
    assert (recorded.code, recorded.stdout, recorded.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert len(recorded.processes) == 7


def test_subprocess_inherits_variables_set_by_putenv(record):
    run = record(
        """
        import os, subprocess, sys

        code = "import os; print(os.getenv('FRUIT'), os.getenv('OTHER'))"
        os.putenv("OTHER", "pear")
        subprocess.run([sys.executable, "-c", code], preexec_fn=lambda: os.putenv("FRUIT", "apple"), check=True)
        print("CLEW_CAUSE" in os.environ)
        """
    )
    assert run.stdout == "apple pear\nFalse\n"


def test_fork_during_subprocess_start_does_not_inherit_its_cause(record):
    run = record(
        """
        import os, subprocess, sys, threading

        inside, forked = threading.Event(), threading.Event()
        original = subprocess._fork_exec

        def slow(*arguments):
            inside.set()
            forked.wait()
            return original(*arguments)

        subprocess._fork_exec, subprocess._USE_POSIX_SPAWN = slow, False
        starter = threading.Thread(target=subprocess.run, args=([sys.executable, "-c", ""],))
        starter.start()
        inside.wait()
        pid = os.fork()
        if pid == 0:
            subprocess._fork_exec = original
            print("CLEW_CAUSE" in os.environ, flush=True)
            subprocess.run([sys.executable, "-c", ""])
            os._exit(0)
        os.waitpid(pid, 0)
        forked.set()
        starter.join()
        """
    )
    assert (run.code, run.stdout) == (0, "False\n"), run.stderr


def test_subprocess_missing_command_fails_as_untraced(record):
    run = record(
        """
        import subprocess
        try: subprocess.Popen(["/no/such/command"])
        except FileNotFoundError as error: print(error)
        try: subprocess.Popen(["true"], env={"A": 1})
        except TypeError as error: print(error)
        """
    )
    assert run.stdout.splitlines() == [
        "[Errno 2] No such file or directory: '/no/such/command'",
        "expected str, bytes or os.PathLike object, not int",
    ]


def test_multiprocessing_spawn_is_recorded_without_helper_processes(record):
    run = record(
        """
        import multiprocessing, os

        def work(): print("CLEW_CAUSE" in os.environ)

        def start(context):
            child = context.Process(target=work)
            child.start()
            child.join()

        if __name__ == "__main__":
            start(multiprocessing.get_context("spawn"))
            print("CLEW_CAUSE" in os.environ)
        """
    )
    assert run.code == 0, run.stderr
    assert run.stdout == "False\nFalse\n"
    assert len(run.processes) == 2
    assert run.edges("process.start") == Counter({("process.start", "MainThread/start", "MainThread"): 1})


def test_forked_child_creates_keys_distinct_from_its_parents(record):
    run = record(
        """
        import os, queue, threading

        def put(jobs): jobs.put(1)
        def take(jobs): jobs.get()
        def before(jobs): jobs.put(2)
        def take_inherited(jobs): jobs.get()

        inherited = queue.Queue()
        before(inherited)
        pid = os.fork()
        jobs = queue.Queue()
        for _ in range(5):
            put(jobs)
            take(jobs)
        if pid: os.waitpid(pid, 0)
        else:
            take_inherited(inherited)
        """
    )
    assert run.code == 0, run.stderr
    assert len(run.processes) == 2
    for source, target in run.pairs():
        if target.function == "take":
            assert source.process.header.uid == target.process.header.uid
    assert run.edges("queue") == Counter(
        {
            ("queue", "MainThread/put", "MainThread/take"): 10,
            ("queue", "MainThread/before", "MainThread/take_inherited"): 1,
        }
    )
    keys = [{placed.key for placed in run.of(Kind.SEND) if placed.process is process} for process in run.processes]
    assert not keys[0] & keys[1]


def test_end_of_child_process_is_joined_once_by_the_call_that_finds_it(record):
    run = record(
        """
        import subprocess, sys, time

        def start(): return subprocess.Popen([sys.executable, "child.py"], stdout=subprocess.PIPE)
        def wait(child):
            try: child.wait(0)
            except subprocess.TimeoutExpired: pass
            child.wait()
        def communicate(child): child.communicate()
        def poll(child):
            while child.poll() is None: time.sleep(0.01)
        def leave(child):
            with child: pass
        for end in (wait, communicate, poll, leave):
            child = start()
            end(child)
            child.wait(), child.poll()
        """,
        files={"child.py": CHILD},
    )
    assert run.code == 0, run.stderr
    assert run.edges("process.end") == Counter(
        ("process.end", "MainThread", f"MainThread/{function}") for function in ("wait", "communicate", "poll", "leave")
    )
    assert len([placed for placed in run.of(Kind.JOIN) if placed.channel == "process.end"]) == 4


@pytest.mark.parametrize("child", ["'sleep', '0'", "sys.executable, '-c', 'import os; os.kill(os.getpid(), 9)'"])
def test_unrecorded_or_killed_child_has_no_end_edge(record, child):
    run = record(f"import subprocess, sys\nsubprocess.run([{child}])")
    assert run.code == 0, run.stderr
    assert run.edges("process.end") == Counter()
    assert len([placed for placed in run.of(Kind.JOIN) if placed.channel == "process.end"]) == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("end", ["pass", "raise SystemExit(3)", "raise ValueError", "os._exit(0)"])
def test_multiprocessing_join_depends_on_end_of_child(record, method, end):
    run = record(
        f"""
        import multiprocessing, os

        def work():
            {end}

        def join(child): child.join()

        if __name__ == "__main__":
            child = multiprocessing.get_context("{method}").Process(target=work)
            child.start()
            join(child)
        """
    )
    assert run.code == 0, run.stderr
    function = "/work" if end == "os._exit(0)" else ""
    assert run.edges("process.end") == Counter({("process.end", "MainThread" + function, "MainThread/join"): 1})
    assert [process.header.state for process in run.processes] == [State.CLOSED] * 2


def test_forked_child_that_calls_exit_closes_its_trace(record):
    run = record(
        """
        import os

        def work(): pass

        pid = os.fork()
        if pid == 0:
            work()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        """
    )
    assert run.code == 0, run.stderr
    assert [process.header.state for process in run.processes] == [State.CLOSED] * 2
    assert all(path.stat().st_size < 1 << 20 for path in trace_files(run.folder))


def test_os_exit_wrapper_has_attributes_of_the_original(record):
    source = """
        import inspect, os, pickle, posix
        print(os._exit, type(os._exit), inspect.signature(os._exit), os._exit.__doc__, os._exit.__module__)
        print(os._exit is posix._exit, os._exit.__self__ is posix, pickle.loads(pickle.dumps(os._exit)) is os._exit)
        print(inspect.isbuiltin(os._exit), os._exit.__qualname__, os._exit.__text_signature__)
        try: os._exit("now")
        except TypeError as error: print(error, error.__traceback__.tb_next)
        os._exit(status=3) if "-k" in __import__("sys").argv else os._exit(4)
        """
    for words, code in (("-k", 3), ("", 4)):
        traced, plain = record(source, words), record(source, words, environment={"CLEW_RUN": "", "PYTHONPATH": ""})
        assert (traced.code, traced.stdout, traced.stderr) == (plain.code, plain.stdout, plain.stderr)
        assert traced.code == code
        assert [process.header.state for process in traced.processes] == [State.CLOSED]


def test_subprocess_with_preexec_function_has_one_trace_file(record):
    run = record(
        """
        import os, subprocess, sys

        def before(): os.putenv("FRUIT", "apple")
        def start(): subprocess.run([sys.executable, "child.py"], preexec_fn=before, check=True)
        start()
        pid = os.fork()
        if pid: os.waitpid(pid, 0)
        """,
        files={"child.py": CHILD},
    )
    assert run.code == 0, run.stderr
    assert len(run.processes) == 3
    assert run.edges() == Counter(
        {
            ("process.start", "MainThread/start", "MainThread"): 1,
            ("process.end", "MainThread", "MainThread/start"): 1,
            ("process.start", "MainThread", "MainThread"): 1,
            ("process.end", "MainThread", "MainThread"): 1,
        }
    )
