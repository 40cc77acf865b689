"""A running program is attached to, detached from and attached to again: exact calls meanwhile, its output unchanged."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

import pytest

import clew.instrument.startup
from clew.cli.main import call
from clew.graph.query import open_run
from clew.records import control
from clew.records.ask import AskError, ask, entry_of
from clew.records.event import Kind
from clew.records.header import State
from clew.records.plan import Action, LogCapture, Plan, Rule, Target, dump
from clew.records.reader import read_run
from clew.records.run import create_run, load_run, save_plan

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="there are no real-time signals here")

ADAPTERS = ("threads", "executors", "queues", "tasks", "processes", "http")
INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
STARTUP = Path(clew.instrument.startup.__file__).parent

PROGRAM = """
import asyncio, functools, logging, os, queue, sys, threading, time

done = queue.SimpleQueue()

class Worker:
    def step(self, n): return plain(n)

def plain(n): return n + 1

def decorated(function):
    @functools.wraps(function)
    def around(*arguments): return function(*arguments)
    return around

@decorated
def behind(n): return n

def make(n):
    def closure(m):
        def nested(k): return k + n
        return nested(m)
    return closure

closure = make(3)

def numbers(n):
    for number in range(n): yield number

async def atask(n):
    await asyncio.sleep(0)
    return plain(n)

def all_of_it(n):
    Worker().step(n); behind(n); closure(n); list(numbers(2))

def background():
    n = 0
    while not stop.is_set():
        tick(n)
        n += 1
        if n % 20 == 0: time.sleep(0.001)
    return n

def tick(n): return n

stop = threading.Event()
jobs = queue.Queue()

def serve():
    for n in iter(jobs.get, None):
        all_of_it(n)
        done.put(n)

async def serve_tasks(tasks):
    while (n := await tasks.get()) is not None:
        all_of_it(n)
        await atask(n)
        done.put(n)

async def main():
    loop, commands, tasks = asyncio.get_running_loop(), asyncio.Queue(), asyncio.Queue()
    loop.add_reader(0, lambda: [commands.put_nowait(line) for line in os.read(0, 4096).decode().split()])
    servers = [asyncio.create_task(serve_tasks(tasks)) for _ in range(2)]
    print("ready", flush=True)
    while (command := await commands.get()) != "end":
        for n in range(int(command)):
            jobs.put(n); tasks.put_nowait(n)
        for _ in range(2 * int(command)):
            while done.empty(): await asyncio.sleep(0.001)
            done.get()
        logging.warning("did %s", command)
        print("did", command, flush=True)
    for _ in servers: tasks.put_nowait(None)
    await asyncio.gather(*servers)

if __name__ == "__main__":
    workers = [threading.Thread(target=serve) for _ in range(2)]
    ticker = threading.Thread(target=background)
    for thread in (*workers, ticker): thread.start()
    asyncio.run(main())
    for _ in workers: jobs.put(None)
    stop.set()
    for thread in (*workers, ticker): thread.join()
    print("threads left", threading.active_count())
"""
CALLS = {
    "Worker.step": 2, "plain": 3, "decorated.<locals>.around": 2, "behind": 2, "make.<locals>.closure": 2,
    "make.<locals>.closure.<locals>.nested": 2, "numbers": 2, "atask": 1, "all_of_it": 2,
}  # fmt: skip
"""Of each function, per number that is worked on: once by a thread and once by a task."""


@pytest.fixture
def private(monkeypatch):
    """A private folder of its own for the entries, with a path short enough for a socket."""
    folder = tempfile.mkdtemp(prefix="clew", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield Path(folder)
    shutil.rmtree(folder)


class Program:
    """A program that answers a line on stdin with a line on stdout."""

    def __init__(self, workspace, *, ready=True, run=None, source=PROGRAM, first="ready", environment=None):
        (workspace / "prog.py").write_text(textwrap.dedent(source))
        given = {**INHERITED, "PYTHONPATH": str(STARTUP), "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
        given |= environment or {}
        given |= {"CLEW_CONTROL": "1"} if ready else {}
        given |= {"CLEW_RUN": str(run)} if run else {}
        self.process = subprocess.Popen(
            [sys.executable, "prog.py"], cwd=workspace, env=given, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.pid = self.process.pid
        self.lines = []
        if first:
            assert self.line() == first

    def line(self):
        self.lines.append(self.process.stdout.readline().rstrip("\n"))
        return self.lines[-1]

    def work(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.line() == f"did {count}"

    def end(self, last="end\n"):
        out, err = self.process.communicate(last, timeout=60)
        return [*self.lines, *out.splitlines()], err, self.process.returncode

    def start(self, folder):
        return ask(self.pid, {"do": "start", "run": str(folder)}, patience=60)

    def stop(self):
        return ask(self.pid, {"do": "stop"}, patience=60)

    def change(self):
        return ask(self.pid, {"do": "change"}, patience=60)


@pytest.fixture
def program(private, tmp_path):
    started = []

    def start(**options):
        started.append(Program(tmp_path, **options))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            stream.close()


def scopes(*names, actions=()):
    return tuple(Rule(Target("prog", name), actions=actions, origin=f"{name}{len(actions)}") for name in names)


EVERYTHING = scopes("**")
TICKS = scopes("tick", actions=(Action("payload", "start", "n", key=["name", "n"]),))


@pytest.fixture
def new_run(tmp_path):
    def make(rules=EVERYTHING, pid=0, adapters=ADAPTERS, logs=None):
        plan = Plan(rules=rules, adapters=adapters, logs=logs, spec="a test's")
        return create_run(
            tmp_path, name="live", command=[], spec="", plan=dump(plan), attached_to=pid
        )[0]  # fmt: skip

    return make


def recorded(folder):
    processes = read_run(folder).processes
    for process in processes:
        assert process.readable and not process.problems, process.problems
    return processes


def entered(process):
    """How often each function was entered, and how often it ended."""
    counts = {Kind.ENTER: Counter(), "ends": Counter()}
    for event in process.events():
        if event.kind is Kind.ENTER:
            counts[Kind.ENTER][process.sites[event.site].qualname] += 1
        elif event.kind in (Kind.EXIT, Kind.UNWIND):
            counts["ends"][process.sites[event.site].qualname] += 1
    return counts[Kind.ENTER], counts["ends"]


def test_calls_are_exact_while_attached_and_the_program_cannot_tell(program, new_run):
    attached, alone = program(), program(ready=False)
    runs = [new_run(pid=attached.pid, logs=LogCapture()), new_run(pid=attached.pid, logs=LogCapture())]
    for number, folder in enumerate(runs):
        attached.work(5)  # not recorded
        answer = attached.start(folder)
        assert answer["functions"] > 10
        for count in (7, 4 + number):
            attached.work(count)
        attached.stop()
        attached.work(6)  # not recorded
    for count in (5, 7, 4, 6, 5, 7, 5, 6):
        alone.work(count)
    assert attached.end() == alone.end()
    for folder, count in zip(runs, (11, 12), strict=True):
        (process,) = recorded(folder)
        assert process.header.state == State.CLOSED
        calls, ends = entered(process)
        assert {name: calls[name] for name in CALLS} == {name: count * each for name, each in CALLS.items()}
        assert {name: ends[name] for name in CALLS} == {name: count * each for name, each in CALLS.items()}
        assert calls["tick"] > 0 and abs(calls["tick"] - ends["tick"]) <= 1
        assert calls["main"] == calls["serve"] == calls["background"] == 0
        logs = [event.extension.text for event in process.events() if event.kind is Kind.LOG]
        assert logs == ["did 7", f"did {count - 7}"]
        info = load_run(folder)
        assert info.finished and info.exit_code is None and info.attached


def test_what_began_before_goes_on_and_the_trace_says_so(program, new_run, follow):
    running = program()
    answer = running.start(folder := new_run(pid=running.pid))
    assert {"main", "serve", "background", "serve_tasks"} <= set(answer["under_way"])
    running.work(1)
    running.stop()
    (process,) = recorded(folder)
    (note,) = [note.text for note in process.notes if "under way" in note.text]
    assert "go on as they were" in note
    assert any("switched off" in note.text for note in process.notes)
    # The tasks that were there are strands, and their hand-offs have their edges.
    placed = list(follow(process, whole=False))
    names = {one.strand for one in placed if one.function == "atask"}
    assert names and names <= {f"Task-{number}" for number in range(1, 9)}
    sent = {one.key for one in placed if one.event.kind is Kind.SEND and one.channel == "asyncio.queue"}
    got = {one.key for one in placed if one.event.kind is Kind.RECEIVE and one.channel == "asyncio.queue"}
    assert len(sent & got) == 2, "the command and the number"


@pytest.mark.parametrize("recorder", ["c", "python"])
def test_attached_to_again_tasks_have_their_names_and_the_graph_is_sound(program, new_run, follow, recorder):
    running = program(environment={"CLEW_RECORDER": recorder})
    for _ in range(2):
        running.start(folder := new_run(pid=running.pid, logs=LogCapture()))
        running.work(3)
        running.stop()
        (process,) = recorded(folder)
        names = {one.strand for one in follow(process, whole=False) if one.function == "atask"}
        assert names and names <= {f"Task-{number}" for number in range(1, 9)}
        graph = open_run(str(folder)).graph
        calls = Counter(graph.sites[graph.site[row]].qualname for row in graph.rows_of([Kind.ENTER]))
        assert (calls["atask"], calls["plain"]) == (3, 9)


def test_no_call_is_missed_or_recorded_twice_in_between(program, new_run):
    running = program()
    for _ in range(3):
        running.start(folder := new_run(TICKS, pid=running.pid))
        running.work(1)
        running.stop()
        (process,) = recorded(folder)
        numbers = [int(event.extension.text) for event in process.events() if event.kind is Kind.PAYLOAD]
        assert len(numbers) > 10
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_changed_plan_holds_from_then_on(program, new_run):
    running = program()
    running.start(folder := new_run(scopes("plain", "behind", "tick"), pid=running.pid))
    running.work(3)
    save_plan(folder, dump(Plan(rules=scopes("behind", "Worker.*"), adapters=ADAPTERS, spec="the next")))
    changed = running.change()
    # plain and tick go, Worker.step comes, behind stays as it is.
    assert changed["functions"] == 3
    running.work(4)
    running.stop()
    (process,) = recorded(folder)
    calls, _ = entered(process)
    assert (calls["plain"], calls["behind"], calls["Worker.step"]) == (9, 14, 8)
    gaps = {process.sites[event.site].qualname for event in process.events() if event.kind is Kind.GAP}
    assert gaps == {"plain", "tick"}
    assert any("to the next" in note.text for note in process.notes)
    sites = [site.qualname for site in process.sites.values() if site.kind == "function"]
    assert len(sites) == len(set(sites))


FROZEN = """
import functools, gc, sys

class Worker:
    __slots__ = ()
    def method(self): return 1
    @property
    def read(self): return 1
    @staticmethod
    def free(): return 1

def decorated(function):
    @functools.lru_cache(None)
    @functools.wraps(function)
    def around(n): return function(n)
    return around

@decorated
def behind(n): return n

def make():
    def closure(): return 1
    return closure

kept, numbers = {"deep": [(make(),)]}, iter(range(1000))

def suspended():
    inside = lambda: 1
    while True:
        inside()
        yield

waiting = suspended()
next(waiting)

def work():
    worker = Worker()
    worker.method(); worker.read; worker.free(); behind(next(numbers)); kept["deep"][0][0](); next(waiting)

around = behind.__wrapped__
functions = [work, make, kept["deep"][0][0], Worker.method, Worker.read.fget, Worker.free, around, behind.__wrapped__]
own = [function.__code__ for function in functions]
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "0":
        gc.freeze()
    else:
        work()
    print("did", line.strip(), flush=True)
print([function.__code__ is code for function, code in zip(functions, own)], gc.get_freeze_count() > 1000)
"""


@pytest.mark.parametrize("when", ["before it is attached to", "while it is recorded"])
def test_functions_that_the_program_froze_are_found(program, new_run, when):
    running = program(source=FROZEN)
    if when == "before it is attached to":
        running.work(0)
    running.start(folder := new_run(pid=running.pid))
    running.work(1)
    if when == "while it is recorded":
        running.work(0)
    running.work(2)
    running.stop()
    running.work(3)
    out, err, code = running.end("")
    assert (out[-1], err, code) == (f"{[True] * 8} True", "", 0)
    calls, _ = entered(recorded(folder)[0])
    names = ["work", "Worker.method", "Worker.read", "Worker.free", "decorated.<locals>.around", "behind"]
    assert calls == dict.fromkeys([*names, "make.<locals>.closure", "suspended.<locals>.<lambda>"], 2)


def test_a_process_recorded_from_its_start_can_be_detached_from(program, new_run):
    folder = new_run()
    running = program(ready=False, run=folder)
    running.work(2)
    assert running.stop()["run"] == str(folder)
    running.work(3)
    running.start(second := new_run(pid=running.pid))
    running.work(4)
    _, err, code = running.end()
    assert (code, err.count("did")) == (0, 3)
    assert [entered(process)[0]["plain"] for process in recorded(folder)] == [6]
    assert [entered(process)[0]["plain"] for process in recorded(second)] == [12]
    assert load_run(folder).finished is None, "its launcher ends it"
    assert load_run(second).finished


def test_modules_imported_while_attached_and_children_are_recorded_and_later_ones_not(program, new_run, tmp_path):
    (tmp_path / "later.py").write_text("def late(): return 1\n")
    (tmp_path / "child.py").write_text("def work(): return 1\nwork()\n")
    source = """
        import os, subprocess, sys
        def step():
            import later
            later.late()
            subprocess.run([sys.executable, "child.py"], check=True)
        print("ready", flush=True)
        for line in sys.stdin:
            step()
            print("did", line.strip(), os.environ.get("CLEW_RUN"), flush=True)
    """
    running = program(source=source)
    running.start(folder := new_run((Rule(Target("**", "**", root=str(tmp_path))),), pid=running.pid))
    running.process.stdin.write("1\n")
    running.process.stdin.flush()
    assert running.line() == f"did 1 {folder}"
    running.stop()
    running.process.stdin.write("2\n")
    running.process.stdin.flush()
    assert running.line() == "did 2 None"
    assert running.end("")[2] == 0
    calls = sorted(tuple(entered(process)[0].items()) for process in recorded(folder))
    assert calls == [(("step", 1), ("late", 1)), (("work", 1),)]


def test_a_main_thread_that_waits_attaches_at_once(program, new_run):
    for wait in ("time.sleep(60)", "threading.Event().wait()", "select.select([0], [], [])", "os.read(0, 1)"):
        source = f"""
            import os, select, sys, threading, time
            def work(): return 1
            def forever():
                while True: work(); time.sleep(0.001)
            threading.Thread(target=forever, daemon=True).start()
            print("ready", flush=True)
            {wait}
        """
        running = program(source=source)
        running.start(folder := new_run(pid=running.pid))
        running.stop()
        assert len(recorded(folder)) == 1, wait
        running.process.kill()


def test_nothing_of_it_is_seen_by_a_program_that_nobody_attaches_to(program):
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


def test_entries_and_folder_are_private_and_go_with_the_process(program, private):
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
    assert killed.pid not in [entry.pid for _, entry in control.entries()]
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_others_can_write_to_is_not_used(program, private):
    (private / "clew").mkdir(mode=0o777)
    (private / "clew").chmod(0o777)
    running = program(source="import clew\nprint(clew.control(), flush=True)\ninput()", ready=False, first="")
    assert running.line() in ("True", "False")  # there may be another private folder
    assert list((private / "clew").iterdir()) == []


def test_a_stranger_is_never_signalled(program, private):
    other = program(source="print('ready', flush=True)\ninput()", ready=False)
    with pytest.raises(AskError, match="was not made ready"):
        other.stop()
    # An entry that names it does not make it ready: the signal would kill it.
    (private / "clew").mkdir(mode=0o700, exist_ok=True)
    control.register(control.Entry(other.pid, control.began(other.pid), signal.SIGRTMAX - 1, "3", ["x"]))
    with pytest.raises(AskError, match="was not made ready"):
        other.stop()
    assert other.end("\n")[2] == 0
    with pytest.raises(AskError, match="there is no process"):
        other.stop()


@pytest.fixture
def of_another_user():
    """The pid and the name of the user of somebody else's process."""
    if os.getuid():
        yield 1, "root"
        return
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, user="nobody", cwd="/") as process:
        yield process.pid, "nobody"
        process.communicate()


def test_another_users_process_is_refused_with_what_to_do(of_another_user, private, capsys):
    pid, user = of_another_user
    for command in (["attach", str(pid)], ["detach", str(pid)]):
        assert call(command) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert f"process {pid} is user {user}'s" in err and f"`sudo -u {user} clew attach {pid}`" in err


def test_another_users_process_that_cannot_be_seen_is_there_all_the_same(of_another_user, private, monkeypatch):
    pid, _ = of_another_user

    def not_permitted(_pid, _signal):
        raise PermissionError

    monkeypatch.setattr(control, "owner", lambda _pid: None)  # as where /proc is mounted with hidepid
    monkeypatch.setattr(os, "kill", not_permitted)
    with pytest.raises(AskError, match=f"process {pid} is another user's, .* `sudo -u USER clew attach {pid}`"):
        entry_of(pid)


def test_a_process_says_why_it_cannot(program, new_run, tmp_path):
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
    with pytest.raises(AskError, match="recorded already"):
        running.start(new_run(pid=running.pid))
    running.work(1)
    assert running.end()[2] == 0


def test_the_api_makes_a_process_ready(program, new_run):
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


def test_what_the_shell_is_told_makes_its_programs_ready(private, tmp_path, capsys, monkeypatch):
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


def test_the_commands(program, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".clew" / "runs").mkdir(parents=True)
    running = program()
    assert call(["attach", "--list"]) == 0
    assert f"{running.pid}  " in (out := capsys.readouterr().out) and "prog.py" in out and " no " in out
    assert call(["attach", str(running.pid)]) == 0
    assert "is recorded from now on" in (err := capsys.readouterr().err) and f"clew detach {running.pid}" in err
    running.work(2)
    assert call(["attach", str(running.pid)]) == 2
    assert "is being recorded" in capsys.readouterr().err
    (tmp_path / "less.esl").write_text("include standard;\nscope prog:plain;\n")
    assert call(["attach", str(running.pid), "--spec", "less.esl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["processes"][0]["pid"] == running.pid
    running.work(3)
    assert call(["detach", str(running.pid), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    calls, _ = entered(recorded(Path(run["folder"]))[0])
    assert (calls["plain"], calls["behind"]) == (15, 4)
    assert call(["detach", str(running.pid)]) == 2
    assert "it is not recorded" in capsys.readouterr().err
    assert call(["attach", "--off", "999999999"]) == 2
    assert call(["runs"]) == 0
    assert running.end()[2] == 0
