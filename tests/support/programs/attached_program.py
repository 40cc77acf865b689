"""A program to attach to, in a private folder."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter

from clew.records.attach.client import ask
from clew.records.format.event import Kind
from clew.records.plan.plan import Action, Rule, Target
from clew.records.read.reader import read_run
from tests.support.programs.recording import INHERITED, STARTUP

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
        out, err = self.process.communicate(last, timeout=300)
        return [*self.lines, *out.splitlines()], err, self.process.returncode

    def start(self, folder):
        return ask(self.pid, {"do": "start", "run": str(folder)}, timeout=60)

    def stop(self):
        return ask(self.pid, {"do": "stop"}, timeout=60)

    def change(self):
        return ask(self.pid, {"do": "change"}, timeout=60)


def scopes(*names, actions=()):
    return tuple(Rule(Target("prog", name), actions=actions, origin=f"{name}{len(actions)}") for name in names)


TICKS = scopes("tick", actions=(Action("payload", "start", "n", key=["name", "n"]),))


def recorded(folder):
    processes = read_run(folder).processes
    for process in processes:
        assert process.readable and not process.problems, process.problems
    return processes


def entered(process):
    """Return how often each function was entered and how often it ended."""
    counts = {Kind.ENTER: Counter(), "ends": Counter()}
    for event in process.events():
        if event.kind is Kind.ENTER:
            counts[Kind.ENTER][process.sites[event.site].qualname] += 1
        elif event.kind in (Kind.EXIT, Kind.UNWIND):
            counts["ends"][process.sites[event.site].qualname] += 1
    return counts[Kind.ENTER], counts["ends"]
